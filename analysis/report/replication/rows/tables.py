"""The paper's supplementary tables."""

from collections.abc import Callable

from analysis.report.replication import places
from analysis.report.replication.recomputed import Value, calibration, fit
from analysis.report.replication.row import NotPublic, Printed
from analysis.stats.table_s3 import TableRow

# family -> end of the training data, release
CUT_OFFS = {
    "Llama-2": ("2022-09", "2023-07"),
    "Galactica": ("2022-07", "2022-11"),
    "Falcon": ("2022-12", "2023-05"),
    "Mistral": ("unknown", "2023-09"),
}
# corpus, family -> whether its training data hold the corpus
CORPORA = {
    ("RefinedWeb", "Falcon"): "known",
    ("arXiv, Jun to Dec 2021", "Llama-2"): "likely",
    ("arXiv, Jun to Dec 2021", "Galactica"): "known",
    ("bioRxiv, Jun to Dec 2021", "Galactica"): "known",
    ("arXiv, Jun to Dec 2023", "Llama-2"): "known not",
    ("arXiv, Jun to Dec 2023", "Galactica"): "known not",
    ("bioRxiv, Jun to Dec 2023", "Galactica"): "known not",
    ("Gettysburg Address", "Falcon"): "likely",
    ("Gettysburg Address", "Llama-2"): "likely",
    ("Gettysburg Address", "Galactica"): "likely",
}
# name -> mean coefficient, its SEM, mean intercept, its SEM, t
S3: dict[str, tuple[str, str, str, str, str]] = {
    "facebook/galactica-6.7b": ("1.69", "0.04", "1.18", "0.04", "42.65"),
    "facebook/galactica-30b": ("2.03", "0.04", "1.11", "0.02", "54.55"),
    "facebook/galactica-120b": ("2.32", "0.12", "0.92", "0.08", "19.97"),
    "tiiuae/falcon-40b": ("2.03", "0.08", "1.09", "0.06", "24.64"),
    "tiiuae/falcon-40b-instruct": ("2.50", "0.09", "0.83", "0.03", "28.16"),
    "tiiuae/falcon-180B": ("1.96", "0.08", "1.36", "0.06", "25.90"),
    "tiiuae/falcon-180B-chat": ("1.97", "0.10", "1.02", "0.07", "18.99"),
    "meta-llama/Llama-2-7b-hf": ("1.43", "0.06", "1.32", "0.06", "24.53"),
    "meta-llama/Llama-2-7b-chat-hf": ("1.39", "0.09", "0.93", "0.05", "15.82"),
    "meta-llama/Llama-2-13b-hf": ("1.92", "0.07", "1.13", "0.03", "28.74"),
    "meta-llama/Llama-2-13b-chat-hf": ("2.14", "0.02", "0.59", "0.03", "122.38"),
    "meta-llama/Llama-2-70b-hf": ("1.43", "0.07", "1.63", "0.09", "21.27"),
    "meta-llama/Llama-2-70b-chat-hf": ("2.30", "0.14", "0.71", "0.04", "16.32"),
    "mistralai/Mistral-7B-v0.1": ("1.76", "0.03", "1.28", "0.03", "55.71"),
    "mistralai/Mistral-7B-Instruct-v0.1": ("1.90", "0.08", "1.01", "0.06", "23.74"),
    "human": ("0.01", "0.00", "0.02", "0.02", "17.34"),
}
S3_COLUMNS: tuple[tuple[str, Callable[[TableRow], float]], ...] = (
    ("coefficient", lambda row: row.coef_mean),
    ("SEM of the coefficient", lambda row: row.coef_sem),
    ("intercept", lambda row: row.intercept_mean),
    ("SEM of the intercept", lambda row: row.intercept_sem),
    ("t", lambda row: row.t),
)
# What a solver that stops early may move
S3_TOLERANCE = 0.01


def _made(name: str, column: Callable[[TableRow], float]) -> Value:
    return lambda r: column(fit(r, name))


ROWS: tuple[Printed, ...] = (
    *(
        Printed(
            place=places.CUT_OFFS,
            what=f"{family}: {what}",
            printed=printed,
            not_public=NotPublic.MAKERS,
        )
        for family, dates in CUT_OFFS.items()
        for what, printed in zip(("training data until", "released"), dates, strict=True)
    ),
    *(
        Printed(
            place=places.CORPORA,
            what=f"{corpus}: in the training data of {family}",
            printed=printed,
            not_public=NotPublic.MAKERS,
        )
        for (corpus, family), printed in CORPORA.items()
    ),
    Printed(
        place=places.LOGISTIC,
        what="models",
        printed="15",
        value=lambda r: len(calibration(r).models),
    ),
    *(
        Printed(
            place=places.LOGISTIC,
            what=f"{name}: {what}",
            printed=printed,
            value=_made(name, column),
            tolerance=S3_TOLERANCE,
        )
        for name, row in S3.items()
        for (what, column), printed in zip(S3_COLUMNS, row, strict=True)
    ),
    Printed(place=places.JOURNALS, what="journals", printed="100", not_public=NotPublic.CORPUS),
)
