"""The forms of a page, filled in and sent as a browser would: with what was not touched, and with the hidden fields."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

from django.test import Client
from django.urls import NoReverseMatch, Resolver404, resolve, reverse

# Where a form stands that is sent to an address without a page of its own
PAGES = {
    "change_role": "members",
    "remove_member": "members",
    "change_field_role": "field_people",
    "remove_field_member": "field_people",
    "remove_subfield": "subfield",
    "setup_remove_arm": "setup_arms",
    "setup_survey_remove": "setup_survey",
    "setup_questions": "setup_items",
    "setup_wording_load": "setup_wording",
    "recruitment": "recruiting",
    "privacy_policy": "privacy",
    "grading_plan": "grading",
    "move_item": "item",
    "retire_item": "item",
    "review_item": "item",
    "explain_finding": "item",
}


@dataclass
class PageForm:
    """method and action as the page says them; values by name, each a list, as they are sent when nobody touches them."""

    method: str
    action: str
    values: dict[str, list[str]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)  # also those of which nothing would be sent

    def filled(self, **changes: Any) -> dict[str, Any]:
        """With these changes; None leaves a field out, as an unticked box."""
        sent = dict(self.values) | changes
        return {name: value for name, value in sent.items() if value is not None}

    @property
    def opened(self) -> dict[str, list[str]]:
        """The values with which, by the page, the form was opened."""
        return {name: value for name, value in self.values.items() if name.endswith("opened")}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[PageForm] = []
        self.form: PageForm | None = None
        self.texts: list[str] | None = None
        self.text_of = ""
        self.select: tuple[str, bool] | None = None
        self.first = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self.form = PageForm((given.get("method") or "get").lower(), given.get("action") or "")
            self.forms.append(self.form)
        name = given.get("name") or ""
        if self.form is None or (tag != "option" and (not name or "disabled" in given)):
            return
        if tag == "input":
            self._input(self.form, name, given)
        elif tag == "textarea":
            self.texts, self.text_of = [], name
        elif tag == "select":
            self.form.names.add(name)
            self.select, self.first = (name, "multiple" in given), ""
        elif tag == "option" and self.select is not None:
            name = self.select[0]
            value = given.get("value") or ""
            if "selected" in given:
                self.form.values.setdefault(name, []).append(value)
            elif not self.first:
                self.first = value

    def _input(self, form: PageForm, name: str, given: dict[str, str | None]) -> None:
        kind = given.get("type") or "text"
        form.names.add(name)
        if kind in ("submit", "button", "image", "file", "reset"):
            return
        if kind in ("checkbox", "radio"):
            if "checked" in given:
                form.values.setdefault(name, []).append(given.get("value") or "on")
            return
        form.values.setdefault(name, []).append(given.get("value") or "")

    def handle_data(self, data: str) -> None:
        if self.texts is not None:
            self.texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self.form is not None and self.texts is not None:
            text = "".join(self.texts).removeprefix("\n").replace("\n", "\r\n")
            self.form.values.setdefault(self.text_of, []).append(text)
            self.form.names.add(self.text_of)
            self.texts = None
        elif tag == "select" and self.form is not None and self.select is not None:
            name, several = self.select
            if not several and name not in self.form.values:
                self.form.values[name] = [self.first]
            self.select = None
        elif tag == "form":
            self.form = None


def forms_of(page: str) -> list[PageForm]:
    reader = _Reader()
    reader.feed(page)
    return reader.forms


def form_at(client: Client, path: str) -> PageForm | None:
    """The form that is sent to this address, on the page where a person finds it; None where there is none."""
    page = _page_of(path)
    answer = Client.get(client, page)
    if answer.status_code != 200 or answer.streaming:
        return None
    found = [f for f in forms_of(answer.text) if f.method == "post"]
    wanted = path.partition("?")[0]
    here = page.partition("?")[0]
    fitting = [f for f in found if urljoin(here, f.action).partition("?")[0] == wanted]
    return max(fitting, key=lambda form: len(form.values), default=None)


def _page_of(path: str) -> str:
    try:
        match = resolve(path.partition("?")[0])
    except Resolver404:
        return path
    name = PAGES.get(match.url_name or "")
    if name is None:
        return path
    for left_out in ([], ["pk"], ["number", "name"]):
        given = {k: v for k, v in match.kwargs.items() if k not in left_out}
        try:
            return reverse(f"lab:{name}", kwargs=given)
        except NoReverseMatch:
            continue
    return path


class Browser(Client):
    """Sends with a form what its page was opened with just before, unless the test says what it was."""

    def post(self, path: str, data: Any = None, *args: Any, **more: Any) -> Any:  # type: ignore[override]
        is_form = not args and "content_type" not in more and isinstance(data, dict | None)
        if (
            is_form
            and path.startswith(("/lab/", "/admin/"))
            and not any(n.endswith("opened") for n in data or {})
        ):
            form = form_at(self, path)
            data = (data or {}) | (form.opened if form else {})
        return super().post(path, data, *args, **more)

    def save(self, path: str, **changes: Any) -> Any:
        """Open the page's form, change these fields and send it."""
        form = form_at(self, path)
        assert form is not None, f"no form is sent to {path}"
        return super().post(path, form.filled(**changes))
