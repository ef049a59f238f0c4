// What every participant page does: never show a stale copy, put the focus on an error or a
// message, send a form once, keep a filled form when there is no network, copy a code.

import { text } from "./texts.js";

window.addEventListener("pageshow", (event) => {
  if (event.persisted) window.location.reload();
});

document.querySelector("[data-focus]")?.focus();

for (const form of document.querySelectorAll('form[method="post"]:not([data-trial])')) {
  let sent = false;
  form.addEventListener("submit", (event) => {
    if (sent) return event.preventDefault();
    if (navigator.onLine === false) {
      event.preventDefault();
      return showOffline(form);
    }
    sent = true;
  });
}

function showOffline(form) {
  let note = form.querySelector("[data-offline]");
  if (!note) {
    note = document.createElement("p");
    note.className = "notice offline";
    note.dataset.offline = "";
    note.setAttribute("role", "alert");
    form.append(note);
  }
  note.textContent = text("offline");
}

for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) continue; // only secure pages have one; the code can be selected
  button.hidden = false;
  button.addEventListener("click", async () => {
    const status = button.parentElement.querySelector('[role="status"]');
    try {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
      status.textContent = text("copied");
    } catch {
      status.textContent = text("copy-by-hand");
    }
  });
}
