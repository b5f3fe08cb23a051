"""The instruction of a mined task: the commit's message without what would give the hidden tests away."""

import re
from collections.abc import Iterable

_TRAILER = re.compile(
    r"^\s*(signed-off-by|co-authored-by|reviewed-by|acked-by|tested-by|change-id|cherry[- ]picked|"
    r"\(cherry picked from|assisted-by|generated with|🤖)",
    re.IGNORECASE,
)
_TEST_NAME = re.compile(
    r"(?<!\w)(?:(?:\w+/)*tests?/\S+|test_\w+(?:\.\w+)*|\w+_tests?(?:\.py)?|Test[A-Z]\w*|conftest|tests?\.py)(?!\w)"
)


def instruction(message: str, *, hidden_names: Iterable[str]) -> str:
    """The message, lines that name a test left out; never empty.

    hidden_names are names of hidden tests, their classes and files; the subject keeps its sense, with any
    such name put as "a test".
    """
    names = sorted({n for n in hidden_names if len(n) > 3}, key=len, reverse=True)
    subject, _, body = message.strip().partition("\n")
    for name in names:
        subject = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "a test", subject)
    subject = _TEST_NAME.sub("a test", subject).strip()
    kept = []
    for line in body.splitlines():
        if _TRAILER.match(line):
            continue
        if _TEST_NAME.search(line) or any(re.search(rf"(?<!\w){re.escape(n)}(?!\w)", line) for n in names):
            continue
        kept.append(line.rstrip())
    text = re.sub(r"\n{3,}", "\n\n", "\n".join([subject, *kept])).strip()
    return text or "Mend the defect that this repository's behaviour shows."
