"""Servers of models that this site may send texts to, as its administrators list them; beside those of the settings."""

from decimal import Decimal

from django.conf import settings
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q

from lib.name_fields import NameField
from lib.sealed import seal, unseal
from scoring.domain.generating import Prices

PURPOSE = "key of a model server"


class ModelServer(models.Model):
    """A server with its key, which is sealed under WITHDRAWAL_KEY and shown to nobody."""

    name = NameField(max_length=80, unique=True, unlike=())
    kind = models.CharField(max_length=12, help_text="Kind of model, as commands name it.")
    address = models.CharField(
        max_length=300,
        blank=True,
        help_text="https://HOST or http://HOST:PORT, with or without /v1.",
    )
    # Of the address, by which a run's server is found: a key belongs to it alone
    place = models.CharField(max_length=300, blank=True, editable=False)
    sealed_key = models.TextField(blank=True, editable=False)
    is_for_all = models.BooleanField(
        "everybody who may ask for work of models may use it", default=True
    )
    users = models.ManyToManyField(
        settings.AUTH_USER_MODEL,
        blank=True,
        related_name="+",
        verbose_name="accounts that may use it",
    )
    currency = models.CharField(max_length=3, blank=True, help_text="As in EUR or USD.")
    price_in = models.DecimalField(
        "price per million tokens read", max_digits=12, decimal_places=6, null=True, blank=True,
        validators=[MinValueValidator(0)],
    )  # fmt: skip
    price_out = models.DecimalField(
        "price per million tokens written", max_digits=12, decimal_places=6, null=True, blank=True,
        validators=[MinValueValidator(0)],
    )  # fmt: skip
    monthly_limit = models.DecimalField(
        "spending limit per month", max_digits=12, decimal_places=2, null=True, blank=True,
        validators=[MinValueValidator(0)],
    )  # fmt: skip
    # What was spent at earlier prices keeps them
    prices_since = models.DateTimeField(null=True, editable=False)
    spent_before = models.DecimalField(
        max_digits=18, decimal_places=6, default=0, editable=False,
        help_text="Spent at earlier prices, in the month in which these began to hold.",
    )  # fmt: skip
    is_active = models.BooleanField("in use", default=True)

    class Meta:
        ordering = ("name",)
        verbose_name = "model server"
        constraints = (
            models.UniqueConstraint(
                fields=("place",), condition=~Q(place=""), name="model_server_of_place"
            ),
            models.CheckConstraint(
                condition=Q(monthly_limit=None)
                | Q(price_in__isnull=False, price_out__isnull=False),
                name="model_server_limit_has_prices",
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def has_key(self) -> bool:
        return bool(self.sealed_key)

    @property
    def prices(self) -> Prices | None:
        if self.price_in is None or self.price_out is None:
            return None
        return Prices(Decimal(self.price_in), Decimal(self.price_out))

    @property
    def limit(self) -> str:
        """The spending limit, as sentences have it."""
        return f"{self.monthly_limit:.2f} {self.currency}".strip()

    def set_key(self, key: str) -> None:
        self.sealed_key = seal(key, settings.WITHDRAWAL_KEY, PURPOSE) if key else ""

    def open_key(self, site_key: str | None = None) -> str:
        """The key; empty where the server has none.

        Args:
            site_key: else the setting WITHDRAWAL_KEY.
        Raises:
            WrongKeyError: it was sealed under another.
        """
        if not self.sealed_key:
            return ""
        return unseal(self.sealed_key, site_key or settings.WITHDRAWAL_KEY, PURPOSE)
