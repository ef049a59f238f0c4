// What every participant page does: put the focus on an error or a message, send a form once and show what comes next,
// send it again while the site or the network is away, copy a code. The one script that pages name.

import "./keepalive.js";
import { FIRST_WAIT_MS, LONGEST_WAIT_MS, post } from "./post.js";
import { text } from "./texts.js";
import "./trial.js";
import { onPage, turnTo } from "./turning.js";

onPage(({ signal }) => {
  document.querySelector("[data-focus]")?.focus();
  for (const form of document.querySelectorAll('form[method="post"]:not([data-trial])')) sendOnce(form, signal);
  for (const button of document.querySelectorAll("[data-copy]")) offerCopy(button);
});

/** A button with data-turns brings the next page along; where the server refuses, the form is sent as without script. */
function sendOnce(form, signal) {
  let sent = false;
  let wait = FIRST_WAIT_MS;
  let timer = null;
  let again = () => {};

  function sendLater(button) {
    // What loads a page by itself is not sent without the person: where it fails, the browser's error takes this page's place
    if (!button?.matches("[data-turns]")) return showOffline(form, "offline");
    showOffline(form, "offline-sent-again");
    again = () => form.requestSubmit(button);
    timer = setTimeout(again, wait);
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }

  window.addEventListener("online", () => again(), { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  form.addEventListener("submit", async (event) => {
    if (sent) return event.preventDefault();
    clearTimeout(timer);
    again = () => {};
    const button = event.submitter;
    if (navigator.onLine === false) {
      event.preventDefault();
      return sendLater(button);
    }
    sent = true;
    if (!button?.matches("[data-turns]")) return;
    event.preventDefault();
    button.setAttribute("aria-disabled", "true");
    const fields = new FormData(form);
    if (button.name) fields.append(button.name, button.value);
    const { kind, next, page } = await post(form.action, fields);
    if (kind === "stored") return turnTo(next, page);
    sent = false;
    button.removeAttribute("aria-disabled");
    if (kind === "failed") return sendLater(button);
    button.removeAttribute("data-turns");
    form.requestSubmit(button);
  });
}

function showOffline(form, name) {
  let note = form.querySelector("[data-offline]");
  if (!note) {
    note = document.createElement("p");
    note.className = "notice offline";
    note.dataset.offline = "";
    note.setAttribute("role", "alert");
    form.append(note);
  }
  note.textContent = text(name);
}

function offerCopy(button) {
  if (!navigator.clipboard) return; // only secure pages have one; the code can be selected
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
