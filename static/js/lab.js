// Keeps a study's page current: every 10 seconds (or as its data-live-seconds says), while it is visible,
// the parts that changed are replaced. Without JavaScript the page shows the state at which it was loaded.

import { offerCopies } from "./copy.js";
import { parsed } from "./html.js";

const root = document.getElementById("study-live");
const state = document.getElementById("live-state");
const INTERVAL_MS = 1000 * Number(root?.dataset.liveSeconds ?? 10);
let timer = 0;
let isAsking = false;
let isOver = false;

if (root?.dataset.liveUrl) {
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stop();
    else refresh();
  });
  document.getElementById("items-panel")?.addEventListener("toggle", refresh);
  plan();
}

offerCopies(document);

function plan() {
  stop();
  if (!document.hidden && !isOver) timer = window.setTimeout(refresh, INTERVAL_MS);
}

function stop() {
  window.clearTimeout(timer);
}

async function refresh() {
  if (isAsking || isOver) return;
  isAsking = true;
  stop();
  try {
    const response = await fetch(liveUrl(), { headers: { Accept: "text/html" } });
    if (response.redirected || response.status === 404) {
      // Signed out, or no longer a member: the page itself says what to do.
      window.location.reload();
      return;
    }
    if (!response.ok) throw new Error(`status ${response.status}`);
    replaceParts(await response.text());
    state.textContent = "";
  } catch {
    state.textContent = "The latest numbers could not be fetched; trying again.";
  } finally {
    isAsking = false;
    plan();
  }
}

function liveUrl() {
  const url = new URL(root.dataset.liveUrl, window.location.href);
  if (document.getElementById("items-panel")?.open) url.searchParams.set("items", "1");
  return url;
}

function replaceParts(html) {
  const fragment = parsed(html);
  for (const part of fragment.querySelectorAll("[data-live]")) {
    const present = document.getElementById(part.id);
    if (!present || present.outerHTML === part.outerHTML) continue;
    // A reader who is on a link of this part stays on it; a scrolled table stays where it is.
    const focused = present.contains(document.activeElement) ? document.activeElement.id : "";
    const scrolled = present.scrollLeft;
    present.replaceWith(document.adoptNode(part));
    part.scrollLeft = scrolled;
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }
  say(fragment.querySelector("[data-live-say]")?.dataset.liveSay);
  isOver = fragment.querySelector("[data-live-over]") !== null;
}

// What became of it, to those who do not see the page change; once for each change.
function say(news) {
  if (!news || news === root.dataset.liveSay) return;
  root.dataset.liveSay = news;
  document.getElementById("live-said").textContent = news;
}
