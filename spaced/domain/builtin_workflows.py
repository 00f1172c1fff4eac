"""The one workflow that the core itself relies on: every chat is a run of it."""

from typing import Final

from spaced.domain.workflow import Step, Workflow

AGENT_CHAT_ID: Final = "agent-chat"
AGENT_CHAT_STEP_ID: Final = "agent-chat-step"

AGENT_CHAT: Final = Workflow(
    name="Agent Chat",
    description="A conversation with one agent. Every chat is a run of this workflow.",
    steps=(
        Step(
            id=AGENT_CHAT_STEP_ID,
            name="Chat",
            position=0,
            is_start_step=True,
            allow_manual_move=True,
        ),
    ),
)
"""One step that waits for the user. Its instructions, which a person may add, go before prompts."""
