// Sends one answer until the server has it. A lost network or a failing server is retried with the
// same idempotency key, so the answer is stored once however often it arrives. While it is on its
// way it is in localStorage as well: a closed tab or a reload does not lose it.

import { clearPending, savePending } from "./store.js";
import { text } from "./texts.js";

const TIMEOUT_MS = 20000;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30000;

/** One request: {kind: "stored", next} | {kind: "rejected"} | {kind: "failed"}. */
async function sendOnce(url, fields) {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), TIMEOUT_MS);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { Accept: "application/json" },
      body: new URLSearchParams(fields),
      credentials: "same-origin",
      redirect: "manual",
      signal: abort.signal,
    });
    if (response.ok) return { kind: "stored", next: (await response.json()).next };
    const retryable = response.status >= 500 || [408, 425, 429].includes(response.status);
    return { kind: retryable ? "failed" : "rejected" };
  } catch {
    return { kind: "failed" };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * `show(text, canRetry)` displays the state; `stored(next)` and `rejected()` end the sending.
 * Returns {send(fields), retryNow(), busy()}.
 */
export function createSender({ token, url, show, stored, rejected }) {
  let fields = null;
  let wait = FIRST_WAIT_MS;
  let timer = null;
  let inFlight = false;

  async function tryOnce() {
    if (fields === null || inFlight) return;
    inFlight = true;
    clearTimeout(timer);
    show(text("saving"), false);
    const result = await sendOnce(url, fields);
    inFlight = false;
    if (result.kind === "failed") {
      show(text("waiting"), true);
      timer = setTimeout(tryOnce, wait);
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
      return;
    }
    fields = null;
    clearPending(token);
    if (result.kind === "stored") stored(result.next);
    else rejected();
  }

  window.addEventListener("online", tryOnce);
  // Leaving now would delay the answer until the participant comes back to this browser.
  window.addEventListener("beforeunload", (event) => {
    if (fields !== null) event.preventDefault();
  });

  return {
    send(newFields) {
      if (fields !== null) return; // a double click sends once
      fields = newFields;
      wait = FIRST_WAIT_MS;
      const { csrfmiddlewaretoken, ...fieldsToStore } = newFields; // a fresh page brings its own
      savePending(token, fieldsToStore);
      tryOnce();
    },
    retryNow: tryOnce,
    busy: () => fields !== null,
  };
}
