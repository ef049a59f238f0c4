"""The fields of research whose test cases one may write, and what each holds."""

from django.db.models import Count, IntegerField, OuterRef, Subquery
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
    own = Item.objects.filter(field=OuterRef("name"), status=Item.Status.ACCEPTED).order_by()
    counted = own.values("field").annotate(n=Count("key", distinct=True)).values("n")
    rows = fields_of(user_of(request)).annotate(
        n_accepted=Coalesce(Subquery(counted, output_field=IntegerField()), 0)
    )
    context = {"fields": rows, "may_create": may_create_studies(request.user), "section": "fields"}
    return render(request, "lab/fields/fields.html", context)
