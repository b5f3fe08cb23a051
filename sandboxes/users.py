"""Which uid and gid a user name of an image stands for."""

from collections.abc import Iterator
from functools import lru_cache
from typing import cast

from sandboxes.engine import client
from sandboxes.faults import translated
from sandboxes.sandbox import SandboxFault
from sandboxes.unstarted import unstarted


@lru_cache(maxsize=256)
def resolve_user(image_id: str, user: str) -> tuple[int, int]:
    """(uid, gid) of `name`, `uid` or `uid:gid` in an image. Raises SandboxFault where it has no such user."""
    name, _, group = user.partition(":")
    if name in ("", "root", "0"):
        return 0, int(group) if group.isdigit() else 0
    if name.isdigit() and group.isdigit():
        return int(name), int(group)
    for line in _passwd(image_id).splitlines():
        fields = line.split(":")
        if len(fields) > 3 and name in (fields[0], fields[2]):
            return int(fields[2]), int(group) if group.isdigit() else int(fields[3])
    if name.isdigit():
        return int(name), 0
    raise SandboxFault(f"the image {image_id[:19]} has no user {name}: name one of its /etc/passwd")


@lru_cache(maxsize=256)
def _passwd(image_id: str) -> str:
    import docker.errors

    from sandboxes.tree import members

    with unstarted(image_id) as container, translated("reading the image's users"):
        try:
            chunks, _ = client().api.get_archive(container, "/etc/passwd")
            for _path, _member, content in members(cast("Iterator[bytes]", chunks), single=True):
                return content.read().decode("utf-8", "replace") if content else ""
        except docker.errors.NotFound:
            return ""
    return ""
