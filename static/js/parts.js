// On a phone the parts of a study, and of its set-up, are one row that scrolls: the current one is brought into view.

for (const current of document.querySelectorAll("ul.scroller [aria-current]")) {
  const row = current.closest("ul");
  row.scrollLeft = current.offsetLeft - row.offsetLeft - (row.clientWidth - current.offsetWidth) / 2;
}
