import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernels.contract import Kernels

QUICK = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@QUICK
@given(batch=st.integers(1, 40), groups=st.integers(1, 12), seed=st.integers(0, 1000))
def test_rms_norm(every_build: Kernels, batch: int, groups: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(batch, groups * 16, generator=generator) * 30
    weight = torch.randn(groups * 16, generator=generator)
    exact = torch.nn.functional.rms_norm(x.double(), (groups * 16,), weight.double(), 1e-5)
    assert torch.allclose(every_build.rms_norm(x, weight, 1e-5).double(), exact, rtol=1e-5, atol=1e-6)


@QUICK
@given(
    batch=st.integers(1, 40), groups=st.integers(1, 12), size=st.floats(0.01, 200), seed=st.integers(0, 1000)
)
def test_swiglu(every_build: Kernels, batch: int, groups: int, size: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(batch, groups * 32, generator=generator) * size
    gate, up = x.double().chunk(2, dim=1)
    exact = torch.nn.functional.silu(gate) * up
    assert torch.allclose(every_build.swiglu(x).double(), exact, rtol=1e-5, atol=1e-30 + 1e-6)
