"""A stub of vLLM: its log and its HTTP, no model."""

__version__ = "0.32.0"
