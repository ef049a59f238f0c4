"""What may be sent from the page of a version."""

from django import forms
from django.utils.translation import gettext_lazy as _

from experiment.models import Comment, Review


class ReviewForm(forms.Form):
    verdict = forms.ChoiceField(
        label=_("Verdict"), choices=Review.Verdict.choices, widget=forms.RadioSelect
    )
    text = forms.CharField(
        label=_("Why"),
        required=False,
        max_length=5_000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("Needed to ask for a revision or to refuse."),
    )


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=_("Why"), max_length=2_000, widget=forms.Textarea(attrs={"rows": 3})
    )


class RetireForm(ReasonForm):
    every_version = forms.BooleanField(
        label=_("its other versions too"), required=False, initial=True
    )


class CommentForm(forms.ModelForm[Comment]):
    class Meta:
        model = Comment
        fields = ("quote", "text")
        widgets = {
            "quote": forms.Textarea(attrs={"rows": 2}),
            "text": forms.Textarea(attrs={"rows": 4}),
        }
        help_texts = {
            "quote": _("Select words of the text above, or copy them here. Empty: about the whole.")
        }


class AnswerForm(forms.ModelForm[Comment]):
    class Meta:
        model = Comment
        fields = ("text",)
