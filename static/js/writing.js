// The answer to a question: some sentences, or "I do not know".

import { text } from "./texts.js";

const FEW = 0.1; // of the characters that there can be: then it is said how many are left
const PAUSE_MS = 1000; // in typing, before it is said

/** As trial.js asks of a task. */
export function startWriting(form, { measures, state, answered, ratingProblems, signal }) {
  const box = form.querySelector("#answer_text");
  const unknown = form.querySelector("#abstained");
  const status = form.querySelector("#count-status");
  const most = box.maxLength;
  let pausing = null;

  const isWritten = () => box.value.trim() !== "";

  /** There is something to be confident of once an answer is written. */
  function show() {
    box.disabled = unknown.checked;
    const isRated = !unknown.checked && isWritten();
    form.querySelector("#ratings-open").hidden = !isRated;
    form.querySelector("#ratings-later").hidden = unknown.checked || isRated;
    form.querySelector("#answer-count").textContent = text("count", { n: box.value.length });
  }

  function noted(event) {
    measures.first("answer_first_ms", event);
    measures.last("answer_last_ms", event);
    show();
    answered();
  }

  function sayWhatIsLeft() {
    const n = most - box.value.length;
    status.textContent = n < FEW * most ? text("count-left", { n }) : "";
  }

  box.addEventListener("input", (event) => {
    noted(event);
    clearTimeout(pausing);
    pausing = setTimeout(sayWhatIsLeft, PAUSE_MS);
  });
  signal.addEventListener("abort", () => clearTimeout(pausing));
  unknown.addEventListener("change", (event) => {
    state.changes += 1;
    noted(event);
  });
  unknown.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // it would send the form
    unknown.click();
  });

  return {
    read: () => ({ answer_text: box.value, abstained: unknown.checked ? "1" : "" }),
    restore(values) {
      if (values.answer_text) box.value = values.answer_text;
      if (values.abstained) unknown.checked = true;
    },
    missing() {
      if (unknown.checked) return [];
      if (isWritten()) return ratingProblems();
      return [{ name: "answer_text", message: text("answer_text-missing"), target: box, group: box }];
    },
    isRated: () => !unknown.checked,
    aidSwitches: () => "",
    begin: show,
  };
}
