import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.urls import reverse

from analysis.data.filters import ReportOptions
from experiment.management.finding import find_study
from experiment.models import Study
from lib.commands import GOES_ON, ReportingCommand, StoppedError, add_json_argument
from scoring.demo_lm import NAME as DEMO_NAME
from scoring.demo_lm.corpus import LITERATURE_DIR, Paragraph, read_corpus, split
from scoring.models import Corpus, LanguageModel, Training, TrainingCorpus
from scoring.services.training.corpora import add_source
from scoring.services.training.models import model_args
from scoring.training.corpus.document import CorpusError, Document, write_documents
from scoring.training.corpus.read.local import Reading

if TYPE_CHECKING:
    from analysis.management.report_text import BeforeAfter
    from analysis.services.export import Written

STUDY = "demo"
HOLDOUT = 0.15
VOCABULARY = 2048
EPOCHS = {"scratch": 20, "lora": 16}
WINDOW = ("--context", 512, "--accumulation", 1)  # the longest test case needs 305 tokens
CONTROL = "textbook"


class Command(ReportingCommand):
    help = (
        "Run the complete process at demonstration size in a few minutes of CPU time. It builds a corpus, trains a tokenizer, a "
        "model from scratch and an adapter for the demonstration model, and tests both on the demo study. The report "
        "compares before and after. A second run resumes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--texts",
            type=Path,
            metavar="DIR",
            help="your own texts, in addition to those of the field",
        )
        parser.add_argument(
            "--name",
            default="demo-braingpt",
            help="name of the results; other texts need another name (default: demo-braingpt)",
        )
        parser.add_argument(
            "--epochs", type=int, metavar="N", help="steps of both trainings, for a shorter run"
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        self.options = options
        self.name: str = options["name"]
        self.folder: Path = Path(settings.VAR_DIR) / self.name
        study, wall, cpu = find_study(STUDY), perf_counter(), process_time()
        try:
            self._build_corpora(options["texts"])
        except CorpusError as error:
            raise CommandError(str(error)) from error
        scratch, tuned = self._train_from_scratch(), self._train_adapter()
        _state(scratch, tuned)
        self._score(scratch, tuned)
        found, written = self._write_report(study, (scratch, tuned))
        figures = [self.report_folder / name for name in written.figures if "finetuning" in name]
        page = f"{settings.BASE_URL.rstrip('/')}{reverse('lab:results', args=[STUDY])}#fine-tuning"
        data = {
            **found,
            "wall_s": perf_counter() - wall,
            "cpu_s": process_time() - cpu,
            "page": page,
            "figures": [str(path) for path in figures],
        }
        self.report(options, data, self._lines(found, data))

    @property
    def report_folder(self) -> Path:
        return self.folder / "report"

    def _build_corpora(self, texts: Path | None) -> None:
        """The literature that the demonstration model has not read is the field; with the textbook that it has read, all there is."""
        read, unread = split(read_corpus())
        field, textbook, control = (
            self._written(name, paragraphs)
            for name, paragraphs in (
                ("literature", read_corpus(LITERATURE_DIR)),
                ("textbook-read", read),
                (CONTROL, unread),
            )
        )
        self.control = control
        own = [texts] if texts else []
        self._build(self.name, [field, textbook, *own])
        self._build(f"{self.name}-field", [field, *own])

    def _written(self, name: str, paragraphs: Sequence[Paragraph]) -> Path:
        path = self.folder / "texts" / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        documents = (
            Document(f"file:{name}#{n}", one.text, licence="Apache-2.0")
            for n, one in enumerate(paragraphs, start=1)
        )
        write_documents(path, documents)
        return path

    def _build(self, name: str, sources: Sequence[Path]) -> None:
        self._say("corpus", "add", "--name", name, *sources)
        added = [add_source(name, path, Reading(), lambda done: None) for path in sources]
        built = Corpus.objects.filter(slug=name).first()
        if built is None:
            self._run("corpus", "build", "--name", name, "--holdout", HOLDOUT)
        elif not {one.name for one in added} <= set(built.manifest["sources"]):
            raise CommandError(f"The corpus {name} was built from other texts. Give these texts another name with --name.")  # fmt: skip

    def _train_from_scratch(self) -> Training:
        tokenizer = self.folder / "tokenizer"
        if not tokenizer.exists():
            self._run("tokenizer_train", "--corpus", self.name, "--vocabulary", VOCABULARY, "--output", tokenizer)  # fmt: skip
        return self._train("scratch", self.name, "--tokenizer", tokenizer, *WINDOW)

    def _train_adapter(self) -> Training:
        return self._train("lora", f"{self.name}-field", "--model", DEMO_NAME)

    def _train(self, mode: str, corpus: str, *start: object) -> Training:
        name = f"{self.name}-{mode}"
        finished = Training.objects.filter(name=name, status=Training.Status.FINISHED)
        if not finished.exists():
            epochs = self.options["epochs"] or EPOCHS[mode]
            self._run(
                *("lm_train", "--preset", "tiny", "--mode", mode, "--corpus", corpus, *start),
                *("--name", name, "--epochs", epochs, "--resume"),
            )
        return finished.select_related("corpus", "base", "language_model").get()

    def _score(self, scratch: Training, tuned: Training) -> None:
        """All three on the test; base and tuned model on texts that neither has read."""
        base = ("--model", "embedded")
        args = {training: _hf(training) for training in (scratch, tuned)}
        self._run("score", *base, "--study", STUDY, "--resume")
        for training, hf in args.items():
            self._run("score", *hf, "--name", training.name, "--study", STUDY, "--resume")
        texts = ("score_corpus", self.control, "--name", CONTROL, "--resume")
        self._run(*texts, *base)
        self._run(*texts, *args[tuned], "--model_name", tuned.name)

    def _write_report(
        self, study: Study, trainings: Sequence[Training]
    ) -> tuple["BeforeAfter", "Written"]:
        # What computes takes longer to load than everything else
        from analysis.management.report_text import before_after
        from analysis.report.services.make import make_report
        from analysis.services.export import write_report

        self._say("report", STUDY, "--output", self.report_folder)
        options = ReportOptions()
        report = make_report(study, options)
        written = write_report(study, options, report, self.report_folder)
        return before_after(report, trainings), written

    def _say(self, *command: object) -> None:
        self.stderr.write(f"\nmanage.py {shlex.join(map(str, command))}")

    def _run(self, *command: object) -> None:
        """A command as it could be typed; what it prints is no result of this one."""
        self._say(*command)
        try:
            call_command(*map(str, command), stdout=self.stderr, stderr=self.stderr)
        except StoppedError as error:  # it names an option of its own
            raise StoppedError(GOES_ON) from error

    def _lines(self, found: "BeforeAfter", data: Mapping[str, Any]) -> Iterator[str]:
        from analysis.management.report_text import before_after_lines

        yield from before_after_lines(found)
        yield f"Took {data['wall_s']:.0f} s, {data['cpu_s']:.0f} s of CPU time."
        yield "Pages with the results (make demo serves them):"
        yield from (f"  {place}" for place in (data["page"], *data["figures"]))


def _state(scratch: Training, tuned: Training) -> None:
    """Stores the known facts about these models, and about none that a training makes."""
    LanguageModel.objects.filter(training=scratch).update(is_demo=True)
    for model in (tuned.base, tuned.language_model):
        TrainingCorpus.objects.get_or_create(
            language_model=model,
            corpus=CONTROL,
            defaults={"status": TrainingCorpus.Status.ABSENT},
        )


def _hf(training: Training) -> tuple[str, ...]:
    args = ",".join(f"{name}={value}" for name, value in model_args(training).items())
    return ("--model", "hf", "--model_args", args)
