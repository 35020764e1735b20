"""The files of an input: which there are, what form they have, how they are named."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Union

from spectra.errors import StreamError

PathLike = Union[str, "os.PathLike[str]"]

FORMS = ("nt", "nq", "rdfp")
_ENDINGS = tuple(f".{form}{packed}" for form in FORMS for packed in ("", ".gz"))
_ENDINGS_HINT = f"Spectra reads {', '.join(_ENDINGS)}."
_UNFINISHED = (".tmp", ".part")


class InputFile(NamedTuple):
    """A file under the name that the caller's path gives it; its event time where the file is one event."""

    name: str
    path: Path
    time: int = 0

    @property
    def ending(self) -> str:
        """`.nt`, `.nq.gz` and so on; "" for anything else."""
        return next((ending for ending in _ENDINGS if self.name.endswith(ending)), "")

    @property
    def form(self) -> str:
        return self.ending.split(".")[1] if self.ending else ""

    @property
    def stem(self) -> str:
        return self.path.name.removesuffix(self.ending)

    @property
    def scope(self) -> bytes:
        """What its blank node labels are followed by, after a dot.

        The length is fixed, so a label with a scope can be taken apart in one way only; the digest of the
        name is long enough that two files never share one.
        """
        return hashlib.blake2b(self.name.encode(errors="surrogateescape"), digest_size=16).hexdigest().encode()


class Inputs:
    """The paths a caller named: files, folders, globs."""

    def __init__(self, path: PathLike | Sequence[PathLike]) -> None:
        paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
        if not paths:
            raise StreamError("no path given", hint="Name a folder, a glob or a file.")
        self.given = [os.fspath(each) for each in paths]
        for given in self.given:
            if os.path.isdir(given) or _is_glob(given):
                continue
            if not os.path.exists(given):
                raise StreamError(f'no such file or folder: "{given}"', hint="Name a folder, a glob or a file.")
            if not _named(given).form:
                raise StreamError(f'unknown ending: "{given}"', hint=_ENDINGS_HINT)

    def __str__(self) -> str:
        return ", ".join(self.given)

    @property
    def only_file(self) -> InputFile | None:
        """The file, where the caller named exactly one and no folder or glob."""
        given = self.given[0]
        if len(self.given) > 1 or os.path.isdir(given) or _is_glob(given):
            return None
        return _named(given)

    def files(self) -> list[InputFile]:
        """All files there are now, each input's in the order of their names."""
        found: dict[str, InputFile] = {}
        for given in self.given:
            if os.path.isdir(given):
                names = sorted(os.path.join(given, name) for name in os.listdir(given))
            elif _is_glob(given):
                names = sorted(glob.glob(given, recursive=True))
            else:
                file = _named(given)
                found.setdefault(file.name, file)
                continue
            for file in map(_named, names):
                if file.form and not _is_unfinished(file.path.name):
                    found.setdefault(file.name, file)
        return list(found.values())

    def form_of(self, files: Sequence[InputFile]) -> str:
        """The one form that the files have."""
        if not files:
            raise StreamError(f'no files to read in "{self}"', hint=_ENDINGS_HINT)
        by_form = {file.form: file for file in files}
        if len(by_form) > 1:
            names = " and ".join(f'"{file.name}"' for file in by_form.values())
            raise StreamError(
                f'more than one form of stream in "{self}"',
                detail=f"there are {names}",
                hint="Give each form a folder of its own, or a glob such as *.nt.",
            )
        return files[0].form


def _named(path: str) -> InputFile:
    return InputFile(os.path.normpath(path).replace(os.sep, "/"), Path(path))


def _is_glob(path: str) -> bool:
    return glob.has_magic(path) and not os.path.exists(path)


def _is_unfinished(name: str) -> bool:
    return name.startswith(".") or name.endswith(_UNFINISHED)
