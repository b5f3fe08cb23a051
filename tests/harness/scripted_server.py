"""An OpenAI-compatible server that answers from a script, over real HTTP."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[str, dict[str, Any]], tuple[int, dict[str, Any]]]


@contextmanager
def scripted(answer: Answer) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yields the base URL and the bodies received. answer gets the path and the body: status and JSON."""
    received: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Quiet."""

        def do_GET(self) -> None:
            self._answer({})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            received.append(body)
            self._answer(body)

        def _answer(self, body: dict[str, Any]) -> None:
            status, reply = answer(self.path, body)
            content = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", received
    finally:
        server.shutdown()
        server.server_close()


def chat_reply(content: str | None, *calls: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
            for number, (name, arguments) in enumerate(calls)
        ]
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def completion_reply(*texts: str, **extra: Any) -> dict[str, Any]:
    return {
        "id": "c",
        "object": "text_completion",
        "created": 0,
        "model": "scripted",
        "choices": [
            {"index": i, "text": text, "finish_reason": "stop", "logprobs": None, **extra}
            for i, text in enumerate(texts)
        ],
        "usage": {
            "prompt_tokens": 3,
            "completion_tokens": 2 * len(texts),
            "total_tokens": 3 + 2 * len(texts),
        },
    }


def refusal(message: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "code": code}}
