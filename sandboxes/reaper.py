"""Remove what dead processes left on the engine and in the cache."""

import shutil

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from sandboxes.engine import client
from sandboxes.faults import translated
from sandboxes.owner import dead_folders, is_dead
from sandboxes.sandbox import OWNER_LABEL, RUN_LABEL


def reap(run_id: str | None = None) -> list[str]:
    """Remove containers and volumes whose owner is dead; with run_id also that run's, whoever owns them.

    Returns one line for each thing removed. Raises EngineMissing or another SandboxFault.
    """
    import docker.errors

    from sandboxes.container import remove_container

    def left_behind(labels: dict[str, str]) -> bool:
        return is_dead(labels[OWNER_LABEL]) or (run_id is not None and labels.get(RUN_LABEL) == run_id)

    removed = []
    with translated("looking for leftovers"):
        api = client().api
        containers = api.containers(all=True, filters={"label": OWNER_LABEL})
        volumes = api.volumes(filters={"label": OWNER_LABEL})["Volumes"] or []
    for container in containers:
        if left_behind(container["Labels"]):
            remove_container(container["Id"])
            removed.append(f"container {(container['Names'] or ['?'])[0].lstrip('/')}")
    for volume in volumes:
        if left_behind(volume["Labels"]):
            try:
                with translated("removing a volume"):
                    try:
                        api.remove_volume(volume["Name"])
                    except docker.errors.NotFound:
                        continue  # it went with its container
            except docker.errors.APIError:
                continue
            removed.append(f"volume {volume['Name'][:12]}")
    return removed + _folders() + _bootstraps() + _trees()


def _folders() -> list[str]:
    """Temporary folders of killed processes; a build's holds copies of the host's settings."""
    folders = dead_folders()
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    return [f"folder {folder}" for folder in folders]


def _bootstraps() -> list[str]:
    """Half-made base images of a set-up that was killed; one under way holds its lock."""
    from sandboxes.base import BASES, remove_bootstrap

    cache, removed = user_cache_path("patchdeck"), []
    for name in BASES:
        folder = cache / f"base-{name}"
        if folder.exists():
            try:
                with FileLock(cache / f"base-{name}.lock", timeout=0):
                    remove_bootstrap(folder)
                    removed.append(f"folder {folder}")
            except Timeout:
                continue
    return removed


def _trees() -> list[str]:
    """Trees of images that the engine no longer holds."""
    from sandboxes.tree import trees_path

    if not trees_path().is_dir():
        return []
    # Folders first: an image made in between must not look gone.
    folders = list(trees_path().iterdir())
    with translated("listing images"):
        held = {image["Id"].removeprefix("sha256:")[:32] for image in client().api.images(all=True)}
    removed = []
    for folder in folders:
        if folder.name not in held:
            shutil.rmtree(folder, ignore_errors=True)
            removed.append(f"tree {folder.name[:12]}")
    return removed
