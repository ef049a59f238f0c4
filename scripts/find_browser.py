"""Print the path of a Chromium or Chrome for the browser tests; with --install, get one where none is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WHAT_TO_DO = (
    "No Chromium or Chrome was found for the browser tests: install one (Debian: apt-get install chromium) "
    "or name one with BROWSER_PATH=/path/to/chrome."
)


def find() -> str:
    """Return the path of the first browser there is, or an empty text. A named one must be there."""
    for variable in ("BROWSER_PATH", "CHROMIUM"):
        named = os.environ.get(variable, "")
        if named:
            path = shutil.which(named)
            if path is None:
                sys.exit(
                    f"{variable}={named} is no program: give the path of a Chromium or Chrome."
                )
            return path
    for name in NAMES:
        path = shutil.which(name)
        if path is not None:
            return path
    return _playwrights_own()


def install() -> None:
    """Install Debian's Chromium as root, else Playwright's own; what goes wrong is on stderr."""
    print("No Chromium found: installing one for the browser tests ...", file=sys.stderr)
    if os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        get = ["apt-get", "-y", "-qq", "install", "--no-install-recommends", "chromium"]
        subprocess.run(["apt-get", "-qq", "update"], stdout=sys.stderr, check=False)
        subprocess.run(get, stdout=sys.stderr, env=environment, check=False)
    else:
        command = [sys.executable, "-m", "playwright", "install", "chromium"]
        subprocess.run(command, stdout=sys.stderr, check=False)


def _playwrights_own() -> str:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:  # before `make venv`
        return ""
    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else ""


def main() -> None:
    """Print the path, or leave with a sentence on what to do."""
    path = find()
    if not path and "--install" in sys.argv[1:]:
        install()
        path = find()
    if not path:
        sys.exit(WHAT_TO_DO)
    print(path)


if __name__ == "__main__":
    main()
