import json

from django.utils import timezone
from rest_framework import serializers

from experiment.api.access import StudyTable
from experiment.domain.questions import made_from
from experiment.domain.roles import Right
from experiment.models import Item, Participant
from experiment.services.counts import STRATA, ItemExposure, default_kind, item_exposures
from lib.api import pages, parameters
from lib.api.views import TableQuery


class ItemSerializer(serializers.ModelSerializer[Item]):
    item_key = serializers.CharField(source="key")
    item_version = serializers.IntegerField(source="version")
    item_sha256 = serializers.CharField(source="sha256")
    categories = serializers.SerializerMethodField(
        help_text="For a question, a JSON object that maps dimensions to categories. Empty for other items."
    )
    template = serializers.CharField(
        source="template.key", default="", help_text="The template that made the question."
    )
    made_from = serializers.SerializerMethodField(
        help_text="For a question that a template made on this site: a JSON object with the table's SHA-256, the row, the rule, "
        "the row's values, and the SHA-256 of the question when it was made. If `item_sha256` differs, the question "
        "was edited later."
    )

    class Meta:
        model = Item
        fields = [
            "item_key",
            "item_version",
            "item_sha256",
            "kind",
            "source",
            "generator",
            "field",
            "subfield",
            "doi",
            "publication_date",
            "status",
            "texts",
            "is_damaged",
            "markup",
            "original",
            "altered",
            "expert_answer",
            "categories",
            "template",
            "made_from",
        ]

    def get_categories(self, item: Item) -> str:
        return (
            json.dumps(item.categories, ensure_ascii=False, sort_keys=True)
            if item.categories
            else ""
        )

    def get_made_from(self, item: Item) -> str:
        return made_from.written(item.made_from)


class ItemsQuery(TableQuery):
    lookups = {n: n for n in ("kind", "source", "status", "subfield")} | {"item": "key"}
    ordering = pages.Ordering(item_key=("key", "version"))
    kind = serializers.ChoiceField(choices=Item.Kind.values, required=False)
    source = serializers.ChoiceField(  # type: ignore[assignment]
        choices=Item.Source.values, required=False
    )
    status = serializers.ChoiceField(choices=Item.Status.values, required=False)
    subfield = serializers.CharField(required=False)
    item = serializers.CharField(
        required=False, help_text="Key of a test case; includes all its versions."
    )


class Items(StudyTable):
    """The test cases that the study draws from, and those that participants were assigned."""

    access = Right.SEE_ITEMS
    table = "items"
    query_class = ItemsQuery
    result_class = ItemSerializer

    def rows(self) -> pages.Rows:
        items = Item.objects.shown_by([self.study]).filter(**self.wanted())
        return items.select_related("template")


class ExposureSerializer(serializers.Serializer[ItemExposure]):
    item_key = serializers.CharField(source="item.key")
    item_version = serializers.IntegerField(
        source="item.version", help_text="The version that is currently drawn."
    )
    stratum = serializers.ChoiceField(choices=STRATA)
    subfield = serializers.CharField(source="item.subfield")
    valid = serializers.IntegerField(help_text="Valid judgments of all its versions.")
    judged = serializers.IntegerField(help_text="All judgments.")
    held = serializers.IntegerField(
        help_text="Participants who are taking part now and were given this test case."
    )


class ExposuresQuery(TableQuery):
    ordering = pages.Ordering(
        item_key=("item__key", "item__version"), valid=("valid", "item__key", "item__version")
    )
    kind = serializers.ChoiceField(
        choices=Participant.Kind.values,
        required=False,
        help_text="Kind of participants. Usually, the study has only one kind.",
    )
    stratum = serializers.ChoiceField(choices=STRATA, required=False)
    below = parameters.whole_number(1, help_text="Only with fewer valid judgments than this.")


class Exposures(StudyTable):
    """How often each test case was judged."""

    access = Right.SEE_DATA
    table = "exposures"
    query_class = ExposuresQuery
    result_class = ExposureSerializer

    def rows(self) -> pages.Rows:
        query = self.query
        kind = query.get("kind") or default_kind(self.study)
        return [
            row
            for row in item_exposures(self.study, kind, timezone.now())
            if query.get("stratum", row.stratum) == row.stratum
            and row.valid < query.get("below", row.valid + 1)
        ]
