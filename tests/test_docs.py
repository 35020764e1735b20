"""What the documents show is what the commands print."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from spectra.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SHOWN = re.compile(r"<!-- output of: spectra ([^\n]*) -->\n```[a-z]*\n(.*?)```\n", re.DOTALL)
EXAMPLES = [(page.name, command, text) for page in PAGES for command, text in SHOWN.findall(page.read_text("utf-8"))]
OFTEN_SAID = re.compile(r"\b(simply|obviously|just)\b", re.IGNORECASE)


@pytest.mark.parametrize(("page", "command", "text"), EXAMPLES, ids=[f"{page}: {c}" for page, c, _ in EXAMPLES])
def test_output_is_the_real_one(
    page: str, command: str, text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(shlex.split(command)) in (0, 2)
    captured = capsys.readouterr()
    assert (captured.out or captured.err) == text


def test_readme_shows_the_sample_query() -> None:
    query = (ROOT / "samples" / "queries" / "reach.rq").read_text("utf-8")
    assert query.partition("\n")[2] in (ROOT / "README.md").read_text("utf-8")


def test_there_are_examples() -> None:
    assert {page for page, _, _ in EXAMPLES} >= {"README.md", "command-line.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_command_line_page_has_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    for command in ("run", "explain", "check", "verify"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
        assert {option for option in options if f"`{option}" not in page} == set()


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_words_that_say_nothing(page: Path) -> None:
    assert OFTEN_SAID.findall(page.read_text("utf-8")) == []
