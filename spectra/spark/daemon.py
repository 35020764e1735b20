"""The process that Python workers fork from: pyspark's, which first loads what every worker would load.

Spark runs it as `python -m spectra.spark.daemon pyspark.worker`; only sessions that `spectra.spark.sessions`
starts ask for it.
"""

from __future__ import annotations

import gc
import os
import sys


def load() -> None:
    """Load Arrow, the worker's code and the scanner, with its kernels compiled, in this one thread.

    Only a process of a single thread forks safely, so the libraries are asked not to start any: OpenBLAS
    has threads from its import on, and so has Arrow's allocator on Linux.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
    import pyarrow  # noqa: F401
    import pyspark.worker  # noqa: F401

    from spectra.streams.memory import from_triples

    from_triples("", 0, "<urn:s> <urn:p> <urn:o> .", ())
    # A worker collects garbage after every task: what is loaded here is none, and takes 50 ms to look at.
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    from pyspark.daemon import manager

    if sys.platform == "linux":  # elsewhere system libraries may start threads that nobody can forbid
        load()
    manager()
