"""Entrez (NCBI's E-utilities) over HTTP: searches that its history server keeps, and what they found, in pages of XML.

Knows no folder and makes no documents. Only the host of one address is asked: no redirect is followed, no proxy or .netrc
of the environment used, nothing that an answer names is loaded. Parameters are sent in the body, never in an address, which
logs might keep: one of them is the key.
"""

import calendar
import re
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Literal

import httpx2
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

from scoring.backends.http import errors
from scoring.backends.http.errors import RawReply, RetryableError, pause_s
from scoring.domain.backend import ScoringError
from scoring.training.corpus.document import CorpusError
from scoring.training.corpus.read.xml import local_name, parse


class Pace:
    """Lets requests begin at least 1 / `per_second` apart: in no second are there more."""

    def __init__(
        self,
        per_second: float,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._apart_s, self._sleep, self._clock = 1 / per_second, sleep, clock
        self._next_s = clock()

    def wait(self) -> None:
        """Until the next request may begin."""
        now_s = self._clock()
        if now_s < self._next_s:
            self._sleep(self._next_s - now_s)
        self._next_s = max(now_s, self._next_s) + self._apart_s


@dataclass(frozen=True, slots=True)
class Slice:
    """From the first day to the last; its name is "2019", "2019-03" or "2019-03-07"."""

    name: str
    first: date
    last: date

    def parts(self) -> tuple["Slice", ...]:
        """The months of a year, the days of a month; a day has none.

        >>> [part.name for part in year_of(2020).parts()[1].parts()][-1]
        '2020-02-29'
        """
        year, *more = map(int, self.name.split("-"))
        if not more:
            ends = [date(year, n, calendar.monthrange(year, n)[1]) for n in range(1, 13)]
            return tuple(Slice(f"{year:04d}-{end:%m}", end.replace(day=1), end) for end in ends)
        if len(more) > 1:
            return ()
        days = (self.first + timedelta(n) for n in range((self.last - self.first).days + 1))
        return tuple(Slice(day.isoformat(), day, day) for day in days)


def year_of(year: int) -> Slice:
    return Slice(f"{year:04d}", date(year, 1, 1), date(year, 12, 31))


Database = Literal["pubmed", "pmc"]
LARGEST = 9_999  # hits of one query that PubMed gives
PAGE = {"pubmed": 400, "pmc": 40}  # records in an answer of about 10 MB
ATTEMPTS = 10  # in about three minutes
LONGEST_PAUSE_S = 3_600.0
TIMEOUT = httpx2.Timeout(60, read=120)
MAX_BYTES = 500 * 2**20
TOOL = "brainbench-live"
HISTORY = re.compile(
    "history|WebEnv|obtain query", re.IGNORECASE
)  # in what Entrez says of a search it has forgotten
ROOTS = {"pubmed": "PubmedArticleSet", "pmc": "pmc-articleset"}


class HistoryLostError(Exception):
    """The history server does not know the search any more."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where Entrez is, and who asks; without a key, fewer requests are allowed."""

    url: str
    api_key: str = ""
    email: str = ""

    @property
    def per_second(self) -> int:
        return 10 if self.api_key else 3


@dataclass(frozen=True, slots=True)
class Found:
    """A search: how many hits there are, the first LARGEST of them, and what it does not know of the words asked for."""

    count: int
    ids: tuple[str, ...]
    web_env: str
    query_key: str
    unknown: tuple[str, ...]


class Client(AbstractContextManager["Client"]):
    """Asks one server, one request at a time; waiting is an argument, so that a test need not."""

    def __init__(
        self,
        access: Access,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._origin = httpx2.URL(access.url).host
        self._url, self._key, self._sleep = access.url.rstrip("/"), access.api_key, sleep
        self._account = {"tool": TOOL, "email": access.email, "api_key": access.api_key}
        self._pace = Pace(access.per_second, sleep, clock)
        self._http = httpx2.Client(
            timeout=TIMEOUT,
            verify=ssl.create_default_context(),
            follow_redirects=False,
            trust_env=False,
        )

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def search(self, database: Database, term: str, span: Slice, most: int = LARGEST) -> Found:
        """Papers that were published in these days, in print or online.

        Raises:
            CorpusError: the server refuses, or cannot be reached.
        """
        form = {"db": database, "term": term, "usehistory": "y", "retmax": str(most)} | {
            "datetype": "pdat", "mindate": f"{span.first:%Y/%m/%d}", "maxdate": f"{span.last:%Y/%m/%d}",
        }  # fmt: skip

        def read(root: Any) -> Found:
            count = int(root.findtext("Count"))
            ids = tuple(e.text for e in root.iterfind("IdList/Id"))
            if len(ids) != min(count, most):
                raise ValueError(f"it names {len(ids)} of {count} records")
            paths = ("ErrorList/PhraseNotFound", "ErrorList/FieldNotFound", "WarningList/QuotedPhraseNotFound")  # fmt: skip
            unknown = tuple(e.text for path in paths for e in root.iterfind(path) if e.text)
            web_env, key = (root.findtext(name) or "" for name in ("WebEnv", "QueryKey"))
            return Found(count, ids, web_env, key, unknown)

        found: Found = self._ask("esearch", form, "eSearchResult", read)
        return found

    def page(self, database: Database, found: Found, start: int) -> Any:
        """The XML of up to PAGE records of a search, from the one numbered `start` (from 0).

        Raises:
            HistoryLostError: the search must be made again, or its records asked for by number.
            CorpusError: the server refuses, or cannot be reached.
        """
        n = min(PAGE[database], len(found.ids) - start)
        form = {"WebEnv": found.web_env, "query_key": found.query_key, "retstart": str(start), "retmax": str(n)}  # fmt: skip
        return self._fetch(database, form)

    def records(self, database: Database, ids: Sequence[str]) -> Any:
        """The XML of records by their numbers, up to PAGE of them.

        Raises:
            CorpusError: the server refuses, or cannot be reached.
        """
        return self._fetch(database, {"id": ",".join(ids)})

    def _fetch(self, database: Database, form: dict[str, str]) -> Any:
        form = {"db": database, "retmode": "xml", **form}
        return self._ask("efetch", form, ROOTS[database], lambda root: root)

    def _ask(
        self, utility: str, form: dict[str, str], root: str, read: Callable[[Any], Any]
    ) -> Any:
        """The value that `read` makes of a good answer; asked again, with growing pauses, where a fault may pass."""

        def attempt() -> Any:
            self._pace.wait()
            reply = self._exchange(utility, form)
            if "WebEnv" in form and HISTORY.search(self._said(reply)):
                raise HistoryLostError
            answer = self._understood(reply, root)
            try:
                return read(answer)
            except (ValueError, TypeError) as error:
                raise RetryableError(f"sent an incomplete answer ({error})") from error

        retrying = Retrying(
            retry=retry_if_exception_type(RetryableError),
            wait=pause_s,
            stop=stop_after_attempt(ATTEMPTS),
            sleep=self._sleep,
            reraise=True,
        )
        try:
            return retrying(attempt)
        except RetryableError as error:
            raise CorpusError(f"{self._origin} {error}; asked {ATTEMPTS} times.") from error
        except ScoringError as error:  # a certificate, or no TLS
            raise CorpusError(str(error)) from error

    def _exchange(self, utility: str, form: dict[str, str]) -> RawReply:
        form = {name: value for name, value in {**form, **self._account}.items() if value}
        response: httpx2.Response | None = None
        content = bytearray()
        try:
            with self._http.stream("POST", f"{self._url}/{utility}.fcgi", data=form) as response:
                for chunk in response.iter_bytes():
                    content += chunk
                    if len(content) > MAX_BYTES:
                        raise CorpusError(
                            f"{self._origin} sent more than the {MAX_BYTES:,} bytes expected."
                        )
        except httpx2.TimeoutException as error:
            raise RetryableError("did not answer in time") from error
        except httpx2.ConnectError as error:
            raise errors.of_connection(error, self._origin) from error
        except httpx2.TransportError as error:
            raise errors.of_transport(error, answering=response is not None) from error
        except httpx2.DecodingError as error:
            raise RetryableError("sent incomplete compressed data") from error
        return RawReply(response.status_code, response.headers, bytes(content))

    def _understood(self, reply: RawReply, expected: str) -> Any:
        """The XML that was asked for.

        Raises:
            RetryableError: something else came, and this may pass.
            CorpusError: the server refuses.
        """
        status, said = reply.status, self._said(reply)
        if status in errors.RETRIED:
            headers = reply.headers
            wait_s = errors.retry_after_s(headers.get("retry-after", ""), headers.get("date", ""))
            if (wait_s or 0) > LONGEST_PAUSE_S:
                raise CorpusError(f"{self._origin} requests a pause of {wait_s:,.0f} s ({said}).")
            raise RetryableError(f"answered {status} ({said})", status, wait_s, said)
        if 300 <= status < 400:
            where = errors.clean(reply.headers.get("location", ""))
            raise CorpusError(
                f"{self._origin} redirects to “{where}”, which is not followed. Set ENTREZ_URL to the final address."
            )
        if status != 200:
            raise CorpusError(f"{self._origin} refuses ({status}: {said}).")
        if said:
            raise RetryableError(f"reports an error ({said})", status, None, said)
        try:
            root = parse(reply.body)
        except ValueError as error:
            raise RetryableError("sent truncated XML, or no XML") from error
        if local_name(root) != expected:
            raise RetryableError(f"sent {local_name(root)} instead of {expected}")
        return root

    def _said(self, reply: RawReply) -> str:
        """The error that an answer reports, without the key; empty for an answer that reports none."""
        try:
            found = parse(reply.body).findtext("ERROR") if b"<ERROR>" in reply.body else None
        except ValueError:
            found = None
        if found is None and reply.status != 200:
            found = errors.error_message(reply, errors.words_in)
        text = errors.clean(found or "")
        return text.replace(self._key, "…") if self._key else text
