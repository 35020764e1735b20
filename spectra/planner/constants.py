"""What the steps of operators take on this machine, in microseconds; `spectra calibrate` measures them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Constants:
    """Microseconds for one step of each kind."""

    entry: float = 0.05  # an entry of the log that an operator reads
    probe: float = 0.03  # a look-up in an index of the views
    row: float = 0.035  # a row that is looked at or written
    delta: float = 0.001  # a row that passes an operator without state
    decide: float = 1.4  # a condition for one row
    insert: float = 0.09  # a row that is put into, or taken out of, a table of rows
    derive: float = 0.66  # a row that becomes an edge, or ceases to be one
    node: float = 0.38  # a tree node that is set
    edge: float = 0.0016  # an edge that is looked at from a tree node
    arrival: float = 0.5  # an edge that columns are kept for
    merge: float = 0.13  # a column of lives that is merged
    cell: float = 0.0012  # a life in it
    arc: float = 1.2  # an edge of the product graph, whenever its components are found anew
    pair: float = 0.0002  # a pair that is compared with those of the evaluation before


def constants_file() -> Path:
    """Where `spectra calibrate` writes what it has measured: below `XDG_CONFIG_HOME`, else `~/.config`."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "spectra-rsp" / "constants.json"


def constants() -> Constants:
    """The constants of this machine where they were measured, the built-in ones elsewhere."""
    try:
        given = json.loads(constants_file().read_text(encoding="utf-8"))
        names = {field.name for field in fields(Constants)}
        return Constants(**{name: float(value) for name, value in given.items() if name in names})
    except (OSError, ValueError, TypeError, AttributeError):
        return Constants()


def save(measured: Constants) -> Path:
    """Write the constants for all later runs; the file."""
    file = constants_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(measured), indent=2) + "\n", encoding="utf-8")
    return file
