// Shows participants' pages as a form stands, before it is saved: the form's values are sent to each frame, whose page is
// rendered with them. Without JavaScript the frames show what is saved.

const DELAY_MS = 500;

const box = document.querySelector("[data-preview]");
const form = document.querySelector("form[data-previewed]");
let timer = 0;

if (box && form) {
  form.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(showAll, DELAY_MS);
  });
  for (const link of box.querySelectorAll("[data-page]")) {
    link.addEventListener("click", (event) => {
      event.preventDefault(); // what is typed stays
      box.querySelector("[aria-current]")?.removeAttribute("aria-current");
      link.setAttribute("aria-current", "true");
      showAll();
    });
  }
  // After a refused save the form holds what was typed, the frames what is stored
  if (form.querySelector(".notice-error")) showAll();
}

function showAll() {
  const { url } = box.querySelector("[aria-current]").dataset;
  for (const frame of box.querySelectorAll("iframe")) show(frame, url);
}

// A form of its own for each frame: sending one cancels what the same form sent before.
function show(frame, url) {
  const copy = document.createElement("form");
  Object.assign(copy, { method: "post", action: url, target: frame.name, hidden: true });
  for (const [name, value] of new FormData(form)) {
    const field = document.createElement("input");
    Object.assign(field, { type: "hidden", name, value });
    copy.append(field);
  }
  const top = sameAddress(frame, url) ? (frame.contentWindow?.scrollY ?? 0) : 0;
  frame.addEventListener("load", () => frame.contentWindow?.scrollTo(0, top), { once: true });
  document.body.append(copy);
  copy.submit();
  copy.remove();
}

function sameAddress(frame, url) {
  return frame.contentWindow?.location.pathname === new URL(url, window.location.href).pathname;
}
