// Buttons that copy a text of the page: `data-copy` names its element. They are hidden where there is no script.

export function offerCopies(root) {
  for (const button of root.querySelectorAll("[data-copy]")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }
}

// The text of a field, lines of code as they are, or a paragraph without its line breaks.
async function copy(button) {
  if ("said" in button.dataset) return; // the passing word is no label
  const source = document.getElementById(button.dataset.copy);
  const lines = source.textContent.trim();
  const text = source.value ?? (source.tagName === "PRE" ? lines : lines.replace(/\s+/g, " "));
  const label = [...button.childNodes];
  button.dataset.said = "";
  if (source.select) source.select();
  else window.getSelection().selectAllChildren(source);
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    // No clipboard on plain HTTP: the text is selected, Ctrl+C does it.
    button.textContent = "Press Ctrl+C";
  }
  window.setTimeout(() => {
    button.replaceChildren(...label);
    delete button.dataset.said;
  }, 2000);
}
