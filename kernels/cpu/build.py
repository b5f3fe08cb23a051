"""Compiles the C++ sources once for this compiler and this CPU, and keeps the library in the user's cache."""

import hashlib
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

SOURCES = Path(__file__).parent / "source"
UNITS = ("linear.cpp", "pointwise.cpp", "attention.cpp")
COMPILERS = ("g++", "c++", "clang++")
# Contraction lets a product and its sum round once, in every loop alike; -w because GCC's own headers warn.
FLAGS = ("-O3", "-std=c++20", "-ffp-contract=fast", "-fPIC", "-shared", "-pthread", "-w")
COMPILE_SECONDS = 300


class NoCompiler(RuntimeError):
    """There is no C++ compiler here, or it can't compile the kernels."""


def find_compiler() -> str | None:
    """The path of the first C++ compiler on PATH."""
    return next((found for name in COMPILERS if (found := shutil.which(name))), None)


def library(folder: Path | None = None, architecture: str = "native") -> Path:
    """The library for this machine, compiled if it is not there yet (some seconds). Raises NoCompiler.

    architecture is what the compiler's -march takes; "native" uses all that this CPU has.
    """
    compiler = find_compiler()
    if compiler is None:
        raise NoCompiler(
            "no C++ compiler found, so the model runs on PyTorch and slower: install g++ for the fast kernels"
        )
    folder = folder or user_cache_path("patchdeck") / "kernels"
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"cpu-{_digest(compiler, architecture)}.so"
    if not target.exists():
        with FileLock(target.with_suffix(".lock")):
            if not target.exists():
                _compile(compiler, architecture, target)
    return target


def _compile(compiler: str, architecture: str, target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent) as temporary:
        made = Path(temporary) / target.name
        command = [
            compiler,
            f"-march={architecture}",
            *FLAGS,
            "-o",
            str(made),
            *(str(SOURCES / unit) for unit in UNITS),
        ]
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoCompiler(
                f"{compiler} did not compile the kernels ({error}), so the model runs on PyTorch"
            ) from error
        if result.returncode:
            first = next(iter(result.stderr.strip().splitlines()), "no message")
            raise NoCompiler(
                f"{compiler} can't compile the kernels ({first}), so the model runs on PyTorch and slower: "
                "install a g++ that knows C++20"
            )
        made.replace(target)


def _digest(compiler: str, architecture: str) -> str:
    """Names the sources, the flags, the compiler's version and the CPU's capabilities."""
    digest = hashlib.sha256(" ".join((architecture, *FLAGS)).encode())
    for source in sorted(SOURCES.iterdir()):
        digest.update(source.name.encode() + source.read_bytes())
    version = subprocess.run([compiler, "--version"], capture_output=True, timeout=30)
    digest.update(version.stdout)
    digest.update(_cpu().encode())
    return digest.hexdigest()[:20]


def _cpu() -> str:
    described = Path("/proc/cpuinfo")
    if not described.exists():
        return platform.processor() + platform.machine()
    wanted = ("model name", "flags", "Features", "CPU part")
    lines = described.read_text(encoding="utf-8", errors="replace").split("\n\n")[0].splitlines()
    return "\n".join(line for line in lines if line.startswith(wanted))
