import shlex
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.urls import reverse

from analysis.data.filters import ReportOptions
from experiment.management.finding import find_study
from lib.commands import GOES_ON, ReportingCommand, StoppedError, add_json_argument
from scoring.demo_lm import NAME as DEMO_NAME
from scoring.demo_lm.corpus import LITERATURE_DIR, read_corpus, split
from scoring.models import Corpus, LanguageModel, Training, TrainingCorpus
from scoring.services.training.corpora import add_source
from scoring.services.training.models import model_args
from scoring.training.corpus.document import CorpusError, Document, write_documents
from scoring.training.corpus.read.local import Reading

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
    prints = {
        "trainings": [
            {
                "model": str,
                "mode": str,
                "steps": int,
                "tokens": int,
                "before": float,
                "after": float,
            }
        ],
        "items": [
            {
                "source": str,
                "n_items": int,
                "n_correct_before": int,
                "n_correct_after": int,
                "mcnemar_p": float | None,
                "original_fall": float | None,
                "altered_fall": float | None,
            }
        ],
        "texts": [{"name": str, "n_texts": int, "before": float, "after": float}],
        "wall_s": float,
        "cpu_s": float,
        "page": str,
        "figures": [str],
    }

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
        tokenizer = self.folder / "tokenizer"
        if not tokenizer.exists():
            self._run("tokenizer_train", "--corpus", self.name, "--vocabulary", VOCABULARY, "--output", tokenizer)  # fmt: skip
        scratch = self._train("scratch", self.name, "--tokenizer", tokenizer, *WINDOW)
        tuned = self._train("lora", f"{self.name}-field", "--model", DEMO_NAME)
        self._score(scratch, tuned)
        # What computes takes longer to load than everything else
        from analysis.management.report_text import before_after, before_after_lines
        from analysis.report.services.make import make_report
        from analysis.services.export import write_report

        self._say("report", STUDY, "--output", self.report_folder)
        report = make_report(study, ReportOptions())
        written = write_report(study, ReportOptions(), report, self.report_folder)
        found = before_after(report, (scratch, tuned))
        figures = [self.report_folder / name for name in written.figures if "finetuning" in name]
        page = f"{settings.BASE_URL.rstrip('/')}{reverse('lab:results', args=[STUDY])}#fine-tuning"
        data = {
            **found,
            "wall_s": perf_counter() - wall,
            "cpu_s": process_time() - cpu,
            "page": page,
            "figures": [str(path) for path in figures],
        }
        lines = [
            *before_after_lines(found),
            f"Took {data['wall_s']:.0f} s, {data['cpu_s']:.0f} s of CPU time.",
            "Pages with the results (make demo serves them):",
            *(f"  {place}" for place in (page, *figures)),
        ]
        self.report(options, data, lines)

    @property
    def report_folder(self) -> Path:
        return self.folder / "report"

    def _build_corpora(self, texts: Path | None) -> None:
        """The literature that the demonstration model has not read is the field; with the textbook that it has read, all there is."""
        read, unread = split(read_corpus())
        texts_of = {
            "literature": read_corpus(LITERATURE_DIR),
            "textbook-read": read,
            CONTROL: unread,
        }
        (self.folder / "texts").mkdir(parents=True, exist_ok=True)
        paths = [self.folder / "texts" / f"{name}.jsonl" for name in texts_of]
        for path, paragraphs in zip(paths, texts_of.values(), strict=True):
            documents = (
                Document(f"file:{path.stem}#{n}", one.text, licence="Apache-2.0")
                for n, one in enumerate(paragraphs, start=1)
            )
            write_documents(path, documents)
        field, textbook, self.control = paths
        own = [texts] if texts else []
        self._build(self.name, [field, textbook, *own])
        self._build(f"{self.name}-field", [field, *own])

    def _build(self, name: str, sources: Sequence[Path]) -> None:
        self._say("corpus", "add", "--name", name, *sources)
        added = [add_source(name, path, Reading(), lambda done: None) for path in sources]
        built = Corpus.objects.filter(slug=name).first()
        if built is None:
            self._run("corpus", "build", "--name", name, "--holdout", HOLDOUT)
        elif not {one.name for one in added} <= set(built.manifest["sources"]):
            raise CommandError(f"The corpus {name} was built from other texts. Give these texts another name with --name.")  # fmt: skip

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
        LanguageModel.objects.filter(training=scratch).update(is_demo=True)
        # A training says nothing of what its base was trained on before; here it is known
        for model in (tuned.base, tuned.language_model):
            TrainingCorpus.objects.get_or_create(
                language_model=model,
                corpus=CONTROL,
                defaults={"status": TrainingCorpus.Status.ABSENT},
            )
        base = ("--model", "embedded")
        args = {}
        for training in (scratch, tuned):
            given = ",".join(f"{name}={value}" for name, value in model_args(training).items())
            args[training] = ("--model", "hf", "--model_args", given)
        self._run("score", *base, "--study", STUDY, "--resume")
        for training, hf in args.items():
            self._run("score", *hf, "--name", training.name, "--study", STUDY, "--resume")
        texts = ("score_corpus", self.control, "--name", CONTROL, "--resume")
        self._run(*texts, *base)
        self._run(*texts, *args[tuned], "--model_name", tuned.name)

    def _say(self, *command: object) -> None:
        self.stderr.write(f"\nmanage.py {shlex.join(map(str, command))}")

    def _run(self, *command: object) -> None:
        """A command as it could be typed; what it prints is no result of this one."""
        self._say(*command)
        try:
            call_command(*map(str, command), stdout=self.stderr, stderr=self.stderr)
        except StoppedError as error:  # it names an option of its own
            raise StoppedError(GOES_ON) from error
