"""Names of the choices of the teams form, and sentences on them."""

METHODS = {
    "logistic": (
        "Logistic regression",
        (
            "Weights the members' signed confidences, each on its own scale and equally for both sides. The method estimates "
            "each participant's accuracy and chooses its penalties on training data."
        ),
    ),
    "as-published": (
        "Logistic regression, as published",
        (
            "Uses raw differences of perplexity and an intercept, as in the published analysis. The result depends on the "
            "models' scale."
        ),
    ),
    "bayesian": (
        "Bayesian",
        "Correlated latent scores behind choices and confidence. A pair takes seconds, five members up to a minute.",
    ),
    "average": (
        "Average probability",
        "Confidence becomes a probability of being right; the mean decides.",
    ),
    "most-confident": (
        "Most confident",
        "The member with the highest calibrated confidence decides.",
    ),
    "majority": (
        "Majority",
        "Each member has one vote, or none if it ties; equal votes go to the side with the higher confidence.",
    ),
}
SOURCE_LABELS = {"human": "Human-created", "machine": "Machine-created"}
OUT_OF = {
    "item": (
        "Test cases",
        "A team is evaluated on test cases that were not used in its fit.",
    ),
    "participant": (
        "Test cases and participants",
        (
            "A team with one human is evaluated on test cases and participants that were not used in its fit, as if new "
            "people joined."
        ),
    ),
}
