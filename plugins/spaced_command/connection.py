"""A session whose agent is a command: nothing runs between two turns."""

import re
from collections.abc import Callable
from typing import Final

from spaced.plugin_api import (
    AskAnswer,
    ChildRequest,
    ConfigureOutcome,
    ConfigureReport,
    ContinuityChanged,
    ConversationLost,
    JsonObject,
    Prompt,
    PromptNotTaken,
    Reporter,
    RuntimeProblem,
    RuntimeServices,
    SessionSpec,
    Tasks,
    Turn,
    TurnFinished,
)
from spaced_command.options import CommandOptions
from spaced_command.prompt_text import LONGEST_ARGUMENT, PromptTexts
from spaced_command.turn import RunningTurn

_INTERRUPT_GRACE_MS: Final = 1500
_UNKNOWN: Final = re.compile(r"no (conversation|session|thread|rollout)\b.*found", re.IGNORECASE)


class CommandConnection:
    """Runs the profile's command for each turn."""

    def __init__(
        self,
        session: SessionSpec,
        options: CommandOptions,
        *,
        reporter: Reporter,
        tasks: Tasks,
        services: RuntimeServices,
        on_closed: Callable[["CommandConnection"], None],
        conversation: str | None,
    ) -> None:
        """Get ready.

        Args:
            conversation: the tool's name for the one to go on with.
        """
        self._session = session
        self._options = options
        self._reporter = reporter
        self._tasks = tasks
        self._services = services
        self._on_closed = on_closed
        self._conversation = conversation
        self._model, self._mode = session.profile.model, session.profile.mode
        self._texts = PromptTexts(services, session.session_id)
        self._turn: RunningTurn | None = None
        self._is_busy = self._is_closed = False

    async def start_turn(self, turn: Turn) -> None:
        """Start the command with a turn's prompts.

        Raises:
            RuntimeProblem: it cannot be started, or another turn runs.
        """
        self._require_open()
        if self._is_busy:
            raise RuntimeProblem("the command runs for another turn", remedy="Wait for its end.")
        self._is_busy = True
        try:
            running = self._turn = await self._start(turn)
        except BaseException:
            self._is_busy = False
            raise
        try:
            self._require_open()
        except RuntimeProblem:  # it was closed meanwhile
            await running.child.stop(0)
            raise
        self._tasks.start(self._run(running), name="command turn")

    async def steer(self, turn_id: str, prompts: tuple[Prompt, ...]) -> bool:
        """Take nothing: a command has read all that it will read."""
        del turn_id, prompts
        return False

    async def interrupt(self, turn_id: str) -> None:
        """End the command."""
        if self._turn is not None and self._turn.id == turn_id and not self._is_closed:
            await self._turn.end("interrupt", _INTERRUPT_GRACE_MS)

    async def answer(self, ask_id: str, answer: AskAnswer) -> bool:
        """Take nothing: a command asks nobody."""
        del ask_id, answer
        return False

    async def configure(self, changes: JsonObject) -> ConfigureReport:
        """Change the mode and the model for the next turn, where the command has flags for them."""
        outcomes: dict[str, ConfigureOutcome] = {}
        for name, value in changes.items():
            if name == "options" and isinstance(value, dict):
                outcomes |= dict.fromkeys(value, "unsupported")
            else:
                outcomes[name] = self._choose(name, value)
        return outcomes

    async def compact(self) -> bool:
        """Do nothing: there is no way to tell a command."""
        return False

    async def forget(self) -> None:
        """Let the next turn begin a new conversation."""
        self._conversation = None

    async def close(self, grace_ms: int) -> None:
        """End the command, if it runs."""
        self._is_closed = True
        self._reporter.silence()
        if self._turn is not None:
            await self._turn.child.stop(grace_ms)
        await self._tasks.close()
        self._on_closed(self)

    def _require_open(self) -> None:
        if self._is_closed:
            raise RuntimeProblem("the session is closed", remedy="Prompt again.")

    async def _start(self, turn: Turn) -> RunningTurn:
        text = await self._texts.of(turn)
        command = await self._command(turn, text)
        child = await self._services.spawn(
            ChildRequest(
                execution_id=self._session.execution_id,
                command=command,
                directory=self._session.directory,
                environment=self._session.environment,
            )
        )
        return RunningTurn(
            id=turn.id,
            child=child,
            options=self._options,
            text=text if self._options.prompt == "stdin" else None,
            reporter=self._reporter,
            tasks=self._tasks,
            services=self._services,
        )

    async def _command(self, turn: Turn, text: str) -> tuple[str, ...]:
        options, profile = self._options, self._session.profile
        if not profile.command:
            raise RuntimeProblem(
                f"the profile {profile.name!r} names no command",
                remedy="Give it the absolute path of a program with `spaced profiles edit`.",
            )
        chosen = ((options.model_flag, self._model), (options.mode_flag, self._mode))
        flags = [word for flag, value in chosen if flag and value for word in (flag, value)]
        # Before the preset's own: the last of those may be a flag that the prompt belongs to.
        own = [*options.arguments]
        if flags and options.prompt == "argument" and own:
            own[-1:] = [*flags, own[-1]]
        else:
            own += flags
        if self._conversation is not None:
            own += [word.replace("{id}", self._conversation) for word in options.resume]
        return (*profile.command, *own, *await self._last_argument(turn, text))

    async def _last_argument(self, turn: Turn, text: str) -> tuple[str, ...]:
        match self._options.prompt:
            case "stdin":
                return ()
            case "file":
                return (str(await self._texts.as_file(turn.id, text)),)
            case "argument":
                if len(text.encode("utf-8", "replace")) > LONGEST_ARGUMENT or "\0" in text:
                    raise RuntimeProblem(
                        "the prompt is too long, or not fit, to be an argument of a program",
                        remedy="Set the option prompt to stdin or file, if the command reads that.",
                    )
                # One that begins like a flag would be taken for one.
                return (f" {text}" if text.startswith("-") else text,)

    async def _run(self, turn: RunningTurn) -> None:
        ending = await turn.run()
        self._turn, self._is_busy = None, False
        await self._texts.remove_file(turn.id)
        if self._is_unknown(turn, ending):
            self._conversation = None
            words = "The command does not know the conversation any more."
            await self._reporter.report(ConversationLost(message=words))
            await self._reporter.report(PromptNotTaken(turn_id=turn.id, message=words, after_ms=0))
            return
        if turn.conversation is not None and self._options.resume:
            self._conversation = turn.conversation
            continuity = {"runtime": "command", "id": turn.conversation}
            await self._reporter.report(ContinuityChanged(continuity=continuity))
        await self._reporter.report(ending)

    def _is_unknown(self, turn: RunningTurn, ending: TurnFinished) -> bool:
        """Tell whether the command only said that there is no such conversation."""
        if self._conversation is None or turn.has_spoken or ending.outcome != "failed":
            return False
        return _UNKNOWN.search(turn.child.error_output()) is not None

    def _choose(self, name: str, value: object) -> ConfigureOutcome:
        if not isinstance(value, str):
            return "failed"
        if name == "model" and self._options.model_flag:
            self._model = value
        elif name == "mode" and self._options.mode_flag:
            self._mode = value
        else:
            return "unsupported"
        return "applied"
