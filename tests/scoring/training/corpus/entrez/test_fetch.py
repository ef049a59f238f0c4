"""The sources, and fetching them into a folder from a server with faults; nothing waits."""

import json
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from scoring.training.corpus.document import CorpusError, read_documents
from scoring.training.corpus.entrez.client import Access, Client
from scoring.training.corpus.entrez.fetch import Fetched, Order, opened
from scoring.training.corpus.entrez.sources import (
    JOURNALS,
    Source,
    of_journal,
    of_journals,
    of_query,
)
from tests.scoring.training.stub_entrez import EntrezStub, Paper

SLEEP, WAKE = map(of_journal, ("J Sleep", "J Wake"))
PAPERS = (
    *(Paper(n, (date(2019, 3, n),)) for n in range(1, 8)),
    Paper(8, (date(2019, 12, 30), date(2020, 2, 1))),  # online, and in print
    Paper(9, (date(2020, 5, 1),), text=""),
    Paper(10, (date(2020, 5, 2),), is_book=True),
    Paper(11, (date(2020, 5, 3),), journal="J Wake"),
)


class Waits(list[float]):
    """A clock that goes on when somebody sleeps; what they slept."""

    now_s = 0.0

    def sleep(self, s: float) -> None:
        self.append(s)
        self.now_s += s

    def clock(self) -> float:
        return self.now_s


@pytest.fixture
def stub() -> Iterator[EntrezStub]:
    with EntrezStub(PAPERS) as server:
        yield server


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch):
    for module in ("client", "fetch"):
        monkeypatch.setattr(f"scoring.training.corpus.entrez.{module}.PAGE", {"pubmed": 2, "pmc": 2})  # fmt: skip


def fetch(stub: EntrezStub, folder: Path, *sources: Source, waits: Waits | None = None, **changed: Any) -> Fetched:  # fmt: skip
    waits = Waits() if waits is None else waits
    order = Order(sources or (SLEEP, WAKE), **{"first_year": 2019, "last_year": 2020, "wanted": "abstracts", "folder": folder, **changed})  # fmt: skip
    with Client(Access(stub.url), waits.sleep, waits.clock) as client, opened(client, order) as run:
        return run.run()


def kept(folder: Path) -> dict[str, list[int]]:
    """The numbers in each file, by its name in the folder."""
    return {
        path.relative_to(folder).as_posix(): [int(d.id.rpartition(":")[2].removeprefix("PMC")) for d in read_documents(path)]
        for path in sorted(folder.glob("*/*.jsonl"))
    }  # fmt: skip


EXPECTED = {
    "j-sleep/2019-03.jsonl": [1, 2, 3, 4, 5, 6, 7],
    "j-sleep/2019-12.jsonl": [8],
    "j-wake/2020-05.jsonl": [11],
}


def test_each_journal_has_a_file_for_each_month_with_documents(stub: EntrezStub, tmp_path: Path):
    fetched = fetch(stub, tmp_path)
    assert kept(tmp_path) == EXPECTED
    assert (fetched.documents, fetched.new) == (9, 9)
    assert (fetched.without_text, fetched.books, fetched.problems) == (1, 1, ())
    assert [(s.name, s.documents) for s in fetched.sources] == [("J Sleep", 8), ("J Wake", 1)]
    stub.forms.clear()
    again = fetch(stub, tmp_path)
    assert stub.forms == [], "nothing is asked for twice"
    assert (again.documents, again.new, again.without_text) == (9, 0, 1)


def test_a_longer_time_fetches_only_what_is_new(stub: EntrezStub, tmp_path: Path):
    fetch(stub, tmp_path, last_year=2019)
    stub.forms.clear()
    fetch(stub, tmp_path)
    assert kept(tmp_path) == EXPECTED
    assert all(form["mindate"] >= "2020" for form in stub.asked("esearch") if form["retmax"] != "0")


@pytest.mark.parametrize("seed", range(8))
def test_faults_lose_no_record_and_double_none(stub: EntrezStub, tmp_path: Path, seed: int):
    chance = random.Random(seed)
    faults = [
        "429",
        "500",
        "503",
        "cut",
        "truncated",
        "garbled",
        "error",
        "short",
        "forgotten",
        *[""] * 9,
    ]
    stub.faults = chance.choices(faults, k=60)
    fetched = fetch(stub, tmp_path)
    assert {name: sorted(numbers) for name, numbers in kept(tmp_path).items()} == EXPECTED
    assert (fetched.documents, fetched.new, fetched.problems) == (9, 9, ())
    assert stub.faults == []


@pytest.mark.parametrize("fault", ["503", "garbled"])
def test_a_server_that_fails_for_ever_ends_in_one_sentence(
    stub: EntrezStub, tmp_path: Path, fault: str
):
    stub.faults = [fault] * 100
    with pytest.raises(CorpusError) as raised:
        fetch(stub, tmp_path)
    assert len(stub.forms) == 10
    assert str(raised.value).startswith("127.0.0.1 ")
    assert "\n" not in str(raised.value)


def test_a_wait_that_a_server_asks_for_is_kept(stub: EntrezStub, tmp_path: Path):
    waits = Waits()
    stub.faults = ["429"]
    fetch(stub, tmp_path, waits=waits)
    assert max(waits) == 7.0


def test_records_that_a_page_leaves_out_are_asked_for_by_number(stub: EntrezStub, tmp_path: Path):
    stub.withheld = {"4"}
    fetched = fetch(stub, tmp_path, SLEEP)
    assert fetched.problems == ("J Sleep, found but not delivered: 4.",)
    assert kept(tmp_path)["j-sleep/2019-03.jsonl"] == [1, 2, 3, 5, 6, 7]
    assert [form["id"] for form in stub.asked("efetch") if "id" in form] == ["4"]
    assert fetch(stub, tmp_path, SLEEP).problems == fetched.problems


def test_a_journal_that_is_not_known_is_named_and_the_others_are_fetched(
    stub: EntrezStub, tmp_path: Path
):
    fetched = fetch(stub, tmp_path, of_journal("J Slep"), WAKE)
    assert fetched.problems == ('J Slep: Entrez does not know "J Slep"[Journal].',)
    assert list(kept(tmp_path)) == ["j-wake/2020-05.jsonl"]
    assert not (tmp_path / "j-slep").exists()


def test_more_hits_than_a_query_gives_are_asked_for_in_smaller_spans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.undo()  # pages of the usual size
    in_june = [Paper(n, (date(2019, 6, 1 + n % 30),)) for n in range(10_001)]
    with EntrezStub(in_june) as stub:
        fetched = fetch(stub, tmp_path, of_query("sleep"), last_year=2019)
        assert fetched.problems == ()
        (numbers,) = kept(tmp_path).values()
        assert Counter(numbers) == Counter(range(10_001))
        assert all(int(form["retstart"]) < 9_999 for form in stub.asked("efetch"))
        days = {form["mindate"] for form in stub.asked("esearch") if form["mindate"] == form["maxdate"]}  # fmt: skip
        assert len(days) == 30


def test_papers_that_only_a_whole_year_finds_have_a_file_of_their_own(
    stub: EntrezStub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """As PubMed may do for journals that state a year alone."""
    search = EntrezStub._search

    def by_year(self: EntrezStub, form: dict[str, str]) -> str:
        is_year = form["mindate"].endswith("/01/01") and form["maxdate"].endswith("/12/31")
        number = "1" if is_year else None
        hidden = {n: p for n, p in self.papers.items() if n != "1" or number}
        self.papers, papers = hidden, self.papers
        try:
            return search(self, form)
        finally:
            self.papers = papers

    monkeypatch.setattr(EntrezStub, "_search", by_year)
    fetch(stub, tmp_path, SLEEP)
    assert kept(tmp_path) == {
        "j-sleep/2019.jsonl": [1],
        "j-sleep/2019-03.jsonl": [2, 3, 4, 5, 6, 7],
        "j-sleep/2019-12.jsonl": [8],
    }


def test_a_try_is_limited_and_a_whole_run_after_it_is_whole(stub: EntrezStub, tmp_path: Path):
    fetched = fetch(stub, tmp_path, limit=3)
    assert (fetched.new, fetched.documents) == (3, 3)
    assert kept(tmp_path) == {"j-sleep/2019-03.jsonl": [1, 2, 3]}
    fetch(stub, tmp_path)
    assert kept(tmp_path) == EXPECTED


def test_a_month_that_is_not_over_is_fetched_anew(stub: EntrezStub, tmp_path: Path):
    fetch(stub, tmp_path, SLEEP, today=date(2019, 3, 5))
    stub.papers["99"] = Paper(99, (date(2019, 3, 20),))
    fetch(stub, tmp_path, SLEEP, today=date(2019, 4, 2))
    assert kept(tmp_path)["j-sleep/2019-03.jsonl"] == [1, 2, 3, 4, 5, 6, 7, 99]


def test_full_texts_are_those_of_open_access(stub: EntrezStub, tmp_path: Path):
    fetched = fetch(stub, tmp_path, SLEEP, wanted="fulltext")
    assert all(form["db"] == "pmc" for form in stub.forms)
    assert all("open access[filter]" in form["term"] for form in stub.asked("esearch"))
    assert kept(tmp_path)["j-sleep/2019-03.jsonl"] == [1, 2, 3, 4, 5, 6, 7]
    assert fetched.without_text == 1
    (first, *_) = read_documents(tmp_path / "j-sleep/2019-03.jsonl")
    assert (first.text, first.kind) == ("Results\nMice sleep.", "fulltext")


@pytest.mark.parametrize(
    ("changed", "source", "expected"),
    [
        ({"wanted": "fulltext"}, SLEEP, "contains abstracts. Fetch fulltext into another folder"),
        ({}, of_journal("J Sleep", "mice"), "Choose another folder"),
    ],
)
def test_a_folder_of_something_else_is_refused(
    stub: EntrezStub, tmp_path: Path, changed: dict[str, Any], source: Source, expected: str
):
    fetch(stub, tmp_path, SLEEP)
    before = kept(tmp_path)
    with pytest.raises(CorpusError, match=expected):
        fetch(stub, tmp_path, source, **changed)
    assert kept(tmp_path) == before


def test_only_one_run_at_a_time_fetches_into_a_folder(stub: EntrezStub, tmp_path: Path):
    order = Order((SLEEP,), 2019, 2019, "abstracts", tmp_path)
    client = Client(Access(stub.url), Waits().sleep)
    with client, opened(client, order), pytest.raises(CorpusError, match="Another run is fetching"):
        fetch(stub, tmp_path)


KILLED = """
import sys
from pathlib import Path
from scoring.training.corpus.entrez import client, fetch
from scoring.training.corpus.entrez.fetch import Order, opened
from scoring.training.corpus.entrez.sources import of_journal

client.PAGE = fetch.PAGE = {"pubmed": 2, "pmc": 2}
sources = tuple(map(of_journal, ("J Sleep", "J Wake")))
order = Order(sources, 2019, 2020, "abstracts", Path(sys.argv[2]))
with client.Client(client.Access(sys.argv[1]), lambda s: None) as entrez, opened(entrez, order) as run:
    run.run()
"""


def test_a_process_that_is_killed_is_gone_on_with(stub: EntrezStub, tmp_path: Path):
    stub.faults = [*[""] * 8, "hold"]
    process = subprocess.Popen([sys.executable, "-c", KILLED, stub.url, str(tmp_path)])
    try:
        assert stub.held.wait(60)
    finally:
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    done = [set(json.loads(path.read_text())["slices"]) for path in tmp_path.glob("*/.state.json")]
    stub.forms.clear()
    fetch(stub, tmp_path)
    assert kept(tmp_path) == EXPECTED
    asked = {form["mindate"][:7].replace("/", "-") for form in stub.asked("esearch") if form["mindate"][:7] == form["maxdate"][:7] and "Sleep" in form["term"]}  # fmt: skip
    assert not done or asked.isdisjoint(done[0])


def test_a_line_is_a_journal_and_after_a_tab_what_its_articles_are_about(tmp_path: Path):
    path = tmp_path / "journals.txt"
    path.write_text("# ours\n\nNature\tneuroscience  # a general one\nJ  Sleep\n")
    assert of_journals(path) == (
        Source("Nature", '"Nature"[Journal] AND (neuroscience)', "nature"),
        Source("J Sleep", '"J Sleep"[Journal]', "j-sleep"),
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Nature\n\tneuroscience\n", "line 2: write a journal's name"),
        ('Nature\n"Brain"[Journal]\n', "line 2: write a journal's name"),
        ("Brain\nbrain\n", "line 2: brain occurs twice"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, text: str, expected: str):
    path = tmp_path / "journals.txt"
    path.write_text(text)
    with pytest.raises(CorpusError, match=expected):
        of_journals(path)


def test_the_list_of_braingpt_is_filtered_where_a_journal_is_general():
    sources = of_journals(JOURNALS)
    filtered = [source.name for source in sources if "AND" in source.term]
    assert len(sources) == 107
    assert filtered == ["Nature", "Cell", "Cell Rep", "Elife", "Sci Adv", "Nat Commun", "Proc Natl Acad Sci U S A", "EMBO J"]  # fmt: skip


def test_queries_that_differ_in_a_sign_have_folders_of_their_own():
    slugs = {of_query(query).slug for query in ("sleep AND mice", "sleep and mice", "(sleep) AND mice", "眠り")}  # fmt: skip
    assert len(slugs) == 4
    assert all(slug.replace("-", "").isalnum() and slug.isascii() for slug in slugs)
