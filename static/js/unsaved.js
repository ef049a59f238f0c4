// Asks before a page is left whose form, with `data-unsaved`, holds changes that are not saved. Filters have no such form.

for (const form of document.querySelectorAll("form[data-unsaved]")) {
  let isSent = false;
  window.addEventListener("submit", (event) => {
    if (event.target === form) isSent = !event.defaultPrevented;
  });
  // Back from the page that followed
  window.addEventListener("pageshow", () => (isSent = false));
  window.addEventListener("beforeunload", (event) => {
    if (!isSent && hasChanges(form)) event.preventDefault();
  });
}

function hasChanges(form) {
  // What was refused is not saved either
  return form.querySelector(".field-error") !== null || [...form.elements].some(isChanged);
}

function isChanged(field) {
  switch (field.type) {
    case "hidden": case "submit": case "button": case "fieldset":
      return false;
    case "checkbox": case "radio":
      return field.checked !== field.defaultChecked;
    case "select-one": case "select-multiple": {
      const options = [...field.options];
      const chosen = options.filter((option) => option.defaultSelected);
      // Browsers select the first option of a list where none is
      if (!chosen.length && field.type === "select-one") chosen.push(options[0]);
      return options.some((option) => option.selected !== chosen.includes(option));
    }
    default:
      return field.value !== field.defaultValue;
  }
}
