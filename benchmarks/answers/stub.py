"""A chat server on a free port that answers at once and counts what it is asked; a model called "judge" gives points."""

import hashlib
import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

JUDGE = "judge"
ANSWER = "The gene is on the long arm of chromosome 4, and its product binds to membranes. " * 4


class CountingServer(ThreadingHTTPServer):
    """`asked`: how often each model was asked the same."""

    request_queue_size = 128
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked = Counter[bytes]()
        self.lock = threading.Lock()
        self.thread = threading.Thread(target=self.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def n_requests(self) -> int:
        with self.lock:
            return self.asked.total()

    @property
    def n_repeated(self) -> int:
        """Requests for what had been asked before."""
        with self.lock:
            return self.asked.total() - len(self.asked)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.thread.join()
        self.server_close()

    def handle_error(self, *_: Any) -> None:
        pass  # processes are killed on purpose


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: CountingServer

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        words = f"{asked['model']}\0{asked['messages'][-1]['content']}"
        with self.server.lock:
            self.server.asked[hashlib.sha256(words.encode()).digest()[:12]] += 1
        # No two models say the same, so that the judge is asked nothing twice
        text = '{"points": 3.0}' if asked["model"] == JUDGE else f"{ANSWER}{asked['model']}"
        choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": len(words.split()), "completion_tokens": len(text.split())}
        body = json.dumps({"model": asked["model"], "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
