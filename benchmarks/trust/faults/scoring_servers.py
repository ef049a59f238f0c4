"""A server to score with that asks for pauses, fails, hangs and answers rubbish; its run comes to the same, and resumes."""

import signal

from benchmarks.completions.models import make_tokenizer, tiny_markov
from benchmarks.completions.stub import MODEL, CompletionsStub
from benchmarks.trust import jobs
from benchmarks.trust.check import Check, Part, Scale
from benchmarks.trust.outcome import Figure, Outcome
from benchmarks.trust.site import Site
from benchmarks.trust.waiting import wait_until
from benchmarks.trust.world import World
from benchmarks.web.database import using
from benchmarks.web.material import make_items
from lib.jobs.leases import reopen
from scoring.backends.tokenizers import load_tokenizer
from scoring.models import ScoringRun

N_ITEMS = 24
DELAY_S = 0.1  # of each answer, so that the run lasts for all faults
# In the stub's words, and how often each strikes; three failures in a row, or the server would be taken to fail on this text for ever
FAULTS = (("429", 1), ("500", 3), ("hangs", 1), ("drops", 2), ("garbage", 1))
# A request at a time, so that what is asked in vain can be counted
PATIENCE = {"concurrency": "1", "timeout": "3", "retry_seconds": "60"}


def misbehaving(world: World, _: Scale) -> Outcome:
    """One run of a server that behaves; and one that is struck by each fault in turn, and by the worker's death."""
    folder = make_tokenizer(world.folder / "tokenizer", [item.markup for item in make_items()[:20]])
    tokenizer = load_tokenizer(str(folder))
    site = Site(world.url, world.folder)
    with (
        using(world.url),
        CompletionsStub(tiny_markov(len(tokenizer)), tokenizer, 4096) as stub,
    ):
        args = {"base_url": stub.url, "model": MODEL, "tokenizer": str(folder), **PATIENCE}
        try:
            site.start_worker()
            whole = jobs.ask_for_scores(N_ITEMS, "completions", **args)
            jobs.wait_for(whole, status="finished")
            n_requests = len(stub.requests)
            stub.delay_s = DELAY_S
            run = jobs.ask_for_scores(N_ITEMS, "completions", **args)
            problems = _strike(stub, run)
            jobs.wait_for(run, done=run.done + 1)
            site.stop(signal.SIGKILL)
            site.start_worker()
            jobs.wait_for(run, status="finished")
        finally:
            site.stop()
        problems += jobs.differences(run, whole, site.folder)
    more = len(stub.requests) - 2 * n_requests
    return Outcome(
        cases=sum(n for _, n in FAULTS) + 1,
        acknowledged=run.total,
        stored=run.done,
        lost=run.total - run.done,
        figures=(Figure("requests beyond those of an undisturbed run", more, ""),),
        problems=tuple(problems),
    )


def _strike(stub: CompletionsStub, run: ScoringRun) -> list[str]:
    """Each fault amid the run. What no retry mends fails it with a sentence; then it is asked for again."""
    found = []
    for fault, times in FAULTS:
        jobs.wait_for(run, done=run.done + 1)
        stub.fault_times, stub.fault = times, fault
        wait_until(lambda: not stub.fault_times, jobs.FINISHED_WITHIN_S)
        if fault == "garbage":
            jobs.wait_for(run, status="failed")
            if "is not JSON" not in run.error:
                found.append(f"garbage ended the run with: {run.error}")
            reopen(run)
    return found


CHECKS = (
    Check(
        "scoring-server",
        "Scoring server that answers 429, 500, rubbish or nothing",
        Part.SURROUNDINGS,
        misbehaving,
        short_on=(),
        scores=True,
    ),
)
