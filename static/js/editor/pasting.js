// Joins the lines of a pasted paragraph, which a PDF breaks where its columns end. A step of its own: undo brings them back.

import { text } from "../texts.js";
import { type } from "./typing.js";

const WITHIN_PARAGRAPH = /(?<=\S)[ \t]*\n[ \t]*(?=\S)/g;

export function startPasting(field) {
  field.addEventListener("paste", () => {
    const start = field.selectionStart;
    const behind = field.value.length - field.selectionEnd;
    // The browser pastes after this
    window.setTimeout(() => {
      const end = field.value.length - behind;
      const pasted = field.value.slice(start, end);
      const joined = pasted.replace(WITHIN_PARAGRAPH, " ");
      if (joined === pasted) return;
      type(field, start, end, joined);
      document.getElementById("said").textContent = text("joined");
    });
  });
}
