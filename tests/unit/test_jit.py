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


@pytest.mark.skipif(jit.is_interpreted(), reason="nothing is compiled")
@pytest.mark.parametrize("moment", ["_save_index", "_save_data"])
def test_processes_that_compile_at_once_never_find_the_code_of_another_signature(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    one, other, later = (jit._files_by_key()(str(tmp_path), "kernel-1.py", "stamp") for _ in range(3))
    # both have read the index before either writes it, and one of them writes in the midst of the other
    monkeypatch.setattr(other, "_load_index", dict)
    write = getattr(one, moment)

    def write_later(*arguments: object) -> None:
        other.save("(uint16,)", "code for uint16")
        write(*arguments)

    monkeypatch.setattr(one, moment, write_later)
    one.save("(uint8,)", "code for uint8")
    assert later.load("(uint8,)") in ("code for uint8", None)
    assert later.load("(uint16,)") in ("code for uint16", None)
    later.save("(uint8,)", "code for uint8")
    later.save("(uint16,)", "code for uint16")
    assert [later.load(key) for key in ("(uint8,)", "(uint16,)")] == ["code for uint8", "code for uint16"]


@pytest.mark.skipif(jit.is_interpreted(), reason="nothing is compiled")
def test_a_kernel_is_kept_by_signature() -> None:
    from spectra.dictionary.kernels import xxh64

    kernels = [each for each in vars(xxh64).values() if hasattr(each, "_cache")]
    assert kernels
    assert all(type(each._cache._cache_file) is jit._files_by_key() for each in kernels)
