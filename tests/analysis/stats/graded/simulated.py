"""Graded answers of seven models whose true rates are known, alike within templates."""

import numpy as np

# RQR and SR as printed (Bianchi et al. 2025); the last three are ours, so that every quadrant has a model
MODELS = {
    "GPT-4o": (0.37, 0.31),
    "Perplexity": (0.41, 0.38),
    "Gemini-1.5-Pro": (0.19, 0.73),
    "Claude-3.5-Sonnet": (0.25, 0.76),
    "made: good and safe": (0.72, 0.66),
    "made: good and bold": (0.66, 0.24),
    "made: poor": (0.08, 0.12),
}
QUADRANTS = {
    "GPT-4o": "unconfident guessers",
    "Perplexity": "unconfident guessers",
    "Gemini-1.5-Pro": "cautious responders",
    "Claude-3.5-Sonnet": "cautious responders",
    "made: good and safe": "top performers",
    "made: good and bold": "risky players",
    "made: poor": "unconfident guessers",
}
UNPARSED = 0.01


def consistent_with(share: float, n_studies: int, low: float = 0.93, high: float = 0.97) -> bool:
    """True if a coverage from `low` to `high` can have given this share of studies: within 2.6 standard errors, 1 of 100."""
    ends = (
        end + side * 2.6 * np.sqrt(end * (1 - end) / n_studies)
        for end, side in ((low, -1), (high, 1))
    )
    below, above = ends
    return bool(below <= share <= above)


def probabilities(rqr: float, sr: float) -> np.ndarray:
    """(4,) of good, abstained, bad, unparsed."""
    rest = 1 - UNPARSED - rqr
    return np.array([rqr, sr * rest, (1 - sr) * rest, UNPARSED])


def sizes(n_templates: int, each: int, n_alone: int, rng: np.random.Generator) -> np.ndarray:
    """Rows of each cluster: templates of about `each` rows, from a half to half as many again, and questions alone."""
    of_templates = rng.integers(each // 2, each + each // 2 + 1, n_templates)
    return np.concatenate([of_templates, np.ones(n_alone, dtype=np.int64)])


def counts(
    rqr: float, sr: float, rows: np.ndarray, alike: float, rng: np.random.Generator
) -> np.ndarray:
    """(clusters, 4) of each fate, with probabilities of each cluster's own; alike: their intraclass correlation, 0 to 1."""
    mean = probabilities(rqr, sr)
    own = (
        rng.dirichlet(mean * (1 / alike - 1), len(rows)) if alike else np.tile(mean, (len(rows), 1))
    )
    return rng.multinomial(rows, own)
