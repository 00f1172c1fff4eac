"""Runs a scripted agent on the standard streams; `spaced.testing.acp_agent.script` tells how."""

import argparse
import signal
from pathlib import Path

from spaced.testing.acp_agent.agent import ScriptedAcpAgent
from spaced.testing.acp_agent.script import read_script


def main() -> None:
    """Read the arguments and serve."""
    parser = argparse.ArgumentParser(prog="acp_agent", description=__doc__)
    parser.add_argument("--script", default="{}", help="the script as JSON")
    parser.add_argument("--script-file", type=Path, help="a file that holds it")
    parser.add_argument("--state", type=Path, help="a folder to remember things in")
    arguments = parser.parse_args()
    file = arguments.script_file
    script = read_script(arguments.script if file is None else file.read_text())
    if "sigterm" in script.ignores:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ScriptedAcpAgent(script, arguments.state).serve()


if __name__ == "__main__":
    main()
