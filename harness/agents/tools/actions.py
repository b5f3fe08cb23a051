"""What the conversational agent can do, as tools of the API and as commands in the sandbox."""

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sandboxes.sandbox import Sandbox
from tasks.task import PatchTask

OBSERVATION_LIMIT = 12_000
"""Characters of one observation that the model is shown; the middle is left out."""
COMMAND_S = 120.0


class BadAction(ValueError):
    """The model asked for something that can't be done; the message is its observation."""


def _tool(name: str, description: str, **parameters: tuple[str, str]) -> dict[str, Any]:
    properties = {key: {"type": kind, "description": text} for key, (kind, text) in parameters.items()}
    required = [key for key, (_, text) in parameters.items() if not text.startswith("Optional")]
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {"type": "object", "properties": properties, "required": required},
        },
    }


TOOLS = [
    _tool(
        "search",
        "Lines that match a regular expression, with file and line number.",
        pattern=("string", "Extended regular expression."),
        path=("string", "Optional folder or file to look in; the whole tree otherwise."),
    ),
    _tool(
        "view",
        "A file with line numbers, or a folder's entries.",
        path=("string", "File or folder, relative to the tree."),
        first=("integer", "Optional first line, from 1."),
        last=("integer", "Optional last line."),
    ),
    _tool(
        "edit",
        "Replace text that occurs once in a file; with an empty `old`, write the whole file.",
        path=("string", "File, relative to the tree."),
        old=("string", "The exact text to replace, or nothing."),
        new=("string", "What stands in its place."),
    ),
    _tool("run", "Run a shell command in the tree.", command=("string", "A bash command.")),
    _tool(
        "submit",
        "Submit the tree as it is. Ends the work.",
        explanation=("string", "What was wrong, and what the change does."),
    ),
]


@dataclass
class Actions:
    """Carries out the model's actions in the sandbox. files_read fills with what was viewed."""

    sandbox: Sandbox
    task: PatchTask
    files_read: set[str] = field(default_factory=set)

    def carry_out(self, name: str, arguments: dict[str, Any]) -> tuple[str, int | None]:
        """The observation and the command's exit code. Raises BadAction, TypeError for wrong arguments."""
        actions: dict[str, Callable[..., tuple[str, int | None]]] = {
            "search": self.search,
            "view": self.view,
            "edit": self.edit,
            "run": self.run,
        }
        if name not in actions:
            raise BadAction(f"there is no tool {name!r}: use {', '.join([*actions, 'submit'])}")
        return actions[name](**arguments)

    def search(self, pattern: str, path: str = ".") -> tuple[str, int | None]:
        wanted, where = shlex.quote(pattern), shlex.quote(path)
        found, code = self.run(f"grep -rnIE --exclude-dir=.git -m 40 -e {wanted} -- {where} | head -n 200")
        return found or "nothing matches", code

    def view(self, path: str, first: int = 1, last: int = 0) -> tuple[str, int | None]:
        self.files_read.add(path.removeprefix("./"))
        lines = shlex.quote(f"{max(int(first), 1)},{int(last) if last else '$'}p")
        where = shlex.quote(path)
        shown = f"cat -n -- {where} | sed -n {lines}"
        return self.run(f"if [ -d {where} ]; then ls -A -p {where}; else {shown}; fi")

    def edit(self, path: str, new: str, old: str = "") -> tuple[str, int | None]:
        place = self._inside(path)
        if not old:
            self.sandbox.write(place, new.encode())
            return f"{path} written", 0
        try:
            text = self.sandbox.read(place).decode("utf-8")
        except FileNotFoundError:
            raise BadAction(f"{path} is no file") from None
        except UnicodeDecodeError:
            raise BadAction(f"{path} is not text in UTF-8: use run") from None
        count = text.count(old)
        if count != 1:
            raise BadAction(f"`old` occurs {count} times in {path}: give text that occurs once")
        self.sandbox.write(place, text.replace(old, new).encode())
        return f"{path} changed", 0

    def run(self, command: str) -> tuple[str, int | None]:
        environment = self.task.environment
        done = self.sandbox.exec(
            ["bash", "-c", command],
            timeout_s=COMMAND_S,
            workdir=environment.workdir,
            env=dict(environment.env),
        )
        if done.timed_out:
            return f"{clipped(done.text)}\nstopped after {COMMAND_S:.0f} s", None
        return clipped(done.text), done.exit_code

    def _inside(self, path: str) -> str:
        root = self.task.environment.workdir
        relative = path.removeprefix(f"{root}/").removeprefix("./")
        if relative.startswith("/") or ".." in relative.split("/"):
            raise BadAction(f"{path} lies outside the tree")
        return f"{root}/{relative}"


def clipped(text: str) -> str:
    if len(text) <= OBSERVATION_LIMIT:
        return text
    half = OBSERVATION_LIMIT // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters left out …\n{text[-half:]}"


def parsed(arguments: str) -> dict[str, Any]:
    """A tool call's arguments. Raises BadAction where they are no JSON object."""
    try:
        value = json.loads(arguments or "{}")
    except ValueError as error:
        raise BadAction(f"the arguments are not JSON ({error})") from None
    if not isinstance(value, dict):
        raise BadAction("the arguments must be a JSON object")
    return value
