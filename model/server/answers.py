"""The shapes of OpenAI's answers: log-probabilities, usage, errors, events of a stream."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from model.engine.prefix_cache import TokenScore
from model.engine.sampler import Drawn
from model.engine.tokenizer import TextTokenizer

Json = dict[str, Any]
DONE = "data: [DONE]\n\n"


def event(content: Mapping[str, Any]) -> str:
    """One server-sent event."""
    return f"data: {json.dumps(content, ensure_ascii=False)}\n\n"


def error(message: str, kind: str = "invalid_request_error", code: str | None = None) -> Json:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def usage(prompt_tokens: int, output_tokens: int, cached_tokens: int) -> Json:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": output_tokens,
        "total_tokens": prompt_tokens + output_tokens,
        "prompt_tokens_details": {"cached_tokens": cached_tokens},
    }


class CompletionLogProbs:
    """The logprobs object of /v1/completions, grown token by token. Offsets count characters of the text."""

    def __init__(self, tokenizer: TextTokenizer, top: int) -> None:
        self._tokenizer, self._top = tokenizer, top
        self._characters = 0
        self.clear()

    def clear(self) -> None:
        """Forget the tokens but not the offset: the next part of a stream begins."""
        self._tokens: list[str] = []
        self._log_probs: list[float | None] = []
        self._tops: list[dict[str, float] | None] = []
        self._offsets: list[int] = []

    def add_prompt(self, ids: Sequence[int], scores: Sequence[TokenScore]) -> None:
        """The first token stands after nothing, so it has no probability: null, as in OpenAI's API."""
        for token, score in zip(ids, (None, *scores), strict=True):
            self._add(token, score)

    def add(self, drawn: Drawn) -> None:
        self._add(drawn.token, drawn)

    def _add(self, token: int, score: TokenScore | Drawn | None) -> None:
        self._tokens.append(self._tokenizer.name_of(token))
        self._offsets.append(self._characters)
        # Bytes that continue a character begin with the bits 10.
        self._characters += sum(byte & 0xC0 != 0x80 for byte in self._tokenizer.bytes_of(token))
        self._log_probs.append(None if score is None else score.log_prob)
        best = score.top[: self._top] if score is not None else ()
        shown = None if score is None else {self._tokenizer.name_of(i): value for i, value in best}
        self._tops.append(shown)

    def shown(self) -> Json:
        return {
            "tokens": self._tokens,
            "token_logprobs": self._log_probs,
            "top_logprobs": self._tops if self._top else None,
            "text_offset": self._offsets,
        }


def chat_log_prob(tokenizer: TextTokenizer, drawn: Drawn) -> Json:
    """One entry of a chat choice's logprobs.content."""
    return {
        **_named(tokenizer, drawn.token, drawn.log_prob),
        "top_logprobs": [_named(tokenizer, token, value) for token, value in drawn.top],
    }


def _named(tokenizer: TextTokenizer, token: int, log_prob: float) -> Json:
    content = tokenizer.bytes_of(token)
    return {"token": tokenizer.name_of(token), "logprob": log_prob, "bytes": list(content)}
