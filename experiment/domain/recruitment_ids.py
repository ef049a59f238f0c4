"""Whether a value in an entry link is an id that a recruitment site gave, or what stands there when it gave none."""

import re
from urllib.parse import unquote

# What templates of recruitment sites, survey tools and mail merges put round a name
_TEMPLATE = re.compile(
    r"\{\{|\}\}|\$\{|#\{|\{%|%\}|<%|%>|\[\[|\]\]|%%"  # anywhere
    r"|^\{.*\}$|^\[.*\]$|^<.*>$|^%.*%$|^\$.*\$$|^#.*#$|^@@.*@@$|^__.*__$|^\*\|.*\|\*$"  # all round
    r"|^[$:]\w"  # before
    r"|\ufffd",  # a placeholder's percent signs, taken for an encoded character
    re.DOTALL,
)
# What sites send in a preview, and what programs write for a value that is not there
NO_IDS = frozenset(
    {"assignment_id_not_available", "worker_id_not_available", "not_available"}
    | {"preview", "preview_mode", "null", "none", "nil", "nan", "undefined", "unknown"}
    | {"anonymous", "n/a", "na", "(null)", "(none)", "(empty)", "(not set)", "[object object]"}
)
# Placeholders without their brackets, as a link has them that somebody typed
_NAMES = frozenset(
    {"prolific_pid", "study_id", "session_id", "workerid", "hitid", "assignmentid", "survey_code"}
    | {"participant_id", "participantid", "external_id"}
)


def is_id(value: str, *names: str) -> bool:
    """Whether the value of a parameter with one of these names can tell one visitor from another.

    An empty value, a placeholder that was not filled in, and a word for "nothing" come with every visitor alike.

    >>> is_id("5f3a9c"), is_id("p%1"), is_id("a.b+c@example.org")
    (True, True, True)
    >>> is_id("{{%PROLIFIC_PID%}}"), is_id("%SURVEY_CODE%"), is_id("${workerId}"), is_id(" ")
    (False, False, False, False)
    >>> is_id("who", "who"), is_id("ASSIGNMENT_ID_NOT_AVAILABLE")
    (False, False)
    """
    plain = value
    for _ in range(3):  # a link that was encoded more than once
        plain = unquote(plain)
    if any(_TEMPLATE.search(text.strip()) for text in (value, plain)):
        return False
    word = plain.strip().casefold()
    return bool(word) and word not in NO_IDS | _NAMES | {name.casefold() for name in names}
