"""Print how many lines each part of the tree has beside the most that it should have: `make lines`."""

import subprocess
from pathlib import Path

# Python without migrations, but for the last row; what is over its limit has a sentence in CONTRIBUTING.md
MOST = {
    "analysis": 26_000,
    "experiment": 25_000,
    "scoring": 22_000,
    "lib, config": 6_000,
    "benchmarks": 6_500,
    "tests": 42_000,
    "migrations": 1_500,
}
MOST_FILES = 1_700


def main() -> None:
    """One row for each part; `+` where it is over."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.splitlines()
    files = [path for path in map(Path, names) if path.exists()]
    counts = dict.fromkeys(MOST, 0)
    for path in files:
        part = next((name for name in MOST if path.parts[0] in name.split(", ")), None)
        if path.suffix == ".py" and part:
            is_migration = "migrations" in path.parts and part != "tests"
            counts["migrations" if is_migration else part] += path.read_bytes().count(b"\n")
    rows = [(name, counts[name], most) for name, most in MOST.items()]
    for name, n, most in [*rows, ("tracked files", len(files), MOST_FILES)]:
        print(f"{name:<14}{n:>8,}{most:>8,} {'+' if n > most else ''}".rstrip())


if __name__ == "__main__":
    main()
