"""The file of a study."""

import json
from dataclasses import asdict
from typing import Any

from django.db import models

from experiment.domain.questions.made_from import source_of
from experiment.models import Item, Study
from experiment.models.studies import RULE_COLUMNS
from experiment.services.channels import ENDS

FORMAT = "brainbench-live-study"
VERSION = 1
# Of a study's columns that can be edited, all others are settings of the file
NO_SETTING = {"id", "recruitment", *RULE_COLUMNS.values()}
ITEM_FIELDS = (
    "key",
    "version",
    "sha256",
    "kind",
    "source",
    "generator",
    "field",
    "subfield",
    "doi",
    "publication_date",
    "markup",
    "texts",
    "is_damaged",
    "collection",
    "collection_row",
    "is_demo",
)
QUESTION_FIELDS = ("expert_answer", "categories", "template", "made_from")
CHANNEL_FIELDS = (
    "code",
    "label",
    "platform",
    "id_parameter",
    "study_parameter",
    "session_parameter",
    *ENDS,
    "returns",
    "is_open",
)


def settings() -> dict[str, "models.Field[Any, Any]"]:
    """The columns of a study that its file holds, by name."""
    fields = {field.name: field for field in Study._meta.concrete_fields}
    return {
        name: field for name, field in fields.items() if field.editable and name not in NO_SETTING
    }


def document(study: Study) -> dict[str, Any]:
    """The study as JSON's types. A test case that was retired since is not drawn, and left out."""
    consent = study.consent
    items = study.accepted_items.select_related("template").order_by("key", "version")
    own = study.texts.order_by("source").values("source", "forms")
    return {
        "format": FORMAT,
        "version": VERSION,
        "study": {name: plain(getattr(study, name)) for name in settings()},
        "rules": asdict(study.exclusion_rules),
        "consent": "" if consent is None else consent.text,
        "channels": list(study.channels.order_by("pk").values(*CHANNEL_FIELDS)),
        "texts": list(own),
        "items": [_item(item) for item in items],
    }


def _item(item: Item) -> dict[str, Any]:
    found = {name: plain(getattr(item, name)) for name in ITEM_FIELDS}
    if item.is_question:
        template = item.template.key if item.template else ""
        said = (item.expert_answer, item.categories, template, source_of(item.made_from))
        found |= zip(QUESTION_FIELDS, said, strict=True)
    return found


def plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value


def as_bytes(study: Study) -> bytes:
    text = json.dumps(document(study), indent=2, ensure_ascii=False)
    return f"{text}\n".encode()
