"""A model's folder whose weights were half copied: a sentence says so, and nothing of it is scored."""

import shutil

from benchmarks.trust.check import Check, Part, Scale
from benchmarks.trust.outcome import Outcome
from benchmarks.trust.site import Site
from benchmarks.trust.world import World
from benchmarks.web.database import using
from benchmarks.web.site import SLUG
from scoring.demo_lm import MODEL_FOLDER
from scoring.models import ItemScore, ScoringRun

WEIGHTS = "model.safetensors"
KEPT = (0.0, 0.001, 0.5, 0.999)  # of the file: within its header, and within its numbers


def half_written(world: World, _: Scale) -> Outcome:
    """Each time the command fails with one sentence; with the whole file it scores."""
    site, folder = Site(world.url, world.folder), world.folder / "model"
    shutil.copytree(MODEL_FOLDER, folder)
    whole = (MODEL_FOLDER / WEIGHTS).read_bytes()
    command = f"score --study {SLUG} --model hf --limit 3 --model_args"
    asked = (*command.split(), f"pretrained={folder}")
    problems = []
    for part in KEPT:
        n_bytes = int(len(whole) * part)
        (folder / WEIGHTS).write_bytes(whole[:n_bytes])
        done = site.run(*asked)
        said = done.stderr.strip().splitlines()[-1:]
        if done.returncode == 0 or "Traceback" in done.stderr or str(folder) not in str(said):
            problems.append(f"{n_bytes} bytes of {len(whole)}: {done.returncode}, {said}")
    with using(world.url):
        if n := ItemScore.objects.count() + ScoringRun.objects.filter(status="finished").count():
            problems.append(f"{n} rows are left of weights that cannot be read")
        (folder / WEIGHTS).write_bytes(whole)
        if (done := site.run(*asked, "--resume")).returncode:
            problems.append(f"with whole weights: {done.stderr[-300:]}")
        run = ScoringRun.objects.last()
        n_done, total = (run.done, run.total) if run else (0, 0)
    return Outcome(len(KEPT), total, n_done, lost=total - n_done, problems=tuple(problems))


CHECKS = (
    Check(
        "half-weights",
        "Weights half written",
        Part.SURROUNDINGS,
        half_written,
        short_on=(),
        scores=True,
    ),
)
