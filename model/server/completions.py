"""/v1/completions: text or ids in; text, ids and log-probabilities out; `echo` scores what was given."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Sequence

from model.engine.engine import Engine
from model.engine.requests import FinishReason, GenerateRequest, Progress, RequestError, Scored
from model.engine.sampler import SamplingParameters
from model.engine.tokenizer import TextTokenizer
from model.server import answers
from model.server.answers import CompletionLogProbs, Json
from model.server.bridge import progress, scored
from model.server.protocol import COMPLETION_TOKENS, CompletionRequest, SamplingFields


def sampling(fields: SamplingFields) -> SamplingParameters:
    return SamplingParameters(fields.temperature, fields.top_p, max(fields.top_k, 0), fields.seed)


def prompts_of(
    prompt: str | list[int] | list[str] | list[list[int]], tokenizer: TextTokenizer
) -> list[list[int]]:
    """Each prompt as token ids. Raises RequestError for an empty list."""
    if isinstance(prompt, str):
        return [tokenizer.encode(prompt)]
    if not prompt:
        raise RequestError("the list of prompts is empty: give at least one")
    if isinstance(prompt[0], int):
        return [[token for token in prompt if isinstance(token, int)]]
    return [
        tokenizer.encode(one) if isinstance(one, str) else list(one)
        for one in prompt
        if not isinstance(one, int)
    ]


class Completion:
    """One request on its way. Choice number p * n + c is the c-th choice of the p-th prompt."""

    def __init__(self, engine: Engine, request: CompletionRequest, model: str) -> None:
        self.engine, self.request, self.model = engine, request, model
        self.prompts = prompts_of(request.prompt, engine.tokenizer)
        self.max_tokens = COMPLETION_TOKENS if request.max_tokens is None else request.max_tokens
        self.top = request.logprobs or 0
        self.id = f"cmpl-{secrets.token_hex(12)}"
        self.created = int(time.time())
        self.weight_version = engine.weight_version
        self.cached_tokens = 0
        self.output_tokens = 0

    async def answer(self) -> Json:
        scores = await self._scores()
        grown = [self._begin(index, scores) for index in range(len(self.prompts) * self.request.n)]
        await asyncio.gather(*(self._grow(index, grown) for index in range(len(self.prompts))))
        return {**self._head(), "choices": [choice.shown() for choice in grown], "usage": self.usage()}

    async def stream(self) -> AsyncIterator[str]:
        """Server-sent events. Prompts are answered one after the other, a prompt's choices together."""
        scores = await self._scores()
        for index in range(len(self.prompts)):
            count = self.request.n
            grown = [self._begin(index * count + choice, scores) for choice in range(count)]
            if self.request.echo or not self.max_tokens:
                for choice in grown:
                    yield answers.event({**self._head(), "choices": [choice.part()]})
            async for step in self._events(index):
                choice = grown[step.choice]
                self._note(choice, step)
                if (
                    step.text
                    or step.finish
                    or self.request.return_token_ids
                    or self.request.logprobs is not None
                ):
                    yield answers.event({**self._head(), "choices": [choice.part()]})
        if self.request.wants_usage:
            yield answers.event({**self._head(), "choices": [], "usage": self.usage()})
        yield answers.DONE

    async def _scores(self) -> Scored | None:
        """What `echo` with log-probabilities asks of the prompts, all in one job of the engine."""
        if not self.request.echo or self.request.logprobs is None:
            return None
        scores = await scored(self.engine, self.prompts, self.top)
        self.weight_version = scores.weight_version
        return scores

    def _begin(self, index: int, scores: Scored | None) -> "_Choice":
        prompt = self.prompts[index // self.request.n]
        choice = _Choice(index, prompt, self)
        if self.request.echo:
            choice.text = self.engine.tokenizer.decode(prompt, keep_special=True)
            if scores is not None and choice.log_probs is not None:
                choice.log_probs.add_prompt(prompt, scores.texts[index // self.request.n])
        if not self.max_tokens:
            choice.finish = "length"
        return choice

    async def _grow(self, index: int, grown: Sequence["_Choice"]) -> None:
        async for step in self._events(index):
            self._note(grown[index * self.request.n + step.choice], step)

    async def _events(self, index: int) -> AsyncIterator[Progress]:
        if not self.max_tokens:
            return
        request = GenerateRequest(
            prompt_ids=tuple(self.prompts[index]),
            max_tokens=self.max_tokens,
            sampling=sampling(self.request),
            stop=self.request.stops,
            top_log_probs=self.top,
            choices=self.request.n,
            ignore_end=self.request.ignore_eos,
        )
        cached = 0
        async for step in progress(self.engine, request):
            cached = step.cached_tokens
            yield step
        self.cached_tokens += cached

    def _note(self, choice: "_Choice", step: Progress) -> None:
        self.output_tokens += 1
        self.weight_version = step.weight_version
        choice.take(step)

    def _head(self) -> Json:
        return {
            "id": self.id,
            "object": "text_completion",
            "created": self.created,
            "model": self.model,
            "weight_version": self.weight_version,
        } | ({"prompt_token_ids": self.prompts[0]} if self._shows_prompt_ids else {})

    @property
    def _shows_prompt_ids(self) -> bool:
        return self.request.return_token_ids and len(self.prompts) == 1 and not self.request.stream

    def usage(self) -> Json:
        return answers.usage(sum(map(len, self.prompts)), self.output_tokens, self.cached_tokens)


class _Choice:
    def __init__(self, index: int, prompt: Sequence[int], completion: Completion) -> None:
        self.index, self.prompt = index, prompt
        self.text = ""
        self.finish: FinishReason | None = None
        self.ids: list[int] = []
        self.versions: list[str] = []
        self._with_ids = completion.request.return_token_ids
        self.log_probs = (
            None
            if completion.request.logprobs is None
            else CompletionLogProbs(completion.engine.tokenizer, completion.top)
        )

    def take(self, step: Progress) -> None:
        self.text += step.text
        self.finish = step.finish
        self.ids.append(step.drawn.token)
        self.versions.append(step.weight_version)
        if self.log_probs is not None:
            self.log_probs.add(step.drawn)

    def shown(self) -> Json:
        return {
            "index": self.index,
            "text": self.text,
            "finish_reason": self.finish,
            "logprobs": self.log_probs.shown() if self.log_probs is not None else None,
            "weight_versions": self.versions,
        } | ({"prompt_token_ids": list(self.prompt), "token_ids": self.ids} if self._with_ids else {})

    def part(self) -> Json:
        """What came since the last part."""
        shown = self.shown()
        self.text, self.ids, self.versions = "", [], []
        if self.log_probs is not None:
            self.log_probs.clear()
        return shown
