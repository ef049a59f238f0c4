"""E-utilities on a free port, over real HTTP, in the shapes of their answers, over papers that are made up; with faults on demand.

Like PubMed, it lists the first 9,999 hits of a search and gives no record after them, and finds a paper under each of its
dates of publication.
"""

import gzip
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

LARGEST = 9_999
DOCTYPE = '<?xml version="1.0" encoding="UTF-8" ?>\n<!DOCTYPE {0} PUBLIC "-//NLM//DTD {0}//EN" "{1}/{0}.dtd">\n'
PUBMED = """<PubmedArticle><MedlineCitation><PMID Version="1">{number}</PMID><Article><Journal><JournalIssue><PubDate>
<Year>{day.year}</Year><Month>{day:%b}</Month></PubDate></JournalIssue><Title>{journal}</Title></Journal>
<ArticleTitle>Paper {number}</ArticleTitle>{abstract}</Article></MedlineCitation><PubmedData><ArticleIdList>
<ArticleId IdType="doi">10.1000/{number}</ArticleId></ArticleIdList></PubmedData></PubmedArticle>"""
BOOK = "<PubmedBookArticle><BookDocument><PMID>{number}</PMID></BookDocument></PubmedBookArticle>"
PMC = """<article><front><journal-meta><journal-title-group><journal-title>{journal}</journal-title></journal-title-group>
</journal-meta><article-meta><article-id pub-id-type="pmcid">PMC{number}</article-id><pub-date><year>{day.year}</year></pub-date>
</article-meta></front>{body}</article>"""


@dataclass(frozen=True)
class Paper:
    """`days` are its dates of publication: of print, and online where it is another; without one, `year` alone is known."""

    number: int
    days: tuple[date, ...]
    journal: str = "J Sleep"
    text: str = "Mice sleep."
    is_book: bool = False
    year: int = 0

    @property
    def first_day(self) -> date:
        return self.days[0] if self.days else date(self.year, 1, 1)


class EntrezStub:
    """The server. `faults` become of the next requests, in their order: names of `fault_` methods; "" is none."""

    def __init__(self, papers: Iterable[Paper], dtd_host: str = "http://127.0.0.1:1") -> None:
        self.papers = {str(paper.number): paper for paper in papers}
        self.dtd_host, self.redirect_to = dtd_host, ""
        self.faults: list[str] = []
        self.withheld: set[str] = set()  # numbers that are found and never given
        self.forms: list[dict[str, str]] = []
        self.searches: dict[str, list[str]] = {}
        self.lock = threading.Lock()
        self.held, self.closing = threading.Event(), threading.Event()
        self.http = _Server(("127.0.0.1", 0), _Handler)
        self.http.stub = self
        self.origin = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.url = f"{self.origin}/entrez/eutils"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()

    def asked(self, utility: str) -> list[dict[str, str]]:
        return [form for form in self.forms if form["utility"] == utility]

    def answer(self, form: dict[str, str]) -> str:
        return self._search(form) if form["utility"] == "esearch" else self._fetch(form)

    def _search(self, form: dict[str, str]) -> str:
        first, last = (_day(form[key]) for key in ("mindate", "maxdate"))
        without = [
            (_day(a), _day(b)) for a, b in re.findall(r"([\d/]+):([\d/]+)\[pdat\]", form["term"])
        ]
        journal = re.match(r'"(.*?)"\[Journal\]', form["term"])
        name = journal[1] if journal else None
        if name is not None and all(paper.journal != name for paper in self.papers.values()):
            lists = f'<ErrorList><PhraseNotFound>"{name}"[Journal]</PhraseNotFound></ErrorList>'
            return self._result("eSearchResult", f"<Count>0</Count><RetMax>0</RetMax><IdList/>{lists}")  # fmt: skip
        ids = [
            number
            for number, paper in self.papers.items()
            if name in (None, paper.journal)
            and _is_within(paper, first, last)
            and not any(_is_within(paper, *span) for span in without)
        ]
        with self.lock:
            web_env = f"MCID_{len(self.searches)}"
            self.searches[web_env] = ids
        listed = "".join(f"<Id>{n}</Id>" for n in ids[: min(LARGEST, int(form["retmax"]))])
        return self._result(
            "eSearchResult",
            f"<Count>{len(ids)}</Count><RetMax>{form['retmax']}</RetMax><RetStart>0</RetStart><QueryKey>1</QueryKey>"
            f"<WebEnv>{web_env}</WebEnv><IdList>{listed}</IdList><TranslationSet/>",
        )

    def _fetch(self, form: dict[str, str]) -> str:
        if "id" in form:
            numbers = form["id"].split(",")
        else:
            start = int(form["retstart"])
            end = min(start + int(form["retmax"]), LARGEST)
            numbers = self.searches[form["WebEnv"]][start:end]
        papers = [self.papers[number] for number in numbers if number not in self.withheld]
        if form["db"] == "pmc":
            return self._result("pmc-articleset", "".join(map(_article, papers)))
        return self._result("PubmedArticleSet", "".join(map(_citation, papers)))

    def _result(self, root: str, content: str) -> str:
        return DOCTYPE.format(root, self.dtd_host) + f"<{root}>{content}</{root}>"


def _day(text: str) -> date:
    return date(*map(int, text.split("/")))


def _is_within(paper: Paper, first: date, last: date) -> bool:
    is_year = first <= date(paper.year or 1, 1, 1) and date(paper.year or 1, 12, 31) <= last
    return is_year if paper.year else any(first <= day <= last for day in paper.days)


def _citation(paper: Paper) -> str:
    if paper.is_book:
        return BOOK.format(number=paper.number)
    parts = f"<AbstractText>{escape(paper.text)}</AbstractText>"
    abstract = f"<Abstract>{parts}</Abstract>" if paper.text else ""
    return PUBMED.format(number=paper.number, journal=paper.journal, day=paper.first_day, abstract=abstract)  # fmt: skip


def _article(paper: Paper) -> str:
    body = f"<body><sec><title>Results</title><p>{escape(paper.text)}</p></sec></body>"
    return PMC.format(
        number=paper.number,
        journal=paper.journal,
        day=paper.first_day,
        body=body if paper.text else "",
    )


class _Server(ThreadingHTTPServer):
    stub: EntrezStub

    def handle_error(self, *_: Any) -> None:
        pass  # clients that went away are part of the tests


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in one packet

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.server.stub.forms.append({"utility": f"GET {self.path}"})
        self.send(404, "")

    def do_POST(self) -> None:
        stub, content = self.server.stub, self.rfile.read(int(self.headers["Content-Length"]))
        utility = self.path.rpartition("/")[2].removesuffix(".fcgi")
        form = {name: values[0] for name, values in parse_qs(content.decode()).items()}
        form["utility"] = utility
        with stub.lock:
            stub.forms.append(form)
            fault = stub.faults.pop(0) if stub.faults else ""
        if fault == "forgotten" and "WebEnv" not in form:
            fault = ""
        act: Callable[[str], None] = getattr(self, "fault_" + fault.replace(" ", "_"))
        act(stub.answer(form))

    def send(self, status: int, text: str | bytes, **headers: str) -> None:
        content = text.encode() if isinstance(text, str) else text
        self.send_response(status)
        self.send_header("Content-Type", "text/xml; charset=UTF-8")
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(content)

    def fault_(self, answer: str) -> None:
        self.send(200, gzip.compress(answer.encode(), 1), Content_Encoding="gzip")

    def fault_garbled(self, answer: str) -> None:
        content = gzip.compress(answer.encode())
        self.send(200, content[:20] + b"?" * 20 + content[40:], Content_Encoding="gzip")

    def fault_429(self, answer: str) -> None:
        said = '{"error":"API rate limit exceeded","api-key":"lab-key","count":"11","limit":"10"}'
        self.send(429, said, Retry_After="7")

    def fault_500(self, answer: str) -> None:
        self.send(500, "<html><body><h1>Server Error</h1></body></html>")

    def fault_503(self, answer: str) -> None:
        self.send(503, "")

    def fault_refused(self, answer: str) -> None:
        self.send(400, '{"error":"API key invalid lab-key","api-key":"lab-key"}')

    def fault_cut(self, answer: str) -> None:
        """The connection ends amid the body."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer.encode())))
        self.end_headers()
        self.wfile.write(answer.encode()[: len(answer) // 2])
        self.close_connection = True

    def fault_truncated(self, answer: str) -> None:
        self.send(200, answer[: len(answer) // 2])

    def fault_error(self, answer: str) -> None:
        self.send(200, "<eFetchResult><ERROR>Search Backend failed: timeout</ERROR></eFetchResult>")

    def fault_short(self, answer: str) -> None:
        """Fewer records than were asked for, and no word of it."""
        self.send(200, re.sub(r"<PubmedArticle>.*?</PubmedArticle>", "", answer, count=1, flags=re.DOTALL))  # fmt: skip

    def fault_forgotten(self, answer: str) -> None:
        said = "Cannot retrieve history data. query_key: 1, WebEnv: MCID_1"
        self.send(400, f"<eFetchResult>\n\t<ERROR>{said}</ERROR>\n</eFetchResult>")

    def fault_elsewhere(self, answer: str) -> None:
        self.send(302, "", Location=self.server.stub.redirect_to)

    def fault_hold(self, answer: str) -> None:
        """No answer, until the server ends."""
        self.server.stub.held.set()
        self.server.stub.closing.wait()
        self.close_connection = True
