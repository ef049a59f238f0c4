// The reading aid: both versions of the abstract, only A, or only B. trial.css hides what is not shown.

const VIEWS = ["", "A", "B"];

/** Calls `switched()` when the participant changes the view. Returns {get(), set(view), next()}. */
export function startAid(panel, form, switched) {
  const buttons = [...panel.querySelectorAll("[data-view]")];
  panel.hidden = false;

  function set(view) {
    form.dataset.view = VIEWS.includes(view) ? view : "";
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(button.dataset.view === form.dataset.view));
    }
  }
  function change(view) {
    if (view === form.dataset.view) return;
    set(view);
    switched();
  }
  for (const button of buttons) button.addEventListener("click", () => change(button.dataset.view));

  set("");
  return {
    get: () => form.dataset.view,
    set,
    next: () => change(VIEWS[(VIEWS.indexOf(form.dataset.view) + 1) % VIEWS.length]),
  };
}
