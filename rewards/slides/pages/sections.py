"""Bare sections: WebSlides, DZSlides, html5rocks' template, and plain `section` after `section`."""

from sandboxes.browser.convention import Convention

WEBSLIDES = Convention(
    name="webslides",
    title="WebSlides",
    pages="""($$) => $$("#webslides > section, #webslides > .slides > section")""",
    show="""function (k) {
        const deck = window.ws;
        if (deck && deck.goToSlide) deck.goToSlide(k);
        else location.hash = `#slide=${k + 1}`;
    }""",
)

DZSLIDES = Convention(
    name="dzslides",
    title="DZSlides",
    pages="""($$, { body }) => {
        const own = window.document.querySelector("script, link, style") &&
            [...body().children].filter((child) => child.localName === "section");
        const marked = own && own.some((page) => page.hasAttribute("aria-selected"));
        return marked ? own : [];
    }""",
    show="""function (k) {
        if (window.Dz && window.Dz.setCursor) window.Dz.setCursor(k + 1, 0);
        else location.hash = `#${k + 1}.0`;
        for (const page of this.parentElement.children)
            if (page.localName === "section") {
                if (page === this) page.setAttribute("aria-selected", "true");
                else page.removeAttribute("aria-selected");
            }
    }""",
)

HTML5ROCKS = Convention(
    name="html5rocks",
    title="html5rocks (articles in section.slides)",
    pages="""($$) => $$("section.slides > article")""",
    show="""function (k) {
        const pages = [...this.parentElement.children].filter((each) => each.localName === "article");
        pages.forEach((page, at) => {
            page.classList.remove("far-past", "past", "current", "next", "far-next");
            page.classList.add(at < k - 1 ? "far-past" : at < k ? "past" : at === k ? "current"
                : at === k + 1 ? "next" : "far-next");
        });
    }""",
    frame="viewport",
)

SECTIONS = Convention(
    name="sections",
    title="bare sections",
    pages="""($$, { body, rect }) => {
        for (const outer of [body(), ...$$("main, body > div, .slides, .deck, .presentation")]) {
            const own = [...outer.children].filter((child) => child.localName === "section");
            const others = [...outer.children].filter((child) => !own.includes(child));
            const rest = others.filter((child) => rect(child).height > 200);
            if (own.length > 1 && own.length > rest.length) return own;
        }
        return [];
    }""",
    show="""function (k) {
        const names = ["active", "current", "present", "selected", "visible", "show", "is-active"];
        const pages = [...this.parentElement.children].filter((each) => each.localName === "section");
        const marked = (name) => pages.filter((page) => page.classList.contains(name));
        for (const name of names.filter((name) => marked(name).length === 1))
            for (const page of pages) page.classList.toggle(name, page === this);
    }""",
)
