// The page on which a test case is written. Without JavaScript it is a form that shows its preview once it is saved.

import { startChanging } from "./change.js";
import { startPasting } from "./pasting.js";
import { startPreview } from "./preview.js";
import { startSaving } from "./saving.js";

const form = document.getElementById("editor");

startPreview(form);
startChanging(form.elements.markup);
startPasting(form.elements.markup);
startSaving(form);
