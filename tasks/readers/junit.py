"""JUnit XML, as pytest writes it, to the status of every test.

Ids are taken from a `nodeid` property that the runner's plugin records with each test, since class and name
together can't be turned back into a node id that holds dots, brackets or spaces.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tasks.testrun import TestStatus

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_WORST_FIRST: tuple[TestStatus, ...] = ("ERROR", "FAIL", "XFAIL", "SKIP", "XPASS", "PASS")


class BrokenReport(ValueError):
    """The report is cut short, no XML, or disagrees with itself."""


def read(report: bytes) -> dict[str, TestStatus]:
    """Status by id; a file that failed to collect stands under its dotted name.

    Raises BrokenReport.
    """
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import ParseError, fromstring

    try:
        root = fromstring(report)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise BrokenReport(f"the report is not whole XML: {error}") from None
    suites = [root] if root.tag == "testsuite" else root.findall("testsuite")
    if not suites:
        raise BrokenReport("the report holds no test suite")
    results: dict[str, TestStatus] = {}
    for suite in suites:
        cases = suite.findall("testcase")
        _check_counts(suite, cases)
        for case in cases:
            key, status = _identity(case), _status(case)
            # One test is written twice where its call and its teardown both failed.
            results[key] = min((status, results.get(key, "PASS")), key=_WORST_FIRST.index)
    return results


def _check_counts(suite: "Element", cases: "list[Element]") -> None:
    announced = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    try:
        numbers = {name: int(value) for name, value in announced.items() if value is not None}
    except ValueError:
        raise BrokenReport(f"the suite's counts are no numbers: {announced}") from None
    found = {
        "failures": sum(1 for case in cases for _ in case.findall("failure")),
        "errors": sum(1 for case in cases for _ in case.findall("error")),
        "skipped": sum(1 for case in cases for _ in case.findall("skipped")),
    }
    if "tests" not in numbers:
        raise BrokenReport("the suite does not say how many tests it holds")
    for name, count in found.items():
        if name in numbers and numbers[name] != count:
            raise BrokenReport(f"the suite announces {numbers[name]} {name} and holds {count}")
    # Subtests count as tests of their own and share their test's element, so there may be fewer elements.
    if len({_identity(case) for case in cases}) > numbers["tests"]:
        raise BrokenReport(f"the suite announces {numbers['tests']} tests and holds {len(cases)}")


def _properties(case: "Element") -> Iterable[tuple[str, str]]:
    for entry in case.iterfind("properties/property"):
        yield entry.get("name", ""), entry.get("value", "")


def _identity(case: "Element") -> str:
    for name, value in _properties(case):
        if name == "patchdeck.nodeid":
            return value
    return ".".join(part for part in (case.get("classname", ""), case.get("name", "")) if part)


def _status(case: "Element") -> TestStatus:
    if case.find("error") is not None:
        return "ERROR"
    if case.find("failure") is not None:
        return "FAIL"
    skipped = case.find("skipped")
    if skipped is not None:
        return "XFAIL" if skipped.get("type") == "pytest.xfail" else "SKIP"
    if ("patchdeck.xpass", "1") in _properties(case):
        return "XPASS"
    return "PASS"
