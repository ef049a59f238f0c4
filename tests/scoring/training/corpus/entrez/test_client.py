"""How Entrez is asked: how often, with what, and no other host."""

from collections.abc import Iterator

import pytest

from scoring.training.corpus.document import CorpusError
from scoring.training.corpus.entrez.client import Access, Client, Pace, year_of
from tests.scoring.training.corpus.entrez.test_fetch import PAPERS, Waits
from tests.scoring.training.stub_entrez import EntrezStub

YEAR = year_of(2019)


@pytest.fixture
def other() -> Iterator[EntrezStub]:
    """Another host, which nobody is to ask."""
    with EntrezStub(PAPERS) as server:
        yield server
        assert server.forms == []


@pytest.fixture
def stub(other: EntrezStub) -> Iterator[EntrezStub]:
    with EntrezStub(PAPERS, dtd_host=other.origin) as server:
        server.redirect_to = f"{other.url}/esearch.fcgi"
        yield server


def client(stub: EntrezStub, key: str = "lab-key") -> Client:
    waits = Waits()
    return Client(Access(stub.url, key, "lab@example.org" if key else ""), waits.sleep, waits.clock)


def test_the_sender_is_named_in_each_request_and_never_in_an_address(stub: EntrezStub):
    with client(stub) as entrez:
        found = entrez.search("pubmed", '"J Sleep"[Journal]', YEAR)
        entrez.page("pubmed", found, 0)
    about = {"tool": "brainbench-live", "email": "lab@example.org", "api_key": "lab-key"}
    assert len(stub.forms) == 2
    assert all(about.items() <= form.items() for form in stub.forms)
    assert stub.forms[1].items() >= {"WebEnv": found.web_env, "query_key": "1", "retstart": "0", "retmax": "8"}.items()  # fmt: skip


def test_a_redirect_is_not_followed_and_the_document_type_not_loaded(stub: EntrezStub):
    stub.faults = ["", "elsewhere"]
    with client(stub) as entrez:
        entrez.search("pubmed", "sleep", YEAR)  # names a DTD of the other host
        with pytest.raises(CorpusError, match=r"not followed\. Set ENTREZ_URL") as raised:
            entrez.search("pubmed", "sleep", YEAR)
    assert len(stub.forms) == 2
    assert "\n" not in str(raised.value)


def test_a_refusal_ends_at_once_and_does_not_tell_the_key(stub: EntrezStub):
    stub.faults = ["refused"]
    with client(stub) as entrez, pytest.raises(CorpusError) as raised:
        entrez.search("pubmed", "sleep", YEAR)
    assert str(raised.value) == "127.0.0.1 refuses (400: API key invalid …)."
    assert len(stub.forms) == 1


@pytest.mark.parametrize(("key", "per_second"), [("", 3), ("lab-key", 10)])
def test_requests_begin_at_the_pace_that_is_allowed(key: str, per_second: int):
    waits, begun = Waits(), []
    pace = Pace(Access("http://127.0.0.1", key).per_second, waits.sleep, waits.clock)
    for n in range(50):
        waits.now_s += (
            2.0 if n == 30 else 0.01 * (n % 3)
        )  # requests take some time, one of them long
        pace.wait()
        begun.append(waits.now_s)
    for first, last in zip(begun, begun[per_second:], strict=False):
        assert last - first >= 1 - 1e-9
    assert begun[29] - begun[0] == pytest.approx(29 / per_second)
