// Turns the pages: what the server answers to a form brings the next page along, and takes the place of the one before
// in the same document. A page begins with what was given to `onPage`, and ends with its signal.

import { parsed } from "./html.js";

const DOUBLE_CLICK_MS = 500; // what systems take for one
const begins = [];
let ending = new AbortController();
let openedAt = null; // null for the page that came with the document
let path = window.location.pathname;

// Screen readers say by themselves which page a document is; of one put in its place they must be told
const announcer = document.createElement("p");
announcer.className = "visually-hidden";
announcer.setAttribute("role", "status");
document.body.append(announcer);

const page = () => ({ signal: ending.signal, openedAt });

/** Calls `begin({signal, openedAt})` for this page and every later one; `signal` aborts when the page ends. */
export function onPage(begin) {
  begins.push(begin);
  begin(page());
}

function copyAttributes(from, to) {
  for (const { name } of [...to.attributes]) to.removeAttribute(name);
  for (const { name, value } of from.attributes) to.setAttribute(name, value);
}

function putInPlace(next) {
  copyAttributes(next.documentElement, document.documentElement);
  copyAttributes(next.body, document.body);
  for (const node of [...document.body.childNodes]) if (node !== announcer) node.remove();
  announcer.before(...next.body.childNodes);
  document.title = announcer.textContent = next.title;
  window.scrollTo(0, 0);
  document.getElementById("content").focus({ preventScroll: true });
}

/**
 * Go to the address `next`: by putting `html`, its page, in place, or by asking for it where there is none. `replaces`
 * says that the history holds `next` instead of this page, not after it.
 */
export function turnTo(next, html, { replaces = false } = {}) {
  const url = new URL(next, window.location.href);
  const found = parsed(html ?? "");
  if (url.origin !== window.location.origin || !found.getElementById("content")) {
    window.location[replaces ? "replace" : "assign"](url);
    return;
  }
  ending.abort();
  ending = new AbortController();
  window.history[replaces ? "replaceState" : "pushState"](null, "", url);
  path = url.pathname;
  openedAt = performance.now();
  putInPlace(found);
  for (const begin of begins) begin(page());
}

// The second click of a double click was meant for the page before
window.addEventListener("click", (event) => {
  if (event.detail < 2 || openedAt === null || event.timeStamp > openedAt + DOUBLE_CLICK_MS) return;
  event.preventDefault();
  event.stopPropagation();
}, { capture: true });

// Never show a stale copy: the server knows which page comes
window.addEventListener("pageshow", (event) => {
  if (event.persisted) window.location.reload();
});
window.addEventListener("popstate", () => {
  if (window.location.pathname !== path) window.location.reload(); // not for #content
});
