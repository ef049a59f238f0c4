// Opens the chapter that the address names, and names in the address the one that is open. Without JavaScript
// chapters open by their headings all the same.

for (const chapter of document.querySelectorAll("details.chapter")) {
  chapter.addEventListener("toggle", () => {
    if (!chapter.open) return;
    window.history.replaceState(null, "", `#${chapter.id}`);
    // The chapter above, which closed, may have been long
    if (chapter.getBoundingClientRect().top < 0) chapter.scrollIntoView();
  });
}
window.addEventListener("hashchange", openNamed);
openNamed();

function openNamed() {
  const named = document.getElementById(window.location.hash.slice(1))?.closest("details.chapter");
  if (!named) return;
  named.open = true;
  named.scrollIntoView();
}
