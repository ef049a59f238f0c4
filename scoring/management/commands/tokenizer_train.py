from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from lib.commands import ReportingCommand, add_json_argument
from lib.files import sha256_of
from scoring.management.trainings import find_corpus
from scoring.training.corpus.document import CorpusError
from scoring.training.corpus.manifest import open_corpus
from scoring.training.settings import TrainingError


class Command(ReportingCommand):
    help = "Train a byte-level BPE tokenizer like GPT-2's on a corpus, for models from scratch."
    prints = {
        "output": str,
        "corpus": str,
        "corpus_sha256": str,
        "tokens": int,
        "bytes_per_token": float,
        "sha256": str,
    }

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--corpus", required=True, metavar="NAME")
        parser.add_argument(
            "--vocabulary", type=int, default=50257, metavar="N", help="tokens (default: 50257)"
        )
        parser.add_argument(
            "--output", type=Path, required=True, metavar="DIR", help="a new folder"
        )
        add_json_argument(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        output: Path = options["output"]
        if output.exists():
            raise CommandError(f"{output} already exists. Name a new folder.")
        row = find_corpus(options["corpus"])
        from scoring.training.lm.tokenizer import bytes_per_token, save_tokenizer, train_tokenizer

        try:
            corpus = open_corpus(row.folder)
            corpus.check()
            tokenizer = train_tokenizer(corpus.texts("train"), options["vocabulary"])
            save_tokenizer(tokenizer, output)
            size = bytes_per_token(tokenizer, corpus.texts("held_out"))
        except (TrainingError, CorpusError) as error:
            raise CommandError(str(error)) from error
        tokens = tokenizer.get_vocab_size()
        data = {
            "output": str(output),
            "corpus": row.slug,
            "corpus_sha256": corpus.sha256,
            "tokens": tokens,
            "bytes_per_token": size,
            "sha256": sha256_of(output / "tokenizer.json"),
        }
        line = f"{tokens:,} tokens, {size:.2f} bytes per token of held-out text: {output}"
        self.report(options, data, [line])
