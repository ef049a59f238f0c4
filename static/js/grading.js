// Grading with single keys: each choice names its own; Enter keeps the grade, as in any form.

import { listenForShortcuts } from "./shortcuts.js";

const form = document.getElementById("grade-form");

function choose(input, event) {
  event.preventDefault();
  input.click();
  input.focus();
}

if (form) {
  const choices = [...form.querySelectorAll("[data-key]")];
  listenForShortcuts(
    form.querySelector("#shortcuts"),
    choices.map((input) => ({ keys: input.dataset.key, places: "fieldset", act: (event) => choose(input, event) })),
    new AbortController().signal,
  );
}
