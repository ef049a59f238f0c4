// Puts the passage that is selected in a test case's text into the comment that is being written.

const text = document.getElementById("item-text");
const comments = document.getElementById("comments");
const quote = document.getElementById("id_quote");
const button = document.getElementById("quote-selection");
let chosen = "";

document.addEventListener("selectionchange", () => {
  const passage = selected();
  if (passage) chosen = passage;
  button.hidden = !chosen;
});

button.addEventListener("click", () => {
  quote.value = chosen;
  comments.open = true;
  document.getElementById("id_text").focus();
});

// The words alone, without the tags that say which wording is which; empty where no text or other text is selected
function selected() {
  const selection = window.getSelection();
  if (!selection.rangeCount || selection.isCollapsed) return "";
  const range = selection.getRangeAt(0);
  if (!text.contains(range.commonAncestorContainer)) return "";
  const copy = range.cloneContents();
  for (const tag of copy.querySelectorAll(".wording-tag")) tag.remove();
  return copy.textContent.replace(/\s+/g, " ").trim();
}
