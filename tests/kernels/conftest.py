from pathlib import Path

import pytest

from kernels.contract import Kernels
from kernels.cpu.binding import CpuKernels
from kernels.cpu.build import library


@pytest.fixture(scope="session")
def built() -> Kernels:
    """The C++ build that this machine uses."""
    return CpuKernels(library(), threads=2)


@pytest.fixture(scope="session", params=["native", "x86-64-v3", "x86-64"])
def every_build(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    """The builds for this CPU, for AVX2, and for a CPU with neither AVX nor FMA."""
    import platform

    if request.param != "native" and platform.machine() != "x86_64":
        pytest.skip("an x86-64 build")
    folder = None if request.param == "native" else Path(tmp_path_factory.mktemp("kernels"))
    return CpuKernels(library(folder, request.param), threads=2)
