"""Fills the empty site of this process's environment, as the released version does it: `python -m tests.upgrades.fill FILE`.

It writes to FILE the people who are under way, each with their cookies and the page that comes next.
"""

import io
import json
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import django
import time_machine
from django.core.management import call_command

from tests.upgrades.site import MODEL_SERVER, ROOT, server_at

ABSTRACTS, ADVISED, QUESTIONS = "demo", "advised", "demo-questions"
N_HUMAN, N_MACHINE = 12, 6
DEMO_MODEL = "brainbench-live/demo-lm"
CORPUS, N_PAPERS = "loaves", 20
TRAINED = (
    *("--preset", "tiny", "--mode", "lora", "--model", DEMO_MODEL, "--lora-rank", "1"),
    *("--lora-targets", "c_attn", "--context", "32", "--limit", "8", "--evaluations", "8"),
)
BEFORE = timedelta(hours=8)  # what people do here takes less
MOST_PEOPLE = 8
PAGES = ("", "about-you/", "practice/", "start/", "trial/1/", "trial/3/", "debrief/", "done/")
# Loses what it is about to store as the given number of results would be there
KILLS_ITSELF = """
import os, signal, sys
import django
django.setup()
from django.core.management import call_command
from lib.jobs.leases import Lease
from tests.upgrades.site import server_at

left, advance = int(sys.argv[1]), Lease.advance

def count(lease, **changes):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    advance(lease, **changes)

Lease.advance = count
with server_at(int(sys.argv[2])):
    call_command(*sys.argv[3:], verbosity=0)
"""


@dataclass(frozen=True)
class Person:
    """A participant, and the page that their browser opens next: its address, its trial, and if it asks for a final answer."""

    name: str
    study: str
    cookies: dict[str, str]
    page: str
    token: str
    is_revising: bool


def main(file: Path) -> None:
    django.setup()
    from tests.scoring.backends.chat.stub import ChatStub

    call_command("migrate", verbosity=0)
    with ChatStub(reply) as stub, server_at(stub.http.server_address[1]):
        make_studies()
        start = datetime.now(UTC) - BEFORE
        with time_machine.travel(start, tick=False) as clock:
            people = list(come(clock))
            until = datetime.now(UTC)
        build_corpus()
        kill_jobs(stub.http.server_address[1])
    store_result()
    said = {"clock": until.isoformat(), "people": [asdict(one) for one in people]}
    file.write_text(json.dumps(said), encoding="utf-8")


def reply(request: dict[str, Any]) -> str:
    """The text of the model that is asked, which also judges."""
    words = request["messages"][-1]["content"]
    return "3" if "----- response " in words else '{"side": "A", "confidence": 70}'


def quietly(command: str, *arguments: str) -> None:
    call_command(command, *arguments, stdout=io.StringIO())


def make_studies() -> None:
    from django.contrib.auth import get_user_model

    from experiment.models import Study

    quietly("load_demo", "--simulate", "2")
    with tempfile.TemporaryDirectory() as folder:
        field = ("--new-field", "Baking")
        for source, n in (("human", N_HUMAN), ("machine", N_MACHINE)):
            table = Path(folder) / f"{source}.jsonl"
            rows = [{"key": f"{source}-{k}", "markup": abstract(f"{source}-{k}")} for k in range(n)]
            table.write_text("".join(json.dumps(row) + "\n" for row in rows))
            reason = ("--accepted-before", "Written for the upgrade tests")
            quietly("import_items", str(table), *field, "--source", source, *reason)
            field = ("--field", "baking")
    chosen = ("--collection", "any", "--field", "baking", "--contact", "lab@example.org")
    quietly("create_study", ADVISED, "--preset", "brainbench-advised", *chosen)
    full = ("--study", ADVISED, "--model", "embedded", "--conditions", "full")
    quietly("score", *full)
    quietly("set_adviser", ADVISED, "--models", DEMO_MODEL, "--name", "a language model")
    quietly("set_recruitment", ADVISED, "open")
    researcher = get_user_model().objects.create_user("ruth")
    for study in Study.objects.all():
        study.members.add(researcher)


def abstract(name: str) -> str:
    """A short test case, near to no other."""
    letters = random.Random(name)
    words = " ".join("".join(letters.choices("bdfgklmnprtvaeiou", k=7)) for _ in range(40))
    return f"Bread is old, and so is its study. We weighed {words}. The dough [[rose early, fell late]]."


def come(clock: Any) -> Iterator[Person]:
    """People who come, and where each of them stops."""
    from tests.upgrades.people import Walker

    def walk(study: str) -> Walker:
        return Walker(f"/s/{study}/", clock)

    def under(name: str, study: str, walker: Walker) -> Person:
        return Person(name, study, walker.cookies, walker.page, walker.token, walker.is_revising)

    for study in (ABSTRACTS, ADVISED, QUESTIONS):
        for page in PAGES:
            # A study of questions has nothing to practise
            if (study, page) != (QUESTIONS, "practice/"):
                name = page.strip("/").replace("/", " ") or "consent"
                yield under(name, study, walk(study).go_to(page))
    # Arms are drawn: somebody is shown advice before long
    for _ in range(MOST_PEOPLE):
        walker = walk(ADVISED).go_to("trial/1/")
        walker.go_on()
        if walker.is_revising:
            break
    assert walker.is_revising
    yield under("between two answers", ADVISED, walker)
    left = walk(ABSTRACTS).go_to("trial/4/")
    withdraw(left)
    yield under("withdrawn", ABSTRACTS, left)
    yield under("withdraws after the backup", ABSTRACTS, walk(ABSTRACTS).go_to("done/"))


def withdraw(walker: Any) -> None:
    """Have a participant withdraw on the page, with their own code."""
    from experiment.models import Participant

    person = Participant.objects.latest("pk")
    walker.open(f"{walker.entry}withdraw/")
    walker.send(code=person.withdrawal_code, confirm="1")
    person.refresh_from_db()
    assert person.stage == "withdrawn"


def build_corpus() -> None:
    """A few paragraphs to train on."""
    from scoring.demo_lm.corpus import read_corpus, split

    texts = [paragraph.text for part in split(read_corpus()) for paragraph in part]
    with tempfile.TemporaryDirectory() as folder:
        papers = Path(folder) / "papers.jsonl"
        rows = ({"id": f"paper-{n}", "text": text} for n, text in enumerate(texts[:N_PAPERS]))
        papers.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        quietly("corpus", "add", str(papers), "--name", CORPUS)
    quietly("corpus", "build", "--name", CORPUS)


def kill_jobs(port: int) -> None:
    """Runs of each kind, and a training, whose process is killed half way."""
    asked = f"base_url={MODEL_SERVER},model=writer,concurrency=1"
    chat = ("--model", "chat", "--model_args", asked)
    quietly("answer", "--study", QUESTIONS, *chat, "--limit", "6")
    judged = ("--judge", "chat", "--model_args", asked)
    embedded = ("--model", "embedded", "--conditions", "full", "--limit", "12")
    for left, command in (
        (4, ("score", "--study", ABSTRACTS, *embedded, "--batch_tokens", "300")),
        (5, ("score", "--method", "choice", "--study", ADVISED, *chat, "--limit", "8")),
        (4, ("answer", "--study", QUESTIONS, *chat, "--temperature", "0.5", "--limit", "6")),
        (3, ("grade", "--study", QUESTIONS, *judged)),
        (3, ("lm_train", "--corpus", CORPUS, "--name", "lab/loaves", *TRAINED)),
    ):
        arguments = [sys.executable, "-c", KILLS_ITSELF, str(left), str(port), *command]
        ended = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True)
        assert ended.returncode == -signal.SIGKILL, f"{command}: {ended.stderr}"


def store_result() -> None:
    """Compute what the page *Results* shows of the advised study."""
    from analysis.data.filters import ReportOptions
    from analysis.services.compute import Asked
    from analysis.store import StoredResult
    from experiment.models import Study

    study = Study.objects.get(slug=ADVISED)
    result = Asked(study, ReportOptions()).ensure_computed()
    assert isinstance(result, StoredResult), result


def withdraw_later(file: Path) -> None:
    """Have the last of the people withdraw after the backup; their browser will open the page that says so."""
    django.setup()
    from tests.upgrades.people import Walker

    said = json.loads(file.read_text(encoding="utf-8"))
    person = said["people"][-1]
    with time_machine.travel(datetime.fromisoformat(said["clock"]), tick=False) as clock:
        walker = Walker(f"/s/{person['study']}/", clock, person["cookies"])
        assert walker.page == person["page"]
        withdraw(walker)
        said["clock"] = datetime.now(UTC).isoformat()
    person["page"] = walker.page
    file.write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    (withdraw_later if "--later" in sys.argv else main)(Path(sys.argv[-1]))
