// Error messages as the server renders them: a summary at the top of the form that takes the
// focus and links to each field, and a message beside the field.

function markField(group, id, message, before) {
  const text = document.createElement("p");
  Object.assign(text, { id, className: "field-error", textContent: message });
  before.before(text);
  group.setAttribute("aria-invalid", "true");
  const described = (group.getAttribute("aria-describedby") ?? "").split(" ").filter(Boolean);
  group.setAttribute("aria-describedby", [...described.filter((other) => other !== id), id].join(" "));
}

export function clearErrors(form) {
  form.querySelector("#error-summary").hidden = true;
  form.querySelectorAll(".field-error").forEach((text) => {
    const group = form.querySelector(`[aria-describedby~="${text.id}"]`);
    if (group) {
      group.removeAttribute("aria-invalid");
      const rest = group.getAttribute("aria-describedby").split(" ").filter((id) => id !== text.id);
      if (rest.length) group.setAttribute("aria-describedby", rest.join(" "));
      else group.removeAttribute("aria-describedby");
    }
    text.remove();
  });
  document.title = document.title.replace(/^Error: /, "");
}

/** `problems`: [{id, message, target, group, before}], target = what the summary links to. */
export function showErrors(form, problems) {
  clearErrors(form);
  const summary = form.querySelector("#error-summary");
  const items = problems.map(({ id, message, target, group, before }) => {
    markField(group, id, message, before);
    const link = document.createElement("a");
    Object.assign(link, { href: `#${target.id}`, textContent: message });
    link.addEventListener("click", (event) => {
      event.preventDefault();
      target.focus();
    });
    const item = document.createElement("li");
    item.append(link);
    return item;
  });
  summary.querySelector("ul").replaceChildren(...items);
  summary.hidden = false;
  document.title = `Error: ${document.title}`;
  summary.focus();
}
