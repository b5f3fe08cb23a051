"""Agents by name, each imported when it is asked for."""

from harness.agents.agent import Agent
from harness.agents.controls import KnownPatch

NAMES = ("pipeline", "tools", "gold", "empty")
NEED_MODEL = frozenset({"pipeline", "tools"})


class UnknownAgent(ValueError):
    """No agent has this name."""


def agent_named(name: str, *, tool_mode: str = "auto") -> Agent | KnownPatch:
    """The agent. tool_mode (auto, native, text) is how `tools` asks for its actions."""
    if name == "pipeline":
        from harness.agents.pipeline.agent import Pipeline

        return Pipeline()
    if name == "tools":
        from harness.agents.tools.agent import Tools

        return Tools(tool_mode)
    if name in ("gold", "empty"):
        from harness.agents.controls import Empty, Gold

        return Gold() if name == "gold" else Empty()
    raise UnknownAgent(f"there is no agent {name!r}: give one of {', '.join(NAMES)} as --agent")
