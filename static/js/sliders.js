// Turns a number field into a slider that has no value until the participant moves it.
// The number field stays in the form (hidden) and carries the value; the slider has no name.

const MIDDLE = 50;

function element(tag, properties, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

/** The value under the pointer, for browsers that do not jump to a tap on the track. */
function valueAt(slider, clientX) {
  const box = slider.getBoundingClientRect();
  const share = (clientX - box.left) / box.width;
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
  const error = rating.querySelector(".field-error");
  slider.setAttribute("aria-describedby", error ? `${ends.id} ${error.id}` : ends.id);
  if (error) slider.setAttribute("aria-invalid", "true");
  const state = element("span", { className: "rating-state" });
  state.setAttribute("aria-hidden", "true"); // aria-valuetext says it
  const head = element("div", { className: "rating-head" });
  question.replaceWith(head);
  head.append(question, state);
  rating.querySelector(".hint").remove();
  number.removeAttribute("id");
  number.removeAttribute("aria-describedby");
  number.type = "hidden";
  number.after(slider, ends);
  return { slider, state };
}

/** Returns {name, slider, get(), set(value)}; calls `changed()` whenever the participant moves it. */
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
    slider.setAttribute("aria-valuetext", rated ? `${slider.value} of 100` : "not yet rated");
    state.textContent = rated ? "Rated" : "Not yet rated";
  }
  function rate(value) {
    set(String(value));
    changed();
  }

  slider.addEventListener("pointerdown", (event) => {
    sawInput = false;
    pressed = event.button === 0;
  });
  slider.addEventListener("input", () => {
    sawInput = true;
    rate(slider.value);
  });
  // A press exactly on the middle changes nothing, so there is no input event, and after a tap
  // there is no click either. A touch that scrolls the page ends in pointercancel, not here.
  slider.addEventListener("pointerup", (event) => {
    if (pressed && !sawInput) rate(valueAt(slider, event.clientX));
    sawInput ||= pressed;
    pressed = false;
  });
  // A click made by assistive technology has no position (detail 0) and accepts the middle.
  slider.addEventListener("click", (event) => {
    if (!sawInput) rate(event.detail > 0 ? valueAt(slider, event.clientX) : slider.value);
  });
  slider.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault(); // Enter would send the form
    rate(slider.value);
  });

  set(number.value);
  return { name: number.name, slider, get: () => number.value, set };
}
