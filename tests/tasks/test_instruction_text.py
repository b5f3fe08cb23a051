"""The instruction says what is wrong and no test's name."""

from tasks.mining.instruction import instruction

MESSAGE = """Fix Table.render for test_empty_table (#12)

The header was dropped where the table is empty.
See tests/test_tables.py::TestTable for a case.

* Add TestRender to cover it
* Keep the latest.version file

Signed-off-by: A <a@b>
Co-authored-by: C <c@d>
"""


def test_names_of_tests_and_trailers_go():
    text = instruction(MESSAGE, hidden_names=["test_empty_table", "TestTable", "tests/test_tables.py"])
    assert text == (
        "Fix Table.render for a test (#12)\n\n"
        "The header was dropped where the table is empty.\n\n"
        "* Keep the latest.version file"
    )


def test_a_message_that_is_only_a_name_still_says_something():
    assert instruction("\n", hidden_names=[]).endswith(".")


def test_a_hidden_name_inside_a_longer_word_stays():
    assert instruction("Fix renderer", hidden_names=["render"]) == "Fix renderer"
