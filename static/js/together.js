// Ticks every test case that is shown with one box, and says how many are ticked. Without JavaScript the box itself is sent.

const form = document.getElementById("together");
const every = document.getElementById("every");
const said = document.getElementById("n-selected");

if (form) {
  const boxes = [...form.querySelectorAll("input[name=item]")];
  every.addEventListener("change", () => {
    for (const box of boxes) box.checked = every.checked;
    count();
  });
  form.addEventListener("change", count);
  count();

  function count() {
    const n = boxes.filter((box) => box.checked).length;
    every.checked = n > 0 && n === boxes.length;
    every.indeterminate = n > 0 && n < boxes.length;
    said.textContent = n ? said.dataset.said.replace("{n}", n) : "";
  }
}
