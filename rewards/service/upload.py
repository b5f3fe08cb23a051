"""What a client may send, and how a deck's files come to lie in a folder."""

import base64
import binascii
import errno
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict, Field, model_validator


class BadUpload(ValueError):
    """A deck that can't be laid out in a folder; the message goes back to the client."""


class PatchUpload(BaseModel):
    """patch is a unified diff against the task's base commit; null or empty where none was made."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task_id: str
    patch: str | None = None


class Encoded(BaseModel):
    """A file that is not text."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base64: str


class DeckUpload(BaseModel):
    """One HTML text, or the deck's files by their relative path."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task_id: str = ""
    html: str | None = None
    files: dict[str, str | Encoded] | None = Field(None, min_length=1, max_length=2000)

    @model_validator(mode="after")
    def _one_of_both(self) -> "DeckUpload":
        if (self.html is None) == (self.files is None):
            raise ValueError("give either html or files")
        return self


def lay_out(upload: DeckUpload, folder: Path) -> Path:
    """Write the deck below the folder; returns what is to be scored: the file, or the folder.

    Raises BadUpload for a path that leaves the folder, clashes with another or can't be decoded.
    """
    if upload.html is not None:
        path = folder / "deck.html"
        path.write_bytes(_bytes(upload.html, "html"))
        return path
    assert upload.files is not None
    for name, content in upload.files.items():
        pure = PurePosixPath(name)
        if not name or "\\" in name or "\0" in name or pure.is_absolute() or ".." in pure.parts:
            raise BadUpload(f"{name!r} is no path inside the deck: give relative paths with forward slashes")
        path = folder / pure
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(_bytes(content, name))
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            raise BadUpload(f"{name!r} is a file and a folder at once: rename one") from None
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise BadUpload(f"the path {name[:80]!r}... is too long: shorten it") from error
            raise
    return folder


def _bytes(content: str | Encoded, name: str) -> bytes:
    try:
        if isinstance(content, str):
            return content.encode("utf-8")
        return base64.b64decode(content.base64, validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise BadUpload(f"{name!r} can't be decoded ({error}): send text, or base64 of the bytes") from error
