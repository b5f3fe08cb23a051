# ruff: noqa: E501
"""What a Python repository declares, in each of the ways that repositories do."""

import pytest

from tasks.languages.python import Python
from tasks.languages.python_declarations import declared


def read(files):
    return declared(sorted(files), lambda path: files[path].encode() if path in files else None)


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        (
            {
                "pyproject.toml": '[project]\nname="p"\n[project.optional-dependencies]\ntest=["attrs"]\ndocs=["x"]'
            },
            {"attrs"},
        ),
        (
            {
                "pyproject.toml": '[project]\nname="p"\n[project.optional-dependencies]\ntest=["p[web]"]\nweb=["attrs"]'
            },
            {"attrs"},
        ),
        (
            {
                "pyproject.toml": '[dependency-groups]\ndev=[{include-group="tests"}, "ruff"]\ntests=["attrs>=2"]'
            },
            {"attrs>=2"},
        ),
        (
            {"pyproject.toml": '[tool.poetry.group.test.dependencies]\nattrs="^1.2"\npython="^3.8"'},
            {"attrs<2,>=1.2"},
        ),
        ({"pyproject.toml": '[tool.poetry.dev-dependencies]\nattrs="~0.3.1"'}, {"attrs<0.4,>=0.3.1"}),
        ({"pyproject.toml": '[tool.hatch.envs.default]\ndependencies=["attrs"]'}, {"attrs"}),
        ({"pyproject.toml": '[tool.flit.metadata.requires-extra]\ntest=["attrs"]'}, {"attrs"}),
        ({"setup.cfg": "[options.extras_require]\ntesting =\n    attrs\n    sphinx\n"}, {"attrs"}),
        (
            {
                "setup.py": "from setuptools import setup\nsetup(tests_require=['attrs'], extras_require={'dev': ['idna']})"
            },
            {"attrs", "idna"},
        ),
        ({"setup.py": "T = ['attrs']\nsetup(tests_require=T)"}, {"attrs"}),
        (
            {
                "tox.ini": "[base]\ndeps = idna\n[testenv]\ndeps =\n  {[base]deps}\n  attrs  # why\n  py27: mock\n  -rrequirements-dev.txt\n",
                "requirements-dev.txt": "six\n",
            },
            {"idna", "attrs", "six"},
        ),
        (
            {
                "requirements/test.txt": "-r base.txt\nattrs\n",
                "requirements/base.txt": "idna==3.4 --hash=sha256:0\n",
            },
            {"attrs", "idna==3.4"},
        ),
        ({"docs/requirements.txt": "sphinx-rtd-theme\nidna\n", "requirements-docs.txt": "six"}, set()),
        ({"tests/requirements.txt": "pytest==3.0\npytest-cov\ngit+https://x/y\n"}, {"pytest", "pytest-cov"}),
    ],
)
def test_declared(files, wanted):
    assert set(read(files).requirements) == wanted


def test_extras_that_setup_py_makes_up_are_left_to_pip():
    assert read({"setup.py": "setup(extras_require={'test': compute(), 'docs': ['x']})"}).extras == ("test",)


@pytest.mark.parametrize("broken", ["[project", "def (", "\x00"])
def test_declarations_that_do_not_parse_declare_nothing(broken):
    assert (
        read(
            {"pyproject.toml": broken, "setup.py": broken, "setup.cfg": broken, "tox.ini": broken}
        ).requirements
        == ()
    )


@pytest.mark.parametrize(
    ("path", "is_test"),
    [
        ("tests/files/x.sql", True),
        ("pkg/tests/util.py", True),
        ("test_parse.py", True),
        ("pkg/parse_test.py", True),
        ("conftest.py", True),
        ("pkg/__snapshots__/a.ambr", True),
        ("pkg/testing.py", False),
        ("pkg/latest.py", False),
        (".github/workflows/tests.yml", False),
        ("contest.py", False),
    ],
)
def test_test_paths(path, is_test):
    assert Python().is_test_path(path) is is_test


@pytest.mark.parametrize(
    "path",
    [
        "pyproject.toml",
        "a/conftest.py",
        "sitecustomize.py",
        "x.pth",
        "pkg/__pycache__/m.pyc",
        "tox.ini",
        "setup.cfg",
        "p.egg-info/x",
    ],
)
def test_paths_that_could_bend_the_judgement_are_protected(path):
    assert Python().is_protected(path)
    assert not Python().is_protected("pkg/mod.py")
