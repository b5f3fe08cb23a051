"""Images built with the host's settings at hand, and without a trace of them afterwards."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandboxes.base import BaseUnavailable, remove_bootstrap
from sandboxes.container import KIND_LABEL
from sandboxes.engine import client
from sandboxes.host_settings import host_settings
from sandboxes.images import build_image, ensure_base, image_exists

SECRET = "s3cr3t-of-the-index"
TAG = "patchdeck/test:build"


@pytest.fixture(autouse=True)
def no_image() -> Iterator[None]:
    yield
    if image_exists(TAG):
        client().images.remove(TAG, force=True)


def builds_left() -> int:
    return len(
        client().api.containers(
            all=True, filters={"label": [f"{KIND_LABEL}=build", "patchdeck.run=test-build"]}
        )
    )


def test_settings_are_there_while_building_and_nowhere_after(
    base: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    index = tmp_path / "mirror" / "simple"
    index.mkdir(parents=True)
    (tmp_path / "mirror" / "files").mkdir()
    pip_conf = tmp_path / "pip.conf"
    pip_conf.write_text(
        f"[global]\nindex-url = https://u:{SECRET}@index-5be1.example/simple\nextra-index-url = file://{index}\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(pip_conf))
    monkeypatch.setenv("PIP_PROXY", f"http://u:{SECRET}@proxy-5be1.example:1")
    monkeypatch.setenv("HTTPS_PROXY", f"http://u:{SECRET}@proxy-5be1.example:1")
    commands = [
        "python3 -m pip config list",
        "python3 -m pip config debug >/dev/null; echo proxy is $HTTPS_PROXY",
        f"ls -d {index}/../files && test -s /etc/ssl/certs/ca-certificates.crt",
        "echo made > /made",
    ]
    result = build_image(base, commands, tag=TAG, labels={"patchdeck.run": "test-build"})
    assert result.ok, result.log
    assert f"https://u:{SECRET}@index-5be1.example/simple" in result.log
    assert f"proxy is http://u:{SECRET}" in result.log
    description = json.dumps([client().api.inspect_image(TAG), client().api.history(TAG)], default=str)
    exported = b"".join(client().images.get(TAG).save())
    assert b"made\n" in exported
    for trace in (SECRET, "index-5be1.example", "proxy-5be1.example", str(tmp_path)):
        assert trace not in description
        assert trace.encode() not in exported
    added = client().api.create_container(TAG, ["true"])["Id"]
    try:
        layer = client().api.inspect_image(TAG)["RootFS"]["Layers"]
        assert len(layer) == len(client().api.inspect_image(base)["RootFS"]["Layers"]) + 1
    finally:
        client().api.remove_container(added)


def test_the_layer_holds_what_the_commands_made_and_nothing_else(base: str) -> None:
    import io
    import tarfile

    result = build_image(
        base, ["mkdir /opt/own && echo x > /opt/own/file"], tag=TAG, labels={"patchdeck.run": "test-build"}
    )
    assert result.ok
    exported = io.BytesIO(b"".join(client().images.get(TAG).save()))
    with tarfile.open(fileobj=exported) as saved:
        manifest = json.load(saved.extractfile("manifest.json"))  # type: ignore[arg-type]
        with tarfile.open(fileobj=saved.extractfile(manifest[0]["Layers"][-1])) as layer:
            names = set(layer.getnames())
    assert names - {
        "opt",
        "mnt",
        "etc",
        "tmp",
        "var",
        "etc/ssl",
        "etc/ssl/certs",
    } == {
        "opt/own",
        "opt/own/file",
    }


def test_a_failing_command_comes_back_with_its_log_and_leaves_nothing(base: str) -> None:
    commands = ["echo first", "printf 'bad \\377 byte\\n' >&2; exit 7", "echo never"]
    result = build_image(base, commands, tag=TAG, labels={"patchdeck.run": "test-build"})
    assert not result.ok
    assert result.failed_command == commands[1]
    assert "first" in result.log
    assert "bad \\xff byte" in result.log
    assert "exit status 7" in result.log
    assert "never" not in result.log
    assert not image_exists(TAG)
    assert builds_left() == 0


def test_a_build_ends_at_its_time(base: str) -> None:
    result = build_image(base, ["sleep 60"], tag=TAG, labels={"patchdeck.run": "test-build"}, timeout_s=1.0)
    assert not result.ok
    assert "ended after 1 s" in result.log
    assert builds_left() == 0


def test_packages_can_be_installed_and_files_laid(base: str) -> None:
    files = {"/srv/laid/file.txt": b"\0laid\xff"}
    commands = ["od -c /srv/laid/file.txt", "python3 -m pip install -q --break-system-packages six"]
    result = build_image(base, commands, tag=TAG, files=files, labels={"patchdeck.run": "test-build"})
    assert result.ok, result.log
    assert "377" in result.log


def test_the_configuration_is_the_base_s_own(base: str) -> None:
    assert build_image(base, ["true"], tag=TAG, labels={"patchdeck.run": "test-build", "own": "label"}).ok
    config = client().api.inspect_image(TAG)["Config"]
    assert config["Labels"]["own"] == "label"
    assert config["Env"] == client().api.inspect_image(base)["Config"]["Env"]
    assert config["Cmd"] == client().api.inspect_image(base)["Config"]["Cmd"]


def test_the_base_is_made_once_and_holds_the_user(base: str) -> None:
    said: list[str] = []
    assert ensure_base(report=said.append) == base
    assert said == []
    result = build_image(base, ["id agent; git --version; python3 -m venv --help >/dev/null"], tag=TAG)
    assert "uid=1000(agent)" in result.log


def test_settings_that_say_where_things_go_stay_home(tmp_path: Path) -> None:
    conf, borrowed, constraint = tmp_path / "c.conf", tmp_path / "borrowed", tmp_path / "pins.txt"
    borrowed.mkdir()
    constraint.write_text("six==1.0\n")
    conf.write_text(f"[global]\ntarget = /elsewhere\nconstraint = {constraint}\n[install]\nno-binary = x\n")
    settings = host_settings(
        borrowed, {"PIP_CACHE_DIR": "/c", "PIP_INDEX_URL": "http://localhost:9/simple"}, [conf]
    )
    written = (borrowed / "pip.conf").read_text()
    assert "target" not in written
    assert "no-binary = x" in written
    assert str(constraint) not in written
    assert (borrowed / written.split("constraint = /mnt/")[1].split()[0]).read_text() == "six==1.0\n"
    assert "PIP_CACHE_DIR" not in settings.env
    assert settings.on_host_network


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_what_a_killed_bootstrap_left_goes_with_its_mounts(tmp_path: Path) -> None:
    left = tmp_path / "base" / "root" / "proc"
    left.mkdir(parents=True)
    subprocess.run(["mount", "-t", "proc", "proc", str(left)], check=True)
    remove_bootstrap(tmp_path / "base")
    assert not (tmp_path / "base").exists()
    assert str(left) not in Path("/proc/self/mountinfo").read_text()
    remove_bootstrap(tmp_path / "base")


def test_a_base_that_nobody_knows_is_one_sentence() -> None:
    with pytest.raises(BaseUnavailable, match="no base image is called ruby: there are python-debian12"):
        ensure_base("ruby")
