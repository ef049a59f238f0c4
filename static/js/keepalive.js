// Tells the server every half minute that this page is still open, so that the abstract a
// participant is reading counts as held. Losing a ping loses nothing else.

const EVERY_MS = 30000;

function ping() {
  const url = document.body.dataset.pingUrl;
  const csrf = document.querySelector('input[name="csrfmiddlewaretoken"]')?.value;
  if (!url || !csrf) return;
  fetch(url, {
    method: "POST",
    headers: { "X-CSRFToken": csrf },
    credentials: "same-origin",
    keepalive: true,
  }).catch(() => {});
}

setInterval(ping, EVERY_MS);
window.addEventListener("online", ping);
