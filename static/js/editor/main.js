// The page on which a test case is written. Without JavaScript it is a form that shows its preview once it is saved.

import { startPreview } from "./preview.js";

const form = document.getElementById("editor");

startPreview(form);
