// The trial page. The form works without this file; with it, choices are timed, stored over
// reloads and closed tabs, checked before sending, and sent without losing them to a bad network.

import { clearErrors, showErrors } from "./errors.js";
import { createSender } from "./sender.js";
import { listenForShortcuts } from "./shortcuts.js";
import { upgradeRating } from "./sliders.js";
import {
  clearPending, clearState, dropOld, loadPending, loadState, onCleared, saveState,
} from "./store.js";
import { startClock } from "./timing.js";

const SAVE_EVERY_MS = 1000; // a crash loses no more of the clock than this
const form = document.querySelector("form[data-trial]");
const field = (name) => form.elements.namedItem(name);
const token = field("trial_token").value;
const saved = loadState(token);
const pending = loadPending(token);
const clock = startClock(saved ?? {});
const ratings = [...form.querySelectorAll("[data-rating]")].map((node) => upgradeRating(node, save));

// rt_choice_ms is the time of the FIRST choice; `changes` counts every later change of side.
const state = {
  rt_choice_ms: saved?.rt_choice_ms ?? "",
  changes: saved?.changes ?? 0,
  // Opened again, in whichever tab; not by the server, which shows a rejected answer's page again.
  reloads: saved ? saved.reloads + (saved.submitted ? 0 : 1) : 0,
  submitted: false,
};
let stored = false;

const radioValue = (name) => field(name)?.value ?? "";

function setRadio(name, value) {
  if (value && field(name)) field(name).value = value;
}

function answers() {
  const given = { side: radioValue("side"), recognised: radioValue("recognised") };
  for (const rating of ratings) given[rating.name] = rating.get();
  return given;
}

function save() {
  if (stored) return; // leaving after success must not bring the cleared state back
  const reminded = field("reminded").value;
  saveState(token, { ...state, ...clock.read(), ...answers(), reminded });
}

function showSide() {
  form.dataset.side = radioValue("side"); // for browsers without :has()
}

function restore(values) {
  setRadio("side", values.side);
  setRadio("recognised", values.recognised);
  for (const rating of ratings) if (values[rating.name]) rating.set(values[rating.name]);
  if (values.reminded) field("reminded").value = values.reminded;
}

let lastSide = "";
function sideChosen() {
  const side = radioValue("side");
  if (side === lastSide) return;
  if (lastSide === "" && state.rt_choice_ms === "") state.rt_choice_ms = clock.read().elapsed_ms;
  else state.changes += 1;
  lastSide = side;
  showSide();
  save();
}

function choose(side) {
  if (sender.busy()) return;
  setRadio("side", side);
  sideChosen();
  dropResolved();
  form.querySelector("#choice-status").textContent = `Side ${side} chosen`;
}

let pressed = { x: 0, y: 0 };
form.addEventListener("pointerdown", (event) => { pressed = { x: event.clientX, y: event.clientY }; });

// A label would give the focus to its radio button and scroll down to it: keep the place instead.
function passageClicked(event) {
  const passage = event.target.closest("label.passage");
  if (!passage) return;
  event.preventDefault();
  const moved = Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y);
  if (event.detail && moved > 8 && !window.getSelection().isCollapsed) return; // marking text, not a choice
  choose(document.getElementById(passage.htmlFor).value);
}

function missing() {
  const problems = [];
  if (!radioValue("side")) {
    problems.push({
      id: "side-error", message: "Choose the version that you think is the original.",
      target: form.querySelector("#side-a"), group: form.querySelector("#question"),
      before: form.querySelector(".sides-prompt"),
    });
  }
  if ("ratingsRequired" in form.dataset) {
    for (const { name, slider, get } of ratings) {
      if (get() !== "") continue;
      const message = name === "confidence" ? "Rate your confidence." : "Rate your expertise.";
      problems.push({ id: `${name}-error`, message, target: slider, group: slider, before: slider });
    }
  }
  const recognised = form.querySelector(".recognised");
  if (recognised && !radioValue("recognised")) {
    problems.push({
      id: "recognised-error", message: "Say whether you have seen this study before.",
      target: form.querySelector("#recognised-yes"), group: recognised,
      before: recognised.querySelector(".choices"),
    });
  }
  return problems;
}

/** Messages go when their cause is gone. */
function dropResolved() {
  if (!missing().length) clearErrors(form);
}

/** Once, when ratings may stay empty and some are: true if the reminder was shown now. */
function remind() {
  if (field("reminded").value) return false;
  if (ratings.every((rating) => rating.get() !== "")) return false;
  field("reminded").value = "1";
  const reminder = form.querySelector("#reminder");
  reminder.hidden = false;
  reminder.focus();
  return true;
}

function fillMeasures() {
  const { elapsed_ms, blur_count, hidden_ms } = clock.read();
  const measures = {
    rt_choice_ms: state.rt_choice_ms, rt_ms: elapsed_ms, changes: state.changes,
    blur_count, hidden_ms, reloads: state.reloads,
    viewport_width: window.innerWidth, viewport_height: window.innerHeight,
  };
  for (const [name, value] of Object.entries(measures)) field(name).value = value;
}

function showSending(text, canRetry) {
  form.querySelector("#send-status").textContent = text;
  form.querySelector("#send-now").hidden = !canRetry;
  form.querySelector('[type="submit"]').setAttribute("aria-disabled", "true");
  form.querySelector("[data-answer]").inert = true;
}

const sender = createSender({
  token,
  url: form.action,
  show: showSending,
  stored(next) {
    stored = true;
    clearState(token);
    window.location.replace(new URL(next, window.location.href));
  },
  rejected() {
    // The server shows the page with what is wrong; the answers stay in localStorage, in case
    // that sending fails, too.
    state.submitted = true;
    save();
    form.submit();
  },
});

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (sender.busy()) return;
  const problems = missing();
  if (problems.length) return showErrors(form, problems);
  clearErrors(form);
  if (remind()) return save();
  fillMeasures();
  save();
  sender.send(Object.fromEntries(new FormData(form)));
});
form.addEventListener("click", passageClicked);
form.addEventListener("change", (event) => {
  if (event.target.name === "side") sideChosen();
  else save();
  dropResolved();
});
form.addEventListener("keydown", (event) => {
  // Enter on a radio button would send the form: here it only chooses.
  if (event.key !== "Enter" || event.target.type !== "radio") return;
  event.preventDefault();
  event.target.click();
});
form.querySelector("#send-now").addEventListener("click", sender.retryNow);
window.addEventListener("pagehide", save);
document.addEventListener("visibilitychange", save); // a phone may end a hidden page without a word
onCleared(token, () => { stored = true; });
setInterval(save, SAVE_EVERY_MS);

dropOld();
restore(pending ?? saved ?? {});
lastSide = radioValue("side");
showSide();
listenForShortcuts(form.querySelector("#shortcuts"), choose);
if (pending) {
  for (const [name, value] of Object.entries(pending)) {
    if (field(name)?.type === "hidden") field(name).value = value;
  }
  sender.send(Object.fromEntries(new FormData(form)));
} else {
  clearPending(token);
}
