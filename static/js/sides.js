// The choice of a side, by its passages, its button or a key; and whether the article was known.

import { startAid } from "./aid.js";
import { listenForShortcuts } from "./shortcuts.js";
import { text } from "./texts.js";

/** As trial.js asks of a task. */
export function startSides(form, { measures, state, answered, save, sideChanged, busy, ratingProblems, signal }) {
  const field = (name) => form.elements.namedItem(name);
  const recognised = form.querySelector(".recognised");
  const aidPanel = form.querySelector("#aid");
  const aid = aidPanel && startAid(aidPanel, form, aidSwitched);

  const radioValue = (name) => field(name)?.value ?? "";

  function setRadio(name, value) {
    if (value && field(name)) field(name).value = value;
  }

  /** Ratings are of a choice: they open once there is one. */
  function showSide() {
    const side = radioValue("side");
    form.dataset.side = side; // for browsers without :has()
    form.querySelector("#ratings-open").hidden = side === "";
    form.querySelector("#ratings-later").hidden = side !== "";
  }

  let lastSide = "";
  function sideChosen(event) {
    const side = radioValue("side");
    if (side === lastSide) return;
    const isFirst = lastSide === "";
    measures.first("rt_choice_ms", event);
    measures.last("rt_final_choice_ms", event);
    if (!isFirst) state.changes += 1;
    lastSide = side;
    showSide();
    const canRate = sideChanged(side) || isFirst;
    form.querySelector("#choice-status").textContent = text(canRate ? "chosen-first" : "chosen", { side });
    answered();
  }

  function choose(side, event) {
    if (busy()) return;
    setRadio("side", side);
    sideChosen(event);
  }

  function aidSwitched() {
    state.aid_switches += 1;
    save();
  }

  let pressed = { x: 0, y: 0 };
  form.addEventListener("pointerdown", (event) => { pressed = { x: event.clientX, y: event.clientY }; });

  // A label would give the focus to its radio button and scroll down to it: keep the place instead.
  function passageClicked(event, passage) {
    event.preventDefault();
    const moved = Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y);
    if (event.detail && moved > 8 && !window.getSelection().isCollapsed) return; // marking text, not a choice
    choose(document.getElementById(passage.htmlFor).value, event);
  }

  form.addEventListener("click", (event) => {
    const passage = event.target.closest("label.passage");
    if (passage) passageClicked(event, passage);
    else if (event.target.name === "side") sideChosen(event); // before `change`, whose time is later
  });
  form.addEventListener("change", (event) => {
    if (event.target.name === "side") sideChosen(event);
    else answered();
  });
  form.addEventListener("keydown", (event) => {
    // Enter on a radio button would send the form: here it only chooses.
    if (event.key !== "Enter" || event.target.type !== "radio") return;
    event.preventDefault();
    event.target.click();
  });

  return {
    read: () => ({ side: radioValue("side"), recognised: radioValue("recognised"), view: aid?.get() ?? "" }),
    restore(values) {
      setRadio("side", values.side);
      setRadio("recognised", values.recognised);
      if (values.view) aid?.set(values.view);
    },
    missing() {
      if (!radioValue("side")) {
        const group = form.querySelector("#question");
        return [{ name: "side", message: text("side-missing"), target: form.querySelector("#side-a"), group }];
      }
      if (!recognised || radioValue("recognised")) return ratingProblems(); // it is not asked again after advice
      const target = form.querySelector("#recognised-yes");
      const known = { name: "recognised", message: text("recognised-missing"), target, group: recognised };
      return [...ratingProblems(), known];
    },
    isRated: () => true,
    aidSwitches: () => (aid ? state.aid_switches : ""),
    begin() {
      lastSide = radioValue("side");
      showSide();
      listenForShortcuts(form.querySelector("#shortcuts"), [
        { keys: "a1", places: ".abstract, .sides", act: (event) => choose("A", event) },
        { keys: "b2", places: ".abstract, .sides", act: (event) => choose("B", event) },
        ...(aid ? [{ keys: "v", places: ".abstract, .sides, .aid", act: aid.next }] : []),
      ], signal);
    },
  };
}
