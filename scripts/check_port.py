"""Say in one sentence why the site cannot be served on a port, if it cannot: `check_port.py 8000`."""

import socket
import sys


def problem_with(text: str) -> str:
    """Return a sentence if port `text` of this machine cannot be listened on, else an empty text."""
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= 65535):
        return f"PORT={text} is not a port. Give a number from 1 to 65535."
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gunicorn does
        try:
            probe.bind(("127.0.0.1", int(text)))
        except PermissionError:
            return f"Port {text} needs more rights than you have. Choose a port above 1023."
        except OSError:
            return f"Port {text} is used by another program. Choose another port, as in `make demo PORT=8001`."
    return ""


if __name__ == "__main__":
    sys.exit(problem_with(sys.argv[1]) or 0)
