"""Which documents are held out: decided for each alone, so that a corpus that grows moves none."""

import hashlib

from scoring.training.corpus.document import Document


def work_of(document: Document) -> str:
    """What stays the same when another form of the paper is found: its DOI, PMID, PMCID, or else its id."""
    return document.doi or document.pmid or document.pmcid or document.id


def place(seed: int, work: str) -> float:
    """A number from 0 to 1 that seed and work alone decide; documents below the share are held out.

    Of n documents a share h is held out give or take sqrt(h (1 - h) / n): of 10,000 at .1, .1 +- .003.
    """
    digest = hashlib.blake2b(f"{seed}:{work}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2**64
