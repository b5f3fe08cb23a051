"""The trial: apply a change to a task's tree, restore its tests, run them, read what happened."""

import posixpath

from sandboxes.docker_sandbox import open_sandbox
from sandboxes.sandbox import Sandbox, SandboxSpec
from tasks.instances import AGENT
from tasks.languages.language import Language, named
from tasks.submission import lay_submission, lay_tests
from tasks.task import PatchTask
from tasks.testrun import TestRun, TestStatus

__all__ = ["TestRun", "TestStatus", "run_suite", "run_trial", "sandbox_spec"]


def run_trial(task: PatchTask, patch: str | None, *, run_id: str) -> TestRun:
    """Judge one patch in a fresh container: apply it, restore the tests, run the suite, read the report.

    A patch that can't be applied is a TestRun that says why; its suite is not run. An empty one runs the
    suite on the base commit. Raises SandboxFault for the sandbox's own faults, never for the patch's.
    """
    language = named(task.environment.language)
    with open_sandbox(sandbox_spec(task, run_id=run_id)) as sandbox:
        laid = lay_submission(sandbox, task, patch, language)
        exists = bool(patch and patch.strip())
        if laid.error:
            return TestRun(
                patch_exists=exists, patch_applied=False, apply_error=laid.error, dropped_paths=laid.dropped
            )
        lay_tests(sandbox, task)
        run = run_suite(sandbox, task, language)
    return run.model_copy(
        update={
            "patch_exists": exists,
            "patch_applied": exists,
            "dropped_paths": laid.dropped,
            "touched_paths": laid.touched,
            "parses": laid.parses,
        }
    )


def run_suite(sandbox: Sandbox, task: PatchTask, language: Language) -> TestRun:
    """Run the whole suite on the tree as it stands in the sandbox."""
    for path, content in language.support_files().items():
        sandbox.write(path, content)
    report_folder = posixpath.dirname(language.report_path)
    # The report of a run that came before must not be read for this one's.
    sandbox.exec(["rm", "-rf", report_folder], user=AGENT)
    sandbox.exec(["mkdir", "-p", report_folder], user=AGENT)
    done = sandbox.exec(
        list(task.environment.test_command),
        timeout_s=task.environment.test_timeout_s,
        env=dict(task.environment.env),
        workdir=task.environment.workdir,
        user=AGENT,
    )
    try:
        report = sandbox.read(language.report_path)
    except FileNotFoundError:
        report = None
    read = language.read_report(report, done.text, done.exit_code)
    log = done.text if not read.problem else f"{done.text}\n[patchdeck] {read.problem}\n"
    return TestRun(
        patch_exists=False,
        patch_applied=False,
        results=read.results,
        report_complete=read.complete and not done.timed_out,
        exit_code=done.exit_code,
        timed_out=done.timed_out,
        log=log,
        seconds=done.seconds,
    )


def sandbox_spec(task: PatchTask, *, run_id: str) -> SandboxSpec:
    """What the task's image runs under."""
    return SandboxSpec(
        image=task.environment.image,
        workdir=task.environment.workdir,
        user=AGENT,
        env=dict(task.environment.env),
        network=task.environment.network,
        limits=task.environment.limits,
        run_id=run_id,
    )
