// Joins the lines of a pasted paragraph, which a PDF breaks where its columns end, and the words that it divides there, as
// experiment/domain/joined_lines.py does. A step of its own: undo brings them back.

import { text } from "../texts.js";
import { type } from "./typing.js";

const WITHIN_PARAGRAPH = /(?<=\S)[ \t]*\n[ \t]*(?=\S)/g;
// A word is tried from its first letter only
const DIVIDED = /(?<![\p{L}\p{N}])([\p{L}\p{N}]+)([-\u2010\u00ad])[ \t]*\n[ \t]*([\p{L}\p{N}]+)/gu;
const COMPOUND = new Set(
  ("age all cost cross dose double five four full half high ill large long low medium non one open part post pre real risk self short " +
    "single six small so state task three time two up well").split(" "),
);

export function startPasting(field) {
  field.addEventListener("paste", () => {
    const start = field.selectionStart;
    const behind = field.value.length - field.selectionEnd;
    // The browser pastes after this
    window.setTimeout(() => {
      const end = field.value.length - behind;
      const pasted = field.value.slice(start, end);
      const joined = pasted.replace(DIVIDED, together(field.value)).replace(WITHIN_PARAGRAPH, " ");
      if (joined === pasted) return;
      type(field, start, end, joined);
      document.getElementById("said").textContent = text("joined");
    });
  });
}

// Whether a hyphen belongs to the word, the rest of the text says best; names and numbers keep theirs
function together(whole) {
  const words = new Set(whole.toLowerCase().match(/[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*/gu));
  return (_, first, hyphen, last) => {
    const apart = `${first}-${last}`;
    if (hyphen === "\u00ad" || words.has((first + last).toLowerCase())) return first + last;
    const isName = !/^\p{Ll}/u.test(last) || !/^.\p{Ll}+$/u.test(first);
    return isName || COMPOUND.has(first.toLowerCase()) || words.has(apart.toLowerCase()) ? apart : first + last;
  };
}
