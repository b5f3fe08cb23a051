"""Boxes of class `slide`, one of them marked active; and Google I/O's `slide` elements."""

from sandboxes.browser.convention import Convention

_NAMES = '["active", "current", "present", "selected", "visible", "show", "is-active"]'

ACTIVE_CLASS = Convention(
    name="active-class",
    title="elements of class slide, one active",
    pages="""($$) => {
        const all = $$(".slide");
        const own = all.filter((page) => !all.some((other) => other !== page && other.contains(page)));
        return own.length > 1 ? own : [];
    }""",
    show=f"""function (k) {{
        const names = {_NAMES};
        const pages = [...document.querySelectorAll(".slide")];
        const marked = (name) => pages.filter((page) => page.classList.contains(name));
        for (const name of names.filter((name) => marked(name).length === 1))
            for (const page of pages) page.classList.toggle(name, page === this);
        window.dispatchEvent(new Event("resize"));
    }}""",
)

GOOGLE_IO = Convention(
    name="google-io",
    title="Google I/O slides",
    pages="""($$) => $$("slides > slide").filter((page) => !page.classList.contains("backdrop")
        && !page.classList.contains("hidden"))""",
    show="""function (k) {
        const pages = [...this.parentElement.children].filter((each) => each.localName === "slide"
            && !each.classList.contains("backdrop") && !each.classList.contains("hidden"));
        pages.forEach((page, at) => {
            page.classList.remove("far-past", "past", "current", "next", "far-next");
            page.classList.add(at < k - 1 ? "far-past" : at < k ? "past" : at === k ? "current"
                : at === k + 1 ? "next" : "far-next");
            for (const built of page.querySelectorAll(".to-build")) built.classList.remove("to-build");
        });
    }""",
)
