"""The agent's tools: a command that it runs, after it was allowed to where the script says so."""

import subprocess
from typing import Any, Final

from spaced.testing.acp_agent.stage import Cancelled, Stage

_OPTIONS: Final = [
    {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
    {"optionId": "always", "name": "Allow for ever", "kind": "allow_always"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
]


def run_tool(step: dict[str, Any], stage: Stage) -> None:
    """Make a tool call: told, asked for, done, and told again."""
    call_id = step.get("id") or stage.next_name()
    command = step.get("command", [])
    call = {
        "toolCallId": call_id,
        "title": step.get("title", " ".join(command) or "tool"),
        "kind": step.get("kind", "execute"),
        "rawInput": {"command": command},
    }
    stage.update({"sessionUpdate": "tool_call", "status": "pending", **call}, step.get("session"))
    if step.get("permission") and not _is_allowed(call, step, stage):
        _tell(stage, call_id, "failed", "not allowed", step)
        return
    _tell(stage, call_id, "in_progress", None, step)
    code, output = _run(command, stage) if command else (0, "done")
    _tell(stage, call_id, "failed" if code else "completed", output, step)


def _is_allowed(call: dict[str, Any], step: dict[str, Any], stage: Stage) -> bool:
    session = step.get("session") or stage.conversation
    params = {"sessionId": session, "toolCall": call, "options": _OPTIONS}
    answer = stage.wire.ask("session/request_permission", params)
    outcome = answer.get("result", {}).get("outcome", {})
    if outcome.get("outcome") == "cancelled" and stage.heeds_cancel:
        raise Cancelled
    return outcome.get("optionId") in ("allow", "always")


def _run(command: list[str], stage: Stage) -> tuple[int, str]:
    process = subprocess.Popen(  # noqa: S603 - what the script says
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    while True:
        try:
            output, _ = process.communicate(timeout=0.02)
        except subprocess.TimeoutExpired:
            try:
                stage.check_cancel()
            except Cancelled:
                process.kill()
                process.communicate()
                raise
        else:
            return process.returncode, output


def _tell(
    stage: Stage, call_id: str, status: str, output: str | None, step: dict[str, Any]
) -> None:
    update = {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": status}
    stage.update(update | ({} if output is None else {"rawOutput": output}), step.get("session"))
