"""Chooses the build of the kernels by what this machine can do."""

import functools
import os
from collections.abc import Callable

from kernels.contract import Kernels
from kernels.cpu.binding import CpuKernels
from kernels.cpu.build import NoCompiler, library
from kernels.reference import ReferenceKernels


def best_kernels(threads: int | None = None, report: Callable[[str], None] | None = None) -> Kernels:
    """The C++ build where it compiles and loads, else the PyTorch reference and one sentence to `report`.

    threads is at least 1; None means every core that this process may use.
    """
    try:
        return CpuKernels(library(), threads or len(os.sched_getaffinity(0)))
    except (NoCompiler, OSError) as error:
        if report is not None:
            _say_once(str(error), report)
        return ReferenceKernels()


@functools.lru_cache(maxsize=8)
def _say_once(sentence: str, report: Callable[[str], None]) -> None:
    report(sentence)
