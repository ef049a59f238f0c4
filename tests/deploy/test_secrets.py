"""Files that deploying puts beside the shipped files are nobody else's: in no commit, and in no layer of an image."""

import subprocess

import pytest

from tests.experiment.http_client import ROOT

HELD = {".env": "**/.env", "deploy/compose/.env": "**/.env", "deploy/compose/tls/privkey.pem": "deploy/compose/tls",
        "deploy/compose/brainbench.conf": "deploy/compose/brainbench.conf"}  # fmt: skip


@pytest.mark.parametrize("path", HELD)
def test_secrets_of_a_site_are_left_out_of_commits_and_images(path: str) -> None:
    asked = subprocess.run(["git", "check-ignore", "--no-index", "-q", path], cwd=ROOT, check=False)
    assert asked.returncode == 0
    assert HELD[path] in (ROOT / ".dockerignore").read_text().splitlines()
