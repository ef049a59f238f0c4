"""The data-management sheet: which data a study stores about people, why, how long, and who sees them."""

from collections.abc import Iterator

from django.utils.formats import date_format

from analysis.lab.documents.planned import Planned
from experiment.models import Study
from lib import formatting as f
from lib.markdown import Row, blocks, bullets, table
from lib.names import escaped

ITSELF = "the study itself"
NO_NAMES = (
    "No name, no e-mail address, no IP address and no full user agent are stored with the answers. The site counts for one day how "
    "many participants began at one IP address. The count is stored with a keyed hash of the address and is not linked to any "
    "participant. A cookie that is necessary for the study remembers how far a participant has got."
)
AFTERWARDS = (
    "After the retention date, everything that could link answers to participants can be erased. Choices, ratings and times in whole "
    "seconds are then kept anonymously."
)
ROLES = (
    "Researchers set up the study and export data. Curators see test cases and, without names, the answers that they grade. Auditors "
    "see data by pseudonym, without recruitment IDs. Site administrators see every study. An audit trail records sign-ins, exports, "
    "withdrawals, and changes of rules and roles."
)


def data_management(planned: Planned) -> str:
    """The whole file, as Markdown."""
    study = planned.study
    day = date_format(planned.made_at, "j F Y, H:i")
    members = (
        (escaped(member.user.get_username()), str(member.role)) for member in planned.members
    )
    channels = (
        (
            f"{escaped(channel.label)} (`{channel.code}`)",
            escaped(channel.get_platform_display()),
            escaped(channel.get_returns_display()),
        )
        for channel in planned.channels
    )
    sharing = (
        "Exports contain trials by pseudonym, without recruitment IDs. Before a public release, ages, countries, positions and genders "
        "are checked for small groups."
    )
    if study.question_items:
        sharing += (
            " Exports downloaded by members, or by software with a member's access token, contain participants' written answers, which may "
            "identify the participants. A public release leaves these answers out, unless a member has read all of them and requests them."
        )
    answers_read = (
        "Members who grade answers read them without a name or pseudonym. If the study uses a language model as a judge and it runs on "
        "this site's own machine, it also reads them. "
    )
    if study.answers_read_by:
        answers_read += (
            "Answers are also sent, without information about the participant, to a language model on another server: "
            f"{escaped(study.answers_read_by)}. The consent page says so. [processing agreement; country; how long the provider keeps the "
            "answers]"
        )
    else:
        answers_read += "Answers are not sent to any other server; the site refuses to send them."
    columns = []
    for column in planned.columns:
        unit = f", {column.unit}" if column.unit else ""
        columns.append((f"`{column.name}`", f"{column.type}{unit}", escaped(column.meaning)))
    return blocks(
        (
            f"# Data management and data protection: {escaped(study.title)}",
            f"Written from the set-up of study `{study.slug}` on {day} UTC. Please fill in the square brackets.",
            "## Who is responsible",
            bullets(_responsible(planned)),
            "## What is stored",
            table(("data", "why", "personal data until"), _stored(planned)),
            AFTERWARDS,
            NO_NAMES,
            "## Recruitment",
            table(
                ("channel", "from", "participants who return with a known ID may"),
                channels,
            ),
            "## Withdrawal",
            _withdrawal(study),
            "## Who has access",
            table(("member", "role"), members),
            ROLES,
            answers_read if study.question_items else "",
            "## Sharing",
            f"{sharing} [repository and licence]",
            "## Codebook",
            table(("column", "type", "meaning"), columns),
        )
    )


def _responsible(planned: Planned) -> Iterator[str]:
    study, consent = planned.study, planned.consent
    yield "Controller: [institution and address]"
    yield f"Contact for participants: {escaped(study.contact) or '[contact]'}"
    yield "Data protection officer: [name and contact]"
    approval = f"{escaped(study.ethics_number)}, {escaped(study.ethics_body)}"
    if study.ethics_contact:
        approval += f"; {escaped(study.ethics_contact)}"
    yield f"Ethics approval: {approval if study.ethics_number else '[number and body]'}"
    purposes = []
    if study.shows_abstracts:
        purposes.append("research on how well people tell real from altered results")
    if study.question_items:
        purposes.append(
            "research on how well people answer questions about the field, and how well they know when they do not know an answer"
        )
    field = f" ({escaped(study.field)})" if study.field else ""
    yield f"Purpose: {'; '.join(purposes)}{field}"
    text = f", text version {consent.number}, SHA-256 `{consent.sha256}`" if consent else ""
    yield (
        "Legal basis: consent of the participant (Article 6(1)(a) GDPR), given on the first page"
        f"{text} [or another one]"
    )
    yield "Where data are stored: [server, provider, country]"


def _stored(planned: Planned) -> Iterator[Row]:
    study = planned.study
    until = date_format(study.retain_until, "j F Y") if study.retain_until else "[date]"
    yield "choices, ratings, times and pages of each trial", ITSELF, until
    if study.question_items:
        yield (
            "participants' written answers to questions; their grades, with the comments of the language model or person that graded them",
            ITSELF,
            until,
        )
    if study.demographic_fields:
        fields = escaped(", ".join(study.demographic_fields))
        yield f"answers about themselves: {fields}", "to describe the sample", until
    if planned.survey:
        yield f"answers to {f.count(len(planned.survey), 'survey question')}", ITSELF, until
    yield "version of the consent text and time of consent", "proof of consent", until
    if planned.arms:
        yield "the arm that the participant was assigned to", ITSELF, until
    if planned.is_advised:
        yield "advice that was shown, and the choice, ratings and times before it", ITSELF, until
    yield "an optional free comment at the end", "to understand problems", until
    if study.pay.is_any:
        yield (
            "lists of payments: IDs at the recruitment site and amounts, kept apart from the answers of participants who withdraw",
            "to pay everybody once",
            f"IDs: {f.count(study.external_id_days, 'day')} after consent; amounts: {until}",
        )
    yield (
        "IDs at the recruitment site, in a separate table",
        "payment; to recognise participants who return",
        f"{f.count(study.external_id_days, 'day')} after consent",
    )
    yield (
        "a pseudonym, and a personal code that staff cannot see",
        "to find the data of a participant who withdraws",
        until,
    )


def _withdrawal(study: Study) -> str:
    code = (
        "Each participant has a code, which is shown from the consent page on. With this code, participants can see what is stored and "
        "withdraw at any time, without giving a reason. The contact above can also do this for participants who ask."
    )
    if study.withdrawal_policy != Study.WithdrawalPolicy.ANONYMISE:
        return f"{code} Their answers are then erased from the database, the results and prepared exports."
    kept = (
        "The answers of participants who have finished are then kept, but nothing that could identify them: answers about themselves, "
        "comments, IDs, codes and pseudonyms are erased, and times are made coarser. All answers of participants who have not finished "
        "are erased. Prepared exports and results are deleted."
    )
    if not study.question_items:
        return f"{code} {kept}"
    return (
        f"{code} {kept} Text that participants wrote in their own words is always erased. For participants who have finished, the fact "
        "that they answered and their points are kept."
    )
