// When things happened on this page, on the clock of timing.js, over reloads and reopened tabs.

const NAMES = [
  "rt_choice_ms", "rt_final_choice_ms",
  "confidence_first_ms", "confidence_last_ms", "expertise_first_ms", "expertise_last_ms",
  "answer_first_ms", "answer_last_ms",
];

/** Goes on from what was `saved`. An event's own time counts: a busy page handles it later than it happened. */
export function startMeasures(clock, saved) {
  const before = Object.fromEntries(
    NAMES.filter((name) => Number.isFinite(saved?.[name])).map((name) => [name, saved[name]]),
  );
  // Kept as the browser's times until they are read: it may report the first paint, from which we count, later.
  const now = {};

  function last(name, event) {
    now[name] = event.timeStamp;
  }
  function first(name, event) {
    if (!(name in before) && !(name in now)) last(name, event);
  }
  return {
    first,
    last,
    read() {
      const times = Object.entries(now).map(([name, at]) => [name, clock.at(at)]);
      return { ...before, ...Object.fromEntries(times) };
    },
  };
}
