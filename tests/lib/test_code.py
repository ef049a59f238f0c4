"""The commit that results are stored under says whether the code was the commit's."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lib import code


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "docs").mkdir()
    for name in ("docs/found.json", "lib.py"):
        (tmp_path / name).write_text("1")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    for asked in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "Begin")):
        subprocess.run(["git", *asked], cwd=tmp_path, check=True)
    monkeypatch.setattr(code, "ROOT", tmp_path)
    yield tmp_path
    code.revision.cache_clear()


def version() -> str:
    code.revision.cache_clear()
    return code.code_version()


def test_the_commit_is_named_and_what_is_measured_changes_no_code(repository: Path) -> None:
    clean = version()
    assert clean.startswith("1.2.3 ")
    assert not clean.endswith("+")
    (repository / "docs" / "found.json").write_text("2")
    assert version() == clean


@pytest.mark.parametrize("is_added", [False, True])
def test_changed_code_is_marked(repository: Path, is_added: bool) -> None:
    clean = version()
    (repository / "lib.py").write_text("2")
    if is_added:
        subprocess.run(["git", "add", "."], cwd=repository, check=True)
    assert version() == f"{clean}+"
