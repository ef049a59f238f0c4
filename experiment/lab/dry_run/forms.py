from typing import Any

from django import forms

from experiment.models import DryRun, Study

PEOPLE = ("finishers", "dropout_percent", "arrival", "seed")
RECRUITING = ("target", "per_day")
MONEY = ("pay", "pay_per", "currency", "fee_percent")


class DryRunForm(forms.ModelForm[DryRun]):
    class Meta:
        model = DryRun
        fields = (*PEOPLE, *RECRUITING, *MONEY)

    @property
    def people(self) -> list[forms.BoundField]:
        return [self[name] for name in PEOPLE]

    @property
    def recruiting(self) -> list[forms.BoundField]:
        return [self[name] for name in RECRUITING]

    @property
    def money(self) -> list[forms.BoundField]:
        return [self[name] for name in MONEY]


def blank(study: Study) -> DryRunForm:
    """As the latest one was asked for; at first with the study's own target."""
    latest = study.dry_runs.first()
    if latest is not None:
        return DryRunForm(instance=latest)
    initial: dict[str, Any] = {"target": study.target_valid} if study.target_valid else {}
    return DryRunForm(initial=initial)
