"""Messages to prompt text by the checkpoint's own template, sandboxed: it is code from a download."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment


class ChatError(ValueError):
    """Messages that the model's chat template can't render."""


class ChatTemplate:
    def __init__(self, source: str) -> None:
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _refuse
        environment.filters["tojson"] = lambda value, **options: json.dumps(
            value, ensure_ascii=False, **options
        )
        self._template = environment.from_string(source)
        self.knows_tools = "tools" in source

    def render(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None = None
    ) -> str:
        """The prompt, ready for the assistant's turn. A template that ignores tools drops them."""
        try:
            return self._template.render(
                messages=[_plain(message) for message in messages],
                tools=list(tools) if tools else None,
                add_generation_prompt=True,
            )
        except TemplateError as error:
            raise ChatError(f"the chat template refused the messages: {error}") from error


def _plain(message: Mapping[str, Any]) -> dict[str, Any]:
    """The message with its content as one string, as small models' templates want it."""
    content = message.get("content")
    if isinstance(content, list):
        if any(part.get("type") != "text" for part in content):
            raise ChatError("this model reads text only: leave out the other parts of the message's content")
        content = "".join(str(part.get("text", "")) for part in content)
    return {**message, "content": content or ""}


def _refuse(reason: str) -> None:
    raise ChatError(f"the chat template refused the messages: {reason}")
