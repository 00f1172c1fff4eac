"""Agents of a few lines, for what a well-made one could not do even if its script told it to."""

import sys
from typing import Final

_ANSWER: Final = """
import json, os, sys, threading

def answer(message, result):
    line = {"jsonrpc": "2.0", "id": message["id"], "result": result}
    print(json.dumps(line), flush=True)

RESULTS = {
    "initialize": {"protocolVersion": 1},
    "session/new": {"sessionId": "conv-crude"},
    "session/prompt": {"stopReason": "end_turn"},
}
"""
_DEAF: Final = """
for line in sys.stdin:
    message = json.loads(line)
    answer(message, RESULTS[message["method"]])
    if message["method"] == "session/new":
        threading.Event().wait()
"""
_DUMB: Final = """
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "session/prompt":
        os.close(1)
        threading.Event().wait()
    answer(message, RESULTS[message["method"]])
"""
_STUTTERING: Final = """
for line in sys.stdin:
    message = json.loads(line)
    for _ in range(2):
        answer(message, RESULTS[message["method"]])
"""


def _agent(program: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-c", _ANSWER + program)


DEAF: Final = _agent(_DEAF)
"""Begins a conversation and then reads nothing more."""

DUMB: Final = _agent(_DUMB)
"""Closes its output when it is prompted, and lives on."""

STUTTERING: Final = _agent(_STUTTERING)
"""Answers everything twice."""
