"""The conventions in the order in which they are tried."""

from rewards.slides.pages.classes import ACTIVE_CLASS, GOOGLE_IO
from rewards.slides.pages.generic import DOCUMENT, GENERIC
from rewards.slides.pages.impress import IMPRESS
from rewards.slides.pages.marp import MARP
from rewards.slides.pages.reveal import REVEAL
from rewards.slides.pages.sections import DZSLIDES, HTML5ROCKS, SECTIONS, WEBSLIDES
from rewards.slides.pages.shower import SHOWER
from rewards.slides.pages.slidev import SLIDEV
from sandboxes.browser.convention import Convention

ONE_FILE: tuple[Convention, ...] = (
    REVEAL,
    MARP,
    IMPRESS,
    SHOWER,
    SLIDEV,
    WEBSLIDES,
    DZSLIDES,
    HTML5ROCKS,
    GOOGLE_IO,
    ACTIVE_CLASS,
    SECTIONS,
    GENERIC,
    DOCUMENT,
)
"""For a document that holds all pages."""

FOLDER: tuple[Convention, ...] = (DOCUMENT,)
"""For a folder in which every file is a page."""

UNKNOWN = frozenset({"generic", "document"})
"""Names that say no known convention fitted."""
