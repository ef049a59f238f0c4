"""Builds a corpus of so many made documents, and prints the most memory that it took, in MiB; run by test_memory."""

import random
import resource
import sys
from pathlib import Path

from scoring.training.corpus.document import write_documents
from tests.scoring.training.corpus.made import build_from, document, prose


def build_many(folder: Path, n: int) -> int:
    words, numbers = prose(0, 3000).split(), random.Random(1)
    texts = (" ".join(numbers.choices(words, k=400)) for _ in range(n))
    source = folder / "source.jsonl"
    write_documents(source, (document(k, text) for k, text in enumerate(texts)))
    corpus = build_from(folder, [source])
    assert corpus.manifest.train.documents + corpus.manifest.held_out.documents == n
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 2**10


if __name__ == "__main__":
    print(build_many(Path(sys.argv[1]), int(sys.argv[2])))
