"""patchdeck serve-rewards: rewards over HTTP."""

from pathlib import Path
from typing import Annotated

import typer


class BadTokenFile(ValueError):
    """The token's file can't be read or holds none."""


def serve_rewards_command(
    tasks: Annotated[Path, typer.Argument(help="The tasks.jsonl whose patches are judged.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8100,
    workers: Annotated[int, typer.Option(min=1, help="Submissions judged at once.")] = 2,
    queue: Annotated[int, typer.Option(min=0, help="Submissions that may wait; past it: HTTP 503.")] = 32,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the token; made where it is missing.")
    ] = None,
) -> None:
    """Serve rewards for patches and decks over HTTP: POST /rewards/patch and /rewards/deck.

    Clients send the token as Authorization: Bearer. Without --token-file a new one is printed.
    A reward that is not valid is HTTP 503 with the reason, never a number.
    """
    import socket

    import uvicorn

    from rewards.service.app import ServiceSettings, application
    from tasks.store import load_tasks

    loaded = load_tasks(tasks)
    token = _token(token_file)
    app = application(loaded, ServiceSettings(token=token, workers=workers, queue=queue))
    config = uvicorn.Config(app, host=host, port=port, log_level="warning")
    listener: socket.socket = config.bind_socket()
    shown = f"[{host}]" if ":" in host else host
    typer.echo(f"rewards for {len(loaded)} tasks on http://{shown}:{listener.getsockname()[1]}")
    typer.echo(f"token in {token_file}" if token_file else f"token {token}")
    uvicorn.Server(config).run(sockets=[listener])


def _token(file: Path | None) -> str:
    import os
    import secrets

    fresh = secrets.token_urlsafe(32)
    if file is None:
        return fresh
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        token = file.read_text(encoding="utf-8").strip()
        if not token or not token.isascii():
            raise BadTokenFile(
                f"{file} holds no token: put one line of ASCII into it, or remove it"
            ) from None
        return token
    except (FileNotFoundError, NotADirectoryError) as error:
        raise BadTokenFile(f"{file} can't be made ({error.strerror}): make its folder first") from error
    with os.fdopen(handle, "w") as out:
        out.write(fresh + "\n")
    return fresh
