"""A stub."""

from types import SimpleNamespace

__version__ = "2.13.0+cpu"
version = SimpleNamespace(cuda=None)
