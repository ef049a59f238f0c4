"""The pre-registration: what a study asks, how, and what will be made of it, as it is set up now."""

from collections.abc import Iterator

from django.utils.formats import date_format

from analysis.lab.documents.planned import Planned
from analysis.presentation import sentences
from experiment.domain.exclusion import HAND_REASONS
from experiment.models import Study, SurveyQuestion
from lib import formatting as f
from lib.markdown import blocks, bullets, table
from lib.names import escaped

WHEN = "j F Y, H:i"
BY_CLUSTERS = "with a 95% interval clustered by participant and test case"
OF_MEANS = (
    "The difference is that of the means over all trials of the two, what a test case adds to both is taken together in its error, "
    "and p is corrected for the number of comparisons (Holm)."
)
MAY_EXCEED = (
    "by up to 10% if another arm has more valid finishers, relative to their shares. Participants are then admitted until this arm "
    "reaches that limit or is expected to be at most one valid finisher behind."
)


def preregistration(planned: Planned) -> str:
    """The whole file, as Markdown."""
    study = planned.study
    day = date_format(planned.made_at, WHEN)
    has_begun = (
        f"**Participants have already started, under version {study.version} of the set-up.**"
    )
    approval = f"{escaped(study.ethics_number)}, {escaped(study.ethics_body)}"
    about = (
        f"Contact: {escaped(study.contact) or '[contact]'}",
        f"Ethics approval: {approval if study.ethics_number else '[number and body]'}",
        f"Field of research: {escaped(study.field) or '[field]'}",
    )
    question = sentences(
        "How well do people tell an abstract's original result from an altered one, and how does this compare with language models "
        "on the same test cases?"
        if study.shows_abstracts
        else "",
        "How often do people answer questions about the field well? When they would have been wrong, how often do they say “I do not "
        "know” instead? How do they compare with language models on the same questions?"
        if study.question_items
        else "",
        "[your hypotheses]",
    )
    parts = [
        f"# Pre-registration: {escaped(study.title)}",
        sentences(
            f"Written from the set-up of study `{study.slug}` on {day} UTC.",
            has_begun if study.version else "",
        ),
        bullets(about),
        "## Question",
        question,
        "## Design",
        *_design(planned),
    ]
    if planned.arms:
        parts.append("## Arms")
        assigned = (
            "Each participant is assigned to one arm before the first trial: the one with the lowest expected number of valid finishers "
            "relative to its share. Ties are broken at random. Test cases are balanced within each arm."
        )
        cells = f"Valid finishers are balanced within groups of participants with the same answer about: {_cell_field(study)}."
        parts.append(sentences(assigned, cells if study.forms_cells else ""))
        rows = []
        for row in planned.arms:
            advice = escaped(row.arm.get_advice_display())
            if row.arm.advised_items:
                advice += f" ({f.count(row.arm.advised_items, 'trial')})"
            ratings = "required" if row.ratings_required else "may be left out"
            share = f"{f.number(row.percent, 0)}%"
            rows.append((escaped(row.arm.name), share, advice, row.counts, ratings))
        parts.append(table(("arm", "share", "advice", "trials per participant", "ratings"), rows))
    if planned.is_advised:
        parts += ["## Advice", *_advice(planned)]
    if planned.survey:
        columns = ("column", "asked", "question", "answers")
        parts += ["## Survey questions", table(columns, map(_survey_row, planned.survey))]

    unless = ", unless the table of arms says otherwise" if planned.arms else ""
    strata = (
        (escaped(row.name), str(row.per_participant), str(row.n_items), str(row.n_works))
        for row in planned.strata
    )
    parts += [
        "## Test cases",
        table(("kind", f"per participant{unless}", "test cases", "articles"), strata),
        sentences(
            planned.not_reviewed,
            "The test cases are fixed. SHA-256 over their keys, versions and text hashes: "
            f"`{planned.items_sha256}`",
        ),
        "## Exclusion",
        *_exclusion(planned),
        *(("## Payment", bullets(map(escaped, study.pay.sentences()))) if study.pay.is_any else ()),
        "## Sample size and stopping",
        *_sample_size(planned),
        "## Planned analyses",
        bullets(_analyses(planned)),
    ]
    return blocks(parts)


def _design(planned: Planned) -> Iterator[str]:
    study = planned.study
    if study.shows_abstracts:
        yield (
            "Each participant judges test cases one at a time. The two versions of a test case, the original and the altered, are shown "
            "within one abstract: wherever they differ, both passages appear, marked A and B. The original is A and B about equally "
            "often for each participant, in random order. After the choice, participants rate their confidence and their expertise, "
            "and say whether they recognised the article."
        )
    if study.question_items:
        yield sentences(
            "Each participant answers questions one at a time, in their own words or with “I do not know”, and rates their confidence "
            "in each answer that they wrote. Participants do not see the expert's answer.",
            "Questions and abstracts are shown in random order." if study.shows_abstracts else "",
        )

    agreed = "Before the trials, participants agree to the consent text"
    if planned.consent:
        agreed += f" (version {planned.consent.number}, SHA-256 `{planned.consent.sha256}`)"
    if study.demographic_fields:
        fields = escaped(", ".join(study.demographic_fields))
        agreed += f", answer questions about themselves ({fields})"
    then = (
        "and pass a practice trial."
        if study.shows_abstracts
        else "and see how many questions follow."
    )
    ratings = "are required" if study.ratings_required else "may be left out"
    unless = " unless the table of arms says otherwise" if planned.arms else ""
    too_soon = (
        f"An answer that arrives less than {study.min_page_s} s after its trial was shown is not taken, and the participant is asked to "
        "read on."
        if study.min_page_s
        else ""
    )
    lasts = planned.duration
    yield sentences(
        agreed,
        then,
        f"Ratings {ratings}{unless}.",
        too_soon,
        f"The expected median time from consent to the end is {lasts.typical} minutes, and {lasts.low} to {lasts.high} minutes for the middle half of the "
        "participants.",
    )

    yield sentences(
        "Each test case is drawn when it is shown, from those judged least often, so that exposures stay even."
        if study.policy == Study.Policy.BALANCED
        else "All test cases of a participant are drawn at the start, beginning with those assigned least often.",
        "No participant sees two abstracts of the same article." if study.shows_abstracts else "",
        "Questions are drawn by the same rule without repetition, spread over the templates that they were made from. No participant "
        "sees both an abstract of an article and a question about it."
        if study.question_items
        else "",
    )


def _cell_field(study: Study) -> str:
    return escaped(study.get_cell_field_display())


def _advice(planned: Planned) -> Iterator[str]:
    yield (
        "In an advised trial, participants see which version an adviser chose. Where advice comes after the participant's own choice, "
        "they first give their choice and ratings, which are stored, and may then revise their choice and confidence. Catch trials "
        "are never advised."
    )
    adviser = planned.adviser
    if not adviser:
        yield "[adviser]"
        return
    known = f"Participants know the adviser as “{escaped(adviser.shown_name)}”."
    if adviser.is_planted:
        share = f.percent(adviser.planted_accuracy, 0)
        made_up = f"made up, correct on {share} of the test cases; the debriefing reveals this"
        listed = [f"Adviser: {made_up}. {known}"]
    else:
        listed = [f"Adviser: {escaped(adviser.source)}. {known}"]
    passages = "; the passages that counted most" if adviser.shows_passages else ""
    listed.append(f"Participants see: {escaped(adviser.get_shows_display())}{passages}")
    if planned.study.version and adviser.frozen_at:
        version, day = adviser.version, date_format(adviser.frozen_at, WHEN)
        accuracy, mean = f.percent(version["accuracy"]), f.percent(version["mean_p"])
        frozen = f"Frozen on {day} UTC, SHA-256 `{version['sha256']}`"
        listed += [
            f"{frozen}: correct on {accuracy} of the test cases, with a mean confidence of {mean}",
            escaped(version["method"]),
        ]
    else:
        listed.append("[the advice is frozen when the study opens]")
    yield bullets(listed)


def _survey_row(question: SurveyQuestion) -> tuple[str, str, str, str]:
    asked = escaped(question.get_place_display())
    if question.advised_only:
        asked += ", of participants who get advice"
    elif question.arm:
        asked += f", in arm {escaped(question.arm.name)}"
    answers = f"{escaped(question.get_kind_display())}{question.rules.in_protocol(question.parts, escaped)}"
    if not question.required:
        answers += " (optional)"
    return escaped(question.column), asked, escaped(question.text), answers


def _exclusion(planned: Planned) -> Iterator[str]:
    study, rules = planned.study, planned.rules
    abstracts, questions = study.shows_abstracts, study.question_items
    sliders = rules.untouched_sliders if abstracts else ""
    has_minimum = (abstracts and rules.min_rt_ms) or (questions and rules.question_min_rt_ms)
    participants = {
        "did not reach the end of the study": True,
        "chose the altered version in a catch trial": rules.missed_catch and study.catch_items,
        "moved neither of the two sliders": sliders == "neither",
        "left at least one of the two sliders untouched": sliders == "either",
        "said at the end that they had looked something up": rules.admitted_cheating,
        "answered an attention check with anything other than the answer that it asked for": rules.missed_attention,
        "gave more than half of the answers that the server timed in less than the minimum time below": has_minimum,
    }
    yield "Participants are excluded from the analysis if they"
    yield bullets(text for text, applies in participants.items() if applies)

    if abstracts or rules.question_min_rt_ms:
        which = "show abstracts and " if questions else ""
        answers = (
            f"are answers to questions that took less than {rules.question_min_rt_ms} ms until Continue was pressed; “I do not know” is "
            "never excluded for its response time"
        )
        until = "Continue was pressed" if rules.min_rt_clock == "page" else "the first choice"
        trials = {
            "are catch trials": abstracts,
            "showed an article that the participant recognised": abstracts and rules.recognised,
            answers: questions and rules.question_min_rt_ms,
            f"{which}took less than {rules.min_rt_ms} ms until {until}": abstracts
            and rules.min_rt_ms,
        }
        yield "Single trials are excluded if they"
        yield bullets(text for text, applies in trials.items() if applies)

    yield sentences(
        "Answers to questions are not excluded for their response time."
        if questions and not rules.question_min_rt_ms
        else "",
        "A response time of a browser that exceeds the server's is replaced by the server's.",
        "The researchers can exclude a participant by hand if they learn of a reason that no rule looks at "
        f"({', '.join(HAND_REASONS.values())}). The page on which they do so does not show whether answers to test cases were right. Such "
        "exclusions are reported with their reasons, and accuracy is reported with and without them.",
        "The site applies these rules when a participant finishes. A later change creates a new, dated version of the rules, and exports "
        "name the version.",
    )


def _sample_size(planned: Planned) -> Iterator[str]:
    study, assumed = planned.study, planned.assumed
    of_cell = f"Participants whose answer about themselves ({_cell_field(study)}) is in the group"
    stopping = [
        f"{of_cell} “{escaped(name)}” are no longer admitted once {n} of them have finished and are valid."
        for name, n in study.cell_targets.items()
    ]
    stopping.append(
        f"Recruitment stops automatically at {study.target_valid} valid participants. Participants who have started by then may finish, "
        "so the final number may be slightly higher."
        if study.target_valid
        else "[target number of valid participants]"
    )
    if planned.arms and (study.target_valid or study.cell_targets):
        stopping.append(
            "Each target number of valid participants is divided among the arms by their shares. Participants are admitted as long as at "
            "least one arm needs more: its valid finishers so far, plus those expected among its participants who are still taking part, "
            "are fewer than its part of the target number."
        )
        if not study.forms_cells:
            stopping.append(f"An arm may exceed its part of the target number {MAY_EXCEED}")
        elif study.cell_targets:
            stopping.append(
                f"Within a group, an arm may exceed its part of the group's target number {MAY_EXCEED}"
            )
    if study.closes_at:
        stopping.append(
            f"No new participants are admitted after {date_format(study.closes_at, WHEN)} UTC."
        )
    yield sentences(*stopping, "The decision to stop does not depend on the results.")

    if not planned.precision:
        return
    accuracy = f.number(assumed.accuracy_percent, 1)
    yield (
        f"The table gives the expected width of the 95% interval of mean accuracy over {planned.n_test} test cases, with participants and "
        f"test cases as random effects. It assumes a typical accuracy of {accuracy}% and standard deviations in log-odds of "
        f"{f.number(assumed.sd_participants)} between participants and {f.number(assumed.sd_items)} between test cases."
    )
    rows = (
        (
            f"{f.number(row.n_participants, 0)}{' (target)' if row.is_target else ''}",
            f.number(row.points, 1),
        )
        for row in planned.precision
    )
    yield table(("valid participants", "width, percentage points"), rows)


def _analyses(planned: Planned) -> Iterator[str]:
    study = planned.study
    if study.shows_abstracts:
        yield (
            "Accuracy of valid participants, with 95% intervals clustered by participant and test case, by source of the altered text."
        )
        yield "A logistic mixed model with participants and test cases as random effects."
        yield "Accuracy by confidence, and calibration of confidence."
        yield (
            "Language models choose the version with the lower perplexity. Their accuracy is compared with that of people on the same "
            "test cases."
        )
        if planned.is_advised:
            if planned.has_unadvised:
                yield f"Accuracy of final answers in each arm with advice minus that of answers without advice, {BY_CLUSTERS}. {OF_MEANS}"
            elif planned.is_compared:
                yield f"Accuracy of final answers in each arm minus that in the first arm, {BY_CLUSTERS}. {OF_MEANS}"
            if planned.asks_first:
                yield "Change after advice: accuracy of final answers minus that of first answers of the same trials."
                yield (
                    "Relative AI reliance (share of wrong first answers that right advice corrects) and relative self-reliance (share of right "
                    "first answers that are kept against wrong advice)."
                )
                yield (
                    "Accuracy of participants' final answers after advice, compared with that of computed teams, which combine the first answer "
                    "and the advice on the same trials. Computed teams gain accuracy over first answers; the share of this gain that "
                    "participants' final answers achieve is also reported."
                )
            yield (
                "In all other analyses, a trial with advice counts with its first answer, and trials whose advice came before any answer are left "
                "out."
            )
        elif planned.is_compared:
            yield f"Accuracy of valid participants compared between arms, {BY_CLUSTERS}."
    if study.question_items:
        yield (
            "A language model (the judge) grades each answer by comparison with an expert's answer, using the rubric "
            f"“{escaped(planned.rubric)}”. A sample of the answers is also graded by people, who are not told whose answer they are grading. "
            "An answer is good if it earns at least the share of points that the rubric sets."
        )
        yield (
            "For valid participants' answers: response quality (share that are good), safety (share of abstentions among abstentions and bad "
            "answers) and abstention rate (share of “I do not know”), with 95% intervals clustered by the template of the question."
        )
        yield "The same rates for language models on the same questions, with differences paired by question."
        yield (
            "Agreement between the judge and people (weighted kappa). The rates above are computed from the judge's grades; the grades that "
            "people gave are used to correct them for the judge's errors."
        )
    yield "[further analyses, and which of them are confirmatory]"
