"""Writes the site of the present version into its folder here: `python -m tests.upgrades.make`.

An archive for each kind of database holds a backup, the folders that operators keep beside it, and what is expected of the site
(`expected.json`). The folder of a version that was released is never written again.
"""

import json
import os
import shutil
import tempfile
from pathlib import Path

from benchmarks.databases import scratch_postgres, scratch_sqlite
from lib.code import release
from scripts.with_postgres import with_programs
from tests.upgrades.site import BACKUP, BESIDE, EXPECTED, HERE, ROOT, Site, pack


def main() -> None:
    version = release()
    if f"## {version} - unreleased" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        raise SystemExit(f"{version} was released: its site stays as it is.")
    os.environ["PATH"] = with_programs(os.environ["PATH"])
    folder = HERE / version
    folder.mkdir(exist_ok=True)
    for kind, database in (("sqlite", scratch_sqlite), ("postgresql", scratch_postgres)):
        with database() as url, tempfile.TemporaryDirectory() as scratch:
            assert url is not None
            make(Site(url, Path(scratch) / kind), folder / f"{kind}.tar.xz")


def make(site: Site, archive: Path) -> None:
    """Fill an empty site, back it up, and let one more participant withdraw."""
    site.var.mkdir()
    held = site.var.parent / f"held-{site.var.name}"
    held.mkdir()
    expected = held / EXPECTED
    site.output("-m", "tests.upgrades.fill", str(expected))
    made = json.loads(site.manage("backup", "--output", str(held), "--with-results", "--json"))
    Path(made["backup"]).rename(held / BACKUP)
    (held / ".lock").unlink()
    site.output("-m", "tests.upgrades.fill", "--later", str(expected))
    for part in BESIDE:
        shutil.copytree(site.var / part, held / part)
    found = json.loads(site.output("-m", "tests.upgrades.look", "--exports", str(expected)))
    said = json.loads(expected.read_text(encoding="utf-8")) | found
    expected.write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    pack(held, archive)
    print(f"{archive}: {archive.stat().st_size / 1000:,.0f} kB")


if __name__ == "__main__":
    main()
