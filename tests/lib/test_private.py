"""Other users of the machine: what the site makes is closed to them, and what an earlier release left open is closed."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from config.files import close_folder
from lib.private import close, close_files, open_paths
from tests.experiment.http_client import ROOT

USUAL_UMASK = 0o022  # of a shell, and of cron


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def make(path: Path, of_mode: int) -> Path:
    """A file, or a folder where the mode lets its owner enter."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir() if of_mode & 0o100 else path.write_text("x")
    path.chmod(of_mode)
    return path


@pytest.fixture
def site(tmp_path: Path, settings: Any) -> Path:
    """A folder as earlier releases left it, where nobody said another umask."""
    root = make(tmp_path / "var", 0o755)
    settings.VAR_DIR, settings.STATIC_ROOT = root, root / "static"
    for name in ("results", "scoring", "withdrawals", "corpora", "celery", "static", "own"):
        make(root / name, 0o755)
        make(root / name / "file", 0o644)
    for name in ("brainbench.sqlite3", "brainbench.sqlite3-wal", "brainbench.sqlite3-shm"):
        make(root / name, 0o644)
    make(root / "secret_key", 0o600)
    make(root / "own" / "tool", 0o644).chmod(0o755)
    make(tmp_path / "elsewhere", 0o755)
    make(tmp_path / "elsewhere" / "model", 0o644)
    (root / "models").symlink_to(tmp_path / "elsewhere")
    (root / "own" / "link").symlink_to(tmp_path / "elsewhere" / "model")
    (root / "own" / "nowhere").symlink_to(tmp_path / "gone")
    return root


def files_of(root: Path) -> dict[str, int]:
    return {
        str(path.relative_to(root)): mode(path)
        for path in [root, *root.rglob("*")]
        if not path.is_symlink() and "static" not in path.parts
    }


def test_an_upgrade_closes_the_sites_files_and_nothing_that_a_link_leads_to(site: Path) -> None:
    close(site)
    modes = files_of(site)
    assert {name for name, found in modes.items() if found & 0o077} == set()
    assert modes["."] == modes["results"] == modes["own/tool"] == 0o700
    assert modes["brainbench.sqlite3-wal"] == modes["results/file"] == 0o600
    assert (mode(site / "static"), mode(site / "static" / "file")) == (0o755, 0o644), "public"
    elsewhere = site.parent / "elsewhere"
    assert (mode(elsewhere), mode(elsewhere / "model")) == (0o755, 0o644)
    assert (site / "own" / "link").read_text() == "x"


def test_files_are_closed_by_migrate_and_not_by_each_emptying_of_the_tables(site: Path) -> None:
    close_files(using="default")
    assert mode(site / "results" / "file") == 0o644
    close_files(using="default", plan=[])
    assert mode(site / "results" / "file") == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_files_of_another_user_stay_unchanged(site: Path) -> None:
    theirs = site / "results" / "theirs"
    make(theirs, 0o755)
    os.chown(theirs, 12345, -1)
    close(site)
    close_folder(theirs)
    assert mode(theirs) == 0o755
    assert mode(site / "results") == 0o700


def test_a_socket_for_the_proxy_and_a_folder_that_all_share_are_left_alone(site: Path) -> None:
    import socket

    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(site / "s"))
        (site / "s").chmod(0o666)
        close(site)
    assert mode(site / "s") == 0o666
    shared = make(site.parent / "shared", 0o755)
    shared.chmod(0o1777)
    close_folder(shared)
    assert mode(shared) == 0o1777


def test_files_that_others_can_reach_are_named_unless_a_folder_is_closed(site: Path) -> None:
    make(site / "closed", 0o755)
    make(site / "closed" / "in", 0o644)
    (site / "closed").chmod(0o700)
    found = {str(path.relative_to(site)) for path in open_paths(site)}
    assert {".", "results", "results/file", "brainbench.sqlite3"} <= found
    assert not found & {"closed", "closed/in", "secret_key", "models", "static", "static/file"}
    assert list(open_paths(site / "results" / "file")) == [site / "results" / "file"]
    assert list(open_paths(site / "not there")) == []
    close_folder(site)
    assert mode(site) == 0o700
    assert list(open_paths(site)) == []
    assert mode(site / "results" / "file") == 0o644, (
        "the door is closed at once, and the rest later"
    )


def test_nothing_in_the_code_opens_what_the_umask_closes() -> None:
    found = {
        (str(path.relative_to(ROOT)), text)
        for folder in ("config", "lib", "experiment", "scoring", "analysis")
        for path in (ROOT / folder).rglob("*.py")
        for text in re.findall(r"umask\(.*?\)|0o[0-7]*[1-7][0-7]?\b", path.read_text())
        if not text.endswith("00")
    }
    assert found == {
        ("config/settings.py", "umask(PRIVATE_UMASK)"),
        ("config/gunicorn.py", "umask(PRIVATE_UMASK)"),
        ("config/files.py", "0o077"),
        ("lib/private.py", "0o077"),
        ("lib/private.py", "0o011"),
        ("config/settings.py", "0o755"),  # static files, which everybody may read
        ("config/settings.py", "0o644"),
        # What is replaced gives its mode to what replaces it: whoever shared it meant to
        ("lib/files.py", "0o777"),
        ("lib/backup/sqlite.py", "0o777"),
    }


ENTRANCES = {
    "manage.py": "import manage, sys; sys.argv = ['manage.py', 'version']; manage.main()",
    "gunicorn's workers": "import config.wsgi",
    "gunicorn": "from gunicorn.app.wsgiapp import WSGIApplication as A; import sys;"
    " sys.argv = ['gunicorn', '--config', 'config/gunicorn.py', 'config.wsgi']; A()",
    "Celery's workers": "import config.celery",
    "a storage": """
import django; django.setup()
from django.conf import settings
from django.core.files.base import ContentFile
from lib.storage import AtomicFileStorage
AtomicFileStorage(location=str(settings.VAR_DIR / "d" / "e")).save("f/g", ContentFile(b"x"))
""",
}
MADE = """
import os
from pathlib import Path
from lib.files import write_file
folder = Path(os.environ["VAR_DIR"])
write_file(folder / "a", "x")
(folder / "b").write_text("x")
(folder / "c").mkdir()
"""


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_every_entrance_makes_private_files(tmp_path: Path, entrance: str) -> None:
    folder = make(tmp_path / "var", 0o755)
    setup = "import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'config.settings'\n"
    done = subprocess.run(
        [sys.executable, "-c", setup + ENTRANCES[entrance] + "\n" + MADE],
        env={"PATH": os.environ["PATH"], "VAR_DIR": str(folder)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        umask=USUAL_UMASK,
    )
    assert done.returncode == 0, done.stderr
    made = files_of(folder)
    assert {"a", "b", "c", *(["d/e/f/g"] if entrance == "a storage" else [])} <= made.keys()
    assert {name: oct(found) for name, found in made.items() if name != "." and found & 0o077} == {}
    # gunicorn's parent reads no settings: the process that it starts to check them does
    assert entrance == "gunicorn" or made["."] == 0o700
