"""Examples of the addresses' arguments, for the test of rights: to a new route with arguments belongs a line here.

`slug` is the study's, and `field` that of the field of the same name. A callable is given a study and makes a row of it: another study's row under one's own slug must
not be found, which the test asks for too.
"""

import json
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from django.contrib.auth.models import User

from experiment.domain.roles import Role
from experiment.domain.trial_query import TrialQuery
from experiment.lab.access import SITE_ADMIN
from experiment.lab.routes import Route
from experiment.models import (
    Arm,
    Comment,
    DryRun,
    Item,
    ItemImport,
    PaymentBatch,
    QuestionTemplate,
    ResearchField,
    Study,
    SurveyQuestion,
)
from experiment.services.export import jobs
from experiment.services.members import invite, invite_to_site
from experiment.services.study_language import number_of, participant_texts
from scoring.domain.grading.rubric import BIOSCORE
from scoring.models import (
    AnsweringRun,
    ChoiceRun,
    Corpus,
    DraftingRun,
    GradingRun,
    LanguageModel,
    ModelServer,
    ReviewingRun,
    Training,
)
from scoring.training.corpus.manifest import Manifest, PartFacts
from scoring.training.settings import of_preset
from tests.factories import NOW, make_channel, make_item, make_participant, make_question
from tests.scoring.lab.rows import ask, finish

Example = Mapping[str, Any]


def pk_of(make: Callable[[Study], Any]) -> Callable[[Study], Example]:
    return lambda study: {"pk": make(study).pk}


def finished_run(study: Study) -> Example:
    return {"pk": finish(ask(study, f"lab/{study.slug}"), 1).pk}


def user_named(what: str, study: Study) -> User:
    return User.objects.get_or_create(username=f"{what}-of-{study.slug}")[0]


def field_of(study: Study) -> ResearchField:
    return ResearchField.objects.get(slug=study.slug)


def shared_with(research_field: ResearchField, study: Study) -> Study:
    research_field.shared_with.add(study)
    return study


def item_of_field(study: Study, status: str = "in_review") -> Item:
    """A version that waits for a review, or a draft."""
    key = f"{status}-of-{study.slug}"
    found = Item.objects.filter(key=key).first()
    return found or make_item(key, field=study.slug, status=status)


def arm_of(study: Study) -> Arm:
    """One of a number that no other study's arm has."""
    return Arm.objects.get_or_create(study=study, number=study.pk, name="alone")[0]


def list_of_payments(study: Study) -> PaymentBatch:
    """One of a number that no other study's list has."""
    values = {"channel": "prolific", "platform": "prolific", "reason": "finished", "made_at": NOW}
    return study.payment_batches.get_or_create(number=study.pk, defaults=values)[0]


def survey_question_of(study: Study) -> SurveyQuestion:
    """One of a name that no other study's question has."""
    row = {"number": 1, "kind": "text", "text": "Why?"}
    return study.survey_questions.get_or_create(name=f"of_{study.pk}", defaults=row)[0]


def comment_of(study: Study) -> Example:
    item = item_of_field(study)
    made = Comment.objects.get_or_create(item=item, text="Which rats?")[0]
    return {"pk": item.pk, "comment": made.pk}


def drafting_run(study: Study) -> DraftingRun:
    run = DraftingRun.objects.create(field=field_of(study), generator="embedded", total=1)
    run.drafts.create(row=1, abstract="Onions rose.", state="unrepaired")
    return run


def choice_run(study: Study) -> ChoiceRun:
    """One that was stopped, with a choice in a test case of the study."""
    name = f"lab/{study.slug}-writer"
    model, _ = LanguageModel.objects.get_or_create(name=name, defaults={"display_name": name})
    item = study.items.filter(kind="test").order_by("pk")[0]
    run = ChoiceRun.objects.create(
        study=study, language_model=model, generator="embedded", form="likelihood", status="cancelled", total=2,
        items=[item.pk], done=1, instructions="Choose: {versions}", prompt="default",
    )  # fmt: skip
    run.choices.create(
        item=item, original_side="A", side="A", log_odds=1.5, finish="stop", seconds=1.5
    )
    return run


def answering_run(study: Study) -> AnsweringRun:
    """One that was stopped, with an answer to a question of the study."""
    name = f"lab/{study.slug}-writer"
    model, _ = LanguageModel.objects.get_or_create(name=name, defaults={"display_name": name})
    question = Item.objects.filter(key=f"question-of-{study.slug}").first() or make_item(
        f"question-of-{study.slug}",
        kind="question",
        markup="Which gene is it?",
        expert_answer="It is SNCA.",
        categories={"biology": ["Genes"]},
    )
    run = AnsweringRun.objects.create(
        study=study, language_model=model, generator="embedded", status="cancelled", total=2,
        items=[question.pk], done=1, instructions="Be brief.",
    )  # fmt: skip
    run.answers.create(item=question, text="SNCA.", finish="stop", seconds=1.5)
    return run


def corpus(study: Study) -> Corpus:
    name = f"corpus-of-{study.slug}"
    manifest = Manifest(
        name,
        seed=1,
        holdout=0.1,
        created="2026-01-01T00:00:00+00:00",
        tokenizer="brainbench-live/demo-lm",
        train=PartFacts(90, 20_000, 31_000, 140_000),
        held_out=PartFacts(10, 2_000, 3_100, 14_000),
        excluded={"same DOI": 3, "test case: text": 1},
        years={"2018": 30, "2019": 70},
        licences={"CC BY": 80, "": 20},
        journals={f"Journal {n}": n for n in range(1, 13)},
        first_published="2018",
        last_published="2019-12",
    )
    return Corpus.objects.get_or_create(slug=name, defaults={"manifest": asdict(manifest)})[0]


def training(study: Study) -> Training:
    """One that made a model and kept a step."""
    recipe = json.loads(json.dumps(asdict(of_preset("tiny", "lora"))))
    values = {"corpus": corpus(study), "mode": "lora", "recipe": recipe, "status": "finished"}
    made, _ = Training.objects.get_or_create(name=f"lab/{study.slug}-lm", defaults=values)
    for step, loss in enumerate((4.0, 3.5, 3.2)):
        about = {"tokens": 1000 * step, "learning_rate": 1e-3, "tokens_per_s": 50.0}
        losses = {"loss": loss, "held_out_loss": loss + 0.1}
        made.points.get_or_create(step=step, defaults=about | losses)
    return made


def model_server(study: Study) -> ModelServer:
    """One for the study's members. Its key cannot be read, so that nothing is sent."""
    # By its name: databases give a primary key again
    place = f"127.0.0.1:{20_000 + zlib.crc32(study.slug.encode()) % 10_000}"
    row = {
        "kind": "chat",
        "address": f"http://{place}/v1",
        "place": place,
        "sealed_key": "lost",
        "is_for_all": False,
    }
    made, _ = ModelServer.objects.get_or_create(name=f"Server of {study.slug}", defaults=row)
    made.users.set(study.members.all())
    return made


def language_model(study: Study) -> LanguageModel:
    name = f"lab/{study.slug}-lm"
    made, _ = LanguageModel.objects.get_or_create(name=name, defaults={"display_name": name})
    manifest = {
        "name": name,
        "corpus": "onions",
        "corpus_sha256": "0" * 64,
        "corpus_documents": 90,
        "corpus_tokens": 31_000,
        "last_published": "2019-12",
        "undated": 1,
        "base": "",
        "identity": {},
        "preset": "tiny",
        "recipe": {},
        "steps": 2,
        "tokens": 2000,
        "best_step": 2,
        "held_out_loss": 3.3,
        "untrained_held_out_loss": 4.1,
        "parameters": 1000,
        "trainable_parameters": 100,
        "versions": {"torch": "2"},
        "files": {"adapter_model.safetensors": "1" * 64},
    }
    of_study = Training.objects.filter(pk=training(study).pk)
    of_study.update(language_model=made, manifest=manifest)
    return made


def template_of_questions(study: Study) -> QuestionTemplate:
    """One that has made no question."""
    field = field_of(study)
    rules = [{"when": "n > 1", "answer": "It has {{ n }}."}, {"when": "", "answer": "One."}]
    texts = {"question": "How many has {{ name }}?", "rules": rules}
    made, _ = QuestionTemplate.objects.get_or_create(field=field, key="counts", defaults=texts)
    return made


def question_of(study: Study, status: str) -> Item:
    key = f"{status}-question-of-{study.slug}"
    found = Item.objects.filter(key=key).first()
    return found or make_question(key, field=study.slug, status=status)


OF_ITEM = "explain_finding item item_statistics item_statistics_picture move_item retire_item review_item comment_on_item"
OF_TRAINING = (
    "training training_live training_stop training_resume training_score training_checkpoints"
)
OF_CHOICES = "choice_run choice_run_live choice_csv choice_stop choice_resume"
OF_ANSWERS = "answering_run answering_run_live answering_csv answering_stop answering_resume"
# Addresses of the lab, and the rows that they take
ROWS: list[tuple[str, Callable[[Study], Any]]] = [
    (OF_ITEM, item_of_field),
    (OF_TRAINING, training),
    (OF_ANSWERS, answering_run),
    (OF_CHOICES, choice_run),
    ("write_item", lambda s: item_of_field(s, "draft")),
    ("test_case pause_test_case", lambda s: s.items.order_by("pk")[0]),
    (
        "change_role remove_member",
        lambda s: s.memberships.get_or_create(user=user_named("member", s))[0],
    ),
    (
        "revoke_invitation",
        lambda s: invite("Anna", s, Role.AUDITOR, user_named("host", s)).invitation,
    ),
    ("revoke_site", lambda s: invite_to_site("Anna", False, user_named("host", s)).invitation),
    ("subfield remove_subfield", lambda s: field_of(s).subfields.get_or_create(name="Sleep")[0]),
    (
        "change_field_role remove_field_member",
        lambda s: field_of(s).memberships.get_or_create(user=user_named("curator", s))[0],
    ),
    ("unshare_field", lambda s: shared_with(field_of(s), s)),
    (
        "import_job import_job_live",
        lambda s: ItemImport.objects.get_or_create(
            research_field=field_of(s), created_by=user_named("curator", s), status="finished"
        )[0],
    ),
    ("write_question", lambda s: question_of(s, "draft")),
    (
        "export_job export_live export_file export_retry",
        lambda s: jobs.ensure_exported(s, TrialQuery()),
    ),
    (
        "dry_run dry_run_live dry_run_stop dry_run_sample",
        lambda s: DryRun.objects.create(study=s, status="finished"),
    ),
    ("scoring_cancel scoring_resume", lambda s: ask(s, f"lab/{s.slug}")),
    ("drafting_run drafting_run_live drafting_stop drafting_resume", drafting_run),
    (
        "model_review_stop",
        lambda s: ReviewingRun.objects.create(field=field_of(s), generator="embedded"),
    ),
    (
        "grading_run grading_run_live grading_csv grading_stop grading_resume",
        lambda s: GradingRun.objects.create(
            study=s, generator="exact", rubric=BIOSCORE.to_json(), total=1
        ),
    ),
    ("language_model", language_model),
    ("server server_try server_remove server_models", model_server),
    ("question_template write_question_template question_template_file", template_of_questions),
]
# What else they take
OTHERS: list[tuple[str, Callable[[Study], Example]]] = [
    (
        "participant exclude_participant include_participant",
        lambda s: {"public_id": make_participant(s).public_id},
    ),
    ("pay_file", lambda s: {"number": list_of_payments(s).number}),
    ("channel pay_list", lambda s: {"code": make_channel(s, f"of-{s.slug}"[:20]).code}),
    (
        "setup_survey_question setup_survey_move setup_survey_remove",
        lambda s: {"name": survey_question_of(s).name},
    ),
    ("setup_arm setup_remove_arm", lambda s: {"number": arm_of(s).number}),
    ("answer_comment", comment_of),
    ("scoring_run scoring_run_live scoring_scores", finished_run),
    (
        "generated_draft generated_draft_take generated_draft_dismiss",
        lambda s: {"pk": drafting_run(s).pk, "row": 1},
    ),
    ("corpus", lambda s: {"name": corpus(s).slug}),
    (
        "work_stop work_retry site_work_stop site_work_retry",
        lambda s: {"kind": "scoring.scoringrun", "pk": ask(s, f"lab/{s.slug}").pk},
    ),
]
EXAMPLES: dict[str, Example | Callable[[Study], Example]] = {
    f"lab:{name}": make
    for names, make in [*((names, pk_of(make)) for names, make in ROWS), *OTHERS]
    for name in names.split()
} | {
    "lab:invitation": {"secret": "unknown"},
    "lab:import_difference": {"upload": "0" * 32},
    "lab:import_apply": {"upload": "0" * 32},
    "lab:question_difference": {"upload": "0" * 32},
    "lab:question_apply": {"upload": "0" * 32},
    "lab:question_filling": lambda s: {"pk": template_of_questions(s).pk, "upload": "0" * 32},
    "lab:welcome": {"uidb64": "MQ", "token": "set-password"},
    "lab:document": {"name": "preregistration", "form": "md"},
    "lab:help_page": {"name": "results"},
    "lab:link_preview": {"source": "plain", "end": "completion"},
    "lab:preview": {"page": "consent"},
    "lab:setup_new_survey_question": {"kind": "scale"},
    "lab:setup_text": {"number": number_of(participant_texts()[0])},
    "lab:results_figure": {"name": "accuracy", "kind": "svg"},
    "lab:results_table": {"name": "trials"},
    "lab:results_teams_figure": {"name": "teams", "kind": "svg"},
    "lab:results_teams_table": {"name": "teams"},
    "api:run": finished_run,
    "api:run_stop": pk_of(lambda s: ask(s, f"lab/{s.slug}")),
    "api:nothing": {"rest": "nothing"},
    "participant:trial": {"position": 1},
}
# What is posted where nothing would be refused as such
POSTED: dict[str, Mapping[str, str]] = {
    "lab:export_identities": {"reason": "To pay them."},
    "lab:change_role": {"role": "curator"},
    "lab:change_field_role": {"role": "lead"},
    "lab:move_item": {"move": "revise"},
    "lab:retire_item": {"retire-reason": "leaky"},
    "lab:review_item": {"review-verdict": "accept"},
    "lab:recruitment": {"recruitment": "closed"},
    "lab:pay_list": {"list": "finished"},
    "api:recruitment": {"recruitment": "closed", "expected": "draft"},
}
# May be missing although one may see it: no worker made the file, a study without data has no figures, no field asks
MISSING_YET = {
    "lab:join_field",
    *("lab:dry_run_sample", "lab:export_file", "lab:results_figure", "lab:results_table"),
    *("lab:results_trace_picture", "lab:item_statistics_picture"),
}


def arguments(route: Route, study: Study) -> dict[str, Any]:
    """The arguments of its address, from this study's rows."""
    wanted = set(re.findall(r"<(?:\w+:)?(\w+)>", route.address))
    example = EXAMPLES.get(route.name, {})
    values = {"slug": study.slug, "field": study.slug} | dict(
        example(study) if callable(example) else example
    )
    if route.access == SITE_ADMIN and not wanted <= set(values):
        values |= dict.fromkeys(wanted - set(values), "1")  # of Django's administration
    missing = wanted - set(values)
    assert not missing, f"give {route.name} an example of {missing} in tests/config/rights_examples"
    return {name: values[name] for name in wanted}


def address(route: Route, values: Mapping[str, Any]) -> str:
    plain = re.sub(r"\(\?P<(\w+)>.*?\)\$?(?=/|$)", r"<\1>", route.address).strip("^$")
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda found: str(values[found[1]]), plain)
