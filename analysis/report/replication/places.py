"""Where the BrainBench paper prints something: its figures and tables, as the preprint and the article number them.

Both number alike up to S17; from there on the article has one figure more. The article: Luo et al. (2025), Nature Human
Behaviour 9, 305-315.
"""

from dataclasses import dataclass

HUMAN, MACHINE = "human", "machine"


@dataclass(frozen=True, slots=True)
class Place:
    """`preprint` and `article`: its number there, several joined by commas; "" where it has none.

    source: of the test cases that it is about.
    """

    preprint: str
    article: str
    title: str
    source: str = HUMAN

    @property
    def is_numbered_alike(self) -> bool:
        return self.preprint == self.article

    @property
    def is_about_machine(self) -> bool:
        return self.source == MACHINE


def _alike(number: str, title: str) -> Place:
    return Place(number, number, title)


def _again(preprint: int, of: Place) -> Place:
    """The same figure on the machine-created test cases."""
    return Place(f"Figure S{preprint}", f"Figure S{preprint + 1}", of.title, MACHINE)


PEOPLE = _alike("Methods", "participants")
PROCEDURE = _alike("Methods", "procedure")
ITEMS = Place("Methods", "Methods", "test cases", MACHINE)
OVERALL = _alike("Figure 3a", "accuracy of people and models")
SUBFIELDS = _alike("Figure 3b", "accuracy by subfield")
POSITIONS = _alike("Figure 3c", "accuracy by position")
CALIBRATION = _alike("Figure 4", "calibration in equal bins")
TUNING = _alike("Figure 5", "Mistral-7B before and after tuning")
TRIAL_PAGE = _alike("Figure S1", "the trial page")
OTHERS = _alike("Figure S2", "further models")
SENTENCES = _alike("Figure S3", "single sentences")
CONTEXT = _alike("Figure S4", "context swapped or taken away")
CELLS = _alike("Figure S5", "accuracy by subfield, each model")
AGREEMENT = _alike("Figure S6", "agreement on difficulty")
MEMORISATION = _alike("Figure S7", "compressed length over perplexity")
DATES = _alike("Figure S8", "date of publication and difficulty")
TOKEN_TRACES = _alike("Figure S9, S10, S11", "perplexity along one abstract, by token")
SENTENCE_TRACES = _alike("Figure S12, S13, S14", "perplexity along one abstract, by sentence")
TOKEN_FLIPS = _alike("Figure S15", "changes of preference, by token")
SENTENCE_FLIPS = _alike("Figure S16", "changes of preference, by sentence")
EXPERTISE = Place("Figure S17", "Figure S17, S18", "expertise by subfield")
LORA = Place("Figure S18", "Figure S19", "low-rank adaptation")
MACHINE_OVERALL = _again(19, OVERALL)
MACHINE_SUBFIELDS = _again(20, SUBFIELDS)
MACHINE_POSITIONS = _again(21, POSITIONS)
MACHINE_CELLS = _again(22, CELLS)
MACHINE_AGREEMENT = _again(23, AGREEMENT)
MACHINE_CALIBRATION = _again(24, CALIBRATION)
EXAMPLES = Place("Figure S25", "", "two test cases")
CUT_OFFS = _alike("Table S1", "when models were trained and released")
CORPORA = _alike("Table S2", "what models were trained on")
LOGISTIC = _alike("Table S3", "logistic regressions")
JOURNALS = _alike("Table S4", "journals of the training corpus")
PAIRS = _alike("", "Fine-tuned models and their bases, by the published perplexities")
TEAMS = _alike("", "Teams, by the published predictions of Yanez et al. (2025), Patterns")

# The order of replication.md
PLACES = (
    PEOPLE,
    PROCEDURE,
    ITEMS,
    OVERALL,
    SUBFIELDS,
    POSITIONS,
    CALIBRATION,
    TUNING,
    TRIAL_PAGE,
    OTHERS,
    SENTENCES,
    CONTEXT,
    CELLS,
    AGREEMENT,
    MEMORISATION,
    DATES,
    TOKEN_TRACES,
    SENTENCE_TRACES,
    TOKEN_FLIPS,
    SENTENCE_FLIPS,
    EXPERTISE,
    LORA,
    MACHINE_OVERALL,
    MACHINE_SUBFIELDS,
    MACHINE_POSITIONS,
    MACHINE_CELLS,
    MACHINE_AGREEMENT,
    MACHINE_CALIBRATION,
    EXAMPLES,
    CUT_OFFS,
    CORPORA,
    LOGISTIC,
    JOURNALS,
    PAIRS,
    TEAMS,
)
