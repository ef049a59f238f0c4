"""The version: pyproject.toml has it, and files that cannot read it there say the same."""

import re
from pathlib import Path

import pytest
import yaml

from lib.api.schema import description
from lib.code import release

ROOT = Path(__file__).resolve().parents[2]


def test_the_version_is_semantic() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", release())


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("README.md", r"^This is version (.+?)\. "),
        ("CHANGELOG.md", r"^## (\S+) - (?:unreleased|\d{4}-\d\d-\d\d)$"),
    ],
)
def test_pages_name_the_version(file: str, pattern: str) -> None:
    found = re.search(pattern, (ROOT / file).read_text("utf-8"), re.MULTILINE)
    assert found is not None
    assert found[1] == release(), f"{file} does not name the version of pyproject.toml"


def test_the_citation_names_the_version_and_the_article() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert (cited["cff-version"], cited["version"]) == ("1.2.0", release())
    assert cited["references"][0]["doi"] == "10.1038/s41562-024-02046-9"


def test_the_description_of_the_api_names_the_version() -> None:
    assert yaml.safe_load(description())["info"]["version"] == release()
