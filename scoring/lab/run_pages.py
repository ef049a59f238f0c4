"""The pages of a run that asks a model, whatever it asks for: how far it is, what came of it, and its buttons."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST, require_safe

from experiment.domain.roles import Right
from experiment.lab.access import View, for_study, user_of
from experiment.services import work as background
from lib.pages import sent_as_csv, show
from lib.table_files import Column
from scoring.lab import words
from scoring.models.answers import GeneratingJob
from scoring.services.asking.settings import Spending

R = TypeVar("R", bound=GeneratingJob)
Door = Callable[[View], View]


class Service(Protocol[R]):
    """The module of services that does such runs."""

    def spent(self, job: R, /) -> Spending: ...
    def can_resume(self, job: R, /) -> bool: ...
    def resume(self, job: R, by: Any, /) -> R: ...


class RunPages(Generic[R]):
    """One kind of run, where it differs from the others. A subclass has its attributes, and says what came of a run.

    name: of its addresses, `lab:NAME_run` and so on. part: of the study that its pages belong to; its templates lie in
    the folder of this name: `run.html` is the page, and `_run.html` is the part of it that changes.
    """

    name: ClassVar[str]
    part: ClassVar[str]
    service: Service[R]
    # For whoever watches a run, and whoever stops it or goes on with it
    doors: ClassVar[tuple[Door, Door]] = (for_study(Right.SEE_DATA), for_study(Right.WORK))

    # Words of the page: what its steps are called, the link to all runs, the button of a stopped run and of a finished one
    units: ClassVar[str]
    all_runs: ClassVar[str]
    go_on: ClassVar[str] = "Continue"
    again: ClassVar[str] = "Repeat the failed requests"
    # The panel of what the model was told: its heading, what opens it, and the name of the text
    told: ClassVar[tuple[str, str, str]]
    # The file of what came: the end of its address, of its name, and its columns; none for a kind without a file
    file: ClassVar[tuple[str, str, Sequence[Column]] | None] = None

    def runs_of(self, owner: Any, /) -> QuerySet[R]:
        """The runs of a study, or of a field."""
        raise NotImplementedError

    def heading(self, run: R) -> str:
        raise NotImplementedError

    def state(self, run: R) -> dict[str, Any]:
        """More for the part that changes."""
        raise NotImplementedError

    def listed(self, request: HttpRequest, run: R) -> dict[str, Any]:
        """Rows that the address asks for, for the rest of the page."""
        return {}

    def rows(self, run: R) -> Iterable[Sequence[Any]]:
        """All rows, for the file."""
        raise NotImplementedError

    def may_steer(self, request: HttpRequest) -> bool:
        return Right.WORK in request.rights  # type: ignore[attr-defined]

    def urls(self, at: str) -> list[URLPattern]:
        """The addresses of a run, below `at`, where all of them are."""
        watching, steering = self.doors
        views: list[tuple[str, str, View]] = [
            ("", "run", require_safe(watching(self.page))),
            ("live/", "run_live", require_safe(watching(self.live))),
            ("stop/", "stop", require_POST(steering(self.stop))),
            ("resume/", "resume", require_POST(steering(self.resume))),
        ]
        if self.file:
            csv = require_safe(for_study(Right.EXPORT)(self.csv))
            views.append((f"{self.file[0]}.csv", "csv", csv))
        return [
            path(f"{at}<int:pk>/{end}", view, name=f"{self.name}_{name}")
            for end, name, view in views
        ]

    def page(self, request: HttpRequest, pk: int, **owner: Any) -> HttpResponse:
        run = self.run_of(pk, owner)
        [study_or_field] = owner.values()
        all_runs = reverse(f"lab:{self.part}", args=[study_or_field.slug])
        listed = self.listed(request, run)
        return self.shown(request, run, "run.html", all_runs_url=all_runs, **listed)

    def live(self, request: HttpRequest, pk: int, **owner: Any) -> HttpResponse:
        """The part of the page that changes."""
        return self.shown(request, self.run_of(pk, owner), "_run.html")

    def stop(self, request: HttpRequest, pk: int, **owner: Any) -> HttpResponse:
        return redirect(background.stop(self.run_of(pk, owner), user_of(request)))

    def resume(self, request: HttpRequest, pk: int, **owner: Any) -> HttpResponse:
        return redirect(self.service.resume(self.run_of(pk, owner), user_of(request)))

    def csv(self, request: HttpRequest, pk: int, **owner: Any) -> StreamingHttpResponse:
        assert self.file is not None
        _address, name, columns = self.file
        rows = self.rows(self.run_of(pk, owner))
        return sent_as_csv(f"{owner['study'].slug}-{name}-{pk}", columns, rows)

    def run_of(self, pk: int, owner: Mapping[str, Any]) -> R:
        [study_or_field] = owner.values()  # that the address names
        return get_object_or_404(self.runs_of(study_or_field), pk=pk)

    def shown(self, request: HttpRequest, run: R, template: str, **listed: Any) -> HttpResponse:
        return show(
            request,
            f"scoring/{self.part}/{template}",
            kind=self,
            changing=f"scoring/{self.part}/_run.html",
            part=self.part,
            run=run,
            heading=self.heading(run),
            stands=words.stands(run, self.units),
            spending=self.service.spent(run),
            may_steer=self.may_steer(request),
            resume=(self.again if run.is_finished else self.go_on)
            if self.service.can_resume(run)
            else "",
            **self.state(run),
            **listed,
        )
