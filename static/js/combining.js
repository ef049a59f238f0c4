// Says that a team is being computed, from Combine until its page comes. Without JavaScript the browser alone says so.

const form = document.querySelector("[data-combining]");
const button = form?.querySelector("button[type=submit]");
const status = form?.querySelector("[data-combining-status]");
const words = button?.textContent;

form?.addEventListener("submit", () => showBusy(true));
// Also on the way back to a page that the browser restored as it was
window.addEventListener("pageshow", () => showBusy(false));

function showBusy(isBusy) {
  if (!form) return;
  form.setAttribute("aria-busy", String(isBusy));
  button.textContent = isBusy ? form.dataset.combining : words;
  status.textContent = isBusy ? status.dataset.combiningStatus : "";
}
