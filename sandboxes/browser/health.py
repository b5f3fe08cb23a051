"""What `patchdeck doctor` asks of the browser."""


def checks() -> list[tuple[str, bool, str, str]]:
    """(name, ok, state, cure) of the browser image. Never raises."""
    from sandboxes.base import base_tag
    from sandboxes.browser.image import image_tag
    from sandboxes.build import image_exists
    from sandboxes.sandbox import SandboxFault

    tag = image_tag(base_tag())
    try:
        present = image_exists(tag)
    except SandboxFault:
        return [("browser image", False, "unknown without an engine", "patchdeck setup")]
    state = tag if present else "not made yet"
    return [("browser image", present, state, "" if present else "patchdeck setup")]
