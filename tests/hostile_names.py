"""Names that would do something in an expression, a picture, a terminal or a line: what older sites may hold."""

# What a database of either kind stores; a validator refuses those of the first group
UNPRINTABLE = (
    "Llama\n2",
    "Llama\r\n2",
    "tab\there",
    "bell\x07",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "del\x7f",
    "line\u2028separator",
    "paragraph\u2029separator",
    "\u202eoverride",
    "isolate\u2066",
    "c1\x9b31m",
    "no character \ufffe",
)
PRINTABLE = (
    'it\'s "quoted"',
    "back\\slash \\",
    "'] + datum.x + ['",
    "datum.x",
    "{datum.value}",
    "</script><script>pwned(1)</script>",
    "]]></svg><svg onload=pwned(2)>",
    "${pwned(3)} {{ 7|add:7 }} {% debug %}",
    "__proto__",
    "constructor",
    "format(1, '.0f')",
    "a.b[0]:Q",
    "&lt;b&gt; & co",
    "[x](javascript:pwned(4))",
    "=1+1",
    "%s %(n)s %d",
)
EVERY = UNPRINTABLE + PRINTABLE
