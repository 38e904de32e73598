"""Hemeroteca: watches the web, keeps every version, and lets people search, replay, compare and measure it."""

__version__ = "0.1.0"
