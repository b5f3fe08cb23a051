"""Log-probabilities of given texts, many at once: what they share is computed once.

One text is the base; every other one only runs from where it leaves the base, all in one ragged batch over
the base's keys and values. For candidate edits of one function that is the edit and what follows it.
"""

from collections.abc import Generator, Iterator, Sequence

import torch

from kernels.cache import KvCache
from model.engine.network import Network
from model.engine.prefix_cache import PrefixCache, PrefixEntry, ScoredText, TokenScore, common_prefix

ROWS_A_STEP = 256
LOGIT_ROWS = 64

Scores = tuple[TokenScore, ...]


def score_texts(
    network: Network, prefixes: PrefixCache, texts: Sequence[Sequence[int]], top: int
) -> Iterator[list[Scores] | None]:
    """Scores of every text's tokens from its second on. Yields None after each step, at last the result.

    The generator lets other work in between its steps, each of at most ROWS_A_STEP tokens.
    """
    order = _base(texts)
    base = tuple(texts[order])
    entry = yield from _score_base(network, prefixes, base, top)
    assert entry.scored is not None
    results: dict[int, list[TokenScore]] = {}
    parts: list[tuple[int, int, Sequence[int]]] = []
    for index, text in enumerate(texts):
        shared = common_prefix(base, text)
        results[index] = list(entry.scored.scores[: max(shared - 1, 0)])
        if shared < len(text):
            parts.append((index, shared, text))
    # Texts of like length together, so that a step is full.
    parts.sort(key=lambda part: len(part[2]) - part[1])
    batch: list[tuple[int, int, Sequence[int]]] = []
    for part in parts:
        if batch and sum(len(text) - shared for _, shared, text in [*batch, part]) > ROWS_A_STEP:
            yield from _score_batch(network, entry, batch, top, results)
            batch = []
        batch.append(part)
    if batch:
        yield from _score_batch(network, entry, batch, top, results)
    yield [_cut(results[index], top) for index in range(len(texts))]


def _base(texts: Sequence[Sequence[int]]) -> int:
    """The text that shares most with all others."""
    if len(texts) < 3:
        return 0
    ordered = sorted(map(tuple, texts))
    shared = common_prefix(ordered[0], ordered[-1])
    table = torch.empty(len(texts), max(map(len, texts)) - shared, dtype=torch.long)
    for index, text in enumerate(texts):
        # Filled up with what no other row has, so that ends never match.
        table[index] = -1 - index
        table[index, : len(text) - shared] = torch.tensor(text[shared:], dtype=torch.long)
    totals = [int((table == row).cumprod(1).sum()) for row in table]
    return totals.index(max(totals))


def _score_base(
    network: Network, prefixes: PrefixCache, ids: tuple[int, ...], top: int
) -> Generator[None, None, PrefixEntry]:
    known, shared = prefixes.longest(ids, scored_top=top)
    cache, hidden, scores = network.cache(room=len(ids)), [], list[TokenScore]()
    if known is not None and known.scored is not None:
        cache = known.cache.copy_front(shared)
        hidden = [known.scored.hidden[:shared]]
        scores = list(known.scored.scores[: shared - 1])
    for start in range(shared, len(ids), ROWS_A_STEP):
        chunk = ids[start : start + ROWS_A_STEP]
        before = hidden[-1][-1:] if hidden else None
        hidden.append(network.extend([(cache, chunk)]))
        rows = hidden[-1] if before is None else torch.cat((before, hidden[-1]))
        targets = chunk[1:] if before is None else chunk
        scores.extend(_token_scores(network, rows[: len(targets)], targets, top))
        yield None
    entry = PrefixEntry(ids, cache, ScoredText(torch.cat(hidden), tuple(scores), top))
    prefixes.add(entry)
    return entry


def _score_batch(
    network: Network,
    entry: PrefixEntry,
    batch: Sequence[tuple[int, int, Sequence[int]]],
    top: int,
    results: dict[int, list[TokenScore]],
) -> Iterator[None]:
    """One ragged step; a text longer than a step takes several by itself."""
    assert entry.scored is not None
    caches: list[KvCache] = []
    for _, shared, text in batch:
        prefix = entry.cache.front(shared) if shared else None
        caches.append(network.cache(prefix, room=len(text) - shared))
    longest = max(len(text) - shared for _, shared, text in batch)
    last: list[torch.Tensor | None] = [
        entry.scored.hidden[shared - 1 : shared] if shared else None for _, shared, _ in batch
    ]
    for offset in range(0, longest, ROWS_A_STEP):
        # The last token predicts nothing that is asked for.
        chunks = [text[shared + offset : shared + offset + ROWS_A_STEP] for _, shared, text in batch]
        fed = [
            chunk[:-1] if shared + offset + len(chunk) == len(text) else chunk
            for chunk, (_, shared, text) in zip(chunks, batch, strict=True)
        ]
        parts = [(cache, tokens) for cache, tokens in zip(caches, fed, strict=True) if tokens]
        hidden = network.extend(parts) if parts else torch.empty(0, network.config.hidden_size)
        rows, targets, counts, at = [], list[int](), [], 0
        for place, tokens in enumerate(fed):
            own = hidden[at : at + len(tokens)]
            at += len(tokens)
            before = last[place]
            full = own if before is None else torch.cat((before, own))
            wanted = chunks[place] if before is not None else chunks[place][1:]
            rows.append(full[: len(wanted)])
            targets.extend(wanted)
            counts.append(len(wanted))
            last[place] = full[-1:] if len(full) else None
        scores = _token_scores(network, torch.cat(rows), targets, top)
        at = 0
        for (index, _, _), count in zip(batch, counts, strict=True):
            results[index].extend(scores[at : at + count])
            at += count
        yield None


def _token_scores(
    network: Network, hidden: torch.Tensor, targets: Sequence[int], top: int
) -> list[TokenScore]:
    """Scores of targets[i] after the state hidden[i]."""
    scores: list[TokenScore] = []
    for start in range(0, len(targets), LOGIT_ROWS):
        part = torch.tensor(targets[start : start + LOGIT_ROWS])
        logits = network.logits(hidden[start : start + LOGIT_ROWS])
        normaliser = torch.logsumexp(logits, 1)
        chosen = (logits.gather(1, part.unsqueeze(1)).squeeze(1) - normaliser).tolist()
        if top == 0:
            scores.extend(TokenScore(value, ()) for value in chosen)
            continue
        values, ids = (
            (logits - normaliser.unsqueeze(1)).topk(top) if top > 1 else _likeliest(logits, normaliser)
        )
        scores.extend(
            TokenScore(value, tuple(zip(best, their, strict=True)))
            for value, best, their in zip(chosen, ids.tolist(), values.tolist(), strict=True)
        )
    return scores


def _likeliest(logits: torch.Tensor, normaliser: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, ids = logits.max(1, keepdim=True)
    return values - normaliser.unsqueeze(1), ids


def _cut(scores: Sequence[TokenScore], top: int) -> Scores:
    return tuple(TokenScore(score.log_prob, score.top[:top]) for score in scores)
