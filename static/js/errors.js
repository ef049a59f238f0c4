// What is wrong with an answer stands beside its question, in an element that the server renders empty
// (role="alert", so that it is read out). The first question that has one takes the focus.

import { text } from "./texts.js";
import { onPage } from "./turning.js";

let title;
onPage(() => { title = document.title; });

const place = (form, name) => form.querySelector(`#${name}-error`);

/** Take the messages away of all questions but those named: what was mended is no longer wrong. */
export function keepOnly(form, names) {
  for (const message of form.querySelectorAll('.field-error[role="alert"]')) {
    const name = message.id.replace(/-error$/, "");
    if (names.includes(name) || message.textContent === "") continue;
    message.textContent = "";
    form.querySelector(`[aria-invalid][aria-describedby~="${message.id}"]`)?.removeAttribute("aria-invalid");
  }
  if (!form.querySelector("[aria-invalid]")) document.title = title;
}

/**
 * Say what is wrong. `problems`: [{name, message, target, group, gentle}] in the page's order; `target` takes the focus,
 * `group` is what is wrong; a gentle one is a reminder, and nothing is wrong.
 */
export function showProblems(form, problems) {
  keepOnly(form, []);
  for (const { name, message, group, gentle } of problems) {
    const node = place(form, name);
    node.classList.toggle("field-reminder", Boolean(gentle));
    node.textContent = message;
    if (!gentle) group.setAttribute("aria-invalid", "true");
  }
  if (problems.some(({ gentle }) => !gentle)) document.title = text("error-title", { title });
  problems[0].target.focus();
}
