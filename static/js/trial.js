// The trial page. The form works without this file; with it, answers are timed, stored over
// reloads and closed tabs, checked before sending, and sent without losing them to a bad network.

import { keepOnly, showProblems } from "./errors.js";
import { startMeasures } from "./measures.js";
import { createSender } from "./sender.js";
import { startSides } from "./sides.js";
import { upgradeRating } from "./sliders.js";
import {
  clearPending, clearState, dropOld, loadPending, loadState, onCleared, saveState,
} from "./store.js";
import { text } from "./texts.js";
import { startClock } from "./timing.js";
import { watchTranslation } from "./translation.js";
import { onPage, turnTo } from "./turning.js";
import { startWriting } from "./writing.js";

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
  const translation = watchTranslation(form, saved?.translated, page.signal);
  const ratings = [...form.querySelectorAll("[data-rating]")].map((node) => upgradeRating(node, rated));

  // `changes` counts every change of side after the first choice, or every tick and untick of "I do not know".
  const state = {
    changes: saved?.changes ?? 0,
    aid_switches: saved?.aid_switches ?? 0,
    // Opened again, in whichever tab; not by the server, which shows a rejected answer's page again.
    reloads: saved ? saved.reloads + (saved.submitted ? 0 : 1) : 0,
    submitted: false,
  };
  let stored = false;

  function answers() {
    const given = task.read();
    for (const rating of ratings) given[rating.name] = rating.get();
    return given;
  }

  function save() {
    if (stored) return; // leaving after success must not bring the cleared state back
    const reminded = field("reminded").value;
    const translated = translation.get();
    saveState(token, { ...state, ...measures.read(), ...clock.read(), ...answers(), reminded, translated });
  }

  function restore(values) {
    task.restore(values);
    for (const { name, set } of ratings) if (name in values) set(values[name]);
    if (values.reminded) field("reminded").value = values.reminded;
  }

  function rated(name, event) {
    measures.first(`${name}_first_ms`, event);
    measures.last(`${name}_last_ms`, event);
    answered();
  }

  /** After advice: the rating of the first answer is of its side alone. Returns whether the other side is to be rated. */
  function sideChanged(side) {
    const { firstSide, firstConfidence } = form.dataset;
    if (!firstSide) return false;
    ratings.find(({ name }) => name === "confidence").set(side === firstSide ? firstConfidence : "");
    return side !== firstSide;
  }

  const unrated = () => (task.isRated() ? ratings.filter((rating) => rating.get() === "") : []);

  /** The ratings that are left out and may not be, as errors.js shows them; asked once they are open. */
  function ratingProblems() {
    if (!("ratingsRequired" in form.dataset)) return [];
    return unrated().map(({ name, slider }) => (
      { name, message: text(`${name}-missing`), target: slider, group: slider }
    ));
  }

  /** Once, where ratings may stay empty and some are: what reminds of them. */
  function reminders() {
    if (field("reminded").value || "ratingsRequired" in form.dataset) return [];
    return unrated().map(({ name, slider }) => (
      { name, message: text("reminder"), target: slider, group: slider, gentle: true }
    ));
  }

  /** Something was answered: messages go when their cause is gone. */
  function answered() {
    keepOnly(form, [...task.missing(), ...unrated()].map(({ name }) => name));
    save();
  }

  let continuedAt = 0; // the press itself, not the sending that follows from it
  function fillMeasures() {
    const { blur_count, hidden_ms } = clock.read();
    const values = {
      ...measures.read(), rt_ms: clock.at(continuedAt), changes: state.changes,
      aid_switches: task.aidSwitches(), blur_count, hidden_ms, reloads: state.reloads,
      viewport_width: window.innerWidth, viewport_height: window.innerHeight,
      translated: translation.get(),
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
    const problems = task.missing();
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
    if (event.target.type === "submit") continuedAt = event.timeStamp;
  });
  form.querySelector("#send-now").addEventListener("click", sender.retryNow);
  window.addEventListener("pagehide", save, { signal: page.signal });
  document.addEventListener("visibilitychange", save, { signal: page.signal }); // a phone may end a hidden page without a word
  onCleared(token, () => {
    stored = true;
    clearState(token); // what this tab kept before it heard of it
  }, page.signal);
  const saving = setInterval(save, SAVE_EVERY_MS);
  page.signal.addEventListener("abort", () => clearInterval(saving));

  // What is asked: {read(), restore(values), missing(), isRated(), aidSwitches(), begin()}
  const startTask = form.querySelector("#answer_text") ? startWriting : startSides;
  const task = startTask(form, {
    measures, state, answered, save, sideChanged, ratingProblems, busy: sender.busy, signal: page.signal,
  });
  restore(pending ?? saved ?? {});
  task.begin();
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
