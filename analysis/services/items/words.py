"""Titles, captions and alternative texts of the pictures of one test case."""

from analysis.presentation import FigureText


def trace_text(model: str, item: str) -> FigureText:
    return FigureText(
        f"Preference of {model} along {item}",
        "Perplexity of the altered version up to each place minus that of the original; above zero it favours the original, and at the end it "
        "is the decision. The scale is linear near zero and logarithmic on both sides of it. Shaded areas are passages in which the two "
        "versions differ, or sentences that contain one.",
        f"Difference of perplexity along {item}, by token and by sentence ({model}), its changed passages shaded.",
    )


def place_text(item: str) -> FigureText:
    return FigureText(
        f"{item} among the field's test cases",
        "Each mark is a test case that has at least 8 valid judgments and was scored by models. It shows the share of people who are right, "
        "and the test case's rank by difficulty among those that each model scored (from 0 to 1), averaged over models. The diamond is "
        f"{item}.",
        f"People's accuracy against models' mean rank for the field's test cases, {item} marked.",
    )
