// The sentences that scripts say come with the page, in the study's language (templates/participant/_texts.html).

/** The text of this name, with {names} in it replaced by `values`. */
export function text(name, values = {}) {
  const texts = document.getElementById("texts").content;
  const words = texts.querySelector(`[data-text="${name}"]`).textContent;
  return words.replace(/\{(\w+)\}/g, (braced, key) => values[key] ?? braced);
}
