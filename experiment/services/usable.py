"""Test cases, questions and templates that a user may read and take into studies. Every way from a field's text to a person asks here.

A field is its members', unless its lead shares it with studies or the site. The published set and the built-in texts are the site's,
and so is what belongs to no field. A study's members also see what it draws from (ItemQuerySet.shown_by).
"""

import re
from collections.abc import Iterable

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q, QuerySet

from experiment.domain.roles import FieldRight, Right
from experiment.models import Item, ResearchField, Study
from experiment.models.items import ItemQuerySet
from experiment.services.rights import fields_of, may

# None: the site itself, for which its administrator's commands act
Person = User | AnonymousUser | None
# Of texts that come with the site, and of the published set
_SHIPPED_KEY = re.compile(
    "brainbench-(human|machine)-[0-9]+|demo-(test|catch)-[0-9]+|demo-practice"
    "|element-own-[0-9]+|element-(symbol|state|family)-[0-9a-f]{12}"
)
# As `writing.unused_keys` numbers a field's texts: its slug, and four figures or more
_NUMBERED_KEY = re.compile("(.+)-[0-9]{4,9}")
OF_SITE = Q(is_demo=True) | ~Q(collection="") | Q(field="")


def is_site(user: Person) -> bool:
    """True if it is the site itself, or one of its administrators."""
    return user is None or (user.is_active and user.is_superuser)


def kept_keys(keys: Iterable[str], user: Person) -> set[str]:
    """Those of new keys that are for the site, or are numbers of a field whose texts the user does not write.

    What has one is in the way when the site's own text comes, or the field's next.
    """
    if is_site(user):
        return set()
    assert user is not None
    foreign = ResearchField.objects.exclude(pk__in=fields_of(user).values("pk"))
    others = set(foreign.values_list("slug", flat=True))
    numbered = ((key, _NUMBERED_KEY.fullmatch(key)) for key in keys)
    return {key for key, of in numbered if _SHIPPED_KEY.fullmatch(key) or (of and of[1] in others)}


def usable_fields(user: Person, study: Study | None = None) -> QuerySet[ResearchField]:
    """Fields all of whose accepted texts the user may read and take: into this study, or into one of their own."""
    if is_site(user):
        return ResearchField.objects.all()
    if user is None or not user.is_active or user.pk is None:
        return ResearchField.objects.none()
    usable = Q(is_shared=True) | Q(pk__in=fields_of(user, FieldRight.USE_FIELD).values("pk"))
    if study is not None and may(user, Right.SET_UP, study):
        usable |= Q(pk__in=study.shared_fields.values("pk"))
    return ResearchField.objects.filter(usable)


def usable_items(user: Person, study: Study | None = None) -> ItemQuerySet:
    """The accepted versions that the user may read and take: into this study, or into one of their own.

    A study may keep what it draws from.
    """
    accepted = Item.objects.accepted()
    if is_site(user):
        return accepted
    if user is None or not user.is_active or user.pk is None:
        return accepted.none()
    usable = OF_SITE | Q(field__in=usable_fields(user, study).values("name"))
    if study is not None and may(user, Right.SET_UP, study):
        usable |= Q(pk__in=study.study_items.values("item"))
    return accepted.filter(usable)


def of_own(user: Person, study: Study | None = None) -> Q:
    """The usable texts that a choice may take which names no field: of fields that the user curates or the study draws from.

    What others share is taken by its name. Otherwise a lab that shares its field would decide what another lab's study asks.
    """
    if is_site(user):
        return Q()
    assert user is not None
    own = OF_SITE | Q(field__in=fields_of(user).values("name"))
    return own if study is None else own | Q(field__in=study.study_items.values("item__field"))


def known_items(user: Person) -> ItemQuerySet:
    """All versions of which the user may be told that they are here: of a field that they curate drafts too."""
    if is_site(user):
        return Item.objects.all()
    assert user is not None
    own = Q(field__in=fields_of(user).values("name"))
    return Item.objects.filter(own | Q(pk__in=usable_items(user).values("pk")))


def unusable(items: Iterable[Item], user: Person, study: Study | None = None) -> list[Item]:
    """Those of these accepted versions that the user may not take."""
    if is_site(user):
        return []
    items = list(items)
    wanted = usable_items(user, study).filter(pk__in=[item.pk for item in items])
    usable = set(wanted.values_list("pk", flat=True))
    return [item for item in items if item.pk not in usable]
