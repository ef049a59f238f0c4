// Sends a form as the page's own script does: the answer is an address, and the page that is there.

const TIMEOUT_MS = 20000;
// Before what failed is sent again: twice as long each time, up to the longest
export const FIRST_WAIT_MS = 1000;
export const LONGEST_WAIT_MS = 30000;

/**
 * One request: {kind: "stored", next, page} | {kind: "rejected"} | {kind: "failed"}. `page` is the HTML of the page at
 * `next`, or undefined.
 */
export async function post(url, fields) {
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
    if (response.ok) {
      const { next, page } = await response.json();
      return next ? { kind: "stored", next, page } : { kind: "failed" };
    }
    const retryable = response.status >= 500 || [408, 425, 429].includes(response.status);
    return { kind: retryable ? "failed" : "rejected" };
  } catch {
    return { kind: "failed" };
  } finally {
    clearTimeout(timer);
  }
}
