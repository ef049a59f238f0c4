"""Small files of test cases."""

TEXT = "Rats [[slept, ran]] more."
OTHER = "Rats [[ate, drank]] more."


def table(*rows: str, header: str = "key,markup,subfield") -> bytes:
    return "\n".join((header, *rows, "")).encode()
