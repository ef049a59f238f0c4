"""Print how many kB each part of the tree has beside the most that it should have, and how many helpers have one caller: `make sizes`."""

import ast
import subprocess
from collections import Counter
from pathlib import Path

# The most kB (1,000 bytes) of each part; what is over its limit has a sentence in CONTRIBUTING.md
APPS = ("analysis", "experiment", "scoring", "lib", "config")
MOST_PYTHON = 4_250
MOST_ONCE = 0.12  # of an app's functions
MOST = {"templates": 480, "static": 150, "benchmarks": 385, "tests": 2_450, "docs": 330}
ENDINGS = {"static": (".js", ".css"), "benchmarks": (".py",), "tests": (".py",), "docs": (".md",)}


def part_of(path: Path) -> str | None:
    """The part to which a tracked file counts; migrations and other kinds of files count to none.

    >>> part_of(Path("lib/jobs/models.py")), part_of(Path("templates/lab/_bar.html"))
    ('lib', 'templates')
    >>> part_of(Path("scoring/migrations/0001_initial.py")), part_of(Path("docs/trust.json"))
    (None, None)
    """
    top = path.parts[0]
    if top in APPS:
        if "static" in path.parts:
            return "static" if path.suffix in ENDINGS["static"] else None
        return top if path.suffix == ".py" and "migrations" not in path.parts else None
    is_counted = top in MOST and path.suffix in ENDINGS.get(top, (path.suffix,))
    return top if is_counted else None


def sizes() -> dict[str, float]:
    """The size of each part, in kB."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.splitlines()
    found = dict.fromkeys((*APPS, *MOST), 0.0)
    for path in map(Path, names):
        if path.exists() and (part := part_of(path)):
            found[part] += path.stat().st_size / 1000
    return found


def used_once(source: str) -> tuple[int, int]:
    """The number of private functions that their module names once, and of all its functions.

    >>> used_once("def _half(x): return x / 2\\ndef halves(xs): return [_half(x) for x in xs]")
    (1, 2)
    """
    nodes = list(ast.walk(ast.parse(source)))
    named = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    named += Counter(node.attr for node in nodes if isinstance(node, ast.Attribute))
    functions = [node.name for node in nodes if isinstance(node, ast.FunctionDef)]
    private = [name for name in functions if name.startswith("_") and not name.endswith("__")]
    return sum(named[name] == 1 for name in private), len(functions)


def main() -> None:
    """One row for each part, and one for the apps together; `+` where it is over."""
    found = sizes()
    for app in APPS:
        print(f"{app:<12}{found[app]:>8,.0f}")
    python = ("Python", sum(found[app] for app in APPS), MOST_PYTHON)
    for name, kb, most in (python, *((name, found[name], MOST[name]) for name in MOST)):
        print(f"{name:<12}{kb:>8,.0f}{most:>8,} {'+' if kb > most else ''}".rstrip())
    print("\nPrivate functions that are used once, of all functions")
    for app in APPS:
        files = [path for path in Path(app).rglob("*.py") if part_of(path) == app]
        once, every = map(sum, zip(*(used_once(path.read_text()) for path in files), strict=True))
        print(
            f"{app:<12}{once:>8,}{every:>8,}{once / every:>8.1%}{' +' if once / every > MOST_ONCE else ''}"
        )


if __name__ == "__main__":
    main()
