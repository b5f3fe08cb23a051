"""One browser for all tests that render pages: a container's start is most of what a small deck costs."""

from collections.abc import Callable, Iterator

import pytest

from rewards.slides.pages.conventions import ONE_FILE
from sandboxes.browser.capture import DeckCapture
from sandboxes.browser.session import BrowserSession, open_browser

Capture = Callable[..., DeckCapture]


@pytest.fixture(scope="session")
def browser() -> Iterator[BrowserSession]:
    with open_browser("test-browser") as session:
        yield session


@pytest.fixture(scope="session")
def capture(browser: BrowserSession) -> Capture:
    """Capture a deck given as the text of its one file, and files beside it."""

    def captured(
        html: str, files: dict[str, bytes] | None = None, *, navigation: bool = False
    ) -> DeckCapture:
        return browser.capture(
            {"index.html": html.encode(), **(files or {})}, "index.html", ONE_FILE, navigation=navigation
        )

    return captured
