"""The law of the products: within the rounding of a chain of float32 additions of the exact result, and the
same bits for a row whatever stands beside it in the batch."""

import gguf
import numpy
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernels.contract import Kernels
from kernels.formats import BLOCK, BLOCK_BYTES, BlockFormat, BlockMatrix
from kernels.reference import ReferenceKernels

EPS = 2.0**-24
QUICK = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def random_blocks(form: BlockFormat, rows: int, columns: int, seed: int) -> BlockMatrix:
    generator = torch.Generator().manual_seed(seed)
    blocks = torch.randint(
        0, 256, (rows, columns // BLOCK, BLOCK_BYTES[form]), dtype=torch.uint8, generator=generator
    )
    for place, size in ((0, 0.01), (2, 0.05)):
        if place == 0 or form == "q4_1":
            halves = (torch.randn(rows, columns // BLOCK, 1, generator=generator) * size).half()
            blocks[..., place : place + 2] = halves.view(torch.uint8)
    return BlockMatrix(form, blocks)


def within_rounding(got: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> bool:
    exact = x.double() @ weight.double().T
    size = x.double().abs() @ weight.double().abs().T
    return bool(((got.double() - exact).abs() <= (x.shape[1] + 1) * EPS * size + 1e-30).all())


@pytest.mark.parametrize(
    ("form", "kind"),
    [("q4_1", gguf.GGMLQuantizationType.Q4_1), ("q8_0", gguf.GGMLQuantizationType.Q8_0)],
)
def test_blocks_mean_what_the_gguf_package_says(form: BlockFormat, kind: gguf.GGMLQuantizationType) -> None:
    matrix = random_blocks(form, 7, 96, 1)
    theirs = gguf.dequantize(matrix.blocks.reshape(7, -1).numpy(), kind)
    assert numpy.array_equal(matrix.dequantise().numpy(), theirs)


@QUICK
@given(
    form=st.sampled_from(["q4_1", "q8_0", "float32"]),
    rows=st.integers(1, 70),
    blocks=st.integers(1, 9),
    batch=st.integers(1, 30),
    seed=st.integers(0, 1000),
)
def test_product_is_within_rounding_and_independent_of_the_batch(
    every_build: Kernels, form: str, rows: int, blocks: int, batch: int, seed: int
) -> None:
    columns = blocks * BLOCK
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(batch, columns, generator=generator)
    if form == "float32":
        matrix: BlockMatrix | torch.Tensor = torch.randn(rows, columns, generator=generator)
        weight = matrix
    else:
        matrix = random_blocks("q4_1" if form == "q4_1" else "q8_0", rows, columns, seed)
        weight = matrix.dequantise()
    packed = every_build.pack([matrix])
    together = every_build.linear(x, packed)
    assert together.shape == (batch, rows)
    assert within_rounding(together, x, weight)
    alone = torch.cat([every_build.linear(x[i : i + 1], packed) for i in range(batch)])
    assert torch.equal(alone, together)
    reference = ReferenceKernels()
    assert within_rounding(reference.linear(x, reference.pack([matrix])), x, weight)


def test_stacked_matrices_give_their_products_side_by_side(built: Kernels) -> None:
    first, second = random_blocks("q4_1", 48, 64, 2), random_blocks("q4_1", 16, 64, 3)
    x = torch.randn(5, 64)
    both = built.linear(x, built.pack([first, second]))
    apart = [built.linear(x, built.pack([matrix])) for matrix in (first, second)]
    assert torch.equal(both, torch.cat(apart, dim=1))


def test_extreme_scales_stay_exact(every_build: Kernels) -> None:
    """Subnormal and greatest float16 scales, which a hand-written conversion gets wrong first."""
    matrix = random_blocks("q4_1", 16, 64, 4)
    scales = torch.tensor([5.96e-8, 6.1e-5, 65504.0, -65504.0, -5.96e-8, 0.0, -0.0, 1.0] * 4).half()
    matrix.blocks[..., 0:2] = scales.view(16, 2, 1).view(torch.uint8)
    x = torch.eye(64)
    assert torch.equal(every_build.linear(x, every_build.pack([matrix])), matrix.dequantise().T)


def test_many_threads_at_once_give_the_same_bits(built: Kernels) -> None:
    from concurrent.futures import ThreadPoolExecutor

    packed = built.pack([random_blocks("q4_1", 320, 128, 5)])
    x = torch.randn(9, 128)
    once = built.linear(x, packed)
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda _: torch.equal(built.linear(x, packed), once), range(200)))


def test_wrong_inputs_are_refused(built: Kernels) -> None:
    packed = built.pack([torch.zeros(16, 64)])
    with pytest.raises(ValueError, match="32 inputs for a matrix of 64"):
        built.linear(torch.zeros(1, 32), packed)
    with pytest.raises(ValueError, match="float32"):
        built.linear(torch.zeros(1, 64, dtype=torch.float64), packed)
    with pytest.raises(ValueError, match="multiple of 32"):
        built.pack([torch.zeros(16, 60)])
