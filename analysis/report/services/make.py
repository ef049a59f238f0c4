"""Makes the report of a study: the one that the page, the command and the files show."""

import platform
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from django.utils import timezone
from threadpoolctl import threadpool_limits

from analysis.codec import MissingResult
from analysis.data import read
from analysis.data.about import Participants, StudyName
from analysis.data.advised import has_advice
from analysis.data.dataset import SourceData
from analysis.data.filters import OF_STUDY, ReportOptions
from analysis.data.runs import has_choices
from analysis.data.version import SCHEMA_VERSION, data_version, participants_kind
from analysis.report.chapter import Built, Chapter, Part, SourceResults, Tables, of_source
from analysis.report.contents import chapters_about
from analysis.report.report import SCHEMA, Header, Published, Report
from analysis.stats import NotEnough
from analysis.stats.graded.bert_score import Vectors
from experiment.models import Participant, Study
from experiment.services.counts import is_joined
from experiment.services.reapplying import note_beside_numbers
from experiment.services.study_versions import version_shown
from lib.code import release

PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "django")
FILTERED = " Only the chosen models, method and subfields were looked at."

Progress = Callable[[str], None]


def n_steps(study: Study, options: ReportOptions) -> int:
    """How often `make_report` and `save_report` call their `progress`: drawing takes long too. Raises UnknownChoiceError."""
    n_sources = len(read.sources_of(study, options))
    pairs, study_wide = (
        sum(2 if chapter.figures else 1 for chapter in chapters)
        for chapters in (_chapters_of_pairs(study), _chapters_of_study(study))
    )
    return pairs * n_sources + study_wide


def _chapters_of_pairs(study: Study) -> list[Chapter]:
    chosen = (Part.CHOICES,) if has_choices(study) else ()
    advised = (Part.ADVICE,) if has_advice(study) else ()
    return chapters_about(Part.PAIRS, *chosen, *advised)


def _chapters_of_study(study: Study) -> list[Chapter]:
    asked = (Part.QUESTIONS,) if study.has_questions else ()
    return chapters_about(*asked, Part.PEOPLE)


def make_report(
    study: Study,
    options: ReportOptions,
    progress: Progress | None = None,
    vectors: Vectors | None = None,
) -> Report:
    """Compute everything; a result that the data cannot support says why instead.

    `progress` is called with a chapter's name before each of them; `vectors` are those of `options.bert_score`.

    Raises:
        UnknownChoiceError: an option names what the study does not have.
    """
    if options.bert_score != (vectors.name if vectors else ""):
        raise ValueError("A report with BERTScore is computed by the command that loads its model.")
    version_of_data = data_version(study)
    kind = participants_kind(study, options)
    data = read.read(study, options)
    whole = data.pop(OF_STUDY)
    if vectors and whole.graded:
        whole = replace(whole, graded=replace(whole.graded, vectors=vectors))
    header = Header(
        schema=SCHEMA,
        schema_version=SCHEMA_VERSION,
        study=StudyName(study.slug, study.title, study.is_demo),
        made_at=timezone.localtime().isoformat(timespec="seconds"),
        data_version=version_of_data,
        options=options,
        participants=Participants(
            kind,
            str(Participant.Kind(kind).label),
            note_beside_numbers(study, kind, options.rules),
            is_joined(study, kind) and any(len(own.trials) for own in data.values()),
            version_shown(study, kind) if options.rules is None else options.rules,
        ),
        software={
            "brainbench-live": release(),
            "python": platform.python_version(),
            **{p: version(p) for p in PACKAGES},
        },
        published=Published(any(own.is_brainbench for own in data.values())),
    )
    pairs = _chapters_of_pairs(study)
    made = {source: build(own, pairs, progress) for source, own in data.items()}
    made[OF_STUDY] = build(whole, _chapters_of_study(study), progress)
    tables = {source: own for source, (_, own) in made.items()}
    results = {
        source: replace(own, is_simulated=header.participants.is_simulated)
        for source, (own, _) in made.items()
    }
    return Report(header, results.pop(OF_STUDY), results, tables)


def build(
    data: SourceData, chapters: Iterable[Chapter], progress: Progress | None = None
) -> tuple[SourceResults, Tables]:
    """These chapters of the data, and the tidy tables behind them."""
    results: dict[type[Any], Any] = {}
    tables: dict[str, Any] = {}
    for chapter in chapters:
        if progress is not None:
            progress(f"{chapter.title}{of_source(data.source)}")
        try:
            # Small matrices: a second thread costs more than it brings, and other processes want the core
            with threadpool_limits(1):
                built = chapter.build(data)
        except NotEnough as error:
            built = Built(chapter.missing(MissingResult.of(error)))
        found = built.results
        if data.is_filtered:  # which may be why a result is missing
            missing = {key: getattr(found, key) for key in chapter.keys}
            cautioned = {
                key: replace(value, reason=value.reason + FILTERED)
                for key, value in missing.items()
                if isinstance(value, MissingResult)
            }
            found = replace(found, **cautioned)
        results[chapter.results] = found
        tables |= built.tables
    return SourceResults(data.source, results), tables
