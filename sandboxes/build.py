"""Images made by running commands on a base, one by one, with what the host lends only while it lasts."""

import io
import secrets
import tarfile
import time
from dataclasses import dataclass
from pathlib import PurePosixPath

from sandboxes.container import KIND_LABEL, remove_container
from sandboxes.engine import client
from sandboxes.faults import translated
from sandboxes.host_settings import HostSettings, host_settings, linking_command, unlinking_command
from sandboxes.owner import owned_folder, this_process
from sandboxes.running import Running
from sandboxes.sandbox import OWNER_LABEL, RUN_LABEL, ExecResult
from sandboxes.stream import EngineStream

_LOG_BYTES = 4 << 20
_MEMORY = 4 << 30
_PIDS = 2048


@dataclass(frozen=True)
class BuildResult:
    """ok, and the image's tag; or the command that failed. log: every command and what it printed."""

    ok: bool
    image: str
    failed_command: str
    log: str


def image_exists(tag: str) -> bool:
    """Whether the engine holds the image. Raises SandboxFault where the engine doesn't say."""
    import docker.errors

    with translated(f"looking for the image {tag}"):
        try:
            client().api.inspect_image(tag)
        except docker.errors.NotFound:
            return False
    return True


def build_image(
    base: str,
    commands: list[str] | tuple[str, ...],
    *,
    tag: str,
    files: dict[str, bytes] | None = None,
    labels: dict[str, str] | None = None,
    timeout_s: float = 1800.0,
) -> BuildResult:
    """Run commands as root in a container on base, with the network on, and commit it as tag.

    files: path to content, laid before the first command. labels: of the image, and of the container while it
    builds. The host's certificates, package indexes and proxies are there while commands run and stay in
    neither the layer nor the configuration. A command that fails, or timeout_s for all of them together, is
    a BuildResult that is not ok, and leaves nothing behind; a fault of the engine raises SandboxFault.
    """
    labels = dict(labels or {})
    with translated(f"building {tag}"), owned_folder("build") as private:
        borrowed = private / "borrowed"
        borrowed.mkdir()
        settings = host_settings(borrowed)
        container = _start(base, labels, settings)
        try:
            if files:
                _lay(container, files)
            made = _as_root(container, linking_command(settings.links)).splitlines() if settings.links else []
            log: list[str] = []
            deadline = time.monotonic() + timeout_s
            for command in commands:
                done = _run(container, command, settings, deadline - time.monotonic())
                log.append(f"$ {command}\n{done.text}")
                if done.exit_code != 0:
                    ended = (
                        f"ended after {timeout_s:g} s" if done.timed_out else f"exit status {done.exit_code}"
                    )
                    log.append(f"[{ended}]\n")
                    return BuildResult(False, "", command, "".join(log))
            if made:
                _as_root(container, unlinking_command(made))
            _commit(container, base, tag, labels)
            return BuildResult(True, tag, "", "".join(log))
        finally:
            remove_container(container)


def _start(base: str, labels: dict[str, str], settings: HostSettings) -> str:
    from docker.types import LogConfig

    with translated(f"starting a build on {base}"):
        api = client().api
        host_config = api.create_host_config(
            network_mode="host" if settings.on_host_network else "bridge",
            binds={source: {"bind": target, "mode": "ro"} for source, target in settings.binds.items()},
            mem_limit=_MEMORY,
            memswap_limit=_MEMORY,
            pids_limit=_PIDS,
            security_opt=["no-new-privileges"],
            log_config=LogConfig(type="none"),
        )
        container: str = api.create_container(
            base,
            ["/bin/sh", "-c", "while :; do sleep 3600; done"],
            entrypoint="",
            name=f"patchdeck-build-{secrets.token_hex(6)}",
            user="0:0",
            labels={RUN_LABEL: "build", **labels, OWNER_LABEL: this_process(), KIND_LABEL: "build"},
            host_config=host_config,
        )["Id"]
    try:
        with translated(f"starting a build on {base}"):
            api.start(container)
    except BaseException:
        remove_container(container)
        raise
    return container


def _lay(container: str, files: dict[str, bytes]) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, content in files.items():
            member = tarfile.TarInfo(str(PurePosixPath(path).relative_to("/")))
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    with translated("laying files into a build"):
        client().api.put_archive(container, "/", packed.getvalue())


def _run(container: str, command: str, settings: HostSettings, timeout_s: float) -> ExecResult:
    env = {**settings.env, "DEBIAN_FRONTEND": "noninteractive"}

    def kill(_token: str) -> None:
        with translated("ending a build"):
            client().api.kill(container)

    with translated("running a command of a build"):
        api = client().api
        created = api.exec_create(
            container, ["/bin/sh", "-c", command], environment=env, user="0:0", workdir="/"
        )
        stream = EngineStream(api.exec_start(created["Id"], socket=True))
    return Running(container, created["Id"], "", stream).finish(None, max(timeout_s, 0.1), _LOG_BYTES, kill)


def _as_root(container: str, command: str) -> str:
    with translated("preparing a build"):
        api = client().api
        created = api.exec_create(
            container, ["/bin/sh", "-c", command], stderr=False, user="0:0", workdir="/"
        )
        printed: bytes = api.exec_start(created["Id"])
        return printed.decode("utf-8", "surrogateescape")


def _commit(container: str, base: str, tag: str, labels: dict[str, str]) -> None:
    """Commit with the base's configuration: what the container itself was started with is not the image's."""
    repository, _, version = tag.partition(":")
    with translated(f"committing {tag}"):
        api = client().api
        config = api.inspect_image(base)["Config"] or {}
        kept = {
            key: config.get(key) for key in ("Env", "WorkingDir", "ExposedPorts", "Volumes", "StopSignal")
        }
        kept |= {
            "Cmd": config.get("Cmd") or ["/bin/sh"],
            "Entrypoint": config.get("Entrypoint") or [],
            "User": config.get("User") or "root",
            "Labels": {**(config.get("Labels") or {}), **labels, OWNER_LABEL: "", KIND_LABEL: ""},
        }
        api.commit(container, repository=repository, tag=version or "latest", conf=kept)
