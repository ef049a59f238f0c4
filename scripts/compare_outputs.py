"""Do two commits compute and show the same? Reports, teams, exports and pages of one database, value by value.

    compare_outputs.py prepare INPUT [--checkout DIR]         a database, made once, by the earlier commit
    compare_outputs.py capture INPUT OUTPUT [--checkout DIR]  what a commit makes of a copy of it; for each commit
    compare_outputs.py compare BEFORE AFTER [--tolerance 1e-9] [--allow FILE]

Of the project it knows manage.py's commands, addresses of pages and config.settings: modules may have moved meanwhile.
compare_outputs.toml lists them. Published data is read from ../shared, or where SHARED_DATA says.
"""

import argparse
import csv
import hashlib
import json
import os
import re
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from lxml import html

HERE = Path(__file__).resolve()
ROOT = HERE.parent.parent
LISTS: dict[str, dict[str, Any]] = tomllib.loads(HERE.with_suffix(".toml").read_text())
# All that may differ from run to run: keys of JSON, columns, words of pages, parameters of links, our own files
IGNORED_KEYS = ("made_at", "seconds", "tokens_per_s")
IGNORED_WORDS = re.compile(
    r"[Cc]omputed (?:on|at) [^.;]*? UTC"
    r"|\b[0-9a-f]{16,64}\b"  # versions of data and fingerprints; JSON has them too, and there they count
    r"|\b[2-9A-HJ-NP-Z]{4}(?:-[2-9A-HJ-NP-Z]{4}){2}\b"  # withdrawal codes
)
IGNORED_PARAMETERS = ("v",)  # the key of a stored result
IGNORED_FILES = ("timings.json",)
NUMBER = re.compile(r"((?:(?<![\w.])[-+\u2212])?\d+(?:\.\d+)?(?:e[-+]?\d+)?)")
FACT = re.compile(r"((?:(?<![\w.])[-+\u2212])?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[-+]?\d+)?)")
FLOAT = re.compile(r"-?\d+(?=[.e])(?:\.\d+)?(?:e[-+]?\d+)?")
KINDS = ("equal", "within", "allowed", "different")
ABSENT = ("(no key)", "(no entry)", "(no file)")


def link(address: str) -> str:
    """An address without what changes from run to run; of a picture within the page, only that it is one."""
    if address.startswith("data:"):
        return address.partition(";")[0]
    parts = urlsplit(address)
    query = [(n, value) for n, value in parse_qsl(parts.query) if n not in IGNORED_PARAMETERS]
    return parts._replace(query=urlencode(query)).geturl()


def words(part: Any) -> str:
    return IGNORED_WORDS.sub("", " ".join(" ".join(part.itertext()).split()))


def facts(page: str) -> dict[str, Any]:
    """The set of a page's numbers by section, with those of its drawings; cells of its tables, fields and links.

    No wording and no order: a sentence may say the same facts otherwise.
    """
    tree = html.document_fromstring(page)
    links = tree.xpath("//@href | //@src | //@action")
    fields = tree.xpath("//input[not(@type='hidden')] | //button | //option | //textarea")
    names = ("type", "name", "value", "min", "max", "checked", "selected", "disabled")
    tables = list(tree.iter("table"))
    found: dict[str, Any] = {
        "tables": [[[words(cell) for cell in row] for row in table.iter("tr")] for table in tables],
        "fields": [" ".join(f"{n}={f.get(n)}" for n in names if n in f.attrib) for f in fields],
        "links": [link(at) for at in links if not at.startswith(("/static/", "#"))],
        "numbers": defaultdict(list),
    }
    for gone in [*tables, *tree.xpath("//script | //style")]:
        gone.drop_tree()
    for part in [*reversed(tree.xpath("//section")), tree.body]:  # what is within comes first
        name = part.get("id") or part.get("aria-labelledby") or part.tag
        drawn = " ".join(part.xpath(".//@alt | .//svg//@*[name() != 'class']"))
        found["numbers"][name].extend(FACT.findall(f"{words(part)} {drawn}"))
        part.drop_tree()
    cells = [cell for table in found["tables"] for row in table for cell in row]
    found["numbers"] = {name: _set(numbers) for name, numbers in found["numbers"].items()}
    return found | {
        "tables": _set(cells),
        "fields": _set(found["fields"]),
        "links": _set(found["links"]),
    }


def _set(texts: Iterable[str]) -> dict[str, bool]:
    """A set that JSON and paths can hold; a number has one form (.5 is 0.5)."""
    return {
        re.sub(r"(?<![\d.])(?=\.\d)", "0", t.replace("\u2212", "-")).lstrip("+"): True
        for t in sorted(texts)
    }


def parsed(text: str) -> str | float:
    return float(text) if FLOAT.fullmatch(text) else text


def content(name: str, file: Path) -> Any:
    """What counts of a file: nested lists and dicts down to the values that are compared."""
    if not file.is_file():
        return "(no file)"
    raw = file.read_bytes()
    if file.suffix in (".png", ".pdf"):  # a PDF names its fonts in any order: its length must do
        return len(raw) if file.suffix == ".pdf" else hashlib.sha256(raw).hexdigest()
    text = raw.decode()
    if file.suffix == ".json":
        return json.loads(text)
    if name.startswith("exports/") and file.name != "printed.txt":
        return text.split("\n")  # to the byte
    if file.suffix == ".csv":
        header, *rows = [*csv.reader(text.splitlines(keepends=True))] or [[]]
        return [header, *(dict(zip_longest(header, map(parsed, row))) for row in rows)]
    if file.suffix == ".html":
        return facts(text)
    # Of what a command prints its numbers; of Markdown and drawings every word
    return [parsed(t) for t in (NUMBER.findall if file.suffix == ".txt" else NUMBER.split)(text)]


class Comparison:
    """`found`: lines to print. `allowed`: patterns of paths, such as reports/*/report.json.sources.human.power.*.

    A pattern after "+ " allows what is added, after "- " what is gone, and alone a value that changed.
    """

    def __init__(self, tolerance: float = 1e-9, allowed: Iterable[str] = ()) -> None:
        self.tolerance, self.folder = tolerance, ""
        signed = ((p[0] if p[:2] in ("+ ", "- ") else "", p) for p in allowed)
        self.allowed = [(sign, p[2:] if sign else p) for sign, p in signed]
        self.counts: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(KINDS, 0))
        self.found: dict[str, list[str]] = defaultdict(list)

    def values(self, path: str, a: Any, b: Any) -> None:
        if isinstance(a, dict) and isinstance(b, dict):
            for key in (key for key in {**a, **b} if key not in IGNORED_KEYS):
                self.values(f"{path}.{key}", a.get(key, "(no key)"), b.get(key, "(no key)"))
        elif isinstance(a, list) and isinstance(b, list):
            for n, (one, other) in enumerate(zip_longest(a, b, fillvalue="(no entry)")):
                self.values(f"{path}.{n}", one, other)
        else:
            self._note(path, a, b)

    def _note(self, path: str, a: Any, b: Any) -> None:
        same = type(a) is type(b) and (a == b or (a != a and b != b))
        floats = isinstance(a, float) and isinstance(b, float)
        near = floats and abs(a - b) <= self.tolerance * max(1, abs(a), abs(b))
        kind = "equal" if same else "within" if near else "different"
        sign = "+" if a in ABSENT else "-" if b in ABSENT else ""
        if kind == "different" and any(
            fnmatchcase(path, pattern) for own, pattern in self.allowed if own == sign
        ):
            kind = "allowed"
        self.counts[self.folder][kind] += 1
        if kind != "equal":
            one, other = str(a), str(b)
            at = next((n for n, (x, y) in enumerate(zip_longest(one, other)) if x != y), 0)
            cut = slice(max(0, at - 30), at + 40)
            self.found[kind].append(f"{path}  {one[cut]!r} -> {other[cut]!r}")

    def summarise(self) -> int:
        """Print a table and the first differences; 0 if there are values, and no difference but allowed ones."""
        print(f"{'what':<44}", *(f"{kind:>10}" for kind in KINDS))
        for folder, counts in self.counts.items():
            print(f"{folder:<44}", *(f"{counts[kind]:>10}" for kind in KINDS))
        for kind in KINDS[1:]:
            if lines := self.found[kind]:
                print(f"\n{kind} ({len(lines)}):", *lines[:40], sep="\n  ")
        return int(not self.counts or bool(self.found["different"]))


def allowed_in(path: Path | None) -> list[str]:
    lines = path.read_text(encoding="utf-8").splitlines() if path else []
    pairs = [[part.strip() for part in line.partition("#")[::2]] for line in lines]
    if lacking := [pattern for pattern, reason in pairs if pattern and not reason]:
        sys.exit(f"--allow: say after a # why {lacking[0]} may differ")
    return [pattern for pattern, _ in pairs if pattern]


def compare(before: Path, after: Path, tolerance: float, allow: Path | None) -> int:
    comparison = Comparison(tolerance, allowed_in(allow))
    files = [(home, file) for home in (before, after) for file in home.rglob("*")]
    names = {file.relative_to(home).as_posix() for home, file in files if file.is_file()}
    for name in sorted(names - set(IGNORED_FILES)):
        comparison.folder = name.rpartition("/")[0]
        comparison.values(name, content(name, before / name), content(name, after / name))
    return comparison.summarise()


def python(checkout: Path, home: Path, arguments: list[str], output: Any = None) -> None:
    """Run it in a checkout, with its own virtual environment if it has one, on the data in `home`."""
    own = checkout / ".venv/bin/python"
    database = f"sqlite:///{home}/db.sqlite3"
    place = {"VAR_DIR": f"{home}", "DATABASE_URL": database, "STATIC_HASHED": "0"}
    inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    run = [str(own) if own.exists() else sys.executable, *arguments]
    if code := subprocess.run(run, cwd=checkout, env=inherited | place, stdout=output).returncode:
        sys.exit(f"{' '.join(arguments)}: ended with {code}")


def manage(checkout: Path, home: Path, step: str, output: Path) -> dict[str, float]:
    """Run a step's commands; what they print lies beside the files that they write. How many seconds each took."""
    data = Path(os.environ.get("SHARED_DATA") or ROOT.parent / "shared") / "brainbench_results"
    took = {}
    for name, command in LISTS[step].items():
        started, out = time.monotonic(), output / name
        out.mkdir(parents=True, exist_ok=True)
        parts = command.format(out="{out}", data="{data}", **LISTS["words"]).split()
        said = out / ("printed.json" if "--json" in parts else "printed.txt")
        with said.open("w") as file:
            arguments = ["manage.py", *(part.format(out=out, data=data) for part in parts)]
            python(checkout, home, arguments, file)
        said.write_text(said.read_text().replace(f"{output}", "OUTPUT").replace(f"{home}", "HOME"))
        took[name] = round(time.monotonic() - started, 1)
        print(f"{took[name]:7.1f} s  {name}", flush=True)
    return took


def prepare(home: Path, checkout: Path) -> None:
    manage(checkout, home, "prepare", home / "printed")
    (home / "clock.txt").write_text(datetime.now(UTC).isoformat(timespec="seconds"))


def capture(source: Path, output: Path, checkout: Path) -> None:
    output.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        home, empty = Path(folder) / "input", Path(tempfile.mkdtemp(dir=folder))
        shutil.copytree(source, home)
        took = manage(checkout, home, "capture", output) | manage(checkout, empty, "afresh", output)
        started = time.monotonic()
        python(checkout, home, [str(HERE), "visit", str(home), str(output / "pages")])
        took["pages"] = round(time.monotonic() - started, 1)
    (output / "timings.json").write_text(json.dumps(took, indent=1))
    print(f"{took['pages']:7.1f} s  pages\n{sum(took.values()):7.1f} s  together")


def visit(home: Path, output: Path) -> None:
    """Store each page as a researcher sees it, then the test as a participant takes it. To be run within the checkout."""
    import django
    from django.utils import timezone

    clock = datetime.fromisoformat((home / "clock.txt").read_text())
    timezone.now = lambda: clock  # it stands still
    secrets.randbits = Random(1).getrandbits  # type: ignore[assignment]  # participants get these
    sys.path[0], os.environ["DJANGO_SETTINGS_MODULE"] = os.getcwd(), "config.settings"
    django.setup()
    from django.contrib.auth import get_user_model
    from django.test import Client

    site: dict[str, Any] = {"SERVER_NAME": "localhost", "raise_request_exception": False}
    researcher, visitor = Client(**site), Client(**site)
    researcher.force_login(get_user_model().objects.get(username="compare"))
    answers: dict[str, list[Any]] = {}
    output.mkdir()

    def keep(name: str, response: Any) -> str:
        stem = re.sub(r"\W+", "-", name).strip("-")
        kind = response.headers.get("Content-Type", "").partition(";")[0]
        suffix = re.split(r"[/+]", kind.replace("plain", "txt"))[1]
        body = b"".join(response.streaming_content) if response.streaming else response.content
        (output / f"{stem}.{suffix}").write_bytes(body)
        answers[stem] = [response.status_code, kind, response.request["PATH_INFO"]]
        return body.decode() if suffix == "html" else "<p></p>"

    pages = LISTS["pages"]
    members = urlencode([("members", name) for name in LISTS["words"]["llamas"].split()])
    addresses = [address.format(members=members) for address in pages["others"]]
    addresses += [f"/lab/studies/{s}/{at}" for s in pages["studies"] for at in pages["of_study"]]
    for address in addresses:  # which grow meanwhile
        client = visitor if address.startswith("/s/") else researcher
        links = facts(keep(address, client.get(address, follow=True)))["links"]
        new = [at for at in dict.fromkeys(links) if re.fullmatch(pages["followed"], at)]
        addresses += [at for at in new if at not in addresses]
    take_part(visitor, keep)
    keep("afterwards", researcher.get("/lab/studies/demo/?kind=real"))
    (output / "answers.json").write_text(json.dumps(answers, indent=1))


def take_part(client: Any, keep: Callable[[str, Any], str]) -> None:
    """Take the demo study's test to its end; to the questions, one possible answer after the other."""
    response = client.get("/s/demo/")
    for step in range(40):
        page = html.document_fromstring(keep(f"participant {step:02}", response))
        if not page.forms or response.status_code not in (200, 422):
            return
        form = page.forms[0]
        sent = dict(form.form_values())
        sent |= {f.get("name"): f"{30 + step}" for f in form.xpath(".//input[@type='number']")}
        sent |= {f.name: f.value_options[1] for f in form.iter("select")}
        sent |= {f.get("name"): f.get("value") for f in form.xpath(".//button[@name][1]")}
        for name in {field.get("name") for field in form.xpath(".//input[@type='radio']")}:
            sent[name] = form.inputs[name].value_options[step % len(form.inputs[name])]
        response = client.post(response.request["PATH_INFO"], sent, follow=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)  # fmt: skip
    actions = parser.add_subparsers(dest="action", required=True)
    places = {prepare: "home", capture: "source output", compare: "before after", visit: "home output"}  # fmt: skip
    for action, names in places.items():
        own = actions.add_parser(action.__name__)
        own.set_defaults(action=action)
        for name in names.split():
            own.add_argument(name, type=lambda text: Path(text).resolve())
        if action in (prepare, capture):
            own.add_argument("--checkout", type=lambda text: Path(text).resolve(), default=ROOT)
        if action is compare:
            own.add_argument("--tolerance", type=float, default=1e-9)
            own.add_argument("--allow", type=Path, help="patterns of paths, each with # and why")
    given = vars(parser.parse_args())
    return given.pop("action")(**given) or 0


if __name__ == "__main__":
    sys.exit(main())
