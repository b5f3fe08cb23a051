"""One Chromium with its own sandbox on, started and ended inside the container."""

import asyncio
import os
import signal
from pathlib import Path

from playwright.async_api import Browser, Playwright
from playwright.async_api import Error as BrowserError

EXECUTABLE = "/usr/bin/chromium"
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")

FLAGS = (
    "--font-render-hinting=none",
    "--disable-lcd-text",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--disable-blink-features=AutomationControlled",
    # Animated pictures stay on their first frame, so that a capture does not depend on its moment.
    "--blink-settings=imageAnimationPolicy=2",
    "--autoplay-policy=document-user-activation-required",
    "--js-flags=--max-old-space-size=512",
    "--disable-gpu",
    "--renderer-process-limit=4",
)


class ChromiumLost(RuntimeError):
    """Chromium does not start in this container: the set-up is at fault, not a page."""


async def launch(playwright: Playwright) -> Browser:
    """A running Chromium. Raises ChromiumLost; it never falls back to running without its sandbox."""
    try:
        return await playwright.chromium.launch(
            executable_path=EXECUTABLE,
            headless=True,
            chromium_sandbox=True,
            args=list(FLAGS),
            ignore_default_args=["--enable-automation"],
            timeout=60_000,
        )
    except BrowserError as error:
        raise ChromiumLost(f"Chromium did not start with its sandbox on: {error.message[:2000]}") from error


def agent_string(browser: Browser) -> str:
    major = browser.version.partition(".")[0]
    return (
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
        f"Chrome/{major}.0.0.0 Safari/537.36"
    )


def processes() -> list[int]:
    """Process ids of every Chromium process in this container."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if command.startswith((b"/usr/lib/chromium/", b"/usr/bin/chromium")):
                found.append(int(entry.name))
    return found


def cpu_seconds() -> float:
    """Processor time used so far by the Chromium processes that live now."""
    total = 0.0
    for pid in processes():
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12])) / CLOCK_TICKS
    return total


async def kill(browser: Browser) -> None:
    """End the browser for certain: close can hang for ever on a renderer that loops."""
    for pid in processes():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    try:
        await asyncio.wait_for(browser.close(), 5.0)
    except (TimeoutError, BrowserError):
        return
