// Shows a test case as participants would see it, and what the checks find in it, while it is being written.

import { offerCopies } from "../copy.js";

const DELAY_MS = 300;

export function startPreview(form) {
  const box = document.getElementById("preview");
  const field = form.elements.markup;
  let timer = 0;
  let asked = 0;

  async function show() {
    const number = ++asked;
    try {
      const response = await fetch(form.dataset.previewUrl, { method: "POST", body: new FormData(form) });
      // An answer that was overtaken by a later one is old
      if (!response.ok || response.redirected || number !== asked) return;
      box.innerHTML = await response.text();
      offerCopies(box);
    } catch {
      // Offline: the last preview stays
    }
  }
  form.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(show, DELAY_MS);
  });
  box.addEventListener("click", (event) => {
    const link = event.target.closest("[data-start]");
    if (!link) return;
    event.preventDefault();
    select(field, Number(link.dataset.start), Number(link.dataset.end));
  });
  offerCopies(box);
}

// Places are counted in characters, without the space around the whole; the field counts UTF-16 units.
function select(field, start, end) {
  const text = field.value;
  const lead = text.length - text.trimStart().length;
  const at = (n) => lead + [...text.trimStart()].slice(0, n).join("").length;
  // The browser scrolls to the caret of a field that takes the focus
  field.blur();
  field.setSelectionRange(at(start), at(start));
  field.focus();
  field.setSelectionRange(at(start), at(end));
}
