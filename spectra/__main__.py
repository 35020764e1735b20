"""`python -m spectra` is the command `spectra`."""

from __future__ import annotations

import sys

from spectra.cli import main

if __name__ == "__main__":
    sys.exit(main())
