"""The promises of docs/promises.md: nothing public goes, or changes its meaning, before the next major version; and migrations are frozen."""

import copy
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from analysis.management.interface import commands, ledger, schemas, whole
from analysis.management.interface.ledger import breaks, changed_migrations, read, text_of
from lib.commands import ReportingCommand, add_json_argument
from lib.shapes import Tree

DOCS = Path(__file__).resolve().parents[3] / "docs"
AT_MOST_BYTES = 250_000


@pytest.fixture(scope="module")
def now() -> Tree:
    return whole.interface()


def test_nothing_public_has_gone_or_changed_and_what_is_new_is_listed(now: Tree) -> None:
    stored = (DOCS / whole.INTERFACE).read_text("utf-8")
    if wrong := breaks(read(DOCS / whole.INTERFACE), now):
        pytest.fail("\n".join(wrong))
    if stored != text_of(now):
        pytest.fail("A public name or the version is new: run manage.py write_docs interface.")
    assert len(stored.encode()) < AT_MOST_BYTES


def test_no_migration_has_changed_since_it_was_written_and_new_ones_are_listed() -> None:
    stored = (DOCS / whole.MIGRATIONS).read_text("utf-8")
    if wrong := changed_migrations(read(DOCS / whole.MIGRATIONS), whole.migrations()):
        pytest.fail("\n".join(wrong))
    if stored != text_of(whole.migrations()):
        pytest.fail("A migration is new: run manage.py write_docs migrations.")


def test_the_file_is_read_as_it_was_written(now: Tree, tmp_path: Path) -> None:
    path = tmp_path / "interface.json"
    path.write_text(text_of(now), encoding="utf-8")
    assert read(path) == now


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        (("columns", "export of trials", "confidence"), "The column `confidence` of the export of trials is gone."),
        (("columns", "export of trials", "kind", "= real"), "The value `real` of the column `kind` of the export of trials is gone."),
        (("commands", "score", "--limit"), "The option `--limit` of the command `score` is gone."),
        (("commands", "chores", "purge", "--dry-run"), "The option `purge --dry-run` of the command `chores` is gone."),
        (("commands", "team"), "The command `team` is gone."),
        (("json", "create_token", "token"), "The key `token` of `create_token --json` is gone."),
        (("api", "GET /api/v1/studies/{slug}/trials/", "200", "results[]", "confidence"),
         "The field `results[].confidence` in answer 200 of `GET /api/v1/studies/{slug}/trials/` in the API is gone."),
        (("settings", "PORT"), "The setting `PORT` is gone."),
        (("addresses", "/s/<slug:slug>/"), "The address `/s/<slug:slug>/` is gone."),
        (("keys", "a study file", "consent"), "The key `consent` of a study file is gone."),
        (("python", "score_pairs", "seed"), "The part `seed` of `score_pairs` is gone."),
        (("exit statuses", "130"), "The exit status `130` is gone."),
    ],
)  # fmt: skip
def test_a_name_that_is_gone_is_named_with_what_to_do(
    now: Tree, place: tuple[str, ...], sentence: str
) -> None:
    less = copy.deepcopy(now)
    *above, last = place
    node: Any = less
    for name in above:
        node = node[name]
    del node[last]
    (said,) = breaks(now, less)
    assert said.startswith(f"{sentence} It is public (docs/promises.md): keep it with a warning")
    assert breaks(now | {"version": "0.9.9"}, less) == []


def test_another_meaning_is_named_with_both() -> None:
    before, after = (
        {"version": "1.0.0", "settings": {"PORT": f"integer({n})"}} for n in (8000, 80)
    )
    (said,) = breaks(before, after)
    assert said.startswith("The setting `PORT` means something else: it was “integer(8000)” and is")


def test_a_new_name_breaks_nothing_unless_calls_must_have_it() -> None:
    before = {"version": "1.0.0", "commands": {"go": {"--a": "flag", "--b": "flag"}}}
    after = copy.deepcopy(before)
    after["commands"] |= {"stop": {"argument 1": "required, text"}}
    after["commands"]["go"] |= {"--c": "flag", "--a | --c": ledger.EXCLUDE}
    assert breaks(before, after) == []
    after["commands"]["go"] |= {"--d": "required, text", "--a | --b": ledger.EXCLUDE}
    assert [said.partition(" Calls")[0] for said in breaks(before, after)] == [
        "The option `--a` of the command `go` cannot be combined with `--b`.",
        "The option `--d` of the command `go` is new and required.",
    ]


def test_the_command_does_not_write_a_broken_promise(
    now: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = now | {"settings": now["settings"] | {"GONE": "flag(False)"}}
    (tmp_path / whole.INTERFACE).write_text(text_of(stored), encoding="utf-8")
    monkeypatch.setattr(whole, "interface", lambda: now)
    with pytest.raises(CommandError, match="The setting `GONE` is gone"):
        whole.interface_text(tmp_path)
    (tmp_path / whole.INTERFACE).unlink()
    assert whole.interface_text(tmp_path) == text_of(now)


def test_a_migration_that_has_changed_is_named_whatever_the_version() -> None:
    before = {"experiment": {"0001_release": "a", "0002_more": "b"}}
    changed, gone = changed_migrations(before, {"experiment": {"0001_release": "c"}})
    assert changed.startswith("The migration experiment.0001_release has changed.")
    assert gone.startswith("The migration experiment.0002_more is gone.")


def test_options_tell_what_they_take() -> None:
    parser = ArgumentParser(add_help=False)
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument("--one", choices=("x", "y"))
    either.add_argument("--two", type=Path, default=Path("p"))
    parser.add_argument("names", nargs="+")
    parser.add_argument("--share", type=float, required=True)
    assert commands.of_parser(parser) == {
        "--one": {"": "text", "= x": "", "= y": ""},
        "--two": "path, default p",
        "--one | --two": "cannot be combined, and one is required",
        "argument 1": "required, text, one or more",
        "--share": "required, number",
    }


def test_every_command_with_json_declares_its_keys() -> None:
    class Undeclared(ReportingCommand):
        def add_arguments(self, parser: Any) -> None:
            add_json_argument(parser)

    known = commands.commands()
    assert len(known) > 40
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commands, "commands", lambda: {"undeclared": Undeclared()})
        with pytest.raises(ValueError, match="undeclared"):
            commands.printed_keys()


def test_keys_of_a_schema_follow_references_and_name_alternatives() -> None:
    schema = {
        "$defs": {
            "Row": {"properties": {"n": {"type": ["integer", "null"]}}, "required": ["n"]},
            "Missing": {"properties": {"reason": {}, "needed": {}}},
        },
        "properties": {
            "rows": {"type": "array", "items": {"$ref": "#/$defs/Row"}},
            "one": {"anyOf": [{"$ref": "#/$defs/Row"}, {"$ref": "#/$defs/Missing"}]},
        },
        "required": ["rows", "one"],
    }
    assert schemas.keys_of(schema) == {
        "rows[]": {"n": "integer or null"},
        "one": {"n": "integer or null", "": "or why there is none"},
    }
