"""What a page shows, and that nothing in it can run."""

import json
from pathlib import Path

import pytest
from selectolax.lexbor import LexborHTMLParser
from typer.testing import CliRunner

from patchdeck.cli import application
from reports.page import index_page, run_page
from reports.run_files import RunUnreadable, read_run, read_runs
from tests.reports.conftest import write_run


def page_of(folder: Path) -> LexborHTMLParser:
    return LexborHTMLParser(run_page(read_run(folder), read_runs(folder.parent)))


def test_hostile_text_is_text(hostile_run: Path) -> None:
    page = page_of(hostile_run)
    assert page.css("script, iframe, img, object, embed, link, base, form") == []
    assert not [n for n in page.css("*") if any(name.startswith("on") for name in n.attributes)]
    assert not [
        n
        for n in page.css("[href]")
        if not (n.attributes["href"] or "").startswith(("#", "data:image", "../"))
    ]
    shown = page.body.text() if page.body else ""
    assert "<script>document.title='pwned'" in shown
    assert "\\x1b[31mred" in shown and "\\u202e" in shown and "{{ 7*7 }}" in shown
    assert "\x1b" not in shown and "\u202e" not in shown


def test_policy_allows_only_the_pages_own_style(hostile_run: Path) -> None:
    page = page_of(hostile_run)
    policy = page.css_first("meta[http-equiv=Content-Security-Policy]").attributes["content"] or ""
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert page.css("[style]") == []


def test_an_attempt_without_a_valid_reward_is_no_zero(hostile_run: Path) -> None:
    run = read_run(hostile_run)
    assert len(run.attempts) == 4 and len(run.valid) == 3
    assert run.pass_at_1 == pytest.approx(2 / 3)
    assert "This attempt has no score" in run_page(run, [])


def test_each_finding_has_a_box_on_its_page(hostile_run: Path) -> None:
    page = page_of(hostile_run)
    link = page.css_first("ul.findings a").attributes["href"] or ""
    box = page.css_first(f"g[id='{link[1:]}'] rect.box")
    assert box.attributes["x"] == "100.0" and box.attributes["width"] == "400.0"


def test_runs_on_the_same_tasks_stand_side_by_side(tmp_path: Path) -> None:
    ranked = write_run(tmp_path / "runs", "ranked", tasks=2)
    write_run(tmp_path / "runs", "control", tasks=2, shuffled=True)
    text = page_of(ranked).css_first("#overview").text()
    assert "shuffled (control)" in text and "this run" in text


def test_the_command_for_one_attempt_leaves_the_run_alone(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "runs", "one", tasks=1)
    request = json.loads((folder / "run.json").read_text())
    request["command"] += ["--run-id", "one", "--new", "--instance-ids=a,b"]
    (folder / "run.json").write_text(json.dumps(request))
    again = page_of(folder).css("details.episode pre")[-1].text()
    assert again.endswith("--model bundled --instance-ids shop__stockroom-0000 --run-id one-again")


def test_index_lists_every_run(tmp_path: Path) -> None:
    write_run(tmp_path / "runs", "one", tasks=1)
    write_run(tmp_path / "runs", "two", tasks=1)
    text = index_page(tmp_path / "runs", read_runs(tmp_path / "runs"))
    assert ">one<" in text and ">two<" in text


def test_command_writes_the_page_and_prints_its_path(hostile_run: Path) -> None:
    result = CliRunner().invoke(application(["report"]), ["report", str(hostile_run)])
    assert result.exit_code == 0, result.output
    assert Path(result.output.strip()) == hostile_run / "report.html"
    assert (hostile_run / "report.html").read_text().startswith("\n<!doctype html>") is False
    assert "<!doctype html>" in (hostile_run / "report.html").read_text()[:40]


def test_a_run_is_found_before_a_folder_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_run(tmp_path / "demo" / "runs", "demo", tasks=1)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(application(["report"]), ["report", "demo", "--runs", "demo/runs"])
    assert result.exit_code == 0, result.output
    assert (folder / "report.html").is_file()


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable, match=r"is not a run: it has no run\.json"):
        read_run(tmp_path)


def test_a_broken_reward_is_named(hostile_run: Path) -> None:
    target = next(hostile_run.glob("shop*/0/reward.json"))
    target.write_text(json.dumps({"value": 7}))
    with pytest.raises(RunUnreadable, match=r"reward\.json is not a Reward"):
        read_run(hostile_run)
