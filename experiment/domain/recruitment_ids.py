"""Values in an entry link: ids that a recruitment site gave, or what stands there when it gave none; and what a
link's way through pages and mail programs made of it."""

import html
import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, unquote

# What templates of recruitment sites, survey tools and mail merges put round a name
_TEMPLATE = re.compile(
    r"\{\{|\}\}|[$#%@]\{|\$\(|\{%|%\}|<%|%>|\[\[|\]\]|%%|&[lg]t;"  # anywhere
    r"|%[A-Za-z_]\w{2,}%|[{\[(][A-Za-z_]\w*[)\]}]"  # anywhere, whole
    r"|^(\{.*\}|\[.*\]|\(.*\)|<.*>|«.*»|%.*%|\$.*\$|#.*#|@@.*@@|__.*__|\*\|.*\|\*)\Z"
    r"|^[$:]\w|^%[A-Za-z_]\w{2}"  # before, or cut off
    r"|\ufffd",  # a placeholder's percent signs, taken for an encoded character
    re.DOTALL,
)
_GUID = re.compile(r"\{[0-9a-fA-F-]{36}\}")
# Letters and digits alone: what programs write for nothing, and people in a link that they try
_NO_IDS = frozenset(
    [
        "null",
        "none",
        "nil",
        "nan",
        "na",
        "undefined",
        "unknown",
        "missing",
        "empty",
        "notset",
        "false",
        "true",
        "anonymous",
        "test",
        "demo",
        "objectobject",
    ]
)
# What sites send while somebody looks at a task that they have not accepted
_PREVIEWS = frozenset(["preview", "previewmode", "notavailable", "assignmentidnotavailable"])
# Placeholders without their brackets, and names of parameters
_NAMES = frozenset(
    [
        "id",
        "pid",
        "rid",
        "sid",
        "uid",
        "userid",
        "prolificpid",
        "prolificid",
        "studyid",
        "sessionid",
        "workerid",
        "hitid",
        "assignmentid",
        "surveycode",
        "participantid",
        "respondentid",
        "externalid",
        "responseid",
    ]
)
# "your id here"
_BIDS = re.compile(r"^(your|insert|enter)|here\Z")
_NO_WORDS = _NO_IDS | _NAMES | _PREVIEWS


def is_id(value: str, *names: str) -> bool:
    """True if the value of a parameter with one of these names can tell one visitor from another.

    An empty value, a placeholder that was not filled in, and a word for "nothing" come with every visitor alike.

    >>> is_id("5f3a9c"), is_id("p%1"), is_id("a.b+c@example.org")
    (True, True, True)
    >>> is_id("{{%PROLIFIC_PID%}}"), is_id("uni-%SURVEY_CODE%"), is_id("${workerId}"), is_id(" ")
    (False, False, False, False)
    >>> is_id("who", "who"), is_id("ASSIGNMENT_ID_NOT_AVAILABLE"), is_id("YOUR_ID_HERE")
    (False, False, False)
    """
    plain = value
    for _ in range(3):  # a link that was encoded more than once
        plain = unquote(plain)
    if _GUID.fullmatch(plain):
        return True
    if any(_TEMPLATE.search(text.strip()) for text in (value, plain)):
        return False
    word = _BIDS.sub("", _letters(plain))
    is_filler = re.fullmatch("x{3,}|0+", word)
    return bool(word) and not is_filler and word not in _NO_WORDS.union(map(_letters, names))


# As the sites write their ids, of participants, studies and sessions alike
_SHAPES = {
    "prolific": re.compile(r"(?=.*\d)[0-9a-f]{24}"),
    "mturk": re.compile(r"(?=.*\d)[0-9A-Z]{10,}"),
    "sona": re.compile(r"[0-9]+"),
}


def is_of_site(value: str, site: str) -> bool:
    """True if an id is written as the site's are; always, of a site whose ids are not known.

    >>> is_of_site("5f3a9c0b5f3a9c0b5f3a9c0b", "prolific"), is_of_site("5f3a9c", "prolific")
    (True, False)
    """
    return site not in _SHAPES or bool(_SHAPES[site].fullmatch(value))


def is_several(value: str, site: str) -> bool:
    """True if a list of the site's ids, which researchers paste there to have people paid, would hold more than one by this value.

    >>> [is_several(value, "prolific") for value in ("5f3a, 5f3b", "5f3a\u20285f3b", "5f3a")], is_several("Ada, Bo", "other")
    ([True, True, False], False)
    """
    return site in _SHAPES and re.search(r"[\s,;|]", value) is not None


def mended(value: str, site: str) -> str:
    """The id that signs were put round on its way, or that was encoded twice; the value as it is unless that leaves an id of the site.

    >>> mended("{31415}", "sona"), mended("31415).", "sona"), mended("3D31415", "prolific")
    ('31415', '31415', '3D31415')
    >>> mended("%257B5f3a9c0b5f3a9c0b5f3a9c0b%257D", "prolific"), mended("{%SURVEY_CODE%}", "sona")
    ('5f3a9c0b5f3a9c0b5f3a9c0b', '{%SURVEY_CODE%}')
    """
    if site not in _SHAPES:
        return value
    plain = value
    for _ in range(3):
        plain = html.unescape(unquote(plain))
    bare = re.sub(r"^[\W_]+|(?<![\W_])[\W_]+\Z", "", plain)
    # Quoted-printable mail writes = as =3D
    found = (each for each in (bare, bare.removeprefix("3D")) if is_of_site(each, site))
    return next(found, value)


def as_sent(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Parameters by the names that the site gave them, where the signs between them were written for a page, or encoded once more.

    >>> as_sent([("PROLIFIC_PID", "a"), ("amp;STUDY_ID", "b"), ("amp;amp;SESSION_ID", "c")])
    {'PROLIFIC_PID': 'a', 'STUDY_ID': 'b', 'SESSION_ID': 'c'}
    >>> as_sent([("PROLIFIC_PID=a&STUDY_ID=b", "")]), as_sent([("channel", "pro&id=7")])
    ({'PROLIFIC_PID': 'a', 'STUDY_ID': 'b'}, {'channel': 'pro', 'id': '7'})
    """
    found = {}
    for written, value in pairs:
        name = unquote(unquote(written))
        is_whole = "=" in name and not value
        joined = name if is_whole else f"{name}={value}"
        is_joined = is_whole or re.search(r"&(amp;)*\w+=", joined)
        inner = parse_qsl(joined, keep_blank_values=True) if is_joined else [(name, value)]
        for one, own in inner:
            found[re.sub(r"^(&?amp;)+", "", one)] = own
    return found


def is_preview(value: str) -> bool:
    """True if the value says that a visitor only looks at the study from the recruitment site.

    >>> is_preview("ASSIGNMENT_ID_NOT_AVAILABLE"), is_preview("{{preview}}")
    (True, False)
    """
    return re.sub(r"[ _-]", "", value.casefold()) in _PREVIEWS


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text.casefold())
