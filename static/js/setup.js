// Setting a study up: shows only the fields that the chosen start needs, proposes a short name, counts what a choice of
// test cases gives. Without JavaScript all fields are there, and saving says the same.

import { ofSite } from "./html.js";

const DELAY_MS = 400;

for (const form of document.querySelectorAll("form")) {
  if (form.elements.start) showOnlyNeeded(form);
  if (form.elements.slug && form.elements.title) proposeName(form);
  if (form.dataset.countUrl) countAlong(form);
}

function showOnlyNeeded(form) {
  const update = () => {
    const start = form.elements.start.value;
    form.elements.questions_of.closest(".lab-field").hidden = start !== "questions";
    form.elements.source.closest(".lab-field").hidden = start !== "copy";
    form.elements.file.closest(".lab-field").hidden = start !== "file";
  };
  form.addEventListener("change", update);
  update();
}

function proposeName(form) {
  const { title, slug } = form.elements;
  let own = slug.value !== "";
  slug.addEventListener("input", () => (own = slug.value !== ""));
  title.addEventListener("input", () => {
    if (!own) slug.value = nameOf(title.value);
  });
}

// As Django's slugify does
function nameOf(title) {
  const ascii = title.normalize("NFKD").replace(/[^\x00-\x7f]/g, "").toLowerCase();
  return ascii.replace(/[^\w\s-]/g, "").replace(/[-\s]+/g, "-").replace(/^[-_]+|(?<![-_])[-_]+$/g, "").slice(0, 50);
}

function countAlong(form) {
  const box = form.querySelector("#counted");
  let timer = 0;
  let asked = 0;
  const count = async () => {
    const number = ++asked;
    try {
      const response = await fetch(form.dataset.countUrl, { method: "POST", body: new FormData(form) });
      // An answer that was overtaken by a later one is old
      if (!response.ok || response.redirected || number !== asked) return;
      box.innerHTML = ofSite(await response.text());
      box.parentElement.hidden = false;
    } catch {
      // Offline: saving says what the choice gives
    }
  };
  form.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(count, DELAY_MS);
  });
  count();
}
