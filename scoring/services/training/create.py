"""Use case: a training is asked for. What cannot be meant is refused before any weights are read."""

import hashlib
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import asdict
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils.text import slugify

from experiment.services.rights import may_create_studies
from lib.jobs import leases
from lib.locks import hold
from lib.name_fields import hold_names, refuse_double
from scoring.backends.registry import EMBEDDED, HF
from scoring.demo_lm import MODEL_FOLDER
from scoring.demo_lm import NAME as DEMO_NAME
from scoring.domain.backend import ScoringError
from scoring.domain.known_models import MODELS
from scoring.models import Corpus, LanguageModel, Training
from scoring.models.language_models import names_of_the_site
from scoring.models.training import AT
from scoring.services.open_model import default_name, language_model
from scoring.training.settings import TrainingError, TrainingSettings, of_recipe

By = User | AnonymousUser | None


def create_training(
    *,
    name: str,
    corpus: Corpus,
    settings: TrainingSettings,
    preset: str = "",
    base: str = "",
    revision: str = "",
    config: str = "",
    tokenizer: str = "",
    keep: Collection[int] = (),
    by: By = None,
) -> Training:
    """Store a training: it waits until a worker takes it, or until `run` is called with it.

    Args:
        name: of the model that it makes.
        base: a folder or a name on the hub; `scoring.demo_lm.NAME`: the embedded model; empty: from scratch.
        config: from scratch, the folder or file of a config.json in place of the settings' shape.
        tokenizer: a folder; empty: the base's.
        keep: steps whose weights are kept for `lm_checkpoints`; 0 is the start.
    Returns:
        Of the same name and settings, the one that was there, waiting again if it had failed or was stopped.
    Raises:
        TrainingError: it cannot be meant like this, or the name is taken.
    """
    named = {"pretrained": base, "revision": revision, "config": config}
    args = {argument: value for argument, value in named.items() if value}
    if settings.mode == "scratch":
        if base:
            raise TrainingError("A model that is trained from scratch does not have a base model.")
        if not tokenizer:
            raise TrainingError("A model that is trained from scratch needs a tokenizer's folder.")
    elif not base:
        raise TrainingError("Name the model that the training starts from.")
    check_tokenizer(settings, tokenizer)
    training = Training(
        name=name,
        corpus=corpus,
        mode=settings.mode,
        preset=preset,
        model_args=args,
        tokenizer=tokenizer,
        recipe=json.loads(json.dumps(asdict(settings))),
        keep=sorted(set(keep)),
        created_by=by if isinstance(by, User) else None,
    )
    training.fingerprint = fingerprint(training)
    with transaction.atomic():
        hold("training")  # a form that was sent twice is one training
        same = _same_name(training)
        if same is not None:
            # A form with another's name and settings is no way to continue what they have stopped;
            # a command acts for the server
            if isinstance(by, User) and not may_steer(same, by):
                raise TrainingError(
                    f"Training {same.pk}, which another person started, will make “{same.name}”. Choose another name."
                )
            return same if same.is_open else leases.reopen(same)
        if base:
            kind = (EMBEDDED if base == DEMO_NAME else HF).name
            try:
                training.base = language_model(kind, default_name(kind, {"pretrained": base}))
            except ScoringError as error:
                raise TrainingError(str(error)) from error
        _check_name(training)
        training.save()
    return training


def fingerprint(training: Training) -> str:
    """SHA-256 over all that decides the weights, as far as it is known before the base is opened."""
    values: Mapping[str, Any] = {
        "corpus": training.corpus.sha256,
        "recipe": training.recipe,
        "model_args": training.model_args,
        "tokenizer": training.tokenizer,
    }
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def base_args(training: Training) -> dict[str, str]:
    """The arguments by which the model that it starts from is opened on this machine."""
    args = dict(training.model_args)
    if args.get("pretrained") == DEMO_NAME:
        args["pretrained"] = str(MODEL_FOLDER)
    return args


def check_tokenizer(settings: TrainingSettings, tokenizer: str) -> None:
    """Refuse one for a model that would be scored with its base's.

    Raises:
        TrainingError: it is named.
    """
    if tokenizer and settings.mode != "scratch":
        raise TrainingError(
            "Only a model from scratch has its own tokenizer. Other models use the tokenizer of their base."
        )


def may_ask(user: User, training: Training) -> bool:
    return may_create_studies(user)


def may_steer(training: Training, user: User) -> bool:
    """True if the user may stop and continue it: the person who started it, and site administrators."""
    return user.is_superuser or training.created_by_id == user.pk


def _same_name(training: Training) -> Training | None:
    """The newest of this name that is not over.

    Raises:
        TrainingError: it has other settings, or keeps other steps than those that were asked for.
    """
    same = Training.objects.promised().filter(name=training.name).first()
    if same is not None and same.fingerprint != training.fingerprint:
        raise TrainingError(
            f"Training {same.pk} with other settings will make “{training.name}”. Choose another name."
        )
    if same is not None and training.keep and training.keep != same.keep:
        kept = ", ".join(map(str, same.keep)) or "none"
        raise TrainingError(
            f"Training {same.pk}, which will make “{training.name}”, saves other steps ({kept}). Choose another name."
        )
    return same


def _check_name(training: Training) -> None:
    try:
        training.full_clean(exclude=["corpus", "base", "identity", "manifest"])
        hold_names(LanguageModel, training.name)  # until it is stored, which keeps the name
        refuse_double(training.name, names_of_the_site(), LanguageModel._meta.verbose_name)
        # Two labs would see one model in each other's place for as long as both are trained
        promised = Training.objects.promised().values_list("name", flat=True)
        refuse_double(training.name, promised, Training._meta.verbose_name)
    except ValidationError as error:
        raise TrainingError(" ".join(error.messages)) from error
    if training.name in {*MODELS, DEMO_NAME}:
        raise TrainingError(
            f"“{training.name}” is the name of a published model. Choose another name."
        )
    if AT in training.name:
        raise TrainingError(f"“{AT}” is for the models of a training's steps. Choose another name.")
    own = Q(name=training.name) | Q(name__startswith=f"{training.name}{AT}")
    if LanguageModel.objects.filter(own).exists():
        raise TrainingError(f"A model “{training.name}” already exists. Choose another name.")
    if not slugify(training.name):
        raise TrainingError(
            f"“{training.name}” does not contain a letter for the name of a folder."
        )
    folders = {other.output for other in Training.objects.only("name")}
    if training.output in folders or training.output.exists():
        raise TrainingError(
            f"The folder {training.output.name} of trained models already exists. Choose another name."
        )


def estimate(training: Training) -> dict[str, int]:
    """By the corpus's own count of tokens, which is another tokenizer's."""
    settings, part = of_recipe(training.recipe), training.corpus.manifest.get("train", {})
    tokens = part.get("tokens", 0)
    if settings.limit and part.get("documents"):
        tokens = tokens * min(settings.limit, part["documents"]) // part["documents"]
    steps = math.ceil(settings.epochs * math.ceil(tokens / settings.tokens_per_step))
    return {
        "tokens_per_step": settings.tokens_per_step,
        "steps": steps,
        "tokens": round(settings.epochs * tokens),
        "warmup_steps": math.ceil(settings.warmup_share * steps),
    }
