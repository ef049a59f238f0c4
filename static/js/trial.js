// The trial page. The form works without this file; with it, choices are timed, stored over
// reloads and closed tabs, checked before sending, and sent without losing them to a bad network.

import { startAid } from "./aid.js";
import { keepOnly, showProblems } from "./errors.js";
import { startMeasures } from "./measures.js";
import { createSender } from "./sender.js";
import { listenForShortcuts } from "./shortcuts.js";
import { upgradeRating } from "./sliders.js";
import {
  clearPending, clearState, dropOld, loadPending, loadState, onCleared, saveState,
} from "./store.js";
import { text } from "./texts.js";
import { startClock } from "./timing.js";
import { onPage, turnTo } from "./turning.js";

const SAVE_EVERY_MS = 1000; // a crash loses no more of the clock than this

dropOld();
onPage((page) => {
  const form = document.querySelector("form[data-trial]");
  if (form) startTrial(form, page);
});

function startTrial(form, page) {
  const field = (name) => form.elements.namedItem(name);
  const token = field("trial_token").value;
  const saved = loadState(token);
  const pending = loadPending(token);
  const clock = startClock(page, saved);
  const measures = startMeasures(clock, saved);
  const ratings = [...form.querySelectorAll("[data-rating]")].map((node) => upgradeRating(node, rated));
  const recognised = form.querySelector(".recognised");
  const aidPanel = form.querySelector("#aid");
  const aid = aidPanel && startAid(aidPanel, form, aidSwitched);

  // `changes` counts every change of side after the first choice.
  const state = {
    changes: saved?.changes ?? 0,
    aid_switches: saved?.aid_switches ?? 0,
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
    const shown = { reminded: field("reminded").value, view: aid?.get() ?? "" };
    saveState(token, { ...state, ...measures.read(), ...clock.read(), ...answers(), ...shown });
  }

  /** Ratings are of a choice: they open once there is one. */
  function showSide() {
    const side = radioValue("side");
    form.dataset.side = side; // for browsers without :has()
    form.querySelector("#ratings-open").hidden = side === "";
    form.querySelector("#ratings-later").hidden = side !== "";
  }

  function restore(values) {
    setRadio("side", values.side);
    setRadio("recognised", values.recognised);
    for (const rating of ratings) if (values[rating.name]) rating.set(values[rating.name]);
    if (values.reminded) field("reminded").value = values.reminded;
    if (values.view) aid?.set(values.view);
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
    form.querySelector("#choice-status").textContent = text(isFirst ? "chosen-first" : "chosen", { side });
    answered();
  }

  function choose(side, event) {
    if (sender.busy()) return;
    setRadio("side", side);
    sideChosen(event);
  }

  function rated(name, event) {
    measures.first(`${name}_first_ms`, event);
    measures.last(`${name}_last_ms`, event);
    answered();
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

  /** The questions without an answer, as errors.js shows them; the ratings are asked once they are open. */
  function missing() {
    if (!radioValue("side")) {
      const group = form.querySelector("#question");
      return [{ name: "side", message: text("side-missing"), target: form.querySelector("#side-a"), group }];
    }
    const problems = [];
    if ("ratingsRequired" in form.dataset) {
      for (const { name, slider } of unrated()) {
        problems.push({ name, message: text(`${name}-missing`), target: slider, group: slider });
      }
    }
    if (!radioValue("recognised")) {
      const target = form.querySelector("#recognised-yes");
      problems.push({ name: "recognised", message: text("recognised-missing"), target, group: recognised });
    }
    return problems;
  }

  const unrated = () => ratings.filter((rating) => rating.get() === "");

  /** Once, where ratings may stay empty and some are: what reminds of them. */
  function reminders() {
    if (field("reminded").value || "ratingsRequired" in form.dataset) return [];
    return unrated().map(({ name, slider }) => (
      { name, message: text("reminder"), target: slider, group: slider, gentle: true }
    ));
  }

  /** Something was answered: messages go when their cause is gone. */
  function answered() {
    keepOnly(form, [...missing(), ...unrated()].map(({ name }) => name));
    save();
  }

  let continuedAt = 0; // the press itself, not the sending that follows from it
  function fillMeasures() {
    const { blur_count, hidden_ms } = clock.read();
    const values = {
      ...measures.read(), rt_ms: clock.at(continuedAt), changes: state.changes,
      aid_switches: aid ? state.aid_switches : "", blur_count, hidden_ms, reloads: state.reloads,
      viewport_width: window.innerWidth, viewport_height: window.innerHeight,
    };
    for (const [name, value] of Object.entries(values)) field(name).value = value;
  }

  function showSending(message, canRetry) {
    form.querySelector("#send-status").textContent = message;
    form.querySelector("#send-now").hidden = !canRetry;
    form.querySelector('[type="submit"]').setAttribute("aria-disabled", "true");
    form.querySelector("[data-answer]").inert = true;
  }

  const sender = createSender({
    token,
    url: form.action,
    show: showSending,
    signal: page.signal,
    stored(next, html) {
      stored = true;
      clearState(token);
      turnTo(next, html, { replaces: true });
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
    continuedAt ||= event.timeStamp;
    const problems = missing();
    if (problems.length) return showProblems(form, problems);
    const left = reminders();
    if (left.length) {
      field("reminded").value = "1";
      save();
      return showProblems(form, left);
    }
    keepOnly(form, []);
    fillMeasures();
    save();
    sender.send(Object.fromEntries(new FormData(form)));
  });
  form.addEventListener("click", (event) => {
    const passage = event.target.closest("label.passage");
    if (passage) passageClicked(event, passage);
    else if (event.target.name === "side") sideChosen(event); // before `change`, whose time is later
    else if (event.target.type === "submit") continuedAt = event.timeStamp;
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
  form.querySelector("#send-now").addEventListener("click", sender.retryNow);
  window.addEventListener("pagehide", save, { signal: page.signal });
  document.addEventListener("visibilitychange", save, { signal: page.signal }); // a phone may end a hidden page without a word
  onCleared(token, () => { stored = true; }, page.signal);
  const saving = setInterval(save, SAVE_EVERY_MS);
  page.signal.addEventListener("abort", () => clearInterval(saving));

  restore(pending ?? saved ?? {});
  lastSide = radioValue("side");
  showSide();
  listenForShortcuts(form.querySelector("#shortcuts"), [
    { keys: "a1", places: ".abstract, .sides", act: (event) => choose("A", event) },
    { keys: "b2", places: ".abstract, .sides", act: (event) => choose("B", event) },
    ...(aid ? [{ keys: "v", places: ".abstract, .sides, .aid", act: aid.next }] : []),
  ], page.signal);
  form.querySelector("[data-focus]:not([hidden] *)")?.focus(); // a number field that had it is a slider now
  if (pending) {
    for (const [name, value] of Object.entries(pending)) {
      if (field(name)?.type === "hidden") field(name).value = value;
    }
    sender.send(Object.fromEntries(new FormData(form)));
  } else {
    clearPending(token);
  }
}
