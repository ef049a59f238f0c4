"""Make `.venv` and install requirements.txt there; called by `make venv` with any Python 3.

This file alone must run on Pythons too old for the project, to say so in a sentence: no new syntax here.
"""

import importlib.util
import os
import shutil
import subprocess
import sys

OLDEST, NEWEST = (3, 11), (3, 13)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, ".venv")
NO_VENV = (
    "This Python cannot make virtual environments: install Debian's package %s "
    "(apt-get install %s) and run the same command again."
)


def wrong_version(version: "tuple[int, ...]") -> str:
    """Return a sentence if the project does not run on `version`, else an empty text."""
    if OLDEST <= tuple(version[:2]) <= NEWEST:
        return ""
    return (
        "Python %d.%d is not supported: install Python 3.11, 3.12 or 3.13 and name it, "
        "for example `make venv PYTHON=python3.13`." % tuple(version[:2])
    )


def have_venv_modules() -> bool:
    """Install Debian's venv package if it is missing and we may; say whether it is there now."""
    if importlib.util.find_spec("ensurepip") and importlib.util.find_spec("venv"):
        return True
    # Only the system's own Python: a package of another version would not help this one
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    package = "python%d.%d-venv" % sys.version_info[:2]
    print("Installing Debian's " + package + " ...", flush=True)
    subprocess.call(["apt-get", "update", "-qq"])
    subprocess.call(["apt-get", "install", "-y", "-qq", "--no-install-recommends", package])
    importlib.invalidate_caches()
    return importlib.util.find_spec("ensurepip") is not None


def main() -> None:
    """Make the environment, or say in one sentence why not."""
    problem = wrong_version(tuple(sys.version_info[:3]))
    if problem:
        sys.exit(problem)
    if not have_venv_modules():
        package = "python%d.%d-venv" % sys.version_info[:2]
        sys.exit(NO_VENV % (package, package))
    print("Making .venv and installing requirements.txt (a minute or two) ...", flush=True)
    made = subprocess.call([sys.executable, "-m", "venv", FOLDER])
    if made != 0:
        sys.exit("The virtual environment could not be made: the lines above say why.")
    pip = [os.path.join(FOLDER, "bin", "python"), "-m", "pip", "--disable-pip-version-check"]
    requirements = os.path.join(ROOT, "requirements.txt")
    if subprocess.call([*pip, "install", "--quiet", "-r", requirements]) != 0:
        sys.exit("The packages could not be installed: pip's lines above say why.")


if __name__ == "__main__":
    main()
