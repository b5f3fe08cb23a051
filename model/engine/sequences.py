"""Sequences in flight: a prompt being read, then one running sequence for each choice."""

from collections.abc import Sequence

import torch

from kernels.cache import KvCache
from model.engine.network import Network
from model.engine.prefix_cache import PrefixCache, PrefixEntry
from model.engine.requests import FinishReason, GenerateListener, GenerateRequest, Progress
from model.engine.sampler import draw, resolve_seed
from model.engine.text import TextStream
from model.engine.tokenizer import TextTokenizer

PROMPT_ROWS = 256
WORTH_SHARING = 16
"""Tokens below which looking up or keeping a prefix costs more than it saves."""


class Prompt:
    """A prompt being read in steps of PROMPT_ROWS tokens."""

    def __init__(
        self, request: GenerateRequest, listener: GenerateListener, network: Network, prefixes: PrefixCache
    ) -> None:
        self.request, self.listener = request, listener
        self.cancelled = False
        entry, shared = prefixes.longest(request.prompt_ids)
        # The last token is always fed: its state is what the first draw needs.
        shared = min(shared, len(request.prompt_ids) - 1)
        self.cached_tokens = shared if entry is not None and shared >= WORTH_SHARING else 0
        prefix = entry.cache.front(self.cached_tokens) if entry is not None and self.cached_tokens else None
        self.cache = network.cache(prefix, room=len(request.prompt_ids) - self.cached_tokens + 64)

    def next_tokens(self) -> Sequence[int]:
        done = self.cache.length
        return self.request.prompt_ids[done : done + PROMPT_ROWS]

    @property
    def read(self) -> bool:
        return self.cache.length == len(self.request.prompt_ids)

    def fork(self, prefixes: PrefixCache) -> "list[Running]":
        """The choices, once the prompt is read. Several share the prompt's keys and values."""
        if self.request.choices == 1:
            return [Running(self, 0, self.cache)]
        length = len(self.request.prompt_ids)
        whole = self.cache if self.cache.prefix is None else self.cache.copy_front(length)
        prefixes.add(PrefixEntry(self.request.prompt_ids, whole.front(length)))
        return [
            Running(self, choice, KvCache(whole.shape, whole.front(length), room=64))
            for choice in range(self.request.choices)
        ]


class Running:
    """One choice being decoded."""

    def __init__(self, prompt: Prompt, choice: int, cache: KvCache) -> None:
        self.prompt, self.choice, self.cache = prompt, choice, cache
        self.ids: list[int] = []
        self.finished = False
        self._key = resolve_seed(prompt.request.sampling.seed, choice)
        self._text = TextStream(prompt.request.stop)

    def take(self, logits: torch.Tensor, tokenizer: TextTokenizer, weight_version: str) -> None:
        """Draw the next token from logits (vocabulary,) and tell the listener."""
        request = self.prompt.request
        position = len(request.prompt_ids) + len(self.ids)
        drawn = draw(logits, request.sampling, self._key, position, request.top_log_probs)
        self.ids.append(drawn.token)
        special = tokenizer.is_special(drawn.token)
        text = "" if special else self._text.feed(tokenizer.bytes_of(drawn.token))
        ended = drawn.token in tokenizer.end_ids and not request.ignore_end
        finish: FinishReason | None = None
        if ended or self._text.stopped:
            finish = "stop"
        elif len(self.ids) >= request.max_tokens:
            finish = "length"
        if finish is not None:
            self.finished = True
            text += self._text.finish()
        self.prompt.listener(
            Progress(self.choice, text, drawn, weight_version, finish, self.prompt.cached_tokens)
        )

    def remember(self, prefixes: PrefixCache) -> None:
        """Keep prompt and answer for the next turn of the same conversation."""
        ids = (*self.prompt.request.prompt_ids, *self.ids)[: self.cache.length]
        fresh = len(ids) - self.prompt.cached_tokens
        if self.prompt.request.choices == 1 and fresh >= WORTH_SHARING:
            # Finished, so its own memory won't grow any more and can be shared as it is.
            kept = self.cache.copy_front(len(ids)) if self.cache.prefix else self.cache.front(len(ids))
            prefixes.add(PrefixEntry(ids, kept))
