"""The Submission contract: all that scoring sees of an agent's work."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Submission(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = 1
    task_id: str
    patch: str | None = Field(
        None, description="unified diff against the base commit; None where none was made"
    )
    deck: str | None = Field(None, description="path of the deck's file or folder, relative to the episode")
    answer: str | None = None
    explanation: str = ""
    files_read: tuple[str, ...] = Field((), description="files that the agent was seen to open")
