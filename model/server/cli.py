"""`patchdeck serve`."""

from pathlib import Path

import typer


class ServeError(RuntimeError):
    """The server can't start as it was asked to."""


def serve_command(
    host: str = typer.Option("127.0.0.1", help="Address to listen on; any but loopback wants --token-file."),
    port: int = typer.Option(8000, min=0, max=65535, help="Port; 0 takes a free one."),
    weights: Path | None = typer.Option(
        None, help="A GGUF file or a checkpoint folder that training wrote; the bundled model where left out."
    ),
    name: str = typer.Option("bundled", help="The model's name in the API."),
    threads: int | None = typer.Option(None, min=1, help="CPU threads; all cores where left out."),
    token_file: Path | None = typer.Option(None, help="File with the bearer token that clients must send."),
) -> None:
    """Serve the bundled model on an OpenAI-compatible API."""
    from model.server.serve import serve

    serve(host, port, weights=weights, name=name, threads=threads, token=_token(host, token_file))


def _token(host: str, token_file: Path | None) -> str | None:
    if token_file is None:
        if host not in ("127.0.0.1", "::1", "localhost"):
            raise ServeError(
                f"{host} can be reached from other machines: give a bearer token with --token-file"
            )
        return None
    try:
        token = token_file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ServeError(f"the token file {token_file} can't be read: {error}") from error
    if not token:
        raise ServeError(f"the token file {token_file} is empty: write a token into it")
    return token
