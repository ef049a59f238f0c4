// Saves what is typed, a moment after it and on leaving. What is not saved yet is kept in this browser, and offered when the
// page is opened again.

import { ofSite } from "../html.js";
import { text } from "../texts.js";
import * as kept from "./kept.js";
import { type } from "./typing.js";

const PAUSE_MS = 2000;
const RETRY_MS = 10_000;
const MOST_ON_LEAVING = 60_000; // bytes of a request that outlives its page
const HIDDEN = ["csrfmiddlewaretoken", "opened", "begun", "draft", "window"];

const valuesOf = (form) =>
  Object.fromEntries([...new FormData(form)].filter(([name]) => !HIDDEN.includes(name)));

export function startSaving(form) {
  const { markup } = form.elements;
  // What was typed before this script ran is not stored
  let stored = markup.value === markup.defaultValue ? JSON.stringify(valuesOf(form)) : "";
  let timer = 0;
  let sending = null;
  let isStopped = "conflict" in form.dataset; // somebody else was quicker: until the writer says to save

  form.addEventListener("formdata", replaceNuls);
  form.elements.window.value = `${Date.now()}-${Math.random().toString(36).slice(2)}`;
  const isChanged = () => JSON.stringify(valuesOf(form)) !== stored;

  function plan(ms) {
    window.clearTimeout(timer);
    timer = window.setTimeout(save, ms);
  }

  async function save({ isAsked = false } = {}) {
    window.clearTimeout(timer);
    while (sending) await sending;
    if (isStopped && !isAsked) return false;
    if (!isChanged() && !isAsked) return true;
    sending = send();
    const isSaved = await sending;
    sending = null;
    if (isSaved && isChanged()) plan(PAUSE_MS);
    return isSaved;
  }

  async function send() {
    const sent = JSON.stringify(valuesOf(form));
    say("saving");
    const answer = await post(form);
    if (answer.kind === "stored") {
      stored = sent;
      isStopped = false;
      document.getElementById("conflict")?.remove();
      kept.forget(form);
      moveTo(answer.state);
      const { is_finished: isFinished, why } = answer.state;
      say(isFinished ? "saved" : why ? "kept_why" : "kept", { at: clock(), why });
      if (isChanged()) kept.keep(form, valuesOf(form));
      return true;
    }
    say(answer.kind);
    if (answer.kind === "conflict") {
      isStopped = true;
      compare(answer.state);
    } else {
      plan(RETRY_MS);
    }
    return false;
  }

  function moveTo({ url, opened }) {
    form.elements.opened.value = opened;
    form.action = form.dataset.desk = url;
    window.history.replaceState(null, "", url);
  }

  function compare(state) {
    document.getElementById("conflict")?.remove();
    form.insertAdjacentHTML("beforebegin", ofSite(state.html));
    moveTo(state);
    document.getElementById("conflict").focus();
  }

  form.addEventListener("input", () => {
    kept.keep(form, valuesOf(form));
    plan(PAUSE_MS);
  });
  // What is typed is not wanted any more
  function drop() {
    isStopped = true;
    kept.forget(form);
  }
  form.addEventListener("submit", async (event) => {
    const name = event.submitter?.name;
    if (name === "discard") return drop();
    event.preventDefault();
    if (!(await save({ isAsked: true })) || name !== "to_review") return;
    const review = Object.assign(document.createElement("input"), { type: "hidden", name, value: "1" });
    isStopped = true; // what leaving the page would save is saved
    form.append(review);
    form.submit();
  });
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "s") return;
    event.preventDefault();
    save({ isAsked: true });
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-forget]")) drop();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && !sending) save();
  });
  window.addEventListener("online", () => save());
  offer(form);
  if (!stored) form.dispatchEvent(new InputEvent("input"));
}

// Whatever is sent has a NUL as HTML reads it: PostgreSQL's texts hold none
function replaceNuls({ formData }) {
  for (const [name, value] of [...formData]) {
    if (value.includes("\0")) formData.set(name, value.replaceAll("\0", "\ufffd"));
  }
}

async function post(form) {
  const body = new FormData(form);
  const keepalive = new Blob([...body.values()]).size < MOST_ON_LEAVING;
  try {
    const response = await fetch(form.action, { method: "POST", body, keepalive, headers: { Accept: "application/json" } });
    if (response.redirected || [400, 403, 404, 413].includes(response.status)) return { kind: "refused" };
    if (response.status !== 409 && !response.ok) return { kind: "offline" };
    return { kind: response.ok ? "stored" : "conflict", state: await response.json() };
  } catch {
    return { kind: "offline" };
  }
}

const clock = (at = new Date()) => at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

let shown = "";
function say(name, values = {}) {
  const sentence = text(name, values);
  document.getElementById("save-state").textContent = sentence;
  if (name === "saving" || name === shown) return; // said aloud when it becomes another, not every few seconds
  shown = name;
  document.getElementById("save-said").textContent = sentence;
}

function offer(form) {
  const box = document.getElementById("kept-here");
  for (const one of kept.found(form)) {
    if (JSON.stringify(one.values) === JSON.stringify(valuesOf(form))) {
      kept.forget(form, one.key);
      continue;
    }
    const offered = document.getElementById("kept-offer").content.cloneNode(true).firstElementChild;
    offered.querySelector("time").textContent = new Date(one.at).toLocaleString();
    offered.querySelector("q").textContent = one.values.markup.trim().slice(0, 120);
    offered.querySelector("[data-take]").addEventListener("click", () => {
      offered.remove();
      kept.forget(form, one.key);
      take(form, one);
    });
    offered.querySelector("[data-drop]").addEventListener("click", () => {
      offered.remove();
      kept.forget(form, one.key);
    });
    box.append(offered);
  }
}

// What was stored since is not written over: the server compares with what this text was opened with.
function take(form, { key, values, opened }) {
  for (const [name, value] of Object.entries(values)) {
    if (name !== "markup" && form.elements[name]) form.elements[name].value = value;
  }
  if (key.endsWith(form.dataset.desk)) form.elements.opened.value = opened ?? "";
  const { markup } = form.elements;
  type(markup, 0, markup.value.length, values.markup);
  form.dispatchEvent(new InputEvent("input", { bubbles: true }));
}
