// The little of experiment/domain/markup.py that the editor needs: where alternations stand, and how a passage is written.
// It reads texts that are only half written; what it cannot tell it leaves alone.

const BRACKETS = /\\([[\]|,\\])|\[\[+|\]\]+/g;
const PIPES = /\\[[\]|,\\]|(?<=[ \t\r\n])\|(?=[ \t\r\n])/g;
const COMMAS = /\\[[\]|,\\]|,/g;
const TOKENS = /\\[[\]|,\\]|[^]/g;

const unescaped = (text) => text.replace(/\\([[\]|,\\])/g, "$1");

/** [{start, end, original, altered}]: offsets with the brackets, passages as a reader sees them; `altered` is null where it cannot be told. */
export function alternations(text) {
  const found = [];
  let start = -1;
  for (const { 0: run, 1: escaped, index } of text.matchAll(BRACKETS)) {
    if (escaped) continue;
    if (run[0] === "[") {
      start = index;
    } else if (start >= 0) {
      const end = index + run.length;
      found.push({ start, end, ...split(text.slice(start + 2, end - 2)) });
      start = -1;
    }
  }
  return found;
}

function split(inner) {
  const marks = (pattern) => [...inner.matchAll(pattern)].filter((m) => m[0][0] !== "\\");
  const pipes = marks(PIPES);
  const places = pipes.length ? pipes : marks(COMMAS);
  if (places.length !== 1) return { original: unescaped(inner).trim(), altered: null };
  const [{ index }] = places;
  return { original: unescaped(inner.slice(0, index)).trim(), altered: unescaped(inner.slice(index + 1)).trim() };
}

/** The alternation that a selection or a caret is in or at. */
export function alternationAt(text, start, end) {
  return alternations(text).find((a) => a.start <= start && end <= a.end);
}

/** The words of a selection, or those at a caret: {start, end}; null where there are none, or brackets are among them. */
export function wordsAt(text, start, end) {
  if (start === end) {
    start -= /(?<![\p{L}\p{M}\p{N}'’-])[\p{L}\p{M}\p{N}'’-]*$/u.exec(text.slice(0, start))[0].length;
    end += /^[\p{L}\p{M}\p{N}'’-]*/u.exec(text.slice(end))[0].length;
  }
  const chosen = text.slice(start, end);
  start += chosen.length - chosen.trimStart().length;
  end -= chosen.length - chosen.trimEnd().length;
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    if (token.length === 1 || index >= end) continue;
    if (index + 1 === start) start = index; // no half of an escape
    if (index + 1 === end) end = index + 2;
  }
  const crosses = [...text.matchAll(BRACKETS)].some((m) => !m[1] && m.index < end && m.index + m[0].length > start);
  return start >= end ? { reason: "nothing" } : crosses ? { reason: "crosses" } : { start, end };
}

/** What to put in place of words so that the altered version says `altered` there: {start, end, insert}. */
export function changed(text, { start, end }, altered) {
  return framed(text, start, end, `[[${passage(unescaped(text.slice(start, end)))} | ${passage(altered)}]]`);
}

/** Likewise of an alternation; without `altered` it is taken back. */
export function rewritten(text, { start, end, original }, altered) {
  if (altered) return { start, end, insert: `[[${passage(original)} | ${passage(altered)}]]` };
  return { start, end, insert: plain(original) };
}

// Brackets and a backslash that touch an alternation would join its brackets.
function framed(text, start, end, insert) {
  const [last, before] = [...text.slice(0, start).matchAll(TOKENS)].slice(-2).map((m) => m[0]).reverse();
  if (last === "\\" || (last === "[" && before !== "[")) return { start: start - 1, ...ended(text, end, `\\${last}${insert}`) };
  return { start, ...ended(text, end, insert) };
}

function ended(text, end, insert) {
  const isAlone = text[end] === "]" && text[end + 1] !== "]";
  return isAlone ? { end: end + 1, insert: `${insert}\\]` } : { end, insert };
}

const escaped = (text, pattern) => text.replace(pattern, (found) => found.replace(/[^]/g, "\\$&"));

// As `_escape_passage`
function passage(text) {
  return escaped(text, /\\(?=[[\]|,\\]|$)|\[{2,}|\]{2,}|\|/g);
}

// As `_escape_plain` between two alternations: a backslash too many is read as none
function plain(text) {
  return escaped(text, /\\(?=[[\]|,\\]|$)|\[{2,}|\]{2,}|^[[\]]|[[\]]$/g);
}
