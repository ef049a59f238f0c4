// Turns a number field into a slider that has no value until the participant moves it.
// The number field stays in the form (hidden) and carries the value; the slider has no name.

import { text } from "./texts.js";

const MIDDLE = 50;

function element(tag, properties, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

/** The value under the pointer, for browsers that do not jump to a tap on the track. */
function valueAt(slider, clientX) {
  const box = slider.getBoundingClientRect();
  const fromLeft = (clientX - box.left) / box.width;
  const share = getComputedStyle(slider).direction === "rtl" ? 1 - fromLeft : fromLeft;
  return Math.min(100, Math.max(1, Math.round(1 + share * 99)));
}

function buildSlider(rating, number, question) {
  const { low, high } = rating.dataset;
  const slider = element("input", { type: "range", min: 1, max: 100, step: 1, id: number.id });
  const ends = element(
    "div",
    { className: "rating-ends", id: `${number.id}-ends` },
    element("span", { textContent: low }),
    element("span", { textContent: high }),
  );
  slider.className = "slider";
  slider.setAttribute("aria-describedby", `${ends.id} ${number.id}-error`);
  if (number.getAttribute("aria-invalid")) slider.setAttribute("aria-invalid", "true");
  slider.toggleAttribute("data-focus", number.hasAttribute("data-focus"));
  const prompt = element("span", { className: "slider-prompt", textContent: text("rate-here") });
  prompt.setAttribute("aria-hidden", "true");
  const line = element("div", { className: "slider-line" }, slider, prompt);
  const state = element("span", { className: "rating-state" });
  state.setAttribute("aria-hidden", "true"); // aria-valuetext says it
  const head = element("div", { className: "rating-head" });
  question.replaceWith(head);
  head.append(question, state);
  rating.querySelector(".hint").remove();
  number.removeAttribute("id");
  for (const name of ["aria-describedby", "aria-invalid", "data-focus"]) number.removeAttribute(name);
  number.type = "hidden";
  number.after(line, ends);
  return { slider, state };
}

/** Returns {name, slider, get(), set(value)}; calls `changed(name, event)` whenever the participant moves it. */
export function upgradeRating(rating, changed) {
  const number = rating.querySelector('input[type="number"]');
  const { slider, state } = buildSlider(rating, number, rating.querySelector("label"));
  let sawInput = false;
  let pressed = false;

  function set(value) {
    const rated = /^\d+$/.test(value) && value >= 1 && value <= 100; // a rejected value is none
    number.value = rated ? value : "";
    slider.value = rated ? value : MIDDLE;
    slider.toggleAttribute("data-unrated", !rated);
    slider.setAttribute("aria-valuetext", rated ? text("rated-value", { value: slider.value }) : text("unrated-value"));
    state.textContent = text(rated ? "rated" : "unrated");
  }
  function rate(value, event) {
    set(String(value));
    changed(number.name, event);
  }

  slider.addEventListener("pointerdown", (event) => {
    sawInput = false;
    pressed = event.button === 0;
  });
  slider.addEventListener("input", (event) => {
    sawInput = true;
    rate(slider.value, event);
  });
  // A press exactly on the middle changes nothing, so there is no input event, and after a tap
  // there is no click either. A touch that scrolls the page ends in pointercancel, not here.
  slider.addEventListener("pointerup", (event) => {
    if (pressed && !sawInput) rate(valueAt(slider, event.clientX), event);
    sawInput ||= pressed;
    pressed = false;
  });
  // A click made by assistive technology has no position (detail 0) and accepts the middle.
  slider.addEventListener("click", (event) => {
    if (!sawInput) rate(event.detail > 0 ? valueAt(slider, event.clientX) : slider.value, event);
  });
  slider.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault(); // Enter would send the form
    rate(slider.value, event);
  });

  set(number.value);
  return { name: number.name, slider, get: () => number.value, set };
}
