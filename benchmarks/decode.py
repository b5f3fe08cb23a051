"""Tokens a second of the bundled model: decoding, reading a prompt, scoring candidate edits; and the bound.

Run: python benchmarks/decode.py [--threads N]. Each figure is the best of several tries, as other processes
only ever make it slower. "CPU" counts the process's CPU time in place of the clock's: on a busy machine with
--threads 1 it is what one quiet core would do; more threads spin while they wait, which counts too. The bound
of decoding is the measured memory bandwidth over the weights' bytes.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

from kernels.contract import Kernels
from kernels.cpu.binding import CpuMatrix
from kernels.formats import BLOCK, BLOCK_BYTES, BlockMatrix
from kernels.registry import best_kernels
from model.checkpoints.checkpoint import load_checkpoint
from model.engine.network import Network
from model.engine.prefix_cache import PrefixCache
from model.engine.sampler import SamplingParameters, draw, resolve_seed
from model.engine.scoring import score_texts
from model.engine.tokenizer import TextTokenizer
from model.weights import ensure_weights

TRIES = 5
DECODED = 128
FUNCTION = '''def merge(first, second):
    """Merge two sorted lists into one sorted list."""
    merged, i, j = [], 0, 0
    while i < len(first) and j < len(second):
        if first[i] <= second[j]:
            merged.append(first[i])
            i += 1
        else:
            merged.append(second[j])
            j += 1
    return merged + first[i:] + second[j:]
'''
EDITS = (
    ("<", "<="),
    ("<=", "<"),
    ("+", "-"),
    ("1", "0"),
    ("and", "or"),
    ("first", "second"),
    ("i", "j"),
    ("0", "1"),
)


@dataclass(frozen=True)
class Seconds:
    clock: float
    cpu: float

    def rate(self, count: int) -> str:
        return f"{count / self.clock:8.1f} a second, {count / self.cpu:8.1f} a CPU second"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    threads = parser.parse_args().threads
    torch.set_num_threads(1)
    kernels = best_kernels(threads, print)
    checkpoint = load_checkpoint(ensure_weights())
    network, tokenizer = Network(checkpoint, kernels), TextTokenizer(checkpoint.vocabulary)
    print(f"{kernels.name}, {threads} threads, {checkpoint.weight_version}")
    stored = sum(t.blocks.nbytes for t in checkpoint.tensors.values() if isinstance(t, BlockMatrix))
    bandwidth = stream_bandwidth(kernels)
    print(
        f"weights {stored / 1e6:.0f} MB, streamed at {bandwidth / 1e9:.1f} GB/s: "
        f"decode bound {bandwidth / stored:.0f} a second"
    )
    print(f"decode, tokens        {decoding(network, tokenizer).rate(DECODED)} ({DECODED} after 64, sampled)")
    ids = tokenizer.encode(FUNCTION * 12)
    for length in (128, 512, 1024):
        taken = best(partial(prefill, network, ids[:length]))
        print(f"prefill {length:4d}, tokens  {taken.rate(length)}")
    scoring(network, tokenizer)


def best(work: Callable[[], object], tries: int = TRIES) -> Seconds:
    """The fastest try by either measure, after one to warm up."""
    work()
    clock = cpu = float("inf")
    for _ in range(tries):
        clock_start, cpu_start = time.perf_counter(), time.process_time()
        work()
        clock = min(clock, time.perf_counter() - clock_start)
        cpu = min(cpu, time.process_time() - cpu_start)
    return Seconds(clock, cpu)


def prefill(network: Network, ids: list[int]) -> None:
    network.extend([(network.cache(room=len(ids)), ids)])


def stream_bandwidth(kernels: Kernels) -> float:
    """Bytes a second at which one row's product reads a q8_0 matrix that no cache holds."""
    rows, columns = 196_608, 576
    matrix = BlockMatrix("q8_0", torch.zeros(rows, columns // BLOCK, BLOCK_BYTES["q8_0"], dtype=torch.uint8))
    packed = kernels.pack([matrix])
    size = packed.bytes.nbytes if isinstance(packed, CpuMatrix) else 4 * rows * columns
    return size / best(lambda: kernels.linear(torch.ones(1, columns), packed)).clock


def decoding(network: Network, tokenizer: TextTokenizer) -> Seconds:
    prompt = tokenizer.encode(FUNCTION)[:64]
    parameters, key = SamplingParameters(), resolve_seed(1, 0)

    def run() -> None:
        cache = network.cache(room=len(prompt) + DECODED)
        hidden = network.extend([(cache, prompt)])
        for _ in range(DECODED):
            token = draw(network.logits(hidden[-1:])[0], parameters, key, cache.length).token
            hidden = network.extend([(cache, [token])])

    return best(run, 3)


def scoring(network: Network, tokenizer: TextTokenizer) -> None:
    """Single edits of one function behind a context of some 700 tokens, as the repair pipeline ranks them."""
    context = tokenizer.encode(FUNCTION * 5)
    candidates: list[str] = []
    for old, new in EDITS:
        at = FUNCTION.find(old)
        while at >= 0 and len(candidates) < 100:
            candidates.append(FUNCTION[:at] + new + FUNCTION[at + len(old) :])
            at = FUNCTION.find(old, at + 1)
    texts = [[*context, *tokenizer.encode(candidate)] for candidate in [FUNCTION, *candidates]]

    def run(prefixes: PrefixCache) -> None:
        for _ in score_texts(network, prefixes, texts, 1):
            pass

    total = sum(map(len, texts))
    kept = PrefixCache(1 << 30)
    print(f"scoring {len(texts)} candidates of {total // len(texts)} tokens")
    for name, prefixes in (("context new", None), ("context cached", kept)):
        taken = best(lambda prefixes=prefixes: run(prefixes or PrefixCache(1 << 30)), 2)  # type: ignore[misc]
        print(f"  {name:14s}, candidates {taken.rate(len(texts))}")


if __name__ == "__main__":
    main()
