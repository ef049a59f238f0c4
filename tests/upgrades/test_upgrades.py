"""A site as each released version wrote it becomes one of this version, and goes on."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from psycopg.sql import SQL, Identifier

from tests.experiment.http_client import database_url
from tests.upgrades.site import BACKUP, BESIDE, EXPECTED, HERE, KINDS, Site, unpack

pytestmark = pytest.mark.both
VERSIONS = sorted(path.name for path in HERE.iterdir() if (path / f"{KINDS[0]}.tar.xz").is_file())
# By version: exports, by name, and places in report.json that are another since, as CHANGELOG.md says under "Data and results"
CHANGED: Mapping[str, frozenset[str]] = {}
# A run of a local model goes on with the libraries that it began with, and says so with others
OTHER_LIBRARIES = re.compile(
    r"Run \d+ began with other settings: (libraries\.\w+ was \S+, is \S+(; )?)+\. Start a new run, so that its numbers are comparable\."
)
ASKED = ("run of choices", "answering run", "grading run")


@dataclass(frozen=True)
class Upgraded:
    """A restored backup of a version, what was to be expected of it, and what became of it."""

    version: str
    backup: Path
    site: Site
    restored: dict[str, Any]
    expected: dict[str, Any]
    found: dict[str, Any]


@pytest.fixture(scope="module")
def empty_database(
    tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: Any
) -> Iterator[str]:
    """The URL of a database without tables, of the kind that this run is on."""
    if connection.vendor == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('database') / 'site.sqlite3'}"
        return
    own, name = database_url().partition("?")[0], connection.settings_dict["NAME"]
    database = Identifier(f"{name}_upgraded")
    with psycopg.connect(own, autocommit=True) as admin:
        admin.execute(SQL("CREATE DATABASE {}").format(database))
        yield own.removesuffix(name) + f"{name}_upgraded"
        admin.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(database))


@pytest.fixture(scope="module", params=VERSIONS)
def upgraded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, empty_database: str
) -> Upgraded:
    held, var = (tmp_path_factory.mktemp(name) for name in ("held", "var"))
    unpack(HERE / request.param / f"{connection.vendor}.tar.xz", held)
    for part in BESIDE:
        (held / part).rename(var / part)
    site = Site(empty_database, var)
    restored = site.manage("restore", str(held / BACKUP), "--replace", "--json")
    found = site.output("-m", "tests.upgrades.look", str(held / EXPECTED))
    expected = json.loads((held / EXPECTED).read_text(encoding="utf-8"))
    return Upgraded(
        request.param, held / BACKUP, site, json.loads(restored), expected, json.loads(found)
    )


def test_each_version_has_a_site_on_each_kind_of_database() -> None:
    assert "1.0.0" in VERSIONS
    for version in VERSIONS:
        held = {path.name for path in (HERE / version).iterdir()}
        assert held == {f"{kind}.tar.xz" for kind in KINDS}


def test_the_backup_restores_whole_and_withdrawals_after_it_are_repeated(
    upgraded: Upgraded,
) -> None:
    assert upgraded.restored["holds"]
    assert upgraded.restored["withdrawn"] == 1
    assert upgraded.restored["files"] > 0
    assert "is identical" in upgraded.site.manage("restore", str(upgraded.backup), "--verify")


def test_exports_are_the_same_to_the_last_byte_but_for_what_the_changelog_names(
    upgraded: Upgraded,
) -> None:
    before, now = upgraded.expected["exports"], upgraded.found["exports"]
    assert len(before) > 20
    changed = {name for name in before if now.get(name) != before[name]}
    assert changed == {name for name in changed_since(upgraded) if not name.startswith("/")}


def test_participants_go_on_where_they_were_and_finish(upgraded: Upgraded) -> None:
    people = zip(upgraded.expected["people"], upgraded.found["people"], strict=True)
    for person, found in people:
        name = f"{person['study']}: {person['name']}"
        for fact in ("page", "token", "is_revising"):
            assert found[fact] == person[fact], name
        assert found["end"] == ("withdraw/" if "withdr" in person["name"] else "done/"), name
    answers = upgraded.found["answers"]
    assert len(answers["given"]) > 20
    assert all(given == asked for given, asked in answers["given"].values())
    assert answers["counters"] == []


def test_half_finished_jobs_go_on_from_where_they_were_killed(upgraded: Upgraded) -> None:
    jobs = upgraded.found["jobs"]
    assert len(jobs) == 5
    for name, job in jobs.items():
        status, done, total = job["before"]
        assert status == "running", name
        assert 0 < done < total, name
        is_other = job["after"][0] == "failed" and OTHER_LIBRARIES.fullmatch(job["error"])
        assert is_other or job["after"] == ["finished", total, total], job
    # Nothing that was stored is asked for again
    asked = [job["before"] for name, job in jobs.items() if name.startswith(ASKED)]
    assert len(asked) == 3
    assert upgraded.found["asked"] == sum(total - done for _, done, total in asked)


def test_a_stored_report_opens_or_its_numbers_come_again(upgraded: Upgraded) -> None:
    result = upgraded.found["result"]
    assert result["numbers"] > 100
    assert set(result["changed"]) == {
        name for name in changed_since(upgraded) if name.startswith("/")
    }


def changed_since(upgraded: Upgraded) -> frozenset[str]:
    return CHANGED.get(upgraded.version, frozenset())
