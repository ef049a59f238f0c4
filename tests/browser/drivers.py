"""How a visitor works a page: with the mouse, a finger, the keyboard alone, or in a browser without JavaScript."""

import re

from playwright.sync_api import Locator, Page, expect

# What a keyboard's user can see of where they are: the element itself, or a frame around it, is outlined.
FOCUS_SEEN = """() => {
  const at = document.activeElement;
  if (!at || at === document.body) return "lost";
  const box = at.getBoundingClientRect();
  if (box.bottom < 0 || box.top > innerHeight || box.right < 0 || box.left > innerWidth) return "out of view";
  for (let node = at; node && node !== document.body; node = node.parentElement) {
    const style = getComputedStyle(node);
    if (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2) return "seen";
  }
  return "not outlined";
}"""
MOST_TABS = 60


class Driver:
    """The things that a test does on a page; the drivers below say how."""

    has_script = True

    def __init__(self, page: Page) -> None:
        self.page = page

    def press(self, target: Locator) -> None:
        """Press a button, follow a link, tick a box, choose a radio button."""
        target.click()

    def write(self, target: Locator, text: str) -> None:
        target.fill(text)

    def pick(self, target: Locator, label: str) -> None:
        """Choose an entry of a list."""
        target.select_option(label=label)

    def choose(self, side: str, passage: int = 0) -> None:
        """Choose a side by one of its passages."""
        passages = self.page.locator(f"label.passage-{side.lower()}")
        self.press(passages.nth(passage % passages.count()))

    def rate(self, name: str, value: int) -> int:
        """Rate about `value`; returns what the page took it for."""
        slider = self.page.locator(f"#{name}")
        slider.scroll_into_view_if_needed()
        box = slider.bounding_box()
        assert box is not None
        self.touch_at(slider, 1 + (value - 1) / 99 * (box["width"] - 2), box["height"] / 2)
        rated = self.page.locator(f'input[name="{name}"]')
        expect(rated, f"{name} has a value once it was rated").not_to_have_value("")
        return int(rated.input_value())

    def touch_at(self, target: Locator, x: float, y: float) -> None:
        target.click(position={"x": x, "y": y})


class MouseDriver(Driver):
    """Clicks."""


class TouchDriver(Driver):
    """Taps."""

    def press(self, target: Locator) -> None:
        target.tap()

    def touch_at(self, target: Locator, x: float, y: float) -> None:
        target.tap(position={"x": x, "y": y})


class NoScriptDriver(Driver):
    """A browser with JavaScript off: ratings are number fields."""

    has_script = False

    def rate(self, name: str, value: int) -> int:
        self.page.locator(f"#{name}").fill(str(value))
        return value


class KeyboardDriver(Driver):
    """Tab, arrows, Space, Enter and characters; looks at every step whether the focus can be seen."""

    def __init__(self, page: Page) -> None:
        super().__init__(page)
        self.turn = 0

    def key(self, name: str) -> None:
        self.page.keyboard.press(name)

    def go_to(self, target: Locator) -> None:
        expect(target).to_be_visible()
        for _ in range(MOST_TABS):
            if target.evaluate("node => node === document.activeElement"):
                return
            self.key("Tab")
            seen = self.page.evaluate(FOCUS_SEEN)
            assert seen == "seen", f"after Tab the focus is {seen}: {self.where()}"
        raise AssertionError(f"Tab does not reach {target}")

    def where(self) -> str:
        return str(self.page.evaluate("document.activeElement.outerHTML.slice(0, 120)"))

    def press(self, target: Locator) -> None:
        kind = target.get_attribute("type")
        if kind == "radio":
            self._choose_radio(target)
            return
        self.go_to(target)
        self.key("Space" if kind == "checkbox" else "Enter")

    def _choose_radio(self, target: Locator) -> None:
        # Tab enters a group at its chosen button or at its first; arrows go on from there.
        name = target.get_attribute("name")
        group = self.page.locator(f'input[type="radio"][name="{name}"]')
        chosen = self.page.locator(f'input[type="radio"][name="{name}"]:checked')
        self.go_to(chosen if chosen.count() else group.first)
        if target.evaluate("node => node === document.activeElement"):
            self.key("Space")
        for _ in range(group.count()):
            if target.is_checked():
                return
            self.key("ArrowDown")
            assert self.page.evaluate(FOCUS_SEEN) == "seen"
        assert target.is_checked()

    def write(self, target: Locator, text: str) -> None:
        self.go_to(target)
        self.page.keyboard.type(text)

    def pick(self, target: Locator, label: str) -> None:
        self.go_to(target)
        self.page.keyboard.type(label)
        expect(target.locator("option:checked")).to_have_text(re.compile(re.escape(label)))

    def choose(self, side: str, passage: int = 0) -> None:
        """By the radio buttons, by the letter and by the number in turn."""
        self.turn += 1
        if self.turn % 3 == 0:
            self._choose_radio(self.page.locator(f"#side-{side.lower()}"))
        else:
            letter = side.lower() if self.turn % 3 == 1 else "AB".index(side) + 1
            self.key(str(letter))

    def rate(self, name: str, value: int) -> int:
        self.go_to(self.page.locator(f"#{name}"))
        near_end = value > 50
        self.key("End" if near_end else "Home")
        for _ in range(100 - value if near_end else value - 1):
            self.key("ArrowLeft" if near_end else "ArrowRight")
        assert self.page.locator(f'input[name="{name}"]').input_value() == str(value)
        return value
