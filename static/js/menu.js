// The account menu closes as soon as something else is meant. Without JavaScript, its name closes it.

const menu = document.querySelector(".account-menu");

document.addEventListener("click", (event) => {
  if (menu?.open && !menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !menu?.open) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
