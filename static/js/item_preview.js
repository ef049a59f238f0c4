// Shows a test case as participants would see it while its text is being written.

const DELAY_MS = 300;

const preview = document.getElementById("item-preview");
const field = document.getElementById("id_markup");
let timer = 0;
let asked = 0;

if (preview && field) {
  field.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(show, DELAY_MS);
  });
  // After a refused save the field holds what was typed, the preview what is stored.
  show();
}

async function show() {
  const number = ++asked;
  const body = new FormData();
  body.set("markup", field.value);
  body.set("csrfmiddlewaretoken", field.form.elements.csrfmiddlewaretoken.value);
  try {
    const response = await fetch(preview.dataset.url, { method: "POST", body });
    if (!response.ok || response.redirected) return;
    const html = await response.text();
    // An answer that was overtaken by a later one is old.
    if (number === asked) preview.innerHTML = html;
  } catch {
    // Offline: the last preview stays, and saving checks the text anyway.
  }
}
