"""Loaded into pytest inside the sandbox: records each test's own node id in the JUnit report.

It imports nothing of this project and keeps to what pytest has offered since 4.
"""

import pytest  # type: ignore[import-not-found, unused-ignore]


@pytest.hookimpl(trylast=True)  # type: ignore[untyped-decorator, unused-ignore]
def pytest_itemcollected(item):  # type: ignore[no-untyped-def]
    item.user_properties.append(("patchdeck.nodeid", item.nodeid))


@pytest.hookimpl(hookwrapper=True, tryfirst=True)  # type: ignore[untyped-decorator, unused-ignore]
def pytest_runtest_makereport(item, call):  # type: ignore[no-untyped-def]
    outcome = yield
    report = outcome.get_result()
    if report.when == "call" and report.passed and hasattr(report, "wasxfail"):
        item.user_properties.append(("patchdeck.xpass", "1"))
