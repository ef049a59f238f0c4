"""The rest: settings, addresses, exit statuses and the one public function."""

import ast
import inspect
import re
from collections.abc import Iterator
from typing import get_type_hints

from django.core.management.base import CommandError
from django.urls import URLPattern

from experiment.participant import urls
from lib.code import ROOT
from lib.commands import INTERRUPTED
from lib.monitoring import views
from lib.shapes import Tree, tree

READ_IN = ("settings", "gunicorn", "listening", "logs", "env")
OUR_OWN = {
    "SERVES_PAGES",
    "PROMETHEUS_MULTIPROC_DIR",
}  # config/gunicorn.py sets them for its processes


def site_settings() -> Tree:
    """Names with how each is read, and its default, as the code of config/ says it.

    >>> site_settings()["PORT"]
    'integer(8000, minimum=1, maximum=65535)'
    """
    found: dict[str, set[str]] = {}
    for module in READ_IN:
        source = (ROOT / "config" / f"{module}.py").read_text(encoding="utf-8")
        for name, reading in _readings(ast.parse(source)):
            found.setdefault(name, set()).add(reading)
    return {name: "; ".join(sorted(found[name])) for name in found.keys() - OUR_OWN}


def _readings(module: ast.Module) -> Iterator[tuple[str, str]]:
    """Calls such as `env.flag("HTTPS", False)`."""
    for node in ast.walk(module):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        reader, first = node.func.value, node.args[0] if node.args else None
        is_env = isinstance(reader, ast.Name) and reader.id in ("env", "self")
        if not is_env or not isinstance(first, ast.Constant) or not str(first.value).isupper():
            continue
        rest = [ast.unparse(one) for one in (*node.args[1:], *node.keywords)]
        yield str(first.value), f"{node.func.attr}({', '.join(rest)})"
        # Some read a second setting: server_keys("SCORING_API_KEYS", "SCORING_API_KEY", ...)
        for one in node.args[1:]:
            if (
                isinstance(one, ast.Constant)
                and str(one.value).isupper()
                and "KEY" in str(one.value)
            ):
                yield str(one.value), node.func.attr


def addresses() -> Tree:
    """Those of participants' pages, with the name of each, and those that monitoring asks."""
    people = {f"/s/{one.pattern}": one.name or "" for one in urls.urlpatterns}
    inside = {f"/{one.pattern}": "" for one in views.urlpatterns if isinstance(one, URLPattern)}
    return people | inside


def exit_statuses() -> Tree:
    return {
        "0": "done",
        str(CommandError().returncode): "refused, or not all of it could be done",
        "2": "the command line cannot be read",
        str(INTERRUPTED): "stopped with Ctrl-C",
    }


def functions() -> Tree:
    """`score_pairs`: its arguments, and the fields of what it returns."""
    from scoring.pairs import ScoredPair, score_pairs  # it loads what computes

    hints, found = get_type_hints(score_pairs), Tree()
    for one in inspect.signature(score_pairs).parameters.values():
        # Without modules, which may move
        kind = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", inspect.formatannotation(hints[one.name]))
        default = "" if one.default is one.empty else f", default {one.default!r}"
        found[str(one).partition(":")[0]] = f"{kind}{default}"
    return {"score_pairs": found | {"result[]": tree(ScoredPair)}}
