"""Print the path of a browser for the tests, `chromium` or `firefox`; with --install, get one where none is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = {
    # Chromium without windows, where there is one: it takes about half of the processor's time
    "chromium": (
        "chromium-headless-shell",
        "chromium",
        "chromium-browser",
        "google-chrome",
        "google-chrome-stable",
        "chrome",
    ),
    "firefox": ("firefox-esr", "firefox"),
}
VARIABLES = {"chromium": ("BROWSER_PATH", "CHROMIUM"), "firefox": ("FIREFOX_PATH",)}
SPOKEN = {"chromium": "Chromium or Chrome", "firefox": "Firefox"}
# Of Debian, the first that there is
PACKAGES = {"chromium": ("chromium-headless-shell", "chromium"), "firefox": ("firefox-esr",)}


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
        get = ["apt-get", "-y", "-qq", "install", "--no-install-recommends"]
        subprocess.run(["apt-get", "-qq", "update"], stdout=sys.stderr, check=False)
        for package in PACKAGES[browser]:
            done = subprocess.run([*get, package], stdout=sys.stderr, env=environment, check=False)
            if done.returncode == 0:
                break
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
            f"{PACKAGES[browser][-1]}) or name one with {VARIABLES[browser][0]}=/path/to/it."
        )
    print(path)


if __name__ == "__main__":
    main()
