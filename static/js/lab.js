// Keeps a study's page current: every 10 seconds, while somebody looks at it, the parts that changed
// are replaced. Without JavaScript the page shows the state at which it was loaded.

const INTERVAL_MS = 10_000;

const root = document.getElementById("study-live");
const state = document.getElementById("live-state");
let timer = 0;
let isAsking = false;

if (root) {
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) stop();
    else refresh();
  });
  document.getElementById("items-panel")?.addEventListener("toggle", refresh);
  plan();
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", () => copy(button));
}

function plan() {
  stop();
  if (!document.hidden) timer = window.setTimeout(refresh, INTERVAL_MS);
}

function stop() {
  window.clearTimeout(timer);
}

async function refresh() {
  if (isAsking) return;
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
  const fragment = new DOMParser().parseFromString(html, "text/html");
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
}

async function copy(button) {
  const field = document.getElementById(button.dataset.copy);
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    button.textContent = "Copied";
  } catch {
    // No clipboard on plain HTTP: the text is selected, Ctrl+C does it.
    button.textContent = "Press Ctrl+C";
  }
  window.setTimeout(() => { button.textContent = "Copy"; }, 2000);
}
