"""Where the test cases go that a study's file brings: into fields that its maker leads, else into a field of the file's own.

So a file writes in nobody's field, and its maker learns of nobody's texts.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable
from itertools import count
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from experiment.domain.roles import FieldRight
from experiment.models import Item, QuestionTemplate, ResearchField, Subfield
from experiment.services import audit
from experiment.services.curation.writing import Action, record_change
from experiment.services.fields import create_field, unused_name
from experiment.services.rights import field_rights_of
from experiment.services.usable import is_site, kept_keys, known_items
from lib.name_fields import hold_all_names, hold_names

Status = Item.Status
# What is published or shown as a demo is the whole site's: no study's file adds to it
OF_SITE = ("collection", "collection_row", "is_demo")
LONGEST_KEY = Item._meta.get_field("key").max_length or 0
DIGITS = 12  # of a hash, at the end of a key
# New ones of one file: a name holds up to three locks, and the server keeps 64 for each connection
MOST_FIELDS = 20


class FileItems:
    """The rows of a file's texts. `by`: its maker; None, as an administrator, acts for the site, whose every field takes texts.

    study: its short name, for a field that is made for texts of none.
    """

    def __init__(
        self, keys: Iterable[str], fields: Iterable[str], study: str, by: User | None
    ) -> None:
        self.by, self.study = by, study
        self.keys = set(keys)
        # Every lock on names that the file's texts need, in one order: two files may bring the same in another
        led, new = [], []
        for name in set(fields):
            if (found := self._led(name)) is not None:
                led.append(found.pk)
            elif name or not is_site(by):
                new.append(unused_name(name or study, study, by))
        hold_all_names(ResearchField, sorted(new)[:MOST_FIELDS])
        for pk in sorted(led):
            hold_names(Subfield, "", pk)
            hold_names(QuestionTemplate, "", pk)
        self.fields: dict[str, ResearchField | None] = {}  # by what the file calls them
        self.n_new = 0  # fields
        self.made = Counter[str]()  # texts, by the name of their field here
        every = list(Item.objects.filter(key__in=self.keys))
        told = set(known_items(by).filter(key__in=self.keys).values_list("pk", flat=True))
        self.known: dict[str, list[Item]] = {}
        for row in every:
            if row.pk in told:
                self.known.setdefault(row.key, []).append(row)
        self.hidden = ({row.key for row in every} | kept_keys(self.keys, by)) - self.known.keys()

    def named(self, key: str, text: str) -> tuple[str, list[Item]]:
        """The key that a text gets, and the versions under it that the maker may be told of.

        key: another one where somebody else's text has it or it is kept for others, the same whenever the same person brings this text. text: its hash.
        """
        if key not in self.hidden:
            return key, self.known.get(key, [])
        maker = self.by.pk if self.by else ""
        for n in count():
            end = hashlib.sha256(f"{maker} {text} {n}".encode()).hexdigest()[:DIGITS]
            other = f"{key[: LONGEST_KEY - DIGITS - 1]}-{end}"
            there = Item.objects.filter(key=other).exists()
            known = list(known_items(self.by).filter(key=other)) if there else []
            if (known or not there) and other not in self.keys:
                return other, known
        raise AssertionError

    def add(self, key: str, values: dict[str, Any]) -> Item:
        """An accepted version of this text, not stored, in the field where it belongs.

        Raises:
            ValidationError: its field or template cannot have this name.
        """
        left_out = () if is_site(self.by) else OF_SITE
        values = {name: value for name, value in values.items() if name not in left_out}
        template = values.pop("template", "")
        research_field = self._field(values.pop("field", ""))
        item = Item(**values | {"key": key}, status=Status.ACCEPTED, created_by=self.by)
        if research_field is not None:
            item.field = research_field.name
        if research_field is not None and template:
            # By its name alone: whoever curates the field can write its texts
            named = {"field": research_field, "key": template}
            try:
                item.template = QuestionTemplate.objects.get_or_create(**named)[0]
            except ValidationError as error:
                raise ValidationError({"template": error.messages}) from error
        return item

    def store(self, item: Item) -> None:
        item.save()
        if item.subfield and item.field:
            field = ResearchField.objects.get(name=item.field)
            field.subfields.get_or_create(name=item.subfield)
        after = {"markup": item.markup}
        after |= {"expert_answer": item.expert_answer} if item.is_question else {}
        before, now = {"status": Status.DRAFT.value}, {"status": Status.ACCEPTED.value}
        how: dict[str, Any] = {"by": self.by, "reason": self.why}
        record_change(item, Action.CREATED, after=after, **how)
        record_change(item, Action.STATUS, before=before, after=now, **how)
        self.made[item.field] += 1

    @property
    def why(self) -> str:
        """They are accepted without a review."""
        who = self.by.get_username() if self.by else "the site's administrator"
        return f"Brought with a study's file by {who}, without a review."

    def record(self) -> None:
        for field, n in self.made.items():
            audit.record(
                audit.Action.ITEM_ACCEPTED, by=self.by, reason=self.why, field=field, imported=n
            )

    def _field(self, name: str) -> ResearchField | None:
        """None: of no field, which is for the site alone."""
        if name in self.fields:
            return self.fields[name]
        found = self._led(name)
        if found is not None or (is_site(self.by) and not name):
            self.fields[name] = found
            return found
        needed = ResearchField._meta.get_field("reviews_needed").get_default()
        if self.n_new == MOST_FIELDS:
            most = f"A study file makes at most {MOST_FIELDS} new fields of research."
            raise ValidationError({"field": most})
        try:
            made = create_field(
                unused_name(name or self.study, self.study, self.by), needed, self.by
            )
        except ValidationError as error:
            raise ValidationError({"field": error.messages}) from error
        self.n_new += 1
        self.fields[name] = made
        return made

    def _led(self, name: str) -> ResearchField | None:
        """The field of this name, if the file's maker leads it."""
        found = ResearchField.objects.filter(name__iexact=name).order_by("pk").first()
        if found is None or self.by is None:
            return found
        return found if FieldRight.LEAD_FIELD in field_rights_of(self.by, found) else None
