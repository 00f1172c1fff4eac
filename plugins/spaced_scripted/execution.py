"""The end of an execution: by its agent's own doing, or because somebody closes it."""

from spaced.plugin_api import ExecutionFinished, Problem
from spaced_scripted.stage import Stage


async def crash_execution(stage: Stage, message: str, *, turn_id: str | None = None) -> None:
    """Report that the agent is gone, and end what it was doing."""
    stage.conversation.is_reachable = False
    stage.conversation.turn = None
    await stage.memory.save(stage.conversation)
    await stage.reporter.report_last(
        ExecutionFinished(
            reason="crashed",
            problem=Problem(
                code="agent-crashed",
                message=message,
                remedy="Prompt again; a new execution is started for it.",
            ),
            details={"exit_code": 1},
            turn_id=turn_id,
        )
    )
    await end_execution(stage, grace_ms=0)


async def end_execution(stage: Stage, *, grace_ms: int) -> None:
    """Report nothing more and leave no task and no process behind."""
    stage.reporter.silence()
    stage.commands.hurry(grace_ms)
    await stage.tasks.close()
    await stage.commands.stop_all(grace_ms)
