// Keys of a reviewer's queue: accept, next and previous, by the buttons and links that do it.

import { listenForShortcuts } from "./shortcuts.js";

const queue = document.getElementById("queue");

function press(id) {
  return { places: "#queue", act: (event) => {
    const control = document.getElementById(id);
    if (!control) return;
    event.preventDefault();
    control.click();
  } };
}

if (queue) {
  listenForShortcuts(queue.querySelector("#shortcuts"), [
    { keys: ["a"], ...press("queue-accept") },
    { keys: ["n"], ...press("queue-next") },
    { keys: ["p"], ...press("queue-previous") },
  ]);
}
