"""The container of a sandbox: its limits, its file systems, its labels."""

import secrets
from functools import cache
from pathlib import Path
from typing import Any

from sandboxes.engine import client
from sandboxes.faults import translated
from sandboxes.sandbox import OWNER_LABEL, RUN_LABEL, SandboxSpec
from sandboxes.tree import BaseTree

KIND_LABEL = "patchdeck.kind"
CAPABILITIES = [
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "KILL",
    "SETGID",
    "SETUID",
    "SYS_NICE",
    "SYS_PTRACE",
]
"""What root inside keeps: to hand files over, and for the guardian to read, outrank and end processes. The
work's own user is not root and can gain none of them (no-new-privileges)."""


def create_container(spec: SandboxSpec, user: tuple[int, int], tree: BaseTree) -> str:
    """Id of a container that is made but not started, its workdir empty. Raises SandboxFault."""
    from docker.types import DriverConfig, LogConfig, Mount

    labels = {OWNER_LABEL: spec.owner, RUN_LABEL: spec.run_id, KIND_LABEL: "sandbox"}
    limits = spec.limits
    # One budget in three places; /dev/shm and /tmp take their share from what the workdir may grow by.
    shared_mb, scratch_mb = max(1, limits.disk_mb // 16), max(1, limits.disk_mb // 4)
    workdir_mb = tree.size_mb + limits.disk_mb - scratch_mb - shared_mb

    def memory_volume(target: str, size_mb: int, inodes: int, options: str) -> Any:
        room = f"size={size_mb}m,nr_inodes={inodes},nosuid,nodev,{options}"
        driver = DriverConfig("local", {"type": "tmpfs", "device": "tmpfs", "o": room})
        return Mount(target, None, type="volume", labels=labels, driver_config=driver)

    inodes = limits.disk_mb * 256
    with translated("creating the sandbox"):
        api = client().api
        host_config = api.create_host_config(
            network_mode=spec.network,
            init=True,
            read_only=True,
            mounts=[
                memory_volume(
                    spec.workdir, workdir_mb, inodes + tree.entries, f"mode=755,uid={user[0]},gid={user[1]}"
                ),
                memory_volume("/tmp", scratch_mb, inodes, "mode=1777"),
            ],
            mem_limit=limits.memory_mb << 20,
            memswap_limit=limits.memory_mb << 20,
            shm_size=shared_mb << 20,
            nano_cpus=int(limits.cpus * 1e9),
            pids_limit=limits.pids,
            cap_drop=["ALL"],
            cap_add=CAPABILITIES,
            security_opt=["no-new-privileges"],
            # Before anything else on the host; the guardian lowers its own score where the engine lets it.
            oom_score_adj=500,
            log_config=LogConfig(type="none"),
        )
        container: str = api.create_container(
            spec.image,
            ["-c", _guardian_script(), "guardian", f"{user[0]}:{user[1]}"],
            entrypoint=["/bin/sh"],
            name=f"patchdeck-{spec.run_id[:40].strip('-_.') or 'run'}-{secrets.token_hex(6)}",
            user="0:0",
            working_dir="/",
            environment={"HOME": "/tmp/home", **spec.env},
            labels=labels,
            stdin_open=True,
            host_config=host_config,
        )["Id"]
    return container


def remove_container(container: str) -> None:
    """Remove a container with its volumes; one that is gone already is no error. Raises SandboxFault."""
    import docker.errors

    with translated("removing a container"):
        try:
            client().api.remove_container(container, force=True, v=True)
        except docker.errors.NotFound:
            return
        except docker.errors.APIError as error:
            # Somebody else, a reaper perhaps, is removing it at this moment.
            if error.status_code != 409:
                raise


@cache
def _guardian_script() -> str:
    return (Path(__file__).parent / "guardian.sh").read_text()
