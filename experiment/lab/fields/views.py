"""The fields of research whose test cases one may write, and what each holds."""

from django.db.models import Count, IntegerField, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from experiment.lab.access import for_signed_in, user_of
from experiment.models import Item
from experiment.services.rights import fields_of, may_create_studies


@require_safe
@for_signed_in
def fields(request: HttpRequest) -> HttpResponse:
    is_question = Q(kind=Item.Kind.QUESTION)
    rows = fields_of(user_of(request)).annotate(
        n_accepted=_n_accepted(~is_question), n_questions=_n_accepted(is_question)
    )
    context = {"fields": rows, "may_create": may_create_studies(request.user), "section": "fields"}
    return render(request, "lab/fields/fields.html", context)


def _n_accepted(wanted: Q) -> Coalesce:
    own = Item.objects.filter(wanted, field=OuterRef("name"), status=Item.Status.ACCEPTED)
    counted = own.order_by().values("field").annotate(n=Count("key", distinct=True)).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)
