"""spaced hosts coding-agent sessions as durable workflow runs."""

from importlib.metadata import version

__version__ = version("spaced")
