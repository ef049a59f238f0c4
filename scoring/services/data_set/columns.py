"""What each table of answers and grades holds. A name means the same in every table of a data set: its dictionary has each once."""

from dataclasses import replace

from experiment.domain.codebook import TRIAL_COLUMNS, Column
from scoring.domain.generating import Finish
from scoring.domain.grading.rubric import Fate

_OF_TRIALS = {column.name: column for column in TRIAL_COLUMNS}
_PERSONS = "a participant's answer"
_NOT_SAID = "the model or its server did not say"
ITEM = (_OF_TRIALS["item_key"], _OF_TRIALS["item_version"])
MODEL = Column("model", "The language model, by its name on this site.")
RUN = Column("answering_run", "The run in which the model answered, on this site.", "integer")
WHOSE = (
    replace(MODEL, null=_PERSONS),
    replace(RUN, null=_PERSONS),
    replace(_OF_TRIALS["participant"], null="a model's answer"),
)
SIMULATED = Column("is_simulated", "Whether it was made up by a simulation.", "boolean")
FINISH = Column(
    "finish",
    "How the model's text ended: stop is a whole one.",
    levels=tuple(finish.value for finish in Finish),
)
SERVER_MODEL = Column("server_model", "The model, as the server calls it.", null=_NOT_SAID)
TOKENS = (
    Column("prompt_tokens", "Tokens that the model read.", "integer", null=_NOT_SAID),
    Column("completion_tokens", "Tokens that the model wrote.", "integer", null=_NOT_SAID),
)
SECONDS = Column(
    "seconds",
    "How long a model took to write, or a person had the page open.",
    "number",
    "s",
    null="it was not measured",
)
AT = Column("at", "When it was stored.", "time")
POINTS = Column("points", "Points of the rubric; -1 abstains.", "number", null="no grade could be read")  # fmt: skip
FATE = Column("fate", "What the answer counts as by these points.", levels=tuple(Fate))

QUESTIONS = (
    *ITEM,
    Column("question", "The question, as it was asked."),
    Column("expert_answer", "What an expert answers."),
    Column("template", "The template that made the question, by its key.", null="it has none"),
    Column("categories", "Categories by dimension, as a JSON object.", null="it has none"),
)
ANSWERS = (
    MODEL,
    RUN,
    *ITEM,
    SIMULATED,
    Column("model_answer", "What the model answered.", null="it wrote nothing"),
    FINISH,
    Column("detail", "Why there is no whole answer.", null="there is one"),
    SERVER_MODEL,
    *TOKENS,
    SECONDS,
    Column("model_confidence", "That the answer is right, 0 to 100, as the model's file says.", "number", null="it is not known"),
    AT,
)  # fmt: skip
JUDGES = (
    *WHOSE,
    *ITEM,
    Column("judge", "The language model that graded; exact: the expert's answer word for word."),
    Column("grading_run", "The run in which it graded, on this site.", "integer"),
    Column("rubric", "The rubric's name."),
    SIMULATED,
    POINTS,
    FATE,
    Column("tries", "How often the judge was asked; 0: of an answer without a text.", "integer"),
    FINISH,
    Column("judge_text", "What the judge said last.", null="it said nothing, or was not asked"),
    Column("judge_first_text", "What it said first, where that was no grade.", null="that was one"),
    Column("judge_detail", "Why there is no whole text.", null="there is one"),
    SERVER_MODEL,
    *TOKENS,
    SECONDS,
    AT,
)
PEOPLE = (
    *WHOSE,
    *ITEM,
    Column("grader", "Who graded: g1, g2, … in the order of their first grade in the study."),
    Column("is_adjudication", "Whether it settles two others.", "boolean"),
    Column("grade_abstains", "Whether the grade says that the answer abstains.", "boolean"),
    Column("level", "Points before deductions.", "number", null="the answer abstains"),
    Column("deductions", "Names of deductions in the rubric.", null="there are none"),
    POINTS,
    FATE,
    Column("note", "What the grader wrote.", null="nothing"),
    SECONDS,
    AT,
    SIMULATED,
)
# What judges and graders write may quote a participant: as participants' own words, for who has read them
QUOTING = ("judge_text", "judge_first_text", "judge_detail", "note")
# When and how long a person graded is nobody else's matter
OF_GRADERS = ("seconds", "at")
