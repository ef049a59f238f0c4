// Keys A or 1 and B or 2 choose a side. A visible switch turns them off (WCAG 2.1.4: speech input
// would trigger single letters); the browser remembers it.

const REMEMBERED = "trial-shortcuts";
const SIDES = { a: "A", 1: "A", b: "B", 2: "B" };

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

function isTyping(target) {
  return target instanceof Element && target.closest(
    'textarea, select, [contenteditable], input:not([type="radio"], [type="range"], [type="checkbox"])',
  ) !== null;
}

/** Calls `choose(side)` for a shortcut key while the switch in `panel` is on. */
export function listenForShortcuts(panel, choose) {
  const toggle = panel.querySelector("input");
  panel.hidden = false;
  toggle.checked = remembered();
  toggle.addEventListener("change", () => remember(toggle.checked));
  document.addEventListener("keydown", (event) => {
    if (!toggle.checked || event.repeat || event.defaultPrevented) return;
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    const side = SIDES[event.key.toLowerCase()];
    if (side && !isTyping(event.target)) choose(side);
  });
}
