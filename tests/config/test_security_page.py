"""docs/security.md names tests as proof: each of them exists."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
ROW = re.compile(r"^\| (?:V\d+|\d+\.\d+\.\d+)[^|]*\|[^|]+\|(.*)\|$", re.MULTILINE)


def test_every_test_that_the_page_names_exists() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    rows = ROW.findall(page)
    assert len(rows) > 30
    assert all(NAMED.fullmatch(row.strip()) for row in rows)
    missing = []
    for file, name in NAMED.findall(page):
        path = ROOT / file
        tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module([], [])
        tests = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        if not any(test.startswith("test_") for test in tests) or (name and name not in tests):
            missing.append(f"{file}::{name}")
    assert missing == []
