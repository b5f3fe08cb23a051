"""Open, exec, read, difference and close of a sandbox, beside bare docker on the same image, in one run.

python benchmarks/sandbox.py [--image TAG] [--rounds N]
"""

import argparse
import statistics
import subprocess
import time
from collections.abc import Callable

from sandboxes.docker_sandbox import open_sandbox
from sandboxes.engine import client
from sandboxes.images import ensure_base
from sandboxes.sandbox import SandboxSpec


def milliseconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def bare(image: str) -> dict[str, float]:
    """The docker command line: run, exec, rm."""
    command = ["docker", "run", "-d", "--network=none", "--init", image, "sleep", "600"]
    began = time.perf_counter()
    container = subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()
    opened = (time.perf_counter() - began) * 1000
    quiet = {"capture_output": True, "check": True}
    executed = milliseconds(lambda: subprocess.run(["docker", "exec", container, "true"], **quiet))  # type: ignore[call-overload]
    removed = milliseconds(lambda: subprocess.run(["docker", "rm", "-f", container], **quiet))  # type: ignore[call-overload]
    return {"docker run": opened, "docker exec": executed, "docker rm -f": removed}


def bare_client(image: str) -> dict[str, float]:
    """docker-py without limits or streams of our own."""
    container = client().containers.run(image, ["sleep", "600"], detach=True, network_mode="none", init=True)
    try:
        return {"docker-py exec": milliseconds(lambda: container.exec_run(["true"]))}
    finally:
        container.remove(force=True)


def ours(image: str, workdir: str) -> dict[str, float]:
    began = time.perf_counter()
    sandbox = open_sandbox(SandboxSpec(image=image, workdir=workdir, run_id="benchmark"))
    figures = {"open": (time.perf_counter() - began) * 1000}
    try:
        figures["exec"] = milliseconds(lambda: sandbox.exec(["true"]))
        figures["write"] = milliseconds(lambda: sandbox.write("benchmark.txt", b"x\n"))
        figures["read"] = milliseconds(lambda: sandbox.read("benchmark.txt"))
        figures["tree_difference"] = milliseconds(sandbox.tree_difference)
        figures["end at timeout of 0.2 s"] = (
            milliseconds(lambda: sandbox.exec(["sleep", "9"], timeout_s=0.2)) - 200
        )
    finally:
        figures["close"] = milliseconds(sandbox.close)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image", help="any image; the base by default")
    parser.add_argument("--workdir", default="/testbed", help="whose tree is laid into the sandbox")
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    image = arguments.image or ensure_base()
    ours(image, arguments.workdir)
    rounds = [
        {**bare(image), **bare_client(image), **ours(image, arguments.workdir)}
        for _ in range(arguments.rounds)
    ]
    print(f"{'':24}{'median':>9}{'worst':>9}  milliseconds, {len(rounds)} rounds, {image}")
    for name in rounds[0]:
        figures = [figure[name] for figure in rounds]
        print(f"{name:24}{statistics.median(figures):9.0f}{max(figures):9.0f}")


if __name__ == "__main__":
    main()
