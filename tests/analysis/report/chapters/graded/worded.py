"""A chapter's page of small results, as text."""

from typing import Any

from analysis.codec import MissingResult
from analysis.report.chapter import About, Page, SourceResults

MISSING = MissingResult("Not computed.", "Compute it.")
ABOUT = About("study", is_simulated=False)


def named(name: str, *, is_people: bool = False) -> dict[str, Any]:
    """The fields of an AnswererName."""
    fields = {"name": f"lab/{name}", "display_name": name, "family": ""}
    return fields | {"is_people": is_people, "is_simulated": False}


def page_of(words: Any, results: Any) -> Page:
    page: Page = words(SourceResults("human", {type(results): results}), ABOUT)
    return page


def said(page: Page) -> list[str]:
    return [paragraph.text for paragraph in page.text]
