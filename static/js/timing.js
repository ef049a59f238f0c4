// How long the page has been read and how often it was left.
//
// elapsed_ms   integer ms since the page was first painted, summed over reloads and reopened tabs of the same
//              trial (the time while no tab has it open is not in it); from performance.now() and
//              the timeStamp of events, one clock that never jumps with the computer's
// blur_count   how often the window lost the focus or the tab was hidden (one leaving counts once); a page
//              that is being unloaded, as by a reload, is hidden as well, but nobody has left it
// hidden_ms    ms for which the tab was hidden; a visible window without focus is not hidden

/** Call `found(ms)` with the time of the page's first paint; again if a better value arrives. */
function onFirstPaint(cameWithDocument, found) {
  let exact = false;
  if (cameWithDocument) try {
    new PerformanceObserver((list, observer) => {
      const paint = list.getEntriesByName("first-contentful-paint")[0];
      if (!paint) return;
      exact = true;
      observer.disconnect();
      found(paint.startTime);
    }).observe({ type: "paint", buffered: true });
  } catch {
    // No paint timing in this browser
  }
  // The second frame comes close, and is all that there is of a page put in another's place
  requestAnimationFrame(() => requestAnimationFrame((now) => exact || found(now)));
}

/** A number from storage; whatever else is there counts as nothing. */
const stored = (number) => (Number.isFinite(number) && number > 0 ? number : 0);

/** A clock of this page (turning.js) that goes on from `saved` ({elapsed_ms, blur_count, hidden_ms}). */
export function startClock({ signal, openedAt }, saved) {
  let firstPaint = null;
  let opened = openedAt ?? performance.now(); // stands in for the paint until the browser reports it
  let away = false;
  let unloading = false;
  let hiddenSince = null;
  let blurCount = stored(saved?.blur_count);
  let hiddenMs = stored(saved?.hidden_ms);
  const before = stored(saved?.elapsed_ms);
  onFirstPaint(openedAt === null, (ms) => { firstPaint = ms; });

  function notice(isAway) {
    if (isAway && !away && !unloading) blurCount += 1;
    away = isAway;
  }
  window.addEventListener("pagehide", () => { unloading = true; }, { signal });
  window.addEventListener("blur", () => notice(true), { signal });
  window.addEventListener("focus", () => notice(document.hidden), { signal });
  document.addEventListener("visibilitychange", () => {
    const now = performance.now();
    if (document.hidden) {
      notice(true);
      if (!unloading) hiddenSince ??= now;
    } else {
      if (hiddenSince !== null) hiddenMs += now - hiddenSince;
      else opened = now; // opened in the background, first seen now
      hiddenSince = null;
      notice(!document.hasFocus());
    }
  }, { signal });

  /** What elapsed_ms was, or is, at this time of the browser's clock. */
  function at(time) {
    const shown = firstPaint ?? (document.hidden ? time : opened);
    return Math.round(before + Math.max(0, time - shown));
  }

  return {
    at,
    read() {
      const now = performance.now();
      const hiding = hiddenSince === null ? 0 : now - hiddenSince;
      return {
        elapsed_ms: at(now),
        blur_count: blurCount,
        hidden_ms: Math.round(hiddenMs + hiding),
      };
    },
  };
}
