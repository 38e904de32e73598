"""Hemeroteca: watches the web, keeps every version, and lets people search, replay, compare and measure it."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy would start threads that turn around for nothing

__version__ = "0.1.0"
