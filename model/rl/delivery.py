"""Hands a new checkpoint to a running model server, by the server's own API."""

from pathlib import Path

import httpx


class DeliveryFailed(RuntimeError):
    """The server did not take the weights; they are safe on disk."""


def deliver(server: str, checkpoint: Path, *, token: str | None = None, timeout_s: float = 300.0) -> str:
    """POST the checkpoint's path to the server's /update_weights; returns the version that it serves now.

    The server reads the folder itself, so both must see the same disk. Raises DeliveryFailed.
    """
    root = server.rstrip("/").removesuffix("/v1")
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    kept = f"the new weights are in {checkpoint}"
    try:
        answer = httpx.post(
            f"{root}/update_weights",
            json={"path": str(checkpoint.absolute())},
            headers=headers,
            timeout=timeout_s,
            trust_env=False,
        )
    except httpx.HTTPError as error:
        raise DeliveryFailed(
            f"no answer from the model server at {root} ({error}): start it; {kept}"
        ) from error
    if answer.status_code != 200:
        raise DeliveryFailed(
            f"the model server at {root} refused the weights with HTTP {answer.status_code} "
            f"({answer.text[:200].strip()}): {kept}"
        )
    try:
        version = answer.json()["weight_version"]
    except (ValueError, KeyError, TypeError) as error:
        raise DeliveryFailed(
            f"the server at {root} did not say which weights it serves now: is it patchdeck's? {kept}"
        ) from error
    return str(version)
