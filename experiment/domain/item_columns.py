"""Columns of files of test cases: our own form, and the published BrainBench files'. Readers and writers go by these."""

from experiment.domain.markup import MAX_CHARACTERS

# `version` and `status` say what a file was taken from; an import sets neither
OWN = (
    "key",
    "version",
    "status",
    "kind",
    "source",
    "generator",
    "subfield",
    "doi",
    "publication_date",
    "markup",
    "note",
)
MEANINGS = {
    "key": "names the test case in all its versions",
    "version": "that the row was taken from; a row of an older version changes nothing",
    "status": "state of this version; an import does not read it",
    "kind": "test, catch or practice",
    "source": "who altered the text: human or machine",
    "generator": "name of the person or model that altered it",
    "subfield": "of the field of research",
    "doi": "of the article",
    "publication_date": "of the article",
    "markup": "the text, with alterations as [[original, altered]]",
    "note": "for curators",
}
# What may be said of a test case besides its text
DETAILS = ("kind", "source", "generator", "subfield", "doi", "publication_date", "note")
# What is accepted: verdicts hold for all of it as it was, and whoever changes any of it has written in the version
REVIEWED = (
    *("markup", "expert_answer", "kind", "source", "generator", "subfield", "doi"),
    *("publication_date", "categories", "template_id", "made_from"),
)
# What somebody has read who decides about a version; a note is for curators alone
READ = (*REVIEWED, "note")
# In place of `markup`, or beside it
VERSIONS = ("original", "altered")
NOT_READ = ("status",)
# Column of the published files -> ours
PUBLISHED = {
    "doi": "doi",
    "journal_section": "subfield",
    "original_abstract": "original",
    "incorrect_abstract": "altered",
    "combined_abstract": "markup",
}
KINDS = ("test", "catch", "practice")
SOURCES = ("human", "machine")
# The most characters that a cell may have
LONGEST = {
    "key": 80,
    "kind": 10,
    "source": 10,
    "generator": 80,
    "subfield": 80,
    "doi": 200,
    "publication_date": 10,
    **dict.fromkeys(("markup", *VERSIONS), MAX_CHARACTERS),
    "note": 5_000,
}
