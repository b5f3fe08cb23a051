"""A real `patchdeck serve` process with the bundled model."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from openai import OpenAI

from model.weights import ensure_weights


def start(*options: str) -> tuple[subprocess.Popen[str], str]:
    """The process and its URL, once it says that it is ready."""
    ensure_weights()
    command = [sys.executable, "-m", "patchdeck.cli", "serve", "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stderr is not None
    line = process.stdout.readline()
    if "http://" not in line:
        process.kill()
        raise AssertionError(f"the server did not start: {line}{process.stderr.read()}")
    return process, line.split()[-1]


def stop(process: subprocess.Popen[str], number: signal.Signals = signal.SIGTERM) -> int:
    process.send_signal(number)
    try:
        return process.wait(timeout=60)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    process, address = start()
    yield address
    assert stop(process) == 0


@pytest.fixture(scope="session")
def client(url: str) -> Iterator[OpenAI]:
    with OpenAI(base_url=url, api_key="none", timeout=300, max_retries=0) as client:
        yield client


@pytest.fixture(scope="session")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("token") / "token"
    path.write_text("s3cret\n")
    return path
