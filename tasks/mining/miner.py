"""Mine a history: candidates in, validated tasks out, every step kept so that a killed run goes on."""

import re
import shlex
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sandboxes.images import image_exists
from sandboxes.sandbox import SandboxFault
from tasks.instances import BuildFailed, Instance, build_instance
from tasks.languages.language import Language, NoRecipe
from tasks.mining.expectation import NotATask
from tasks.mining.funnel import MiningFolder, Outcome
from tasks.mining.history import Candidate
from tasks.mining.instruction import instruction
from tasks.mining.origin import Origin
from tasks.mining.validation import validate
from tasks.store import append_task
from tasks.task import Environment, Oracle, PatchTask, Source, Tests
from tasks.testrun import TestRun

_NAMES_IN_TESTS = re.compile(r"^[+ -]?\s*(?:async\s+)?(?:def|class)\s+(\w+)", re.MULTILINE)
_NETWORK_TROUBLE = re.compile(
    r"Temporary failure in name resolution|Name or service not known|NewConnectionError|ConnectTimeoutError|"
    r"Max retries exceeded|ReadTimeoutError|Network is unreachable|CERTIFICATE_VERIFY_FAILED|"
    r"Tunnel connection failed|No space left on device"
)


class MiningFault(RuntimeError):
    """Something that is no candidate's fault kept candidates from being judged."""


class _Stopped(RuntimeError):
    """The run was asked to stop between two trials."""


@dataclass(frozen=True)
class Update:
    """What the display is told. outcome is None where a candidate only begins its next step."""

    candidate: Candidate
    step: str
    outcome: Outcome | None = None


@dataclass(frozen=True)
class Miner:
    """One mining run over an origin's candidates."""

    origin: Origin
    language: Language
    folder: MiningFolder
    run_id: str
    told: Callable[[Update], None]
    failed: dict[str, BuildFailed] = field(default_factory=dict)
    """Environments that could not be built in this run."""

    def mine(self, candidates: list[Candidate], *, workers: int) -> list[Outcome]:
        """Outcomes in the candidates' order; tasks are appended in that order too.

        Raises MiningFault where the engine, the disk or the package index failed; all that was judged stands.
        """
        stop = threading.Event()
        outcomes: dict[str, Outcome] = {}
        fault: Exception | None = None
        pending: dict[Future[Outcome], Candidate] = {}
        pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="mine")
        try:
            for candidate in candidates:
                known = self.folder.outcome(candidate.commit.id)
                if known is not None and self._stands(known):
                    outcomes[known.commit] = known
                    self.told(Update(candidate, "known", known))
                else:
                    pending[pool.submit(self._attempt_again, candidate, stop)] = candidate
            self._release(candidates, outcomes)
            while pending:
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    candidate = pending.pop(future)
                    error = future.exception()
                    if error is None:
                        outcome = future.result()
                        outcomes[outcome.commit] = outcome
                        self.told(Update(candidate, "done", outcome))
                    elif isinstance(error, SandboxFault | OSError):
                        fault = fault or error
                        stop.set()
                        pool.shutdown(wait=False, cancel_futures=True)
                        pending = {f: c for f, c in pending.items() if not f.cancelled()}
                    elif not isinstance(error, _Stopped):
                        raise error
                self._release(candidates, outcomes)
        finally:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
        if fault is not None:
            if isinstance(fault, OSError):
                raise fault
            raise MiningFault(f"mining stopped after {len(outcomes)} candidates: {fault}") from fault
        return [outcomes[candidate.commit.id] for candidate in candidates]

    def _stands(self, known: Outcome) -> bool:
        """Whether what was found needs no second look: a task whose image was pruned is made again."""
        task = self.folder.task(known.commit) if known.validated else None
        return not isinstance(task, PatchTask) or image_exists(task.environment.image)

    def _release(self, candidates: list[Candidate], outcomes: dict[str, Outcome]) -> None:
        """Append finished tasks up to the first candidate that is not finished."""
        for candidate in candidates:
            outcome = outcomes.get(candidate.commit.id)
            if outcome is None:
                return
            if outcome.validated:
                append_task(self.folder.out, self.folder.task(outcome.commit))

    def _attempt_again(self, candidate: Candidate, stop: threading.Event) -> Outcome:
        """One attempt, and a second where the sandbox failed: an engine under load may drop one."""
        try:
            return self._attempt(candidate, stop)
        except SandboxFault:
            if stop.is_set():
                raise
            return self._attempt(candidate, stop)

    def _attempt(self, candidate: Candidate, stop: threading.Event) -> Outcome:
        commit = candidate.commit
        self.folder.begin(commit.id)

        def step(name: str) -> None:
            if stop.is_set():
                raise _Stopped
            self.told(Update(candidate, name))

        step("environment")
        base = commit.parents[0]
        source_patch = self.origin.repository.difference(base, commit.id, candidate.source_paths)
        test_patch = self.origin.repository.difference(base, commit.id, candidate.test_paths)
        try:
            instance = build_instance(
                self.origin.repository, base, self.language, run_id=self.run_id, failed=self.failed
            )
        except NoRecipe as error:
            return self._fell(candidate, Outcome(commit=commit.id, subject=commit.subject, reason=str(error)))
        except BuildFailed as error:
            if _NETWORK_TROUBLE.search(error.log):
                raise SandboxFault(
                    f"the package index or the disk failed while building ({_reason(error.log)}): "
                    "mend it and run the same command again, it goes on from here"
                ) from error
            return self._fell(
                candidate,
                Outcome(
                    commit=commit.id,
                    subject=commit.subject,
                    stage="environment",
                    reason=f"{error.layer}: {_reason(error.log)}",
                    command=error.command,
                    log=self.folder.keep_log(commit.id, "build", error.log),
                ),
            )
        return self._judge(candidate, self._draft(candidate, instance, source_patch, test_patch), step)

    def _judge(self, candidate: Candidate, draft: PatchTask, step: Callable[[str], None]) -> Outcome:
        commit = candidate.commit
        kept = {"log": ""}

        def keep_log(name: str, run: TestRun) -> None:
            kept["log"] = self.folder.keep_log(commit.id, name, run.apply_error or run.log)
            step(name)

        step("before-1")
        try:
            validated = validate(draft, self.language, run_id=self.run_id, keep_log=keep_log)
        except NotATask as error:
            return self._fell(
                candidate,
                Outcome(
                    commit=commit.id,
                    subject=commit.subject,
                    stage="validation",
                    environment_built=True,
                    reason=str(error),
                    command=shlex.join(draft.environment.test_command),
                    log=kept["log"],
                ),
            )
        tests = validated.task.tests
        outcome = Outcome(
            commit=commit.id,
            subject=commit.subject,
            validated=True,
            environment_built=True,
            fail_to_pass=dict(Counter(str(origin) for origin in tests.fail_to_pass.values())),
            pass_to_pass=len(tests.pass_to_pass),
            quarantined=len(tests.quarantined),
        )
        self.folder.finish(outcome, validated.task)
        return outcome

    def _fell(self, candidate: Candidate, outcome: Outcome) -> Outcome:
        if outcome.stage is None:
            outcome = outcome.model_copy(update={"stage": "environment"})
        self.folder.finish(outcome, None)
        return outcome

    def _draft(
        self, candidate: Candidate, instance: Instance, source_patch: str, test_patch: str
    ) -> PatchTask:
        commit = candidate.commit
        message = self.origin.repository.run("log", "-1", "--format=%B", "--encoding=UTF-8", commit.id)
        hidden = {match[1] for match in _NAMES_IN_TESTS.finditer(test_patch)}
        hidden |= {path.rsplit("/", 1)[-1] for path in candidate.test_paths} | set(candidate.test_paths)
        return PatchTask(
            id=f"{self.origin.name.replace('/', '__')}-{commit.id[:7]}",
            instruction=instruction(message.decode("utf-8", "replace"), hidden_names=hidden),
            source=Source(
                repo=self.origin.name,
                base_commit=commit.parents[0],
                fix_commit=commit.id,
                committed_at=datetime.fromisoformat(commit.committed_at).astimezone(UTC),
                subject=commit.subject,
            ),
            environment=Environment(
                image=instance.image,
                recipe=instance.recipe,
                language=self.language.name,
                test_command=self.language.test_command(),
                env=instance.env,
            ),
            tests=Tests(files=candidate.test_paths),
            oracle=Oracle(gold_patch=source_patch, test_patch=test_patch),
        )


def _reason(log: str) -> str:
    """The line of a build's log that says most about why it failed."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    raised = [line for line in lines if re.match(r"[\w.]*(?:Error|Exception): ", line)]
    telling = raised or [line for line in lines if re.match(r"(?:ERROR|error|fatal)\b", line)]
    return (telling[-1] if telling else lines[-1] if lines else "it printed nothing")[:300]
