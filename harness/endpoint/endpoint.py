"""One model endpoint that speaks OpenAI's API: the only place that knows the wire."""

import itertools
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import openai

from harness.episode import ModelCall, Sampling

KEY_VARIABLE = "OPENAI_API_KEY"
ReplyT = TypeVar("ReplyT")


class EndpointFault(RuntimeError):
    """The endpoint gave no usable answer: never the agent's fault, so no score may come of it."""


class ToolsRefused(EndpointFault):
    """The endpoint takes no tools with a conversation."""


class ContextExceeded(EndpointFault):
    """The prompt is longer than the model's context."""


@dataclass(frozen=True)
class ChatReply:
    message: dict[str, Any]
    """the assistant's message in the API's own shape, to be appended to the conversation"""
    call: ModelCall


class Endpoint:
    """A model behind a base URL. Safe to use from several threads.

    The key comes from OPENAI_API_KEY unless given; it is kept in the client alone. Passing faults (429, 5xx,
    connections) are tried again with growing pauses; what is left raises EndpointFault.
    """

    def __init__(
        self, base_url: str | None, model: str, api_key: str | None = None, *, timeout_s: float = 600.0
    ) -> None:
        self.model = model
        self.base_url = base_url
        self._client = openai.OpenAI(
            base_url=base_url,
            api_key=api_key or os.environ.get(KEY_VARIABLE) or "none",
            max_retries=4,
            timeout=timeout_s,
        )
        self._numbers = itertools.count()
        self._gives_ids = True
        self._scores = True

    def check(self) -> None:
        """Raises EndpointFault where the endpoint is down, refuses the key, or does not have the model."""
        names = self.models()
        if names and self.model not in names:
            shown = ", ".join(names[:8])
            raise EndpointFault(
                f"{self.base_url} has no model {self.model!r}: give one of {shown} as --model"
            )

    def models(self) -> list[str]:
        """Names of the models served; empty where the endpoint keeps no list. Raises EndpointFault."""
        try:
            return [model.id for model in self._client.with_options(max_retries=1).models.list()]
        except openai.NotFoundError:
            return []
        except openai.OpenAIError as error:
            raise self._fault(error) from error

    def complete(
        self, prompt: str | Sequence[int], *, sampling: Sampling, n: int = 1, parent: str | None = None
    ) -> list[ModelCall]:
        """n sampled continuations of the prompt (text or token ids), each a call of its own."""
        body: dict[str, Any] = {
            "model": self.model,
            "prompt": prompt if isinstance(prompt, str) else list(prompt),
            "n": n,
            **_sampling_body(sampling),
        }
        started = time.monotonic()
        reply = self._with_ids(lambda **extras: self._client.completions.create(**body, **extras), logprobs=1)
        seconds = (time.monotonic() - started) / max(n, 1)
        shown = prompt if isinstance(prompt, str) else ""
        usage = reply.usage
        return [
            self._call(
                choice,
                of_reply=reply.model_extra or {},
                output=choice.text or "",
                prompt=shown,
                sampling=sampling,
                parent=parent,
                seconds=seconds,
                log_probs=tuple(getattr(choice.logprobs, "token_logprobs", None) or ()),
                prompt_tokens=usage.prompt_tokens if usage else 0,
                output_tokens=(usage.completion_tokens // max(len(reply.choices), 1)) if usage else 0,
            )
            for choice in reply.choices
        ]

    def chat(
        self,
        messages: list[dict[str, Any]],
        *,
        tools: list[dict[str, Any]] | None = None,
        sampling: Sampling,
        parent: str | None = None,
    ) -> ChatReply:
        """The model's next message. Raises ToolsRefused where the endpoint takes no tools."""
        body: dict[str, Any] = {"model": self.model, "messages": messages, **_sampling_body(sampling)}
        if tools:
            body["tools"] = tools
        started = time.monotonic()
        try:
            reply = self._with_ids(
                lambda **extras: self._client.chat.completions.create(**body, **extras), logprobs=True
            )
        except EndpointFault as fault:
            if tools and "tool" in str(fault.__cause__).lower() and _refused(fault.__cause__):
                raise ToolsRefused(str(fault)) from fault.__cause__
            raise
        if not reply.choices:
            raise EndpointFault(f"{self.base_url} answered without a choice: ask it again with --retry-infra")
        choice = reply.choices[0]
        content = getattr(choice.logprobs, "content", None) or ()
        call = self._call(
            choice,
            of_reply=reply.model_extra or {},
            output=choice.message.content or "",
            prompt=json.dumps(messages, ensure_ascii=False),
            sampling=sampling,
            parent=parent,
            seconds=time.monotonic() - started,
            log_probs=tuple(token.logprob for token in content),
            prompt_tokens=reply.usage.prompt_tokens if reply.usage else 0,
            output_tokens=reply.usage.completion_tokens if reply.usage else 0,
            prompt_ids=(reply.model_extra or {}).get("prompt_token_ids"),
        )
        message = choice.message.model_dump(include={"role", "content", "tool_calls"}, exclude_none=True)
        return ChatReply({"content": "", **message}, call)

    def log_probs(self, prompts: list[str]) -> list[list[tuple[str, float]]] | None:
        """For each text its tokens with their natural log-probability given what stands before.

        The first token has none and counts 0.0. None where the endpoint does not score given text (it needs
        `echo` with `max_tokens` 0 on /v1/completions); it is then not asked again.
        """
        if not self._scores:
            return None
        try:
            reply = self._client.completions.create(
                model=self.model, prompt=prompts, echo=True, max_tokens=0, logprobs=1, temperature=0
            )
        except openai.OpenAIError as error:
            if _refused(error) and not _is_context(error):
                self._scores = False
                return None
            raise self._fault(error) from error
        scored = []
        for choice in sorted(reply.choices, key=lambda choice: choice.index):
            tokens = getattr(choice.logprobs, "tokens", None)
            values = getattr(choice.logprobs, "token_logprobs", None)
            if not tokens or values is None or len(tokens) != len(values):
                self._scores = False
                return None
            scored.append([(t, 0.0 if v is None else float(v)) for t, v in zip(tokens, values, strict=True)])
        if len(scored) != len(prompts):
            self._scores = False
            return None
        return scored

    def _with_ids(self, ask: Callable[..., ReplyT], *, logprobs: int | bool) -> ReplyT:
        """Ask for ids and log-probabilities; an endpoint that refuses them is asked without from then on."""
        try:
            if self._gives_ids:
                try:
                    return ask(logprobs=logprobs, extra_body={"return_token_ids": True})
                except openai.BadRequestError as error:
                    if _is_context(error):
                        raise
                    reply = ask()
                    self._gives_ids = False
                    return reply
            return ask()
        except openai.OpenAIError as error:
            raise self._fault(error) from error

    def _call(
        self,
        choice: Any,
        *,
        of_reply: dict[str, Any],
        output: str,
        prompt: str,
        sampling: Sampling,
        parent: str | None,
        seconds: float,
        log_probs: tuple[float, ...],
        prompt_tokens: int,
        output_tokens: int,
        prompt_ids: Sequence[int] | None = None,
    ) -> ModelCall:
        """prompt_ids: where the answer carries them beside its choices, as a chat's does."""
        # vLLM gives a conversation's prompt ids with the reply and a completion's with each choice.
        extra = {**of_reply, **(choice.model_extra or {})}
        ids = tuple(extra.get("token_ids") or ())
        versions = tuple(extra.get("weight_versions") or ())
        agree = bool(ids) and len(ids) == len(log_probs)
        return ModelCall(
            id=f"call-{next(self._numbers)}",
            parent=parent,
            purpose="act",
            model=self.model,
            prompt=prompt,
            output=output,
            prompt_ids=tuple(extra.get("prompt_token_ids") or prompt_ids or ()),
            output_ids=ids,
            log_probs=log_probs if agree else (),
            weight_versions=versions if agree and len(versions) == len(ids) else (),
            sampling=sampling,
            finish_reason=choice.finish_reason or "",
            prompt_tokens=prompt_tokens,
            output_tokens=len(ids) or output_tokens,
            seconds=round(seconds, 3),
        )

    def _fault(self, error: openai.OpenAIError) -> EndpointFault:
        where = self.base_url or "the endpoint"
        if isinstance(error, openai.APITimeoutError):
            return EndpointFault(f"{where} did not answer in time: try again, or use a faster endpoint")
        if isinstance(error, openai.APIConnectionError):
            return EndpointFault(f"{where} does not answer: start it, or give another --base-url")
        if isinstance(error, openai.AuthenticationError | openai.PermissionDeniedError):
            return EndpointFault(f"{where} refuses the key: put a valid one into {KEY_VARIABLE}")
        if _is_context(error):
            return ContextExceeded(f"{where} says that the prompt is longer than the context of {self.model}")
        if isinstance(error, openai.APIStatusError):
            return EndpointFault(f"{where} answered {error.status_code}: {_message(error)}")
        return EndpointFault(f"{where} failed: {error}")


def _sampling_body(sampling: Sampling) -> dict[str, Any]:
    body: dict[str, Any] = {"temperature": sampling.temperature, "top_p": sampling.top_p}
    if sampling.max_tokens:
        body["max_tokens"] = sampling.max_tokens
    if sampling.seed is not None:
        body["seed"] = sampling.seed
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    return body


def _refused(error: BaseException | None) -> bool:
    """A request that the endpoint understood and does not serve."""
    return isinstance(error, openai.APIStatusError) and error.status_code in (400, 404, 405, 422, 501)


def _is_context(error: BaseException) -> bool:
    return isinstance(error, openai.BadRequestError) and (
        error.code == "context_length_exceeded" or "context" in str(error).lower()
    )


def _message(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict) and isinstance(body.get("message"), str):
        return " ".join(str(body["message"]).split())[:300]
    return " ".join(str(error).split())[:300]
