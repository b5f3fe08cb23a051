"""The engine: one thread that owns the network and gives every request its turn.

Each turn is one step of decoding for all running sequences, together with one piece of the oldest prompt,
then one step of the oldest scoring job. New weights wait until nothing is in flight; what begins later runs
on them.
"""

import queue
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

import torch

from kernels.cache import KvCache
from kernels.contract import Kernels
from model.checkpoints.checkpoint import Checkpoint, CheckpointError
from model.engine.network import Network
from model.engine.prefix_cache import PrefixCache
from model.engine.requests import (
    EngineStopped,
    Failed,
    GenerateListener,
    GenerateRequest,
    RequestError,
    Scored,
    ScoreListener,
)
from model.engine.scoring import Scores, score_texts
from model.engine.sequences import Prompt, Running
from model.engine.tokenizer import TextTokenizer

MAX_RUNNING = 32
PREFIX_BYTES = 512 << 20


class Ticket:
    """A request's handle: cancel() frees its place at the engine's next turn."""

    def __init__(self) -> None:
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


@dataclass
class _Generate:
    request: GenerateRequest
    listener: GenerateListener
    ticket: Ticket


@dataclass
class _Score:
    texts: Sequence[Sequence[int]]
    top: int
    listener: ScoreListener
    ticket: Ticket
    steps: Iterator[list[Scores] | None] | None = None


@dataclass
class _Update:
    network: Network
    taken: "Future[str]"


class Engine:
    """Thread-safe: any thread may call generate, score and update."""

    def __init__(self, checkpoint: Checkpoint, kernels: Kernels, *, prefix_bytes: int = PREFIX_BYTES) -> None:
        self.tokenizer = TextTokenizer(checkpoint.vocabulary)
        self.vocabulary = checkpoint.vocabulary
        self.config = checkpoint.config
        self.kernels = kernels
        self.network = Network(checkpoint, kernels)
        self._prefixes = PrefixCache(prefix_bytes)
        self._inbox: queue.SimpleQueue[_Generate | _Score | _Update | None] = queue.SimpleQueue()
        self._waiting: deque[_Generate] = deque()
        self._prompts: deque[tuple[Prompt, Ticket]] = deque()
        self._running: list[tuple[Running, Ticket]] = []
        self._scoring: deque[_Score] = deque()
        self._update: _Update | None = None
        self._later: deque[_Generate | _Score | _Update] = deque()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self._thread.start()

    @property
    def weight_version(self) -> str:
        return self.network.weight_version

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def generate(self, request: GenerateRequest, listener: GenerateListener) -> Ticket:
        """Start decoding; the listener hears every token. Raises RequestError for what can't be served."""
        self._check_ids(request.prompt_ids)
        if request.max_tokens < 1:
            raise RequestError("max_tokens must be at least 1 where nothing is scored")
        total = len(request.prompt_ids) + request.max_tokens
        if total > self.config.context_length:
            raise RequestError(
                f"the prompt has {len(request.prompt_ids)} tokens, max_tokens is {request.max_tokens}, but "
                f"the model's context holds {self.config.context_length}: shorten it or lower max_tokens"
            )
        ticket = Ticket()
        self._put(_Generate(request, listener, ticket))
        return ticket

    def score(self, texts: Sequence[Sequence[int]], top: int, listener: ScoreListener) -> Ticket:
        """Log-probabilities of given texts, with `top` alternatives a token. Raises RequestError."""
        for text in texts:
            self._check_ids(text)
        ticket = Ticket()
        self._put(_Score(texts, top, listener, ticket))
        return ticket

    def update(self, checkpoint: Checkpoint) -> "Future[str]":
        """Take new weights once nothing is in flight. The future is their version. Raises CheckpointError."""
        if checkpoint.config != self.config or checkpoint.vocabulary.tokens != self.vocabulary.tokens:
            raise CheckpointError(
                "the new weights are of another network or vocabulary: start a server of their own for them"
            )
        taken: Future[str] = Future()
        self._put(_Update(Network(checkpoint, self.kernels), taken))
        return taken

    def close(self) -> None:
        """Stop the thread; requests in flight fail with EngineStopped."""
        self._inbox.put(None)
        self._thread.join(timeout=30)

    def _put(self, job: "_Generate | _Score | _Update") -> None:
        if not self.alive:
            raise EngineStopped(f"the engine has stopped ({self._failure}): start the server again")
        self._inbox.put(job)

    def _check_ids(self, ids: Sequence[int]) -> None:
        if not ids:
            raise RequestError("the prompt is empty: give at least one token")
        if len(ids) > self.config.context_length:
            raise RequestError(
                f"the prompt has {len(ids)} tokens, but the model's context holds "
                f"{self.config.context_length}: shorten it"
            )
        if min(ids) < 0 or max(ids) >= self.config.vocabulary_size:
            raise RequestError(f"token ids go from 0 to {self.config.vocabulary_size - 1}")

    def _run(self) -> None:
        try:
            with torch.inference_mode():
                while self._receive():
                    self._turn()
            stopped: Exception = EngineStopped("the engine was closed")
        except Exception as error:
            # The thread must not die in silence: whoever waits hears of it, and so does every later caller.
            self._failure = stopped = error
        self._fail_all(stopped)

    def _receive(self) -> bool:
        """Take what has arrived, waiting where there is nothing to do. False when the engine is to close."""
        while True:
            try:
                job = self._inbox.get(block=self._idle)
            except queue.Empty:
                return True
            if job is None:
                return False
            self._sort(job)

    @property
    def _idle(self) -> bool:
        return not (self._waiting or self._busy or self._update)

    @property
    def _busy(self) -> bool:
        return bool(self._prompts or self._running or self._scoring)

    def _sort(self, job: "_Generate | _Score | _Update") -> None:
        if self._update is not None:
            self._later.append(job)
        elif isinstance(job, _Generate):
            self._waiting.append(job)
        elif isinstance(job, _Score):
            self._scoring.append(job)
        else:
            self._update = job

    def _turn(self) -> None:
        if self._update is not None and not self._busy:
            self._swap(self._update)
        if self._update is None:
            self._admit()
        self._decode()
        self._score_step()

    def _swap(self, update: _Update) -> None:
        self.network = update.network
        self._prefixes.clear()
        self._update = None
        update.taken.set_result(self.network.weight_version)
        later, self._later = self._later, deque()
        for job in later:
            self._sort(job)

    def _admit(self) -> None:
        while self._waiting:
            job = self._waiting[0]
            started = len(self._running) + sum(prompt.request.choices for prompt, _ in self._prompts)
            if started and started + job.request.choices > MAX_RUNNING:
                return
            self._waiting.popleft()
            if not job.ticket.cancelled:
                prompt = Prompt(job.request, job.listener, self.network, self._prefixes)
                self._prompts.append((prompt, job.ticket))

    def _decode(self) -> None:
        """One token for every running sequence, and a piece of the oldest prompt, in one batch."""
        self._running = [(run, ticket) for run, ticket in self._running if not ticket.cancelled]
        while self._prompts and self._prompts[0][1].cancelled:
            self._prompts.popleft()
        parts = [(run.cache, [run.ids[-1]]) for run, _ in self._running]
        reading = self._prompts[0] if self._prompts else None
        if not parts and reading is None:
            return
        batch: list[tuple[KvCache, Sequence[int]]] = [*parts]
        if reading is not None:
            batch.append((reading[0].cache, reading[0].next_tokens()))
        hidden = self.network.extend(batch)
        wanted = hidden[: len(parts)]
        if reading is not None and reading[0].read:
            wanted = torch.cat((wanted, hidden[-1:]))
        if not len(wanted):
            return
        logits = self.network.logits(wanted)
        for row, (run, _) in enumerate(self._running):
            run.take(logits[row], self.tokenizer, self.weight_version)
        if reading is not None and reading[0].read:
            self._prompts.popleft()
            for run in reading[0].fork(self._prefixes):
                run.take(logits[-1], self.tokenizer, self.weight_version)
                self._running.append((run, reading[1]))
        for run, _ in self._running:
            if run.finished:
                run.remember(self._prefixes)
        self._running = [(run, ticket) for run, ticket in self._running if not run.finished]

    def _score_step(self) -> None:
        if not self._scoring:
            return
        job = self._scoring[0]
        if job.ticket.cancelled:
            self._scoring.popleft()
            return
        if job.steps is None:
            job.steps = score_texts(self.network, self._prefixes, job.texts, job.top)
        scored = next(job.steps)
        if scored is not None:
            self._scoring.popleft()
            job.listener(Scored(tuple(scored), self.weight_version))

    def _fail_all(self, error: Exception) -> None:
        while not self._inbox.empty():
            job = self._inbox.get()
            if job is not None:
                self._later.append(job)
        failed = Failed(error)
        for _, prompt_listener in {(id(p), p.listener) for p, _ in self._prompts}:
            prompt_listener(failed)
        for listener in {run.prompt.listener for run, _ in self._running}:
            listener(failed)
        for waiting in self._waiting:
            waiting.listener(failed)
        for scoring in self._scoring:
            scoring.listener(failed)
        for job in (*self._later, self._update):
            if isinstance(job, _Update):
                job.taken.set_exception(error)
            elif job is not None:
                job.listener(failed)
