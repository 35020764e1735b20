"""Where compiled kernels are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from spectra import jit


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three kernel modules: `outer` imports `inner`, `other` imports nothing."""
    import spectra

    sources = {"inner": "", "outer": "from spectra.made_up.inner import x\n", "other": ""}
    folder = tmp_path / "made_up"
    folder.mkdir()
    for name, text in {"__init__": "", **sources}.items():
        (folder / f"{name}.py").write_text(text + f"x = '{name}'\n")
    monkeypatch.setattr(spectra, "__path__", [*spectra.__path__, str(tmp_path)])
    return folder


def folders() -> dict[str, Path]:
    jit._sources.cache_clear()
    jit.cache_folder.cache_clear()
    return {name: jit.cache_folder(f"spectra.made_up.{name}") for name in ("inner", "outer", "other")}


def test_a_changed_source_moves_the_kernels_that_were_compiled_with_it_and_no_others(package: Path) -> None:
    before = folders()
    assert folders() == before
    (package / "inner.py").write_text("x = 'changed'\n")
    after = folders()
    assert {name for name in before if before[name] != after[name]} == {"inner", "outer"}
