"""The command line: `spaced`, or `python -m spaced`."""

import sys
from typing import Final, NoReturn

import click

from spaced.cli import failures
from spaced.cli.lazy_group import LazyGroup
from spaced.errors import SpacedError

LINES: Final = {
    "up": "Run the daemon in this terminal.",
    "serve": "Run the daemon for a service manager.",
    "status": "Show what the daemon is doing.",
    "demo": "Prove in two minutes that nothing is lost, also after kill -9.",
    "new": "Create a session, and perhaps prompt it.",
    "chat": "Chat in a session.",
    "send": "Send a prompt to a session.",
    "tail": "Print events as they happen.",
    "interrupt": "End what a session is doing.",
    "sessions": "List, show, change and delete sessions.",
    "search": "Find words in titles, messages and tool output.",
    "export": "Write a chat to a file.",
    "permissions": "List and answer permission requests.",
    "questions": "List and answer agents' questions.",
    "grants": "List and revoke standing permissions.",
    "profiles": "List, add, change and probe agents' profiles.",
    "workflows": "List, check, import and export what runs walk through.",
    "sync": "Read workflows from folders, and keep up with them.",
    "agents": "Show which agents are installed here, and install more.",
    "plugins": "List plugins, or write a new one.",
    "doctor": "Compare rows with the log, and rebuild them.",
    "backup": "Write a consistent copy of everything.",
    "restore": "Put a backup into an empty data directory.",
    "gc": "Remove what nothing names any more.",
    "config": "Show every setting and where it comes from.",
    "env": "Show where everything lies.",
    "service": "Install the daemon as a service.",
}

_EPILOG: Final = (
    "Exit codes: 0 done, 1 refused or failed, 2 wrong usage, 3 no daemon, 4 not found,"
    " 5 conflict, 130 interrupted."
)


def _show_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from spaced import __version__

        click.echo(f"spaced {__version__}")
        context.exit()


@click.command(cls=LazyGroup, lines=LINES, epilog=_EPILOG)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version.",
)
def spaced(*, debug: bool) -> None:
    """Hosts coding-agent sessions that survive everything.

    No command but `up`, `serve` and `demo` starts a daemon.
    """
    del debug


def main() -> NoReturn:
    """Run a command; errors end in a sentence and an exit code, never in a traceback."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code."""
    if "--debug" in arguments:
        return int(spaced.main(arguments, prog_name="spaced", standalone_mode=False) or 0)
    try:
        return _run(arguments)
    except BrokenPipeError:
        failures.quiet_output()
        return 0
    except (KeyboardInterrupt, click.Abort):
        return failures.INTERRUPTED
    except SpacedError as error:
        failures.tell(error, as_json="--json" in arguments)
        return failures.exit_code_of(error)
    except Exception as error:  # noqa: BLE001 - whatever it is, nobody wants to read a traceback
        failures.tell_fault(error)
        return failures.REFUSED


def _run(arguments: list[str]) -> int:
    try:
        code = spaced.main(arguments, prog_name="spaced", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show(sys.stdout)
        return 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    return code if isinstance(code, int) else 0
