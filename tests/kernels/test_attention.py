"""Attention of the C++ build: the reference's result, and the same bits however a sequence is cut up."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernels.cache import AttentionShape, KvCache, Span
from kernels.contract import Kernels
from kernels.reference import ReferenceKernels

SHAPE = AttentionShape(layers=2, heads=6, kv_heads=2, head_dim=32)


def rows(count: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    angles = torch.arange(count).unsqueeze(1) * torch.linspace(1, 0.01, SHAPE.head_dim // 2)
    return torch.randn(count, SHAPE.row, generator=generator), angles.cos(), angles.sin()


def run(
    kernels: Kernels, spans: list[Span], parts: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]
) -> torch.Tensor:
    for span in spans:
        span.cache.make_room(span.rows)
    joined = [torch.cat(kind) for kind in zip(*parts, strict=True)]
    kernels.attend(*joined, spans, SHAPE, 0)
    out = kernels.attend(*joined, spans, SHAPE, 1)
    for span in spans:
        span.cache.own += span.rows
    return out


def cut(
    part: tuple[torch.Tensor, ...], start: int, end: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    first, second, third = part
    return first[start:end], second[start:end], third[start:end]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(length=st.integers(2, 120), data=st.data(), seed=st.integers(0, 1000))
def test_pieces_and_prefixes_give_the_bits_of_the_whole(
    every_build: Kernels, length: int, data: st.DataObject, seed: int
) -> None:
    shared = data.draw(st.integers(1, length - 1))
    middle = data.draw(st.integers(shared, length - 1))
    part = rows(length, seed)
    whole_cache = KvCache(SHAPE)
    whole = run(every_build, [Span(0, length, whole_cache)], [cut(part, 0, length)])
    prefix = KvCache(SHAPE)
    pieces = [run(every_build, [Span(0, shared, prefix)], [cut(part, 0, shared)])]
    own = KvCache(SHAPE, prefix.front(shared))
    other = rows(5, seed + 1)
    for start, end in ((shared, middle), (middle, length)):
        if start < end:
            # Another sequence goes along in the same batch, before it.
            spans = [Span(0, 5, KvCache(SHAPE)), Span(5, end - start, own)]
            pieces.append(run(every_build, spans, [other, cut(part, start, end)])[5:])
    assert torch.equal(torch.cat(pieces), whole)
    copied = own.copy_front(length)
    assert torch.equal(copied.values[:, :, :length], whole_cache.values[:, :, :length])
    again = [run(every_build, [Span(0, 1, cache)], [cut(part, 0, 1)]) for cache in (copied, whole_cache)]
    assert torch.equal(*again)


@pytest.mark.parametrize("length", [1, 15, 16, 17, 100])
def test_agrees_with_the_reference(every_build: Kernels, length: int) -> None:
    part = rows(length, length)
    reference = ReferenceKernels()
    ours = run(every_build, [Span(0, length, KvCache(SHAPE))], [part])
    theirs = run(reference, [Span(0, length, KvCache(SHAPE))], [part])
    assert (ours - theirs).abs().max() < 1e-5


def test_large_scores_do_not_overflow(built: Kernels) -> None:
    turned, cosine, sine = rows(40, 3)
    turned = turned * 20
    ours = run(built, [Span(0, 40, KvCache(SHAPE))], [(turned, cosine, sine)])
    theirs = run(ReferenceKernels(), [Span(0, 40, KvCache(SHAPE))], [(turned, cosine, sine)])
    assert torch.isfinite(ours).all()
    assert torch.allclose(ours, theirs, rtol=1e-2, atol=1e-2)


def test_a_cache_without_room_is_refused(built: Kernels) -> None:
    part = rows(20, 0)
    with pytest.raises(ValueError, match="no room"):
        built.attend(*part, [Span(0, 20, KvCache(SHAPE))], SHAPE, 0)
