def with_unix_newlines(text: str) -> str:
    """Browsers send a text area's line breaks as CR LF: unchanged texts would look changed."""
    return text.replace("\r\n", "\n").replace("\r", "\n")
