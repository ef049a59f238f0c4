"""A study: what it asks, of whom, and by which rules. Long, since a model is one class and each setting a column of it."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Literal, Self

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.urls import reverse

from experiment.domain.assignment import PAPER, Stratum
from experiment.domain.cells import cells, is_cell
from experiment.domain.exclusion import Rules
from experiment.domain.pay import MOST, NOTHING, Pay
from experiment.models.items import Item, ItemQuerySet, known, text_hash
from lib.name_fields import NameField

is_language_tag = RegexValidator(
    r"\A[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z", "A language tag looks like en, de or pt-BR."
)

Tasks = Literal["abstracts", "questions", "both"]
DEMO_SLUGS = ("demo", "demo-questions")  # which loading the demo again looks for
MOST_WANTED = 1_000_000  # valid finishers of a study
DEMOGRAPHIC_FIELDS = ("gender", "age", "country", "position", "experience_years")

CELL_FIELDS = (
    ("gender", "gender identity"),
    ("age", "age"),
    ("country", "country"),
    ("position", "current position"),
    ("experience_years", "years of experience"),
)

# Rule -> column of the study
RULE_COLUMNS = {
    "missed_catch": "exclude_missed_catch",
    "untouched_sliders": "exclude_untouched",
    "admitted_cheating": "exclude_cheating",
    "missed_attention": "exclude_attention",
    "recognised": "exclude_recognised",
    "min_rt_ms": "min_rt_ms",
    "min_rt_clock": "min_rt_clock",
    "question_min_rt_ms": "question_min_rt_ms",
    "fast_page_ms": "fast_page_ms",
    "hidden_flag_ms": "hidden_flag_ms",
}

# Part of the promised payment -> column of the study
PAY_COLUMNS = {
    "currency": "pay_currency",
    "base": "pay_base",
    "screened_out": "pay_screened_out",
    "bonus": "pay_bonus",
    "bonus_amount": "pay_bonus_amount",
    "credits": "pay_credits",
}


def amount_field(label: str, help_text: str = "") -> models.DecimalField[Decimal, Decimal]:
    """An exact amount of a study's promise; 0 is none."""
    return models.DecimalField(
        label,
        max_digits=7,
        decimal_places=2,
        default=NOTHING,
        validators=[MinValueValidator(NOTHING), MaxValueValidator(MOST)],
        help_text=help_text,
    )


def all_demographic_fields() -> list[str]:
    return list(DEMOGRAPHIC_FIELDS)


class StudyQuerySet(models.QuerySet["Study"]):
    def visible_to(self, user: User | AnonymousUser) -> Self:
        """Those that a user is a member of, in whatever role; an administrator sees all."""
        if isinstance(user, AnonymousUser):
            return self.none()
        return self if user.is_superuser else self.filter(members=user)


class Study(models.Model):
    """A configured experiment: its texts, what a participant gets, its rules and its state."""

    class Recruitment(models.TextChoices):
        DRAFT = "draft", "draft: only signed-in members can try it, as pilots"
        PILOT = "pilot", "pilot: anyone with the link is a pilot participant"
        OPEN = "open", "open"
        CLOSED = "closed", "closed: no new participants; those who have started may finish"

    class Policy(models.TextChoices):
        BALANCED = "balanced", "drawn when shown, from those with the lowest expected exposure"
        PAPER = (
            PAPER,
            "all drawn at the start, from those assigned least often, as in the paper",
        )

    class Untouched(models.TextChoices):
        OFF = "off", "do not exclude anyone for this"
        NEITHER = "neither", "exclude participants who moved neither of the two sliders"
        EITHER = "either", "exclude participants who left at least one slider untouched"

    class WithdrawalPolicy(models.TextChoices):
        DELETE = "delete", "delete the answers"
        ANONYMISE = "anonymise", "keep the answers, but nothing that could identify the person"

    class Clock(models.TextChoices):
        PAGE = "page", "pressing Continue"
        CHOICE = "choice", "the first choice of a side"

    class Bonus(models.TextChoices):
        NONE = "none", "no bonus"
        FIXED = "fixed", "one amount for each participant who finishes"
        RIGHT = "right", "an amount for each test trial in which the final choice is right"

    slug = models.SlugField(max_length=60, unique=True)
    title = NameField(
        max_length=200,
        unique=True,
        unlike=(),
        error_messages={"unique": "Another study of this site has this title."},
    )
    language = models.CharField(
        "language of the pages",
        max_length=35,
        default="en",
        validators=[is_language_tag],
        help_text="A BCP 47 tag: en, de, pt-BR, ar. Texts without a translation stay English.",
    )
    abstract_language = models.CharField(
        "language of the test cases",
        max_length=35,
        default="en",
        validators=[is_language_tag],
    )
    briefing = models.TextField()
    debriefing = models.TextField(
        "why this study exists",
        blank=True,
        help_text="Shown with the results. Leave this empty for the built-in text.",
    )
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="Membership", related_name="studies"
    )
    items = models.ManyToManyField(Item, through="StudyItem", related_name="studies")
    field = NameField(
        "field of research",
        max_length=80,
        blank=True,
        help_text=(
            "Participants are asked for their years of experience in this field. If empty, they are asked about their own field."
        ),
    )
    ethics_number = NameField("number of the ethics approval", max_length=80, blank=True)
    ethics_body = NameField("ethics committee", max_length=200, blank=True)
    answers_read_by = NameField(
        "other readers of answers to questions",
        max_length=200,
        blank=True,
        help_text=(
            "A language model on another server that grades answers, and its operator, such as “GPT-4o of OpenAI”. The "
            "consent page shows it. "
            "If this is empty, no chat server outside this machine grades participants' answers."
        ),
    )
    ethics_contact = NameField(
        "contact at the ethics committee",
        max_length=300,
        blank=True,
        help_text="Contact for questions about participants' rights. The consent page shows it.",
    )
    demographic_fields = models.JSONField(default=all_demographic_fields, blank=True)
    human_items = models.PositiveSmallIntegerField(
        "human-created test cases per participant", default=6
    )
    machine_items = models.PositiveSmallIntegerField(
        "machine-created test cases per participant", default=3
    )
    catch_items = models.PositiveSmallIntegerField("catch trials per participant", default=2)
    question_items = models.PositiveSmallIntegerField("questions per participant", default=0)
    ratings_required = models.BooleanField(default=False)
    reading_aid = models.BooleanField(
        default=True,
        help_text=(
            "Participants may read one side on its own with a key or button. Each use is counted."
        ),
    )
    min_page_s = models.PositiveSmallIntegerField(
        "least time for reading a trial (s)",
        default=0,
        validators=[MaxValueValidator(120)],
        help_text=(
            "An answer that arrives sooner is kept on the page, and the participant is asked to read on. 0 means no such time."
        ),
    )
    debrief_catch_trials = models.BooleanField(
        "catch trials in the debrief",
        default=False,
        help_text="Whether the debrief also says which catch trials were right.",
    )
    policy = models.CharField(max_length=10, choices=Policy, default=Policy.BALANCED)
    recruitment = models.CharField(max_length=10, choices=Recruitment, default=Recruitment.DRAFT)
    target_valid = models.PositiveIntegerField(
        "target number of valid finishers",
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_WANTED)],
        help_text="No new participants are admitted after that.",
    )
    cell_field = models.CharField(
        "groups of participants, by their answer on",
        max_length=20,
        choices=CELL_FIELDS,
        blank=True,
        help_text=(
            "Arms are balanced within each group, and each group can have its own target. Ages and years form bands."
        ),
    )
    cell_targets = models.JSONField(
        "target numbers of valid finishers of groups", default=dict, blank=True
    )
    exclude_missed_catch = models.BooleanField(default=True)
    exclude_untouched = models.CharField(
        "untouched sliders", max_length=10, choices=Untouched, default=Untouched.NEITHER
    )
    exclude_cheating = models.BooleanField(
        "exclude participants who said that they had looked something up", default=True
    )
    exclude_attention = models.BooleanField(
        "exclude participants who missed an attention check", default=False
    )
    exclude_recognised = models.BooleanField("exclude recognised trials", default=True)
    min_rt_ms = models.PositiveIntegerField("exclude trials under (ms)", default=5_000)
    counted_min_rt_ms = models.PositiveIntegerField(
        null=True,
        editable=False,
        help_text=(
            "Limit for counting fast trials until changed rules are applied. If empty, the limit of the rules."
        ),
    )
    min_rt_clock = models.CharField(
        "measured until", max_length=10, choices=Clock, default=Clock.PAGE
    )
    question_min_rt_ms = models.PositiveIntegerField(
        "exclude answers to questions under (ms)",
        default=0,
        help_text="Until Continue is pressed; “I do not know” is never too fast.",
    )
    fast_page_ms = models.PositiveIntegerField("flag trials under (ms)", default=15_000)
    hidden_flag_ms = models.PositiveIntegerField(
        "flag trials hidden longer than (ms)", default=60_000
    )
    opens_at = models.DateTimeField(
        "recruitment begins (UTC)",
        null=True,
        blank=True,
        help_text="If empty, recruitment begins when the study opens.",
    )
    closes_at = models.DateTimeField(
        "recruitment ends (UTC)",
        null=True,
        blank=True,
        help_text=(
            "No new participants are admitted after that. Those who have started may finish."
        ),
    )
    channels_version = models.PositiveIntegerField(
        default=0, editable=False, help_text="Raised by every change of a channel."
    )
    survey_version = models.PositiveIntegerField(
        default=0,
        editable=False,
        help_text="Raised by every change of a survey question; 0 without any.",
    )
    unfilled_links = models.PositiveIntegerField(
        default=0, editable=False, help_text="Visits through links without the expected ID."
    )
    unfilled_link_at = models.DateTimeField(null=True, editable=False)
    damaged_links = models.PositiveIntegerField(
        default=0,
        editable=False,
        help_text=(
            "Visits through links that were changed on their way from the recruitment site."
        ),
    )
    damaged_link_at = models.DateTimeField(null=True, editable=False)
    turned_away_at = models.DateTimeField(
        null=True, editable=False, help_text="When the study was last full for a visitor."
    )
    external_id_days = models.PositiveSmallIntegerField(
        "days for which recruitment IDs are kept",
        default=90,
        validators=[MinValueValidator(1)],
        help_text=(
            "Counted from consent; the consent page shows the date. The task chores recruitment-ids erases the IDs."
        ),
    )
    withdrawal_policy = models.CharField(
        "when somebody withdraws",
        max_length=10,
        choices=WithdrawalPolicy,
        default=WithdrawalPolicy.DELETE,
        help_text="The answers of participants who have not finished are always deleted.",
    )
    retain_until = models.DateField(
        "personal data are kept until",
        null=True,
        blank=True,
        help_text="After this date, they can be deleted for all participants together.",
    )
    contact = NameField(
        max_length=300,
        blank=True,
        help_text="Contact for participants. A study without a contact cannot open.",
    )
    live_minutes = models.PositiveSmallIntegerField(
        "minutes of inactivity after which a participant counts as having left",
        default=15,
        validators=[MinValueValidator(1)],
    )
    resume_hours = models.PositiveIntegerField(
        "hours within which a participant may return",
        default=168,
        validators=[MinValueValidator(1)],
    )
    pay_currency = models.CharField(
        "currency", max_length=3, blank=True, help_text="Three letters (ISO 4217): GBP, EUR, USD."
    )
    pay_base = amount_field(
        "payment for finishing",
        "All participants who finish receive it, also those who are excluded from the analysis.",
    )
    pay_screened_out = amount_field(
        "part for screened-out participants",
        "For participants who agree and are then not admitted because their group is complete.",
    )
    pay_bonus = models.CharField("bonus", max_length=10, choices=Bonus, default=Bonus.NONE)
    pay_bonus_amount = amount_field("amount of the bonus")
    pay_credits = amount_field(
        "credits for participants from SONA", "Participants from SONA receive these and no money."
    )
    # No form's and no file's: the site trusts it to know its own demo
    is_demo = models.BooleanField("demo material", default=False, editable=False)
    version = models.PositiveIntegerField(
        default=0,
        editable=False,
        help_text="Of its rules, consent and test cases; 0 until a real participant enters.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = StudyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "studies"
        ordering = ("slug",)
        constraints = (
            models.CheckConstraint(
                condition=models.Q(human_items__gt=0)
                | models.Q(machine_items__gt=0)
                | models.Q(question_items__gt=0),
                name="study_has_test_trials",
            ),
            known("study_recruitment_known", "recruitment", "draft", "pilot", "open", "closed"),
            models.CheckConstraint(
                condition=models.Q(opens_at=None)
                | models.Q(closes_at=None)
                | models.Q(opens_at__lt=models.F("closes_at")),
                name="study_recruitment_ends_later",
                violation_error_message="Recruitment must end after it begins.",
            ),
            known("study_untouched_known", "exclude_untouched", "off", "neither", "either"),
            known("study_clock_known", "min_rt_clock", "page", "choice"),
            known("study_bonus_known", "pay_bonus", "none", "fixed", "right"),
            models.CheckConstraint(
                condition=models.Q(
                    pay_base__gte=0,
                    pay_screened_out__gte=0,
                    pay_bonus_amount__gte=0,
                    pay_credits__gte=0,
                ),
                name="study_pay_not_negative",
            ),
            models.CheckConstraint(
                condition=(
                    models.Q(ethics_number="", ethics_body="", ethics_contact="")
                    | (~models.Q(ethics_number="") & ~models.Q(ethics_body=""))
                ),
                name="study_ethics_approval_whole",
                violation_error_message=(
                    "An ethics approval needs both its number and the ethics committee that gave it."
                ),
            ),
        )

    def __str__(self) -> str:
        return self.slug

    def clean(self) -> None:
        super().clean()
        if self.cell_targets and not self.cell_field:
            raise ValidationError({"cell_field": "Choose the answer that forms the groups."})
        for name, n in self.cell_targets.items():
            if not is_cell(self.cell_field, name):
                codes = " or a country's code such as DE" if self.cell_field == "country" else ""
                unknown = f"“{name}” is not a group of this answer. Its groups are {', '.join(cells(self.cell_field))}{codes}."
                raise ValidationError({"cell_targets": unknown})
            if not 1 <= n <= MOST_WANTED:
                said = f"The target of “{name}” must be from 1 to {MOST_WANTED}."
                raise ValidationError({"cell_targets": said})
        has_test_trials = bool(self.human_items or self.machine_items)
        if faults := self.pay.faults(has_test_trials=has_test_trials):
            raise ValidationError({PAY_COLUMNS[part]: said for part, said in faults.items()})
        is_taken = not self.is_demo and self.slug in DEMO_SLUGS
        if is_taken and not Study.objects.filter(pk=self.pk, slug=self.slug).exists():
            raise ValidationError(
                {"slug": ("This short name is reserved for the built-in demo. Choose another one.")}
            )

    def get_absolute_url(self) -> str:
        return reverse("participant:entry", args=[self.slug])

    @property
    def consent(self) -> "ConsentVersion | None":
        return self.consent_versions.order_by("-number").first()

    @property
    def accepted_items(self) -> ItemQuerySet:
        """Without those that were retired since, which stay pinned."""
        return Item.objects.accepted().filter(studies=self)

    @property
    def drawable_items(self) -> ItemQuerySet:
        """The items that can be drawn now: accepted, and not paused."""
        return Item.objects.drawable_in(self)

    @property
    def trial_counts(self) -> dict[Stratum, int]:
        counts: dict[Stratum, int] = {
            "human": self.human_items,
            "machine": self.machine_items,
            "catch": self.catch_items,
        }
        # Left out where there are none, so that plans of studies without questions stay what they were
        return counts | {"question": self.question_items} if self.question_items else counts

    @property
    def forms_cells(self) -> bool:
        """True if participants are asked what forms the groups."""
        return bool(self.cell_field) and self.cell_field in self.demographic_fields

    @property
    def is_open(self) -> bool:
        """True if people can enter, pilots or real ones."""
        return self.recruitment in (self.Recruitment.OPEN, self.Recruitment.PILOT)

    @property
    def has_begun(self) -> bool:
        """True if people can enter, or real ones have: what was checked as it opened holds from then on."""
        return self.is_open or self.version > 0

    @property
    def resume_days(self) -> int:
        """The time to come back in whole days; 0 where it is not whole days."""
        return 0 if self.resume_hours % 24 else self.resume_hours // 24

    @property
    def n_abstracts(self) -> int:
        return self.n_trials - self.question_items

    def has(self, stratum: Stratum) -> bool:
        """True if it gives participants any of these, or has some that models alone are tried on."""
        is_given = self.trial_counts.get(stratum, 0) > 0
        return is_given or Item.objects.shown_by([self]).of_stratum(stratum).exists()

    @property
    def has_pairs(self) -> bool:
        return self.has("human") or self.has("machine")

    @property
    def has_questions(self) -> bool:
        return self.has("question")

    @property
    def shows_abstracts(self) -> bool:
        """True if there is anything to practise: else participants answer questions alone."""
        return self.n_abstracts > 0

    @property
    def keeps_withdrawn_answers(self) -> bool:
        """True if answers stay when somebody withdraws after the end, without anything that could identify them."""
        return self.withdrawal_policy == self.WithdrawalPolicy.ANONYMISE

    @property
    def tasks(self) -> Tasks:
        """The tasks of participants."""
        if not self.question_items:
            return "abstracts"
        return "both" if self.shows_abstracts else "questions"

    @property
    def n_trials(self) -> int:
        return sum(self.trial_counts.values())

    def live_since(self, now: datetime) -> datetime:
        """The time since which a participant counts as live: those seen last before it have left, as far as is known."""
        return now - timedelta(minutes=self.live_minutes)

    @property
    def exclusion_rules(self) -> Rules:
        return Rules(**{rule: getattr(self, column) for rule, column in RULE_COLUMNS.items()})

    @property
    def pay(self) -> Pay:
        """The promise to those who agree now."""
        return Pay(**{part: getattr(self, column) for part, column in PAY_COLUMNS.items()})

    @property
    def fast_limit_ms(self) -> int:
        """Under which the counters count trials as fast."""
        return self.min_rt_ms if self.counted_min_rt_ms is None else self.counted_min_rt_ms


class ConsentVersion(models.Model):
    """A wording of the consent text; participants keep the one they agreed to."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="consent_versions")
    number = models.PositiveIntegerField()
    text = models.TextField()
    sha256 = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("study", "number")
        constraints = (
            models.UniqueConstraint(fields=("study", "number"), name="consent_number_unique"),
        )

    def __str__(self) -> str:
        return f"{self.study} consent v{self.number}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.sha256 = text_hash(self.text)
        super().save(*args, **kwargs)


class StudyText(models.Model):
    """A participant text in this study's own words, in place of the built-in English text `source`."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="texts")
    source = models.TextField(help_text="The built-in English text.")
    forms = models.JSONField(help_text="The text, or one for each plural form.")

    class Meta:
        verbose_name = "participant text of the study"
        verbose_name_plural = "participant texts of the study"
        constraints = (
            models.UniqueConstraint(fields=("study", "source"), name="study_text_unique"),
        )

    def __str__(self) -> str:
        return f"{self.study}: {self.source[:60]}"


class StudyItem(models.Model):
    """One exact item row that a study draws from."""

    study = models.ForeignKey(Study, models.CASCADE, related_name="study_items")
    item = models.ForeignKey(Item, models.PROTECT, related_name="study_items")
    paused_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="From this time on, the test case is not drawn until it is resumed.",
    )

    class Meta:
        verbose_name = "test case of the study"
        verbose_name_plural = "test cases of the study"
        constraints = (models.UniqueConstraint(fields=("study", "item"), name="study_item_unique"),)

    def __str__(self) -> str:
        return f"{self.study}: {self.item}"
