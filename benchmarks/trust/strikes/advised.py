"""The site is killed between participants' own answers and the advice that follows them."""

import json
import re
import signal
import time
from dataclasses import replace
from typing import Any

from benchmarks.databases import using
from benchmarks.trust.outcome import Figure, Outcome, Scale
from benchmarks.trust.strikes.processes import NEVER_WRITTEN_S, struck
from benchmarks.trust.world import World
from benchmarks.web.people import Person, Sent, hidden_fields
from benchmarks.web.site import SLUG, Site
from experiment.models import Advice, AdvisedTrial, Adviser, Arm, Item, Study

ADVISER = "the adviser 7351"
TOO_EARLY = "saw advice too early"
TRIAL = re.compile(r"/trial/(\d+)/")


class AdvisedPerson(Person):
    """Answers, and answers again after the advice; notes advice that comes before the own answer was sent."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.expertise: dict[int, int] = {}  # by position, as the first answer says it

    async def practise(self, side: str) -> None:
        """With the same answer after the example of advice."""
        await super().practise(side)
        if side == "A" and "revises" in hidden_fields(self.page.text):
            await super().practise(side)

    def judge(self) -> tuple[dict[str, str], str, Sent]:
        form, key, sent = super().judge()
        if "revises" not in hidden_fields(self.page.text):
            self.expertise[sent.position] = sent.expertise
            return form, key, sent
        for name in ("expertise", "recognised"):
            del form[name]
        return form, key, replace(sent, expertise=self.expertise[sent.position])

    async def _insist(
        self, method: str, path: str, body: bytes | None, accept: str
    ) -> tuple[int, dict[str, str], str]:
        answer = await super()._insist(method, path, body, accept)
        shown = path
        if answer[0] == 200 and answer[2].startswith("{"):
            shown = json.loads(answer[2])["next"]
        trial = TRIAL.search(shown)
        if trial and ADVISER in answer[2] and int(trial[1]) not in self.expertise:
            self.ledger.problems.append(f"person {self.number} {TOO_EARLY}: {shown}")
        return answer


def advise(world: World) -> None:
    """Everybody sees advice on every test case, after an answer of their own."""
    with using(world.url):
        study = Study.objects.get(slug=SLUG)
        Arm.objects.create(study=study, number=1, name="advised", advice=Arm.Advice.AFTER)
        adviser = Adviser.objects.create(
            study=study, kind="model", source="org/a", shown_name=ADVISER
        )
        items = study.items.filter(kind=Item.Kind.TEST)
        Advice.objects.bulk_create(
            Advice(adviser=adviser, item=item, picks_original=n % 3 != 2, p_chosen=0.78)
            for n, item in enumerate(items)
        )
        adviser.frozen_at = study.created_at
        adviser.save()


def killed_before_advice(world: World, scale: Scale) -> Outcome:
    """All processes, at the moment when a first answer was stored; its participant has not been told, or not seen the advice."""
    advise(world)
    waiting: list[int] = []

    def kill(site: Site) -> None:
        with using(world.url):
            _wait_for_first_answer()
            site.stop(signal.SIGKILL)
            waiting.append(AdvisedTrial.objects.filter(trial__judgment=None).count())
        site.start()

    found = struck(kill, 2, 6, world, scale, person=AdvisedPerson)
    missed = () if all(waiting) else ("the site was killed when nobody waited for advice",)
    early = sum(TOO_EARLY in problem for problem in found.problems)
    figures = (
        Figure("advice seen too early", early, "", 0),
        Figure("answers that waited for advice when the site was killed", sum(waiting), ""),
    )
    return replace(found, figures=(*found.figures, *figures), problems=(*found.problems, *missed))


def _wait_for_first_answer() -> None:
    """Without a pause: the answer is told within milliseconds."""
    before, until = AdvisedTrial.objects.count(), time.monotonic() + NEVER_WRITTEN_S
    while AdvisedTrial.objects.count() <= before:
        if time.monotonic() > until:
            raise TimeoutError("nobody answered")
