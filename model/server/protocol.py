"""Requests as clients send them. Fields of OpenAI's API that are not named here are accepted and ignored."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

COMPLETION_TOKENS = 16
"""max_tokens of /v1/completions where the request names none, as in OpenAI's API."""


class SamplingFields(BaseModel):
    model_config = ConfigDict(extra="ignore")

    model: str | None = None
    temperature: float = Field(1.0, ge=0, le=10)
    top_p: float = Field(1.0, gt=0, le=1)
    top_k: int = Field(0, ge=-1)
    seed: int | None = None
    stop: str | list[str] | None = None
    n: int = Field(1, ge=1, le=128)
    stream: bool = False
    stream_options: dict[str, Any] | None = None
    return_token_ids: bool = False
    ignore_eos: bool = False

    @field_validator("temperature", "top_p", "top_k", "n", "stream", mode="before")
    @classmethod
    def _null_means_default(cls, value: Any, info: Any) -> Any:
        return cls.model_fields[info.field_name].default if value is None else value

    @property
    def stops(self) -> tuple[str, ...]:
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())

    @property
    def wants_usage(self) -> bool:
        return bool((self.stream_options or {}).get("include_usage"))


class CompletionRequest(SamplingFields):
    prompt: str | list[int] | list[str] | list[list[int]]
    max_tokens: int | None = Field(None, ge=0)
    logprobs: int | None = Field(None, ge=0, le=100)
    echo: bool = False


class ChatRequest(SamplingFields):
    messages: list[dict[str, Any]] = Field(min_length=1)
    tools: list[dict[str, Any]] | None = None
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    logprobs: bool = False
    top_logprobs: int | None = Field(None, ge=0, le=100)


class TokenizeRequest(BaseModel):
    prompt: str | None = None
    messages: list[dict[str, Any]] | None = None


class DetokenizeRequest(BaseModel):
    tokens: list[int]


class UpdateRequest(BaseModel):
    path: str = Field(description="a checkpoint folder, or a GGUF file, on the server's machine")
