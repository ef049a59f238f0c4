"""Judgments of members whose accuracies, calibration and correlations are known; any size, seeded."""

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from analysis.stats.arrays import Floats
from analysis.teams.domain.combination import HeldOut, decided
from analysis.teams.domain.evidence import Evidence
from analysis.teams.results import About, Member, MemberKind


def make_evidence(
    *,
    n_items: int = 100,
    per_item: int = 5,
    n_participants: int = 60,
    n_humans: int = 1,
    models: tuple[float, ...] = (0.9,),
    d_human: float = 0.4,
    rho: float = 0.2,
    rho_models: float = 0.5,
    human_human: float = 0.2,
    scale: float = 0.3,
    seed: int = 1,
) -> Evidence:
    """Latent evidence towards the original is normal with mean d and standard deviation 1: accuracy is Phi(d).

    models: their d; rho: correlation of a person's with each model's evidence given the truth, rho_models among models,
    human_human (at least what rho implies) among people on an item. Ratings are 100 x (2 Phi(|latent|) - 1), at least 1;
    models' signed confidence is `scale` times their latent evidence. per_item different participants judge each item.
    """
    rng = np.random.default_rng(seed)
    m = len(models)
    among = np.full((m, m), rho_models) + (1 - rho_models) * np.eye(m)
    z = rng.multivariate_normal(np.zeros(m), among, n_items) if m else np.zeros((n_items, 0))
    weights = np.linalg.solve(among, np.full(m, rho)) if m else np.zeros(0)
    explained = float(weights @ among @ weights) if m else 0.0
    shared = rng.normal(0, 1, n_items) * np.sqrt(max(0.0, human_human - explained))
    own = np.sqrt(1 - max(human_human, explained))
    item = np.repeat(np.arange(n_items), per_item)
    latent = d_human + (z @ weights + shared)[item] + own * rng.normal(0, 1, len(item))
    rating = np.maximum(1.0, 100 * (2 * ndtr(np.abs(latent)) - 1))
    judged = np.sign(latent) * rating
    who = np.concatenate(
        [rng.choice(n_participants, per_item, replace=False) for _ in range(n_items)]
    )
    block = item * per_item
    place = np.arange(len(item)) - block
    trial = np.column_stack([block + (place + h) % per_item for h in range(max(1, n_humans))])
    truth = rng.choice([-1.0, 1.0], n_items)[item]
    towards = np.column_stack(
        [*(judged[trial[:, h]] for h in range(n_humans)), scale * (z + np.array(models))[item]]
    )
    people = [
        Member("human" if h == 0 else f"human-{h + 1}", MemberKind.HUMAN, "Human")
        for h in range(n_humans)
    ]
    machines = [
        Member(f"org/model-{k}", MemberKind.MODEL, f"Model {k}", "Family") for k in range(m)
    ]
    signed = towards * truth[:, None]
    return Evidence((*people, *machines), item, truth, signed, signed, who[trial], trial)


def saying(p_original: Floats) -> HeldOut:
    """Predictions that no fit made."""
    return decided(p_original, About("made up"))


def held_out_of(p_original: Floats, points: npt.ArrayLike) -> HeldOut:
    """Predictions that no fit made, with choices of their own."""
    return HeldOut(p_original, np.asarray(points, dtype=float), About("made up"))
