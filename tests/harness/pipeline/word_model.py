"""A small true language model behind real HTTP: a word is likely where it was said before in the text."""

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


def scored(text: str) -> tuple[list[str], list[float | None]]:
    tokens = re.findall(r"\s+|\w+|[^\w\s]", text)
    seen: set[str] = set()
    values: list[float | None] = []
    for token in tokens:
        values.append(-0.5 if token in seen or not token.isalnum() else -4.0)
        seen.add(token)
    return tokens, [None, *values[1:]]


class WordModel(BaseHTTPRequestHandler):
    """/v1/completions with echo where the server's `scores` is set; else samples a fixed line."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if body.get("echo") and not self.server.scores:  # type: ignore[attr-defined]
            return self.answer(400, {"error": {"message": "echo is not supported"}})
        choices = []
        if body.get("echo"):
            for index, prompt in enumerate(body["prompt"]):
                tokens, values = scored(prompt)
                log_probs = {"tokens": tokens, "token_logprobs": values}
                choices.append(
                    {"index": index, "text": prompt, "finish_reason": "length", "logprobs": log_probs}
                )
        else:
            for index in range(body.get("n", 1)):
                line = f" return max(low, min(value, {('value', 'low', 'high', '1')[index % 4]}))"
                choices.append({"index": index, "text": line, "finish_reason": "stop", "logprobs": None})
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        return self.answer(
            200,
            {
                "id": "c",
                "object": "text_completion",
                "created": 0,
                "model": "words",
                "choices": choices,
                "usage": usage,
            },
        )

    def answer(self, status: int, document: dict[str, object]) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output to itself."""


def serve(*, scores: bool) -> ThreadingHTTPServer:
    """A running server on a free port of loopback; whoever starts it shuts it down."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), WordModel)
    server.scores = scores  # type: ignore[attr-defined]
    Thread(target=server.serve_forever, daemon=True).start()
    return server
