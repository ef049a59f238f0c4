"""What the addresses' arguments can be, for the test of rights: to a new route with arguments belongs a line here.

`slug` is the study's, and `field` that of the field of the same name. A callable is given a study and makes a row of it: another study's row under one's own slug must
not be found, which the test asks for too.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from django.contrib.auth.models import User

from experiment.domain.roles import Role
from experiment.domain.trial_query import TrialQuery
from experiment.lab.wording import number_of
from experiment.models import (
    Comment,
    DryRun,
    Item,
    ItemImport,
    QuestionTemplate,
    ResearchField,
    Study,
)
from experiment.services.export import jobs
from experiment.services.members import invite, invite_to_site
from experiment.services.study_language import participant_texts
from scoring.domain.grading.rubric import BIOSCORE
from scoring.models import (
    AnsweringRun,
    Corpus,
    DraftingRun,
    GradingRun,
    LanguageModel,
    ReviewingRun,
    Training,
)
from scoring.training.corpus.manifest import Manifest, PartFacts
from scoring.training.settings import of_preset
from tests.factories import make_channel, make_item, make_participant, make_question
from tests.scoring.lab.rows import ask, finish

Example = Mapping[str, Any]


def trial_export(study: Study) -> Example:
    return {"pk": jobs.ensure_exported(study, TrialQuery()).pk}


def somebody(study: Study) -> Example:
    return {"public_id": make_participant(study).public_id}


def channel(study: Study) -> Example:
    return {"code": make_channel(study, f"of-{study.slug}"[:20]).code}


def dry_run(study: Study) -> Example:
    return {"pk": DryRun.objects.create(study=study, status="finished").pk}


def open_run(study: Study) -> Example:
    return {"pk": ask(study, f"lab/{study.slug}").pk}


def open_job(study: Study) -> Example:
    return {"kind": "scoring.scoringrun", **open_run(study)}


def finished_run(study: Study) -> Example:
    return {"pk": finish(ask(study, f"lab/{study.slug}"), 1).pk}


def user_named(what: str, study: Study) -> User:
    return User.objects.get_or_create(username=f"{what}-of-{study.slug}")[0]


def membership(study: Study) -> Example:
    return {"pk": study.memberships.get_or_create(user=user_named("member", study))[0].pk}


def invitation(study: Study) -> Example:
    boss = user_named("host", study)
    return {"pk": invite("Anna", study, Role.AUDITOR, boss).invitation.pk}


def site_invitation(study: Study) -> Example:
    host = user_named("host", study)
    return {"pk": invite_to_site("Anna", False, host).invitation.pk}


def item_of(study: Study) -> Example:
    return {"pk": study.items.order_by("pk")[0].pk}


def item_of_field(study: Study) -> Example:
    """A version that waits for a review."""
    key = f"case-of-{study.slug}"
    item = Item.objects.filter(key=key).first()
    return {"pk": (item or make_item(key, field=study.slug, status="in_review")).pk}


def comment_of(study: Study) -> Example:
    pk = item_of_field(study)["pk"]
    made = Comment.objects.get_or_create(item_id=pk, text="Which rats?")[0]
    return {"pk": pk, "comment": made.pk}


def draft(study: Study) -> Example:
    """Of the field of the study's name."""
    key = f"draft-of-{study.slug}"
    made = Item.objects.filter(key=key).first() or make_item(key, field=study.slug, status="draft")
    return {"pk": made.pk}


def subfield_of(study: Study) -> Example:
    field = ResearchField.objects.get(slug=study.slug)
    return {"pk": field.subfields.get_or_create(name="Sleep")[0].pk}


def field_member(study: Study) -> Example:
    field = ResearchField.objects.get(slug=study.slug)
    return {"pk": field.memberships.get_or_create(user=user_named("curator", study))[0].pk}


def drafting_run(study: Study) -> Example:
    field = ResearchField.objects.get(slug=study.slug)
    run = DraftingRun.objects.create(field=field, generator="embedded", total=1)
    run.drafts.create(row=1, abstract="Onions rose.", state="unrepaired")
    return {"pk": run.pk}


def answering_run(study: Study) -> Example:
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
    return {"pk": run.pk}


def generated_draft(study: Study) -> Example:
    return {**drafting_run(study), "row": 1}


def reviewing_run(study: Study) -> Example:
    field = ResearchField.objects.get(slug=study.slug)
    return {"pk": ReviewingRun.objects.create(field=field, generator="embedded").pk}


def grading_run(study: Study) -> Example:
    rubric = BIOSCORE.to_json()
    made = GradingRun.objects.create(study=study, generator="exact", rubric=rubric, total=1)
    return {"pk": made.pk}


def corpus(study: Study) -> Example:
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
    Corpus.objects.get_or_create(slug=name, defaults={"manifest": asdict(manifest)})
    return {"name": name}


def training(study: Study) -> Example:
    """One that made a model and kept a step."""
    row = Corpus.objects.get(slug=corpus(study)["name"])
    recipe = json.loads(json.dumps(asdict(of_preset("tiny", "lora"))))
    values = {"corpus": row, "mode": "lora", "recipe": recipe, "status": "finished"}
    made, _ = Training.objects.get_or_create(name=f"lab/{study.slug}-lm", defaults=values)
    for step, loss in enumerate((4.0, 3.5, 3.2)):
        about = {"tokens": 1000 * step, "learning_rate": 1e-3, "tokens_per_s": 50.0}
        losses = {"loss": loss, "held_out_loss": loss + 0.1}
        made.points.get_or_create(step=step, defaults=about | losses)
    return {"pk": made.pk}


def language_model(study: Study) -> Example:
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
    of_study = Training.objects.filter(pk=training(study)["pk"])
    of_study.update(language_model=made, manifest=manifest)
    return {"pk": made.pk}


def item_import(study: Study) -> Example:
    field = ResearchField.objects.get(slug=study.slug)
    job, _ = ItemImport.objects.get_or_create(
        research_field=field, created_by=user_named("curator", study), status="finished"
    )
    return {"pk": job.pk}


def draft_question(study: Study) -> Example:
    return {"pk": question_of(study, "draft").pk}


def template_of_questions(study: Study) -> Example:
    """One that has made no question."""
    field = ResearchField.objects.get(slug=study.slug)
    rules = [{"when": "n > 1", "answer": "It has {{ n }}."}, {"when": "", "answer": "One."}]
    texts = {"question": "How many has {{ name }}?", "rules": rules}
    made, _ = QuestionTemplate.objects.get_or_create(field=field, key="counts", defaults=texts)
    return {"pk": made.pk}


def question_of(study: Study, status: str) -> Item:
    key = f"{status}-question-of-{study.slug}"
    found = Item.objects.filter(key=key).first()
    return found or make_question(key, field=study.slug, status=status)


EXAMPLES: dict[str, Example | Callable[[Study], Example]] = {
    "lab:invitation": {"secret": "unknown"},
    "lab:explain_finding": item_of_field,
    "lab:change_role": membership,
    "lab:remove_member": membership,
    "lab:revoke_invitation": invitation,
    "lab:test_case": item_of,
    "lab:subfield": subfield_of,
    "lab:remove_subfield": subfield_of,
    "lab:change_field_role": field_member,
    "lab:remove_field_member": field_member,
    "lab:import_difference": {"upload": "0" * 32},
    "lab:import_apply": {"upload": "0" * 32},
    "lab:import_job": item_import,
    "lab:write_question": draft_question,
    "lab:question_difference": {"upload": "0" * 32},
    "lab:question_apply": {"upload": "0" * 32},
    "lab:question_template": template_of_questions,
    "lab:write_question_template": template_of_questions,
    "lab:question_template_file": template_of_questions,
    "lab:question_filling": lambda study: {**template_of_questions(study), "upload": "0" * 32},
    "lab:import_job_live": item_import,
    "lab:item": item_of_field,
    "lab:item_statistics": item_of_field,
    "lab:item_statistics_picture": item_of_field,
    "lab:move_item": item_of_field,
    "lab:retire_item": item_of_field,
    "lab:review_item": item_of_field,
    "lab:comment_on_item": item_of_field,
    "lab:answer_comment": comment_of,
    "lab:pause_test_case": item_of,
    "lab:revoke_site": site_invitation,
    "lab:welcome": {"uidb64": "MQ", "token": "set-password"},
    "lab:export_job": trial_export,
    "lab:export_live": trial_export,
    "lab:export_file": trial_export,
    "lab:export_retry": trial_export,
    "lab:channel": channel,
    "lab:write_item": draft,
    "lab:document": {"name": "preregistration", "form": "md"},
    "lab:dry_run": dry_run,
    "lab:dry_run_live": dry_run,
    "lab:dry_run_stop": dry_run,
    "lab:dry_run_sample": dry_run,
    "lab:link_preview": {"source": "plain", "end": "completion"},
    "lab:preview": {"page": "consent"},
    "lab:setup_text": {"number": number_of(participant_texts()[0])},
    "lab:participant": somebody,
    "lab:scoring_run": finished_run,
    "lab:scoring_run_live": finished_run,
    "lab:scoring_scores": finished_run,
    "lab:scoring_cancel": open_run,
    "lab:scoring_resume": open_run,
    "lab:drafting_run": drafting_run,
    "lab:drafting_run_live": drafting_run,
    "lab:drafting_stop": drafting_run,
    "lab:drafting_resume": drafting_run,
    "lab:answering_run": answering_run,
    "lab:answering_run_live": answering_run,
    "lab:answering_csv": answering_run,
    "lab:answering_stop": answering_run,
    "lab:answering_resume": answering_run,
    "lab:generated_draft": generated_draft,
    "lab:generated_draft_take": generated_draft,
    "lab:generated_draft_dismiss": generated_draft,
    "lab:model_review_stop": reviewing_run,
    "lab:grading_run": grading_run,
    "lab:grading_run_live": grading_run,
    "lab:grading_csv": grading_run,
    "lab:grading_stop": grading_run,
    "lab:grading_resume": grading_run,
    "lab:corpus": corpus,
    "lab:language_model": language_model,
    "lab:training": training,
    "lab:training_live": training,
    "lab:training_stop": training,
    "lab:training_resume": training,
    "lab:training_score": training,
    "lab:training_checkpoints": training,
    "lab:work_stop": open_job,
    "lab:work_retry": open_job,
    "lab:site_work_stop": open_job,
    "lab:site_work_retry": open_job,
    "lab:results_figure": {"name": "accuracy", "kind": "svg"},
    "lab:results_table": {"name": "trials"},
    "lab:results_teams_figure": {"name": "teams", "kind": "svg"},
    "lab:results_teams_table": {"name": "teams"},
    "api:run": finished_run,
    "api:run_stop": open_run,
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
    "api:recruitment": {"recruitment": "closed"},
}
# May be missing although one may see it: no worker made the file, a study without data has no figures
MISSING_YET = frozenset(
    {
        "lab:dry_run_sample",
        "lab:export_file",
        "lab:results_figure",
        "lab:results_table",
        "lab:results_trace_picture",
        "lab:item_statistics_picture",
    }
)
