"""The docs as pages of the lab: those that its users need, with links that lead to each other."""

import re

import pytest
from django.test import Client

from experiment.lab.help_pages import PAGES, rendered
from tests.factories import make_user

pytestmark = pytest.mark.django_db


def test_every_page_is_there_and_links_lead_to_what_is_there() -> None:
    client = Client()
    client.force_login(make_user("ada"))
    assert "/lab/help/results/" in client.get("/lab/help/").text
    shown = {name: client.get(f"/lab/help/{name}/").text for name in PAGES}
    assert "<h1>Test cases</h1>" in shown["test-cases"]
    for name, page in shown.items():
        article = page[page.index("<article") : page.index("</article>")]
        for target, anchor in re.findall(r'href="(?:/lab/help/([\w-]+)/)?#([^"]+)"', article):
            assert f'id="{anchor}"' in shown[target or name], (name, target, anchor)
        assert not re.search(r'(?:href|src)="(?!https://|/lab/help/|#)', article)
    assert client.get("/lab/help/architecture/").status_code == 404


def test_html_in_a_page_is_shown_as_it_is_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setattr("experiment.lab.help_pages.FOLDER", tmp_path)
    (tmp_path / "api.md").write_text(  # type: ignore[operator]
        "# API\n\n<b>x</b> [out](../secret) [in](results.md#teams) ![p](a.png)\n"
    )
    rendered.cache_clear()
    title, html = rendered("api")
    rendered.cache_clear()
    assert title == "API"
    assert html == '<p>&lt;b&gt;x&lt;/b&gt; out <a href="/lab/help/results/#teams">in</a> </p>\n'
