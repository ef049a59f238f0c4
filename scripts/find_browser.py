"""Print the path of a browser for the tests, `chromium` or `firefox`; with --install, get one where none is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = {
    "chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    "firefox": ("firefox-esr", "firefox"),
}
VARIABLES = {"chromium": ("BROWSER_PATH", "CHROMIUM"), "firefox": ("FIREFOX_PATH",)}
SPOKEN = {"chromium": "Chromium or Chrome", "firefox": "Firefox"}
PACKAGES = {"chromium": "chromium", "firefox": "firefox-esr"}  # of Debian


def find(browser: str) -> str:
    """Return the path of the first such browser there is, or an empty text. A named one must be there."""
    for variable in VARIABLES[browser]:
        named = os.environ.get(variable, "")
        if named:
            path = shutil.which(named)
            if path is None:
                sys.exit(
                    f"{variable}={named} is not a program. Give the path of a {SPOKEN[browser]}."
                )
            return path
    for name in NAMES[browser]:
        path = shutil.which(name)
        if path is not None:
            return path
    return _playwrights_own(browser)


def install(browser: str) -> None:
    """Install Debian's as root, else Playwright's own; what goes wrong is on stderr."""
    print(f"No {SPOKEN[browser]} found: installing one for the browser tests ...", file=sys.stderr)
    if os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        package = PACKAGES[browser]
        get = ["apt-get", "-y", "-qq", "install", "--no-install-recommends", package]
        subprocess.run(["apt-get", "-qq", "update"], stdout=sys.stderr, check=False)
        subprocess.run(get, stdout=sys.stderr, env=environment, check=False)
    else:
        command = [sys.executable, "-m", "playwright", "install", browser]
        subprocess.run(command, stdout=sys.stderr, check=False)


def _playwrights_own(browser: str) -> str:
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:  # before `make venv`
        return ""
    with sync_playwright() as playwright:
        path: str = getattr(playwright, browser).executable_path
    return path if Path(path).exists() else ""


def main() -> None:
    """Print the path, or leave with a sentence on what to do."""
    named = [word for word in sys.argv[1:] if not word.startswith("-")]
    browser = named[0] if named else "chromium"
    path = find(browser)
    if not path and "--install" in sys.argv[1:]:
        install(browser)
        path = find(browser)
    if not path:
        sys.exit(
            f"No {SPOKEN[browser]} was found for the browser tests: install one (Debian: apt-get install "
            f"{PACKAGES[browser]}) or name one with {VARIABLES[browser][0]}=/path/to/it."
        )
    print(path)


if __name__ == "__main__":
    main()
