// What the page remembers in the browser, by trial token.
// sessionStorage: the answer so far, so that a reload restores it (this tab only).
// localStorage: an answer that is being sent, so that it survives a closed tab.
// A browser that refuses storage (private mode, full disk) only loses the restoring.

const STATE = "trial-state:";
const PENDING = "trial-pending:";
const PENDING_MAX_AGE_MS = 14 * 24 * 3600 * 1000;

function read(storage, key) {
  try {
    return JSON.parse(window[storage].getItem(key));
  } catch {
    return null;
  }
}

function write(storage, key, value) {
  try {
    window[storage].setItem(key, JSON.stringify(value));
  } catch {
    // Nothing to do: the answer is still on the page.
  }
}

function remove(storage, key) {
  try {
    window[storage].removeItem(key);
  } catch {
    // As above.
  }
}

export const loadState = (token) => read("sessionStorage", STATE + token);
export const saveState = (token, state) => write("sessionStorage", STATE + token, state);
export const clearState = (token) => remove("sessionStorage", STATE + token);

export const loadPending = (token) => read("localStorage", PENDING + token)?.fields ?? null;
export const savePending = (token, fields) =>
  write("localStorage", PENDING + token, { fields, saved_at: Date.now() });
export const clearPending = (token) => remove("localStorage", PENDING + token);

/** Forget answers of long ago: their trials were answered or abandoned. */
export function dropOldPending() {
  try {
    for (const key of Object.keys(window.localStorage)) {
      if (!key.startsWith(PENDING)) continue;
      const age = Date.now() - (read("localStorage", key)?.saved_at ?? 0);
      if (age > PENDING_MAX_AGE_MS) remove("localStorage", key);
    }
  } catch {
    // No storage, nothing old.
  }
}
