// Whether a translator, of the browser or an extension, changed what is read here: `text`, what is judged or asked, or
// `page`, the words around it, for which the heading stands; else `no`. Pages ask to be left as they are (translate="no").

const LEVELS = ["no", "page", "text"];

/** Goes on from what was `saved`: who turned a translation off again has read it. Returns {get()}. */
export function watchTranslation(form, saved, signal) {
  const notice = form.querySelector("#translated");
  let level = Math.max(0, LEVELS.indexOf(saved));

  function watch(node, reached) {
    const before = node.textContent;
    const observer = new MutationObserver(() => {
      const isChanged = node.textContent !== before;
      if (isChanged) level = Math.max(level, reached);
      if (reached === LEVELS.indexOf("text")) notice.hidden = !isChanged;
    });
    observer.observe(node, { childList: true, characterData: true, subtree: true });
    signal.addEventListener("abort", () => observer.disconnect());
  }
  watch(form.querySelector("h1"), LEVELS.indexOf("page"));
  watch(form.querySelector(".abstract, .question-text"), LEVELS.indexOf("text"));
  return { get: () => LEVELS[level] };
}
