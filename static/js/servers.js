// Where a form offers servers of the site's list: the field for a model's name suggests what the chosen server lists.
// Without JavaScript, or where the server lists nothing, it is a field for a text.

for (const select of document.querySelectorAll("select[data-models-url]")) {
  const input = select.form.elements.namedItem(select.dataset.modelsOf);
  const own = input.getAttribute("list");
  const list = document.createElement("datalist");
  list.id = `${input.id}-models`;
  input.after(list);
  let asked = 0;

  const offer = async () => {
    const number = /^server-(\d+)$/.exec(select.value)?.[1];
    const turn = ++asked;
    list.replaceChildren();
    if (number === undefined) {
      if (own === null) input.removeAttribute("list");
      else input.setAttribute("list", own);
      return;
    }
    input.setAttribute("list", list.id);
    try {
      const response = await fetch(select.dataset.modelsUrl.replace("/0/", `/${number}/`));
      if (!response.ok) return;
      const { models } = await response.json();
      if (turn !== asked) return;
      list.replaceChildren(...models.map((name) => new Option(name, name)));
    } catch {
      // The field stays one for a text
    }
  };

  select.addEventListener("change", offer);
  input.addEventListener("focus", offer, { once: true });
}
