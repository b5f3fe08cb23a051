"""impress.js: steps on a canvas that turns to each."""

from sandboxes.browser.convention import Convention

IMPRESS = Convention(
    name="impress",
    title="impress.js",
    pages="""($$) => $$("#impress .step")""",
    show="function (k) { window.impress().goto(this, 0); }",
    frame="viewport",
)
