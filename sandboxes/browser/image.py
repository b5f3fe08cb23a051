"""The browser's image: Debian's Chromium, fonts and the `playwright` package on the project's own base."""

import hashlib
from collections.abc import Callable

from sandboxes.images import build_image, ensure_base, image_exists
from sandboxes.sandbox import SandboxFault

PLAYWRIGHT = "1.49"
"""Lowest version; what was installed shows in the image's own digest."""
USER_ID = 1400
PYTHON = "/opt/worker/bin/python"

COMMANDS = (
    # What is not laid down need not be stored: documentation, translations, the browser's own languages.
    "printf '%s\\n' 'path-exclude=/usr/share/doc/*' 'path-exclude=/usr/share/man/*' "
    "'path-exclude=/usr/share/locale/*' "
    "'path-exclude=/usr/lib/chromium/locales/*' 'path-include=/usr/lib/chromium/locales/en-US.pak' "
    "> /etc/dpkg/dpkg.cfg.d/slim",
    "apt-get update -q",
    "apt-get install -q -y --no-install-recommends chromium libatomic1 fonts-liberation "
    "fonts-dejavu-core fonts-noto-cjk fonts-noto-color-emoji",
    "python3 -m venv /opt/worker && "
    f"/opt/worker/bin/pip install -q --no-cache-dir 'playwright>={PLAYWRIGHT}'",
    # Software rendering by the browser's own library: the system's drivers and their compiler are never
    # loaded.
    "rm -rf /usr/lib/*-linux-gnu/libLLVM* /usr/lib/*-linux-gnu/dri /usr/lib/*-linux-gnu/libz3* "
    "/usr/share/icons",
    "/opt/worker/bin/pip uninstall -q -y setuptools pip; "
    "rm -rf /opt/worker/lib/python3*/site-packages/playwright/driver/package/lib/vite",
    f"useradd --create-home --uid {USER_ID} pages",
    "fc-cache -f; apt-get clean; rm -rf /var/lib/apt/lists/* /root/.cache",
    "/usr/bin/chromium --version",
)


def image_tag(base: str) -> str:
    """Tag keyed by everything the image is made from."""
    made_from = "\n".join((base, *COMMANDS))
    return f"patchdeck/browser:{hashlib.sha256(made_from.encode()).hexdigest()[:16]}"


def ensure_browser_image(report: Callable[[str], None] | None = None) -> str:
    """Tag of the browser image, built where it is not there (about a minute). Raises SandboxFault."""
    base = ensure_base(report=report)
    tag = image_tag(base)
    if image_exists(tag):
        return tag
    if report is not None:
        report("building the browser image (Chromium, fonts): about a minute")
    result = build_image(base, COMMANDS, tag=tag, timeout_s=1800.0)
    if not result.ok:
        last = " | ".join(result.log.strip().splitlines()[-3:])
        raise SandboxFault(
            f"the browser image could not be built, `{result.failed_command[:80]}` failed ({last[:400]}): "
            "check that apt and pip reach their indexes, then run `patchdeck setup` again"
        )
    return tag
