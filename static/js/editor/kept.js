// What was typed and is not saved, in the browser's localStorage, by writer and by the address at which it is written.
// A browser that refuses storage only loses this.

const PREFIX = "item-writing";
const keyOf = (form) => `${PREFIX}:${form.dataset.writer}:${form.dataset.desk}`;

export function keep(form, values) {
  const kept = { values, opened: form.elements.opened.value, at: Date.now() };
  try {
    window.localStorage.setItem(keyOf(form), JSON.stringify(kept));
  } catch {
    // It is still on the page
  }
}

export function forget(form, key = keyOf(form)) {
  try {
    window.localStorage.removeItem(key);
  } catch {
    // As above
  }
}

/** [{key, values, opened, at}]: of this test case; on the page of a new one, of all that were begun. */
export function found(form) {
  const desk = form.dataset.desk;
  const begun = form.elements.begun ? `${PREFIX}:${form.dataset.writer}:${desk.split("?")[0]}?` : null;
  try {
    return Object.keys(window.localStorage)
      .filter((key) => key === keyOf(form) || (begun && key.startsWith(begun)))
      .map((key) => ({ key, ...JSON.parse(window.localStorage.getItem(key)) }));
  } catch {
    return [];
  }
}
