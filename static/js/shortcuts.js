// Single keys: A or 1 and B or 2 choose a side, V changes what the reading aid shows. A visible switch turns them off
// (WCAG 2.1.4: speech input would trigger single letters); the browser remembers it.

const REMEMBERED = "trial-shortcuts";
const CONTROLS = "a[href], button, input, select, textarea, summary, [contenteditable]";

function remembered() {
  try {
    return window.localStorage.getItem(REMEMBERED) !== "off";
  } catch {
    return true;
  }
}

function remember(on) {
  try {
    window.localStorage.setItem(REMEMBERED, on ? "on" : "off");
  } catch {
    // Not remembered, still switched for this page.
  }
}

/** Whether the focus is in one of these places, or on no control at all: on a slider a digit is no choice of a side. */
function isFor(places, target) {
  if (!(target instanceof Element)) return true;
  return target.closest(places) !== null || target.closest(CONTROLS) === null;
}

/**
 * `shortcuts`: [{keys, places, act}]; calls `act(event)` for a key while the switch in `panel` is on and the focus is in
 * `places` (a selector) or on no control, until `signal` aborts.
 */
export function listenForShortcuts(panel, shortcuts, signal) {
  const toggle = panel.querySelector("input");
  panel.hidden = false;
  toggle.checked = remembered();
  toggle.addEventListener("change", () => remember(toggle.checked));
  document.addEventListener("keydown", (event) => {
    if (!toggle.checked || event.repeat || event.defaultPrevented) return;
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    const key = event.key.toLowerCase();
    for (const { keys, places, act } of shortcuts) {
      if (keys.includes(key) && isFor(places, event.target)) act(event);
    }
  }, { signal });
}
