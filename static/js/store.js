// What the page remembers in the browser's localStorage, by trial token: the answer and the clock so
// far, and an answer that is being sent. Both survive a reload and a closed tab, and are forgotten
// once the server has the answer. Two tabs on one trial share them: the last to write wins.
// A browser that refuses storage (private mode, full disk) only loses the restoring.

const STATE = "trial-state:";
const PENDING = "trial-pending:";
const MAX_AGE_MS = 14 * 24 * 3600 * 1000;

function read(key) {
  try {
    return JSON.parse(window.localStorage.getItem(key));
  } catch {
    return null;
  }
}

function write(key, value) {
  try {
    window.localStorage.setItem(key, JSON.stringify({ ...value, saved_at: Date.now() }));
  } catch {
    // Nothing to do: the answer is still on the page.
  }
}

function remove(key) {
  try {
    window.localStorage.removeItem(key);
  } catch {
    // As above.
  }
}

export const loadState = (token) => read(STATE + token);
export const saveState = (token, state) => write(STATE + token, state);
export const clearState = (token) => remove(STATE + token);

export const loadPending = (token) => read(PENDING + token)?.fields ?? null;
export const savePending = (token, fields) => write(PENDING + token, { fields });
export const clearPending = (token) => remove(PENDING + token);

/** Calls `cleared()` when another tab forgets this trial because its answer is stored. */
export function onCleared(token, cleared, signal) {
  window.addEventListener("storage", (event) => {
    if (event.key === STATE + token && event.newValue === null) cleared();
  }, { signal });
}

/** Forget what is from long ago: its trials were answered or abandoned. */
export function dropOld() {
  try {
    for (const key of Object.keys(window.localStorage)) {
      if (!key.startsWith(STATE) && !key.startsWith(PENDING)) continue;
      const age = Date.now() - (read(key)?.saved_at ?? 0);
      if (age > MAX_AGE_MS) remove(key);
    }
  } catch {
    // No storage, nothing old.
  }
}
