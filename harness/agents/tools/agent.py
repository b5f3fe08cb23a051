"""The conversational agent: one loop over messages, by tool calls or by bash blocks in plain text."""

import re
import time
from typing import Any

from harness.agents.agent import Attempt, Outcome
from harness.agents.tools.actions import TOOLS, Actions, BadAction, parsed
from harness.endpoint.endpoint import ChatReply, ContextExceeded, Endpoint, ToolsRefused
from harness.episode import ExitStatus, Sampling, Step
from rewards.submission import Submission

BLOCK = re.compile(r"```(?:bash|sh|shell)[ \t]*\n(.*?)```", re.DOTALL)
SUBMIT = "submit"
REPLY_TOKENS = 2048

SYSTEM = (
    "You mend defects in a source tree. Find the cause, change the source (not the tests), run the tests, "
    "and submit when they pass. The tree is your working folder; there is no network."
)
BY_TEXT = (
    "Answer with one block of bash at a time, opened by ```bash and closed by ```; its output comes back to "
    "you. When the tree is mended, answer with a block that holds only the word submit."
)
NUDGE = "That held no action. "


class Tools:
    """Asks for actions by tool calls, or (`text`) by bash blocks; `auto` tries the first and falls back."""

    name = "tools"
    needs_model = True

    def __init__(self, mode: str = "auto") -> None:
        self.mode = mode

    def attempt(self, attempt: Attempt) -> Outcome:
        if attempt.endpoint is None:
            raise ValueError("the agent tools needs a model")
        return _Conversation(
            attempt, attempt.endpoint, by_text=self.mode == "text", may_fall_back=self.mode == "auto"
        ).hold()


class _Conversation:
    def __init__(self, attempt: Attempt, endpoint: Endpoint, *, by_text: bool, may_fall_back: bool) -> None:
        self.given, self.endpoint = attempt, endpoint
        self.by_text, self.may_fall_back = by_text, may_fall_back
        self.actions = Actions(attempt.sandbox, attempt.task)
        self.until = time.monotonic() + attempt.budget.seconds
        self.messages: list[dict[str, Any]] = [
            {"role": "system", "content": SYSTEM + (f"\n{BY_TEXT}" if by_text else "")},
            {"role": "user", "content": self._request()},
        ]

    def _request(self) -> str:
        lines = [self.given.task.instruction]
        if self.given.failing_tests:
            shown = "\n".join(self.given.failing_tests[:50])
            command = " ".join(self.given.task.environment.test_command)
            lines += ["", f"These tests fail and must pass:\n{shown}", f"The whole suite runs by: {command}"]
        return "\n".join(lines)

    def hold(self) -> Outcome:
        for turn in range(self.given.budget.turns):
            if time.monotonic() > self.until:
                return self._submission("timeout", "the time was used up")
            if self._spent() > self.given.budget.model_tokens:
                return self._submission("budget", "the tokens were used up")
            try:
                reply = self._ask(turn)
            except ContextExceeded:
                return self._submission("budget", "the conversation outgrew the model's context")
            self.messages.append(reply.message)
            explanation = self._act(reply)
            if explanation is not None:
                return self._submission("submitted", "", explanation)
        return self._submission("budget", "the turns were used up")

    def _ask(self, turn: int) -> ChatReply:
        sampling = Sampling(
            temperature=0.7 if self.given.seed else 0.0,
            seed=(self.given.seed + turn) % 2**31,
            max_tokens=REPLY_TOKENS,
        )
        try:
            reply = self.endpoint.chat(
                self.messages, tools=None if self.by_text else TOOLS, sampling=sampling
            )
        except ToolsRefused:
            if not self.may_fall_back:
                raise
            self._go_by_text()
            reply = self.endpoint.chat(self.messages, sampling=sampling)
        self.given.recorder.calls.append(reply.call)
        return reply

    def _go_by_text(self) -> None:
        self.by_text, self.may_fall_back = True, False
        self.messages[0] = {"role": "system", "content": f"{SYSTEM}\n{BY_TEXT}"}

    def _act(self, reply: ChatReply) -> str | None:
        """Do what the message asks; the explanation where it submits, else None."""
        calls = reply.message.get("tool_calls") or []
        blocks = BLOCK.findall(reply.message.get("content") or "")
        if not calls and blocks and self.may_fall_back:
            self._go_by_text()
        if self.by_text:
            return self._by_block(blocks, reply)
        if not calls:
            self.messages.append(
                {"role": "user", "content": f"{NUDGE}Call a tool; call submit when you are done."}
            )
            return None
        explanation = None
        for call in calls:
            function = call["function"]
            if function["name"] == SUBMIT:
                explanation = self._explanation(function["arguments"])
                observation = "submitted"
            else:
                observation = self._observed(function["name"], function["arguments"], reply)
            self.messages.append({"role": "tool", "tool_call_id": call["id"], "content": observation})
        return explanation

    def _by_block(self, blocks: list[str], reply: ChatReply) -> str | None:
        if not blocks:
            self.messages.append({"role": "user", "content": f"{NUDGE}{BY_TEXT}"})
            return None
        command = blocks[0].strip()
        if command == SUBMIT:
            return BLOCK.sub("", reply.message.get("content") or "").strip()
        started = time.monotonic()
        observation, code = self.actions.run(command)
        self._record("run", command, observation, code, started, reply)
        self.messages.append({"role": "user", "content": f"exit code {code}\n{observation}"})
        return None

    def _observed(self, name: str, arguments: str, reply: ChatReply) -> str:
        started = time.monotonic()
        code: int | None = None
        try:
            observation, code = self.actions.carry_out(name, parsed(arguments))
        except BadAction as error:
            observation = f"error: {error}"
        except (TypeError, ValueError) as error:
            observation = f"error: the arguments of {name} are wrong: {error}"
        self._record(name, arguments, observation, code, started, reply)
        return observation if code in (0, None) else f"exit code {code}\n{observation}"

    def _explanation(self, arguments: str) -> str:
        try:
            return str(parsed(arguments).get("explanation", ""))
        except BadAction:
            return ""

    def _record(
        self, name: str, argument: str, observation: str, code: int | None, started: float, reply: ChatReply
    ) -> None:
        steps = self.given.recorder.steps
        steps.append(
            Step(
                index=len(steps),
                name=name,
                argument=argument,
                observation=observation,
                exit_code=code,
                seconds=round(time.monotonic() - started, 3),
                calls=(reply.call.id,),
            )
        )

    def _spent(self) -> int:
        return sum(call.prompt_tokens + call.output_tokens for call in self.given.recorder.calls)

    def _submission(self, status: ExitStatus, reason: str, explanation: str = "") -> Outcome:
        patch = self.given.sandbox.tree_difference().decode("utf-8", "surrogateescape")
        submission = Submission(
            task_id=self.given.task.id,
            patch=patch,
            explanation=explanation,
            files_read=tuple(sorted(self.actions.files_read)),
        )
        return Outcome(submission, status if patch.strip() or status != "submitted" else "empty", reason)
