"""Where a study's link, codes and lists go at a recruitment site, with the study's own values to copy."""

from collections.abc import Iterator
from dataclasses import dataclass

from experiment.models import Channel
from experiment.services.channels import Ends


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction, a value to copy, and the names in the sketch of the site's form: its heading, and the field for the value."""

    text: str
    value: str = ""
    heading: str = ""
    field: str = ""


LIST = "Paste the list here"


def steps(channel: Channel, url: str, ends: Ends, *, with_codes: bool) -> tuple[Step, ...]:
    """In the order in which they are done; without codes for who may not see them."""
    of_site = {
        Channel.Platform.PROLIFIC: _prolific,
        Channel.Platform.SONA: _sona,
        Channel.Platform.MTURK: _mturk,
    }.get(Channel.Platform(channel.platform), _other)
    if not with_codes:
        ends = Ends()
    elif channel.platform == Channel.Platform.SONA:
        ends = Ends(completion_url=channel.completion_url)  # with the place of the code
    return tuple(of_site(url, ends))


def _prolific(url: str, ends: Ends) -> Iterator[Step]:
    yield Step(
        "Make a study with an external study link, and record Prolific IDs by URL parameters. Paste this link.",
        *(url, "Study link", "What is the URL of your study?"),
    )
    yield Step(
        "Enter the completion code for participants who finish. Choose to review submissions yourself.",
        *(ends.completion_code, "Completion codes", "Completed"),
    )
    if ends.screen_out_code:
        yield Step(
            "Add another completion code for screened-out participants, with the action to request a return.",
            *(ends.screen_out_code, "Completion codes", "Screened out"),
        )
    yield Step(
        "Afterwards, open the study's submissions. Approve in bulk with the list of IDs.",
        *("", "Submissions: approve in bulk", LIST),
    )
    yield Step(
        "Pay bonuses, and the part of screened-out participants, under “More”, “Bulk bonus payment”.",
        *("", "Bulk bonus payment", LIST),
    )


def _sona(url: str, ends: Ends) -> Iterator[Step]:
    yield Step(
        "Make an online external study, and paste this link. SONA fills in the survey code.",
        *(url, "Study information", "Study URL"),
    )
    yield Step(
        "Copy the completion URL (client-side) that SONA shows, and enter it in this channel, with {external_id} in place of XXXX. This is "
        "what the channel has now.",
        *(ends.completion_url, "Study information", "Completion URL (client-side)"),
    )
    yield Step(
        "SONA then grants credit by itself. Afterwards, grant it by hand to those on the list who have none.",
        *("", "Participants and uncredited sign-ups", "Survey codes of the list"),
    )


def _mturk(url: str, ends: Ends) -> Iterator[Step]:
    yield Step(
        "Make a project from the template “Survey Link”. In the layout, have a script write this link with the worker's own IDs.",
        *(url, "Design layout", "Survey link"),
    )
    yield Step(
        "Participants paste this code into the HIT at the end.",
        *(ends.completion_code, "Your HIT", "Provide the survey code here"),
    )
    yield Step(
        "Afterwards, choose “Manage”, “Results”, “Review Results”. Copy the columns Approve and Reject of the list into the "
        "downloaded CSV, and upload it.",
        *("", "Review Results", "Upload CSV"),
    )


def _other(url: str, ends: Ends) -> Iterator[Step]:
    yield Step("Give this link to the panel.", url, "Your panel", "Survey link")
    yield Step(
        "Give the panel the address to which participants return after the end.",
        *(ends.completion_url or ends.completion_code, "Your panel", "Completion"),
    )
    yield Step("Afterwards, send the list to the panel.", "", "Your panel", LIST)
