// Puts text into a field as if it were typed, so that the browser's own undo knows of it. Nothing but this old command does;
// Chromium and Firefox both have it (tests/browser/test_editor.py).

export function type(field, start, end, text) {
  field.focus();
  field.setSelectionRange(start, end);
  if (!document.execCommand(text ? "insertText" : "delete", false, text)) {
    field.setRangeText(text, start, end, "end");
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
  }
  // What is typed next is undone by itself: Chromium goes on with the step until the caret moves
  const caret = field.selectionEnd;
  field.setSelectionRange(0, 0);
  field.setSelectionRange(caret, caret);
}

export function undo(field) {
  field.focus();
  return document.execCommand("undo");
}

export function redo(field) {
  field.focus();
  return document.execCommand("redo");
}

/** Selects, and scrolls there: a browser scrolls to the caret of a field that takes the focus. */
export function select(field, start, end) {
  field.blur();
  field.setSelectionRange(start, start);
  field.focus();
  field.setSelectionRange(start, end);
}
