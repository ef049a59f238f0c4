"""The filters of the export page, as fields; what can be asked is decided by the domain and by the study."""

from dataclasses import replace
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from experiment.domain import export_form, trial_query
from experiment.domain.codebook import EXPORT_REASONS
from experiment.domain.export_form import CSV, DATA_SET, USUAL_K
from experiment.domain.trial_query import QueryError, TrialQuery
from experiment.models import Item, Participant, Study
from experiment.services import counts
from experiment.services.export.header import asks_questions
from experiment.services.export.select import channels, completed, subfields
from experiment.services.participant_kinds import default_kind
from experiment.services.rules_under_way import refuse_mixed_release

Choices = list[tuple[str, StrOrPromise]]
SETS: Choices = [
    ("all", _("all, with reasons to exclude")),
    ("analysis", _("of the analysis alone")),
]
FORMATS: Choices = [
    ("csv", "CSV"),
    ("jsonl", "JSON Lines"),
    ("parquet", "Parquet"),
    ("psych-ds", _("Psych-DS (zip: trials, participants and test cases)")),
    ("data-set", _("Psych-DS with language models and teams")),
]
RECOGNISED: Choices = [("true", _("yes")), ("false", _("no")), ("unknown", _("not asked"))]
# One value a line, since there can be many
LISTS = ("item", "participant")


class Several(forms.MultipleChoiceField):
    widget = forms.CheckboxSelectMultiple

    def validate(self, value: Any) -> None:
        """The query says what is wrong."""


class One(forms.ChoiceField):
    def validate(self, value: Any) -> None:
        """As above."""


class ExportForm(forms.Form):
    set = One(label=_("Trials"), choices=SETS)
    kind = One(label=_("Participants"))
    rules = One(label=_("Excluded by"))
    since = forms.CharField(
        label=_("Answered from (UTC)"), widget=forms.DateInput(attrs={"type": "date"})
    )
    until = forms.CharField(
        label=_("Answered until (UTC)"), widget=forms.DateInput(attrs={"type": "date"})
    )
    status = Several(label=_("Participants who came to"), choices=Participant.Stage.choices[:-1])
    channel = Several(label=_("Recruited by"))
    source = Several(label=_("Test cases that were"), choices=Item.Source.choices)
    subfield = Several(label=_("Subfields"))
    reason = Several(
        label=_("Excluded because"), choices=[(r.code, r.label) for r in EXPORT_REASONS]
    )
    recognised = Several(label=_("Recognised"), choices=RECOGNISED)
    item = forms.CharField(
        label=_("Test cases, one name a line"), widget=forms.Textarea(attrs={"rows": 3})
    )
    participant = forms.CharField(
        label=_("Participants, one pseudonym a line"), widget=forms.Textarea(attrs={"rows": 3})
    )
    format = One(label=_("Format"), choices=FORMATS)
    bom = forms.BooleanField(label=_("CSV for Excel (with a byte order mark)"))
    zip = forms.BooleanField(label=_("Zip with manifest and codebook"))
    release = forms.BooleanField(
        label=_("For the public: coarsen what participants said about themselves")
    )
    k = forms.CharField(
        label=_("Fewest people who may be alike"),
        widget=forms.NumberInput(attrs={"min": 2, "max": 9999}),
    )
    words = forms.BooleanField(
        label=_("The public file has what participants wrote: it was read, and names nobody")
    )
    # Fields that an address calls otherwise
    NAMES = {"from": "since", "to": "until"}
    FILE = ("format", "bom", "zip", "release", "k", "words")
    MORE = (
        "since",
        "until",
        "status",
        "channel",
        "source",
        "subfield",
        "reason",
        "recognised",
        "item",
        "participant",
    )
    FILTERS = ("status", "channel", "source", "subfield", "reason", "recognised")

    def __init__(self, study: Study, asked: QueryDict) -> None:
        self.study, self.query, self.form = study, TrialQuery(), CSV
        values = {name: asked.getlist(name) for name in asked}
        shown = _shown(values)
        super().__init__(
            shown | {"kind": shown.get("kind") or default_kind(study)}, label_suffix=""
        )
        for name, choices in self._of_study().items():
            self.fields[name].choices = choices  # type: ignore[attr-defined]
        for field in self.fields.values():
            field.required = False
        self.full_clean()
        for name in ("channel", "subfield"):
            if not self.fields[name].choices and name not in values:  # type: ignore[attr-defined]
                del self.fields[name]
        if not asks_questions(study) and "words" not in values:
            del self.fields["words"]
        try:
            self.form = export_form.parse(values)
            self.query = completed(study, trial_query.parse(_lines(values)))
            refuse_mixed_release(study, self.query, self.form)
        except QueryError as error:
            self._refuse(error)

    def add_prefix(self, field_name: str) -> str:
        return {"since": "from", "until": "to"}.get(field_name, field_name)

    def _of_study(self) -> dict[str, Choices]:
        people = counts.kind_counts(self.study)
        kinds: Choices = [
            (k.value, f"{k.label} ({people.get(k.value, 0)})") for k in Participant.Kind
        ]
        versions = self.study.versions.order_by("-number").values_list("number", "created_at")
        of_rules: Choices = [("", _("the newest rules"))]
        of_rules += [
            (str(n), _("rules of version %d, %s") % (n, f"{at:%Y-%m-%d}")) for n, at in versions
        ]
        return {
            "kind": kinds,
            "rules": of_rules,
            "channel": [(name, name) for name in channels(self.study)],
            "subfield": [(name, name) for name in subfields(self.study)],
        }

    def _refuse(self, error: QueryError) -> None:
        for problem in error.problems:
            name = self.NAMES.get(problem.name, problem.name)
            text = str(problem)
            self.add_error(name if name in self.fields else None, text)

    @property
    def narrows(self) -> bool:
        """Whether more is asked than set, kind and rules: the other filters are shown open then."""
        return any(name not in ("set", "kind", "rules") for name, _text in self.query.pairs)

    @property
    def address(self) -> str:
        """Of the file, after the question mark."""
        return f"{self.query.encode()}&{self.form.encode()}"

    @property
    def data_set_address(self) -> str:
        """Of the whole data set of these trials."""
        form = replace(self.form, format=DATA_SET, bom=False, zip=False)
        return f"{self.query.encode()}&{form.encode()}"


def _lines(values: dict[str, list[str]]) -> dict[str, list[str]]:
    """The query's part, with the lines of the long lists apart."""
    of_query = {name: texts for name, texts in values.items() if name not in export_form.NAMES}
    for name in LISTS:
        if name in of_query:
            of_query[name] = [line for text in of_query[name] for line in text.splitlines()]
    return of_query


def _shown(values: dict[str, list[str]]) -> dict[str, Any]:
    """What was asked, as the fields show it."""
    shown: dict[str, Any] = {"set": "all", "format": "csv", "k": str(USUAL_K)}
    for name, texts in values.items():
        if name in ExportForm.FILTERS:
            shown[name] = texts
        elif name in LISTS:
            shown[name] = "\n".join(texts)
        else:
            shown[name] = texts[-1] if texts else ""
    return shown
