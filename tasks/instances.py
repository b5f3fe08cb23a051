"""Images of a task: base, then an environment shared by commits, then the tree at one commit alone."""

import hashlib
import io
import json
import shlex
import stat
import tarfile
from dataclasses import dataclass

from filelock import FileLock
from platformdirs import user_cache_path

from sandboxes.images import build_image, ensure_base, image_exists
from sandboxes.sandbox import RUN_LABEL
from tasks.git import Repository, TreeEntry
from tasks.languages.language import EnvironmentRecipe, Language
from tasks.task import ImageRecipe

WORKDIR = "/testbed"
AGENT = "agent"
_TREE = "/tmp/patchdeck-tree.tar"
_LAYOUT = 6
"""Raised whenever what stands around the recipe's commands changes, so that older images are not used."""
BUILD_TIMEOUT_S = 1200.0


class BuildFailed(RuntimeError):
    """A command of the recipe failed: the repository's fault, not the engine's. Carries command and log."""

    def __init__(self, layer: str, command: str, log: str) -> None:
        super().__init__(f"the {layer} can't be built: `{command}` failed")
        self.layer, self.command, self.log = layer, command, log


@dataclass(frozen=True)
class Instance:
    """An image that holds one tree, and the recipe it came from."""

    image: str
    recipe: ImageRecipe
    env: dict[str, str]


def tree_archive(repository: Repository, commit: str) -> bytes:
    """The commit's tree as a tar: blobs as stored (no export or line-end rules), submodules empty."""
    entries = repository.tree(commit)
    files = [entry for entry in entries if entry.mode != "160000"]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for entry, content in zip(files, repository.blobs(e.object_id for e in files), strict=True):
            member = _member(entry)
            if entry.mode == "120000":
                member.type = tarfile.SYMTYPE
                member.linkname = content.decode("utf-8", "surrogateescape")
                archive.addfile(member)
            else:
                member.mode = stat.S_IMODE(int(entry.mode, 8))
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        for entry in entries:
            if entry.mode == "160000":
                member = _member(entry)
                member.type, member.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(member)
    return out.getvalue()


def _member(entry: TreeEntry) -> tarfile.TarInfo:
    member = tarfile.TarInfo(entry.path)
    # A fixed time gives equal bytes; wheels can't hold one before 1980.
    member.mtime = 946684800
    return member


def build_instance(
    repository: Repository, commit: str, language: Language, *, run_id: str, failed: dict[str, BuildFailed]
) -> Instance:
    """The image of the tree at `commit`, made where it is not there yet.

    failed: environments that could not be built, by key; those are not tried again, a new one is added.

    Raises BuildFailed for a command of the repository's own recipe, NoRecipe, SandboxFault for the engine.
    """
    entries = {entry.path: entry for entry in repository.tree(commit)}
    recipe = language.recipe(sorted(entries), lambda path: repository.blob(commit, path))
    environment, key = _environment(repository, commit, recipe, run_id, failed)
    digest = _digest(
        key, *recipe.instance_commands, *(f"{e.mode} {e.object_id} {p}" for p, e in entries.items())
    )
    image = f"patchdeck/instance:{digest}"
    if not image_exists(image):
        result = build_image(
            environment,
            [*_lay_tree(), *_in_tree(recipe.instance_commands), *_settle()],
            tag=image,
            files={_TREE: tree_archive(repository, commit)},
            labels={RUN_LABEL: run_id, "patchdeck.image": "instance"},
            timeout_s=BUILD_TIMEOUT_S,
        )
        if not result.ok:
            raise BuildFailed("instance image", result.failed_command, result.log)
    made = ImageRecipe(
        base=recipe.base,
        commands=(*recipe.environment_commands, *recipe.instance_commands),
        key=key,
    )
    return Instance(image, made, recipe.env)


def _environment(
    repository: Repository,
    commit: str,
    recipe: EnvironmentRecipe,
    run_id: str,
    failed: dict[str, BuildFailed],
) -> tuple[str, str]:
    base = ensure_base(recipe.base)
    contents = (f"{path}\0{(repository.blob(commit, path) or b'').hex()}" for path in recipe.declarations)
    key = _digest(base, str(_LAYOUT), json.dumps(recipe.env), *recipe.environment_commands, *contents)
    image = f"patchdeck/environment:{key}"
    # Two workers, or two miners, that want the same environment: one builds, the other waits for it.
    locks = user_cache_path("patchdeck", ensure_exists=True) / "locks"
    locks.mkdir(exist_ok=True)
    with FileLock(locks / f"environment-{key}.lock"):
        if key in failed:
            raise failed[key]
        if not image_exists(image):
            result = build_image(
                base,
                [
                    *_prepare(),
                    *_in_tree(recipe.environment_commands),
                    f"find {WORKDIR} -mindepth 1 -delete",
                ],
                tag=image,
                files={_TREE: tree_archive(repository, commit)},
                labels={RUN_LABEL: run_id, "patchdeck.image": "environment"},
                timeout_s=BUILD_TIMEOUT_S,
            )
            if not result.ok:
                failed[key] = BuildFailed("environment", result.failed_command, result.log)
                raise failed[key]
    return image, key


def _in_tree(commands: tuple[str, ...]) -> list[str]:
    return [f"cd {WORKDIR} && {command}" for command in commands]


def _prepare() -> list[str]:
    return [
        f"id {AGENT} >/dev/null 2>&1 || useradd --create-home --shell /bin/bash {AGENT}",
        f"git config --system --replace-all safe.directory {WORKDIR}",
        f"mkdir -p {WORKDIR} && tar -xf {_TREE} -C {WORKDIR} --no-same-owner && rm {_TREE}",
    ]


def _lay_tree() -> list[str]:
    """The tree in a repository of one commit: no later object, tag, reflog or remote holds the answer."""
    commit = " && ".join(
        [
            f"cd {WORKDIR}",
            "git init -q -b main --template=",
            "git config user.name patchdeck",
            "git config user.email patchdeck@localhost",
            "git config core.logAllRefUpdates false",
            "git config gc.auto 0",
            "git config core.autocrlf false",
            "mkdir -p .git/info",
            "git add -A -f",
            "GIT_AUTHOR_DATE='2000-01-01T00:00:00Z' GIT_COMMITTER_DATE='2000-01-01T00:00:00Z' "
            "git commit -q --allow-empty -m base",
        ]
    )
    return [
        f"mkdir -p {WORKDIR} && tar -xf {_TREE} -C {WORKDIR} --no-same-owner && rm {_TREE}",
        f"chown -R {AGENT}:{AGENT} {WORKDIR}",
        f"su {AGENT} -s /bin/sh -c {shlex.quote(commit)}",
    ]


def _settle() -> list[str]:
    """What the install left in the tree belongs to the image, not to anybody's change."""
    untracked = "git ls-files --others --exclude-standard --directory"
    # Some setup scripts rewrite files of the tree, such as a README made from a docstring.
    exclude = (
        f"cd {WORKDIR} && git checkout -q -f HEAD -- . && {untracked} | sed 's|^|/|' >> .git/info/exclude"
    )
    return [
        f"chown -R {AGENT}:{AGENT} {WORKDIR}",
        f"su {AGENT} -s /bin/sh -c {shlex.quote(exclude)}",
    ]


def _digest(*parts: str) -> str:
    hasher = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogateescape")
        hasher.update(len(encoded).to_bytes(8, "big") + encoded)
    return hasher.hexdigest()[:24]
