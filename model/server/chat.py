"""/v1/chat/completions."""

import secrets
import time
from collections.abc import AsyncIterator

from model.engine.chat import ChatTemplate
from model.engine.engine import Engine
from model.engine.requests import FinishReason, GenerateRequest, Progress, RequestError
from model.server import answers
from model.server.answers import Json
from model.server.bridge import progress
from model.server.completions import sampling
from model.server.protocol import ChatRequest


class ChatCompletion:
    """One request on its way. Tools go to the chat template; SmolLM2's ignores them: the model sees none."""

    def __init__(self, engine: Engine, template: ChatTemplate, request: ChatRequest, model: str) -> None:
        self.engine, self.request, self.model = engine, request, model
        self.prompt = engine.tokenizer.encode(template.render(request.messages, request.tools))
        room = engine.config.context_length - len(self.prompt)
        if room < 1:
            raise RequestError(
                f"the messages take {len(self.prompt)} tokens, but the model's context holds "
                f"{engine.config.context_length}: shorten them"
            )
        self.generate = GenerateRequest(
            prompt_ids=tuple(self.prompt),
            max_tokens=request.max_completion_tokens or request.max_tokens or room,
            sampling=sampling(request),
            stop=request.stops,
            top_log_probs=(request.top_logprobs or 0) if request.logprobs else 0,
            choices=request.n,
            ignore_end=request.ignore_eos,
        )
        self.id = f"chatcmpl-{secrets.token_hex(12)}"
        self.created = int(time.time())
        self.weight_version = engine.weight_version
        self.cached_tokens = 0
        self.output_tokens = 0

    async def answer(self) -> Json:
        grown = [_Choice(index, self) for index in range(self.request.n)]
        async for step in self._events():
            grown[step.choice].take(step)
        return {
            **self._head("chat.completion"),
            "choices": [choice.shown() for choice in grown],
            "usage": self.usage(),
        } | ({"prompt_token_ids": self.prompt} if self.request.return_token_ids else {})

    async def stream(self) -> AsyncIterator[str]:
        """Server-sent events: the role first, then text, at last a part with the finish reason alone."""
        grown = [_Choice(index, self) for index in range(self.request.n)]
        ids = {"prompt_token_ids": self.prompt} if self.request.return_token_ids else {}
        for choice in grown:
            opening = choice.part() | {"delta": {"role": "assistant", "content": ""}}
            yield answers.event({**self._head("chat.completion.chunk"), **ids, "choices": [opening]})
        async for step in self._events():
            choice = grown[step.choice]
            choice.take(step)
            finish, choice.finish = choice.finish, None
            if step.text or self.request.return_token_ids or self.request.logprobs:
                yield answers.event({**self._head("chat.completion.chunk"), "choices": [choice.part()]})
            if finish is not None:
                yield answers.event(
                    {
                        **self._head("chat.completion.chunk"),
                        "choices": [choice.part() | {"delta": {}, "finish_reason": finish}],
                    }
                )
        if self.request.wants_usage:
            yield answers.event({**self._head("chat.completion.chunk"), "choices": [], "usage": self.usage()})
        yield answers.DONE

    async def _events(self) -> AsyncIterator[Progress]:
        async for step in progress(self.engine, self.generate):
            self.output_tokens += 1
            self.weight_version = step.weight_version
            self.cached_tokens = step.cached_tokens
            yield step

    def _head(self, kind: str) -> Json:
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "weight_version": self.weight_version,
        }

    def usage(self) -> Json:
        return answers.usage(len(self.prompt), self.output_tokens, self.cached_tokens)


class _Choice:
    def __init__(self, index: int, completion: ChatCompletion) -> None:
        self.index = index
        self.finish: FinishReason | None = None
        self._tokenizer = completion.engine.tokenizer
        self._with_log_probs = completion.request.logprobs
        self._with_ids = completion.request.return_token_ids
        self._clear()

    def _clear(self) -> None:
        self._text = ""
        self._ids: list[int] = []
        self._versions: list[str] = []
        self._log_probs: list[Json] = []

    def take(self, step: Progress) -> None:
        self._text += step.text
        self.finish = step.finish
        self._ids.append(step.drawn.token)
        self._versions.append(step.weight_version)
        if self._with_log_probs:
            self._log_probs.append(answers.chat_log_prob(self._tokenizer, step.drawn))

    def shown(self) -> Json:
        return {"message": {"role": "assistant", "content": self._text}, **self._about()}

    def part(self) -> Json:
        """What came since the last part."""
        part = {"delta": {"content": self._text}, **self._about()}
        self._clear()
        return part

    def _about(self) -> Json:
        return {
            "index": self.index,
            "finish_reason": self.finish,
            "logprobs": {"content": self._log_probs} if self._with_log_probs else None,
            "weight_versions": self._versions,
        } | ({"token_ids": self._ids} if self._with_ids else {})
