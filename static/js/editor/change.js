// Makes an alternation of the selected words: a field asks what the altered version says. On an alternation it changes it,
// or takes it back.

import { text as words } from "../texts.js";
import { alternationAt, changed, rewritten, wordsAt } from "./markup.js";
import { redo, type, undo } from "./typing.js";

export function startChanging(field) {
  const panel = document.getElementById("change");
  let input = document.getElementById("change-to");
  const said = document.getElementById("said");
  let target = null; // {start, end}, of words or of an alternation, which has its passages

  const say = (name, values) => (said.textContent = name ? words(name, values) : "");

  function ask() {
    const { value, selectionStart: start, selectionEnd: end } = field;
    const alternation = alternationAt(value, start, end);
    const found = alternation ?? wordsAt(value, start, end);
    if (found.reason) return refuse(found.reason);
    if (alternation?.altered === null) return refuse("unsplit");
    target = { ...found, value };
    target.original ??= value.slice(found.start, found.end);
    document.getElementById("change-original").textContent = target.original;
    input.value = alternation?.altered ?? target.original;
    panel.hidden = false;
    input.select();
    say();
  }

  // Chromium undoes what was typed last in any field, also in one that is hidden, but in none that is gone
  function renew() {
    const next = input.cloneNode();
    input.replaceWith(next);
    input = next;
  }

  function refuse(reason) {
    field.focus();
    say(reason);
  }

  function leave() {
    panel.hidden = true;
    renew();
    field.focus();
    if (target) field.setSelectionRange(target.start, target.end);
    target = null;
  }

  function make() {
    const altered = input.value.replace(/\s+/g, " ").trim();
    const { original, value } = target;
    const isNew = target.altered === undefined;
    if (!altered && !isNew) return takeBack(target);
    if (altered === original || !altered) return say("same");
    if (field.value !== value) return leave(); // typed into meanwhile: the place is another
    put(isNew ? changed(value, target, altered) : rewritten(value, target, altered));
    say("made", { original, altered });
  }

  function takeBack(alternation = alternationAt(field.value, field.selectionStart, field.selectionEnd)) {
    if (!alternation) return refuse("none_here");
    if (alternation.altered === null) return refuse("unsplit");
    put(rewritten(field.value, alternation));
    say("taken_back", { original: alternation.original });
  }

  function put({ start, end, insert }) {
    panel.hidden = true;
    renew();
    target = null;
    type(field, start, end, insert);
  }

  const tools = {
    change: ask,
    takeBack: () => takeBack(),
    make,
    leave,
    undo: () => say(undo(field) ? "undone" : ""),
    redo: () => say(redo(field) ? "redone" : ""),
  };
  document.getElementById("tools").hidden = false;
  field.form.addEventListener("click", (event) => tools[event.target.closest("[data-tool]")?.dataset.tool]?.());
  field.addEventListener("keydown", (event) => {
    const isCommand = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey;
    if (!isCommand || event.key.toLowerCase() !== "e") return;
    event.preventDefault();
    ask();
  });
  panel.addEventListener("keydown", (event) => {
    const keys = event.target === input ? ["Enter", "Escape"] : ["Escape"];
    if (event.isComposing || !keys.includes(event.key)) return;
    event.preventDefault();
    if (event.key === "Enter") make();
    else leave();
  });
  panel.addEventListener("input", (event) => event.stopPropagation()); // no change of the form yet
}
