"""Computed results in the storage `results`, where every machine of the site sees them.

`<kind>/<study>/<key>/`: result.json, index.json (texts and sizes of figures, names of tables), table-*.csv and figure-*.svg,
from which PNG and PDF are drawn when they are first wanted. Each file appears
whole; index.json comes last, and without it there is no result.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages
from django.utils import timezone

from analysis.models import Computation
from lib.csv import cell
from lib.storage import delete_folder, folder_names

if TYPE_CHECKING:
    import pandas as pd

    from analysis.charts.figure import Figure
    from analysis.data.about import Provenance

DRAWN = ("png", "pdf")
FORMATS, DEFAULT_FORMATS = ("svg", *DRAWN), ("svg", "png")
KEPT_PER_STUDY = 16  # of each kind
SOFTWARE = "BrainBench Live"


@dataclass(frozen=True)
class StoredFigure:
    """Stored facts of a figure beside its picture; `stem` names its files."""

    stem: str
    name: str
    source: str
    chapter: str
    title: str
    caption: str
    alt: str
    subject: str
    made_at: str
    width: int
    height: int

    @property
    def description(self) -> str:
        """For the files' metadata."""
        return f"{self.caption} {self.subject}"


@dataclass(frozen=True)
class Drawing:
    """A figure, the source of its test cases and the chapter it belongs to."""

    figure: "Figure"
    source: str = ""
    chapter: str = ""

    @property
    def stem(self) -> str:
        return f"{self.source}_{self.figure.name}" if self.source else self.figure.name


@dataclass(frozen=True)
class StoredResult:
    """A finished computation's files. `key` names it in addresses."""

    computation: Computation
    figures: tuple[StoredFigure, ...]
    tables: tuple[str, ...]  # stems

    @property
    def key(self) -> str:
        return self.computation.key

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """result.json."""
        values: Mapping[str, Any] = json.loads(self._read("result.json"))
        return values

    def table_file(self, stem: str) -> bytes:
        """A table as CSV.

        Raises:
            FileNotFoundError: there is none of that name, or it was cleared away meanwhile.
        """
        if stem not in self.tables:
            raise FileNotFoundError(stem)
        return self._read(f"table-{stem}.csv")

    def figure_file(self, stem: str, kind: str) -> bytes:
        """A figure as svg, png or pdf; the latter two are drawn once.

        Raises:
            FileNotFoundError: there is none of that name, or it was cleared away meanwhile.
        """
        if stem not in {figure.stem for figure in self.figures}:
            raise FileNotFoundError(stem)
        name = f"figure-{stem}.{kind}"
        if kind in DRAWN and not storage().exists(f"{self.computation.folder}/{name}"):
            # Here, since a web process that draws nothing does without what draws
            from analysis.charts.save import pdf, png

            figure = next(figure for figure in self.figures if figure.stem == stem)
            picture = self._read(f"figure-{stem}.svg").decode()
            draw, about = (png, "Description") if kind == "png" else (pdf, "Subject")
            words = {"Title": figure.title, about: figure.description, "Software": SOFTWARE}
            drawn = draw(picture, words | {"Creation Time": figure.made_at})
            _write(self.computation, name, drawn)
        return self._read(name)

    def _read(self, name: str) -> bytes:
        with storage().open(f"{self.computation.folder}/{name}") as file:
            content: bytes = file.read()
        return content


def storage() -> Storage:
    return storages["results"]


def read(computation: Computation) -> StoredResult | None:
    """A finished computation's result; None where its files were cleared away."""
    try:
        with storage().open(f"{computation.folder}/index.json") as file:
            index = json.loads(file.read())
    except FileNotFoundError:
        return None
    Computation.objects.filter(pk=computation.pk).update(used_at=timezone.now())
    figures = tuple(StoredFigure(**figure) for figure in index["figures"])
    return StoredResult(computation, figures, tuple(index["tables"]))


def save(
    computation: Computation,
    values: Mapping[str, Any],
    drawings: Iterable[Drawing],
    tables: Mapping[str, "pd.DataFrame"],
    provenance: "Provenance",
) -> None:
    """Put a result in its place, each figure's table among its tables; the oldest of its kind go."""
    figures, stems = [], sorted(tables)
    for stem, table in tables.items():
        _write(computation, f"table-{stem}.csv", table_text(table, provenance.participants))
    for drawing in drawings:
        figures.append(_save_figure(computation, drawing, provenance))
        stem = f"{drawing.source}_figure_{drawing.figure.name}".lstrip("_")
        text = table_text(drawing.figure.table, provenance.participants)
        _write(computation, f"table-{stem}.csv", text)
        stems.append(stem)
    _write(computation, "result.json", json.dumps(values, indent=1, allow_nan=False) + "\n")
    index = {"figures": [vars(figure) for figure in figures], "tables": sorted(stems)}
    _write(computation, "index.json", json.dumps(index))
    same = Computation.objects.filter(study=computation.study_id, kind=computation.kind)
    closed = same.exclude(status__in=Computation.OPEN_STATUSES).exclude(pk=computation.pk)
    for old in closed.order_by("-used_at")[KEPT_PER_STUDY - 1 :]:
        delete(old)


def delete(computation: Computation) -> None:
    """Remove a result, files first."""
    storage().delete(f"{computation.folder}/index.json")
    delete_folder(storage(), computation.folder)
    computation.delete()


def delete_unowned(study_id: int) -> None:
    """Remove the results of a study that belong to no computation any more."""
    owned = {computation.folder for computation in Computation.objects.filter(study=study_id)}
    for kind in Computation.Kind.values:
        folder = f"{kind}/{study_id}"
        for key in folder_names(storage(), folder):
            if f"{folder}/{key}" not in owned:
                delete_folder(storage(), f"{folder}/{key}")


def table_text(table: "pd.DataFrame", participants: str) -> str:
    """A table as CSV, with the kind of participants that the result is about as its last column."""
    return csv_text(table.assign(participants=participants))


def csv_text(table: "pd.DataFrame") -> str:
    """A table at full precision; what a spreadsheet would run as a formula is defused, as in the trials' export."""
    import pandas as pd

    texts = [
        name
        for name in table.columns
        if not pd.api.types.is_numeric_dtype(table[name])
        and not pd.api.types.is_datetime64_any_dtype(table[name])
    ]
    safe = table.assign(
        **{name: table[name].map(lambda v: cell(v) if isinstance(v, str) else v) for name in texts}
    ).rename(columns=cell)
    return str(safe.to_csv(index=False, lineterminator="\n"))


def _save_figure(
    computation: Computation, drawing: Drawing, provenance: "Provenance"
) -> StoredFigure:
    # Here, since a web process that draws nothing does without what draws
    from analysis.charts.save import size_px, specification, svg

    figure = drawing.figure
    caption = f"{figure.caption} {provenance.note}".strip()
    picture = svg(
        specification(figure),
        description=f"{caption} {provenance.subject}",
        watermark=provenance.watermark,
    )
    _write(computation, f"figure-{drawing.stem}.svg", picture)
    width, height = size_px(picture)
    return StoredFigure(
        stem=drawing.stem,
        name=figure.name,
        source=drawing.source,
        chapter=drawing.chapter,
        title=figure.title,
        caption=caption,
        alt=figure.alt,
        subject=provenance.subject,
        made_at=provenance.made_at,
        width=round(width),
        height=round(height),
    )


def _write(computation: Computation, name: str, content: str | bytes) -> None:
    data = content.encode() if isinstance(content, str) else content
    storage().save(f"{computation.folder}/{name}", ContentFile(data))
