"""No line of the site's code runs the text that it reads, or compares secrets so that the time tells of them."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = ("config", "lib", "experiment", "scoring", "analysis", "benchmarks", "scripts")
# Modules that run, or build objects from, what they read
MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill", "joblib", "cloudpickle", "jsonpickle"}
CALLS = {
    *("eval", "exec", "compile", "__import__", "os.system", "os.popen", "mark_safe", "random.seed")
}
LOADERS = {"yaml.load", "torch.load", "np.load", "numpy.load"}
SAFE = {
    "torch.load": ("weights_only", True),
    "np.load": ("allow_pickle", False),
    "numpy.load": ("allow_pickle", False),
}


def sources(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    """One tree at a time: all together take four times as long, in the collection of garbage."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def faults(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (n.name for n in names if n.name.split(".")[0] in MODULES)
            case ast.ImportFrom(module=str(module)):
                if module.split(".")[0] in MODULES:
                    yield module
            case ast.Call(func=func, keywords=keywords):
                yield from call_faults(ast.unparse(func), keywords)


def call_faults(name: str, keywords: list[ast.keyword]) -> Iterator[str]:
    given = {k.arg: k.value.value for k in keywords if isinstance(k.value, ast.Constant)}
    if name in CALLS or given.get("shell") is True or given.get("trust_remote_code") is True:
        yield name
    if name in LOADERS:
        argument, safe = SAFE.get(name, ("", None))
        if given.get(argument) is not safe or not argument:
            yield name


def test_nothing_that_is_read_is_run() -> None:
    found = {path: sorted(faults(tree)) for path, tree in sources(*CODE)}
    assert len(found) > 300
    assert {path: said for path, said in found.items() if said} == {}


UNSAFE = """
import pickle
from marshal import loads
eval(text)
yaml.load(file)
torch.load(path, weights_only=False)
np.load(path)
subprocess.run(text, shell=True)
AutoModel.from_pretrained(name, trust_remote_code=True)
"""


def test_the_search_finds_what_it_looks_for() -> None:
    lines = UNSAFE.strip().splitlines()
    assert [line for line in lines if not list(faults(ast.parse(line)))] == []
    assert SECRETS.search(b"key = 'bbl_%b'" % (b"x" * 43))


# Ways to ask a server, each of which follows redirects or the environment's proxies unless it is told not to
ASKING = re.compile(
    r"(httpx2?\.(\w*Client|get|post|put|request|stream)|requests\.\w+|(urllib\.request\.)?urlopen)"
)
# Participants who are simulated follow redirects, as browsers do; they have no key
FOLLOWS = {"experiment/simulation/over_http.py"}


def asking_faults(path: str, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not ASKING.fullmatch(name := ast.unparse(node.func)):
            continue
        given = {k.arg: k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)}
        if not re.fullmatch(r"httpx2\.(Async)?Client", name) or given.get("trust_env") is not False:
            yield f"{path}: {name}"
        elif given.get("follow_redirects") is not False and path not in FOLLOWS:
            yield f"{path}: {name} follows redirects"


def test_no_client_follows_a_redirect_or_trusts_a_proxy_of_the_environment() -> None:
    """So that no key reaches them: whoever asks a server has a client of its own that says so."""
    site = ("config", "lib", "experiment", "scoring", "analysis")
    assert [said for path, tree in sources(*site) for said in asking_faults(path, tree)] == []
    for line in ("httpx2.Client()", "httpx2.get(url)", "urlopen(url)", "requests.post(url)"):
        assert list(asking_faults("x.py", ast.parse(line))), line


# What writes CSV files without the one guard against formulas (lib/formulas.py); with it: a table of pandas
WRITERS = {"csv.writer", "csv.DictWriter", "writer", "DictWriter", "to_csv"}
GUARDED = {"analysis/store.py: csv_text"}


def test_no_csv_is_written_beside_the_guard_against_formulas() -> None:
    found = {
        f"{path}: {function.name}"
        for path, tree in sources("config", "lib", "experiment", "scoring", "analysis")
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        if ast.unparse(node.func) in WRITERS or ast.unparse(node.func).endswith(".to_csv")
    }
    assert found == GUARDED


def is_ours(node: ast.expr | None, named: dict[str, list[ast.expr]]) -> bool:
    """True if a text can only be one that stands in the source, perhaps translated there."""
    match node:
        case ast.Constant(value=str()):
            return True
        case ast.Call(func=ast.Name(id=name), args=args) if name in GETTEXT:
            return all(is_ours(arg, named) for arg in args[:2] if not isinstance(arg, ast.Name))
        case ast.Call(func=ast.Attribute(attr="format", value=value)):
            return is_ours(value, named)
        case ast.IfExp(body=body, orelse=orelse):
            return is_ours(body, named) and is_ours(orelse, named)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return is_ours(left, named) and is_ours(right, named)
        case ast.Subscript(value=value) | ast.Attribute(value=value, attr="name"):
            return is_ours(value, named)
        case ast.Name(id=name):
            if name.strip("_").isupper():
                return True
            given = named.get(name, [])
            return bool(given) and all(is_ours(each, named) for each in given)
    return False


GETTEXT = {"_", "gettext", "ngettext", "gettext_lazy", "ngettext_lazy"}
# Each fills in a text of ours that it is given
FILLED_IN = {
    "analysis/teams/domain/combination.py: rule.format(calibration=CALIBRATED, folds=folds.sentence)",
    "analysis/teams/domain/trying.py: needed.format(study=data.study_slug)",
    "experiment/imports/store/plans.py: self.taken_as.format(key=record.key, field=field)",
}


def test_no_text_that_somebody_wrote_is_a_format() -> None:
    """A sign of percent or a brace in it would be a fault, and a width a page of any size."""
    found = set()
    for path, tree in sources("config", "lib", "experiment", "scoring", "analysis"):
        for function in ast.walk(tree):
            if not isinstance(function, ast.FunctionDef):
                continue
            named: dict[str, list[ast.expr]] = {}
            for node in ast.walk(function):
                if isinstance(node, ast.Assign):
                    for target in node.targets:
                        named.setdefault(ast.unparse(target), []).append(node.value)
            found |= {f"{path}: {said}" for said in formats(function, named)}
    assert found - FILLED_IN == set()
    assert found >= FILLED_IN


def formats(function: ast.AST, named: dict[str, list[ast.expr]]) -> Iterator[str]:
    for node in ast.walk(function):
        match node:
            case ast.BinOp(left=left, op=ast.Mod(), right=ast.Dict() | ast.Tuple()):
                text: ast.expr = left
            case ast.Call(func=ast.Attribute(attr="format" | "format_map", value=value)):
                text = value
            case ast.Call(func=ast.Name(id="format_lazy"), args=args):
                text = args[0]
            case _:
                continue
        if not (is_ours(text, named) or ast.unparse(text).startswith(("sql.SQL", "dateformat"))):
            yield ast.unparse(node)


SECRET = re.compile("secret|password|token|digest|signature|sha256", re.IGNORECASE)
SENT = re.compile(r"request\.(POST|GET|COOKIES|headers|META)|cleaned_data|values\[")


def test_no_secret_that_is_sent_is_compared_by_python() -> None:
    """Codes and tokens are found in the database by a digest of 256 bits, of which a time says nothing."""
    compared = [
        f"{path}: {ast.unparse(node)}"
        for path, tree in sources("config", "experiment", "lib/api")
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq)
        if SENT.search(ast.unparse(node)) and SECRET.search(ast.unparse(node))
    ]
    assert compared == []


# Forms by which services know their own keys; a test's made-up ones hold words.
# Each begins with plain letters, by which it is found ten times as fast as by a limit of words
SECRETS = re.compile(
    rb"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    rb"|AKIA[0-9A-Z]{16}\b"
    rb"|gh[pousr]_[A-Za-z0-9]{36}\b"
    rb"|hf_[A-Za-z]{34}\b"
    rb"|sk-[A-Za-z0-9_-]{40,}\b"
    rb"|bbl_[A-Za-z0-9_-]{43}\b"
    rb"|xox[abprs]-[A-Za-z0-9-]{20,}"
    rb"|pypi-[A-Za-z0-9_-]{60,}"
    rb"|eyJ[A-Za-z0-9_-]{20,}\.eyJ[A-Za-z0-9_-]{20,}\."
)


@pytest.mark.parametrize(
    "command",
    [("grep", "-hI", "-e", ""), ("log", "-p", "--no-color", "-U0")],
    ids=["files", "history"],
)
def test_the_repository_holds_no_secret(command: tuple[str, ...]) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no repository")
    done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, check=True)
    found = {match[0][:12] for match in SECRETS.finditer(done.stdout)}
    assert found == set()
