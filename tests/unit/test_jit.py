"""Where compiled kernels are kept."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path
from typing import Any

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


def fresh_kernel(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The kernel of `inner` as a new process finds it, with its cache in a folder."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    jit.cache_folder.cache_clear()
    for module in [name for name in sys.modules if name.startswith("spectra.made_up")]:
        monkeypatch.delitem(sys.modules, module)
    return importlib.import_module("spectra.made_up.inner").half


@pytest.mark.skipif(jit.is_interpreted(), reason="nothing is compiled")
@pytest.mark.parametrize("last", ["integers", "reals"])
def test_processes_that_compile_a_kernel_at_once_do_not_mix_up_its_signatures(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str
) -> None:
    (package / "inner.py").write_text("from spectra.jit import kernel\n@kernel\ndef half(x):\n    return x // 2\n")
    jit._sources.cache_clear()
    values = {"integers": 5, "reals": 5.5}
    for name, value in values.items():
        fresh_kernel(tmp_path / name, monkeypatch)(value)
    # both found an empty cache; in a shared one, `last` would be the last to write its code and not the last to list it
    first = next(name for name in values if name != last)
    for name, kind in ((last, "*"), (first, "*"), (last, "*.nbc")):
        for file in [file for file in (tmp_path / name).rglob(kind) if file.is_file()]:
            copy = tmp_path / "shared" / file.relative_to(tmp_path / name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
    half = fresh_kernel(tmp_path / "shared", monkeypatch)
    for value in values.values():
        assert half(value) == value // 2
    assert sum(half.stats.cache_hits.values()) == 2
    assert not half.stats.cache_misses
