"""The data card of a folder of Hugging Face's datasets: what the platform reads at its head, and what people read."""

import json
import math
from collections import Counter
from collections.abc import Sequence

from experiment.models import Item
from lib.formatting import verb
from lib.markdown import blocks, bullets, table
from lib.names import escaped

DATA = "data/test.jsonl"
TEXTS = (
    "key",
    "subfield",
    "source",
    "generator",
    "doi",
    "publication_date",
    "markup",
    "original",
    "altered",
)
FEATURES = {"version": "int64", **dict.fromkeys(TEXTS, "string")}
SIZES = {3: "n<1K", 4: "1K<n<10K", 5: "10K<n<100K"}
HEAD = """\
---
pretty_name: {field}
license: {license}
language:
- {language}
task_categories:
- multiple-choice
tags:
- {field}
- forward-looking benchmark
size_categories:
- {size}
configs:
- config_name: default
  data_files:
  - split: test
    path: {path}
dataset_info:
  features:
{features}
  splits:
  - name: test
    num_examples: {n}
    num_bytes: {n_bytes}
---"""
ABOUT = """\
{n} test cases. Each is an abstract in two versions that differ in some words: `original`, as it was published or written,
and `altered`, with another result. The task is to find the original. People read one text that contains both passages
wherever the versions differ, and choose the version that is the original; a language model chooses the text with the lower
perplexity."""
COLUMNS = (
    ("`version`", "version of the test case; editing an accepted text creates a new version"),
    ("`key`", "name of the test case, shared by all its versions"),
    ("`subfield`", "subfield of the field"),
    ("`source`", "`human` or `machine`: who altered the text"),
    ("`generator`", "name of that person or model"),
    ("`doi`, `publication_date`", "DOI and date of the publication"),
    ("`markup`", "both versions in one, with `[[original, altered]]` where they differ"),
    ("`original`, `altered`", "the two versions"),
)
RIGHTS = """\
The abstracts belong to their authors and publishers. Make sure that
the license above permits their distribution."""
LIMITATIONS = (
    "The original is a published result, which is not necessarily true; an altered version may be.",
    (
        "A model that has read the publication can recognise it. Compare the end of its training data with `publication_date`, and "
        "keep these texts out of training data."
    ),
    "Alterations differ in difficulty, so scores are only comparable on the same set of test cases.",
    "Two test cases of one publication are not independent.",
)


def data_card(
    field: str, license_name: str, language: str, tests: Sequence[Item], n_bytes: int
) -> str:
    """The whole file. `field`: the name of the field of research; `n_bytes`: of the file of its test cases."""
    n = len(tests)
    n_with_doi = sum(bool(item.doi) for item in tests)
    provenance = [f"{n_with_doi} of {n} test cases name their publication."]
    if dates := sorted(str(item.publication_date) for item in tests if item.publication_date):
        provenance.append(f"Publications are from {dates[0]} to {dates[-1]}.")
    accepted = [item for item in tests if item.status == Item.Status.ACCEPTED]
    provenance.append(f"People accepted {'each' if len(accepted) == n else len(accepted)} of them.")
    if k := sum(not item.accepted_by for item in accepted):
        without = "not reviewed: accepted on this site by nobody other than"
        provenance.append(
            f"{k} of these {verb(k, 'was', 'were')} {without} {verb(k, 'its', 'their')} writer."
        )
    counts = []
    for label, column in (
        ("altered by", "source"),
        ("generator", "generator"),
        ("subfield", "subfield"),
        ("state", "status"),
    ):
        tally = Counter(str(getattr(item, column)) for item in tests)
        if column == "generator":
            del tally[""]
        counts += [
            (f"{label}: {escaped(name) or 'none'}", str(k)) for name, k in sorted(tally.items())
        ]
    head = HEAD.format(
        field=_yaml(field),
        license=_yaml(license_name),
        language=_yaml(language),
        size=_yaml(SIZES.get(max(3, math.ceil(math.log10(n + 1))), "n>100K")),
        path=DATA,
        features="\n".join(
            f"  - name: {name}\n    dtype: {kind}" for name, kind in FEATURES.items()
        ),
        n=n,
        n_bytes=n_bytes,
    )
    return blocks(
        (
            head,
            f"# {escaped(field)}: which version is real?",
            ABOUT.format(n=n),
            "## Columns",
            table(("column", "content"), COLUMNS),
            "Unknown values are null.",
            "## Counts",
            table(("", "test cases"), counts),
            "## Provenance",
            f"{' '.join(provenance)}\n{RIGHTS}",
            "## Limitations",
            bullets(LIMITATIONS),
        )
    )


def _yaml(text: str) -> str:
    r"""A text as YAML reads it back, and HTML does not: JSON's spelling is one of YAML's.

    >>> _yaml('a: "b"')
    '"a: \\"b\\""'
    """
    return json.dumps(text, ensure_ascii=False).replace("<", r"\u003c")
