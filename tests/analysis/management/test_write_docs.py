"""The generated parts of docs/: those of pages are current, and all else can be written. test_interface.py has the JSON files."""

import pytest
from django.core.management import CommandError, call_command

from analysis.management.commands import write_docs
from analysis.management.commands.write_docs import DOCS, FOLDER, PARTS


@pytest.mark.parametrize("name", [n for n, (file, _) in PARTS.items() if file.endswith(".md")])
def test_generated_parts_of_pages_are_up_to_date(name: str) -> None:
    file, content = PARTS[name]
    assert (FOLDER / file).read_text("utf-8") == content(), f"run: manage.py write_docs {name}"


def test_every_generated_file_is_written_and_one_that_is_unknown_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    whole = DOCS.keys() - PARTS
    monkeypatch.setattr(write_docs, "FOLDER", tmp_path)
    call_command("write_docs", *whole, verbosity=0)
    written = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    assert written == {file: content() for file, content in (DOCS[name] for name in whole)}
    with pytest.raises(CommandError, match="nothing"):
        call_command("write_docs", "nothing")
