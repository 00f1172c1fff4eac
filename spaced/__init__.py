"""spaced hosts coding-agent sessions as durable workflow runs."""


def __getattr__(name: str) -> str:
    """Return the version when somebody asks for it: reading it takes as long as a short command."""
    if name == "__version__":
        from importlib.metadata import version

        return version("spaced")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
