"""The worker's source as one archive, sent over standard input, so that editing it rebuilds no image."""

import hashlib
import io
import zipfile
from functools import cache
from importlib import resources

_PARTS = (
    "sandboxes/browser/capture.py",
    "sandboxes/browser/worker/__init__.py",
    "sandboxes/browser/worker/__main__.py",
    "sandboxes/browser/worker/bounds.py",
    "sandboxes/browser/worker/chromium.py",
    "sandboxes/browser/worker/deck.py",
    "sandboxes/browser/worker/inside.js",
    "sandboxes/browser/worker/look.py",
    "sandboxes/browser/worker/navigate.py",
)
_PACKAGES = ("sandboxes/__init__.py", "sandboxes/browser/__init__.py")

BOOT = (
    "import runpy, sys; stdin = sys.stdin.buffer; size = int(stdin.readline()); "
    "open('/tmp/worker.zip', 'wb').write(stdin.read(size)); sys.path.insert(0, '/tmp/worker.zip'); "
    "runpy.run_module('sandboxes.browser.worker', run_name='__main__')"
)


@cache
def worker_archive() -> bytes:
    """A zip archive, the same bytes for the same source."""
    root = resources.files("sandboxes")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in _PACKAGES:
            archive.writestr(zipfile.ZipInfo(name), b"")
        for name in _PARTS:
            archive.writestr(zipfile.ZipInfo(name), root.joinpath(name.partition("/")[2]).read_bytes())
    return packed.getvalue()


@cache
def worker_digest() -> str:
    return hashlib.sha256(worker_archive() + seccomp_profile().encode()).hexdigest()


@cache
def seccomp_profile() -> str:
    """JSON: every ordinary system call, and of the privileged ones those by which Chromium builds its own
    sandbox."""
    return resources.files("sandboxes.browser").joinpath("seccomp.json").read_text("utf-8")
