// Shows a test case as participants would see it, and what the checks find in it, while it is being written.

import { offerCopies } from "../copy.js";
import { ofSite } from "../html.js";
import { select, type } from "./typing.js";

const DELAY_MS = 300;

export function startPreview(form) {
  const box = document.getElementById("preview");
  const said = document.getElementById("preview-said");
  const field = form.elements.markup;
  let timer = 0;
  let asked = 0;
  let shown = field.value; // the text that the findings are about

  async function show() {
    const number = ++asked;
    const text = field.value;
    try {
      const response = await fetch(form.dataset.previewUrl, { method: "POST", body: new FormData(form) });
      // An answer that was overtaken by a later one is old
      if (!response.ok || response.redirected || number !== asked) return;
      box.innerHTML = ofSite(await response.text());
      shown = text;
      offer();
      const facts = box.querySelector("#preview-facts").textContent;
      if (said.textContent !== facts) said.textContent = facts;
    } catch {
      // Offline: the last preview stays
    }
  }
  function offer() {
    offerCopies(box);
    for (const button of box.querySelectorAll("[data-remedy]")) button.hidden = false;
  }
  form.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(show, DELAY_MS);
  });
  box.addEventListener("click", (event) => {
    const link = event.target.closest("[data-start]");
    if (!link) return;
    event.preventDefault();
    const at = offsets(field.value);
    const place = [at(link.dataset.start), at(link.dataset.end)];
    if (link.dataset.remedy === undefined) select(field, ...place);
    else if (field.value === shown) type(field, ...place, link.dataset.remedy);
  });
  startSwitch(box);
  offer();
}

// Places are counted in characters, without the space around the whole; the field counts UTF-16 units.
function offsets(text) {
  const lead = text.length - text.trimStart().length;
  const characters = [...text.slice(lead)];
  return (n) => lead + characters.slice(0, Number(n)).join("").length;
}

function startSwitch(box) {
  const panel = document.getElementById("preview-switch");
  const buttons = [...panel.querySelectorAll("[data-show]")];
  const show = (name) => {
    box.dataset.shown = name;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.show === name));
  };
  for (const button of buttons) button.addEventListener("click", () => show(button.dataset.show));
  panel.hidden = false;
  show("A");
}
