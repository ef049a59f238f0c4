// Sends one answer until the server has it. A lost network or a failing server is retried with the
// same idempotency key, so the answer is stored once however often it arrives. While it is on its
// way it is in localStorage as well: a closed tab or a reload does not lose it.

import { FIRST_WAIT_MS, LONGEST_WAIT_MS, post } from "./post.js";
import { clearPending, savePending } from "./store.js";
import { text } from "./texts.js";

/**
 * `show(text, canRetry)` displays the state; `stored(next, page)` and `rejected()` end the sending.
 * `signal` aborts with the page. Returns {send(fields), retryNow(), busy()}.
 */
export function createSender({ token, url, show, stored, rejected, signal }) {
  let fields = null;
  let wait = FIRST_WAIT_MS;
  let timer = null;
  let inFlight = false;

  async function tryOnce() {
    if (fields === null || inFlight) return;
    inFlight = true;
    clearTimeout(timer);
    show(text("saving"), false);
    const result = await post(url, fields);
    inFlight = false;
    if (result.kind === "failed") {
      show(text("waiting"), true);
      timer = setTimeout(tryOnce, wait);
      wait = Math.min(wait * 2, LONGEST_WAIT_MS);
      return;
    }
    fields = null;
    clearPending(token);
    if (result.kind === "stored") stored(result.next, result.page);
    else rejected();
  }

  window.addEventListener("online", tryOnce, { signal });
  // Leaving now would delay the answer until the participant comes back to this browser.
  window.addEventListener("beforeunload", (event) => {
    if (fields !== null) event.preventDefault();
  }, { signal });

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
