"""A running agent: its process, its conversation, and the ends of its turns."""

from collections.abc import Mapping
from typing import Final

from spaced.plugin_api import (
    ConfigureOutcome,
    ContinuityChanged,
    ConversationLost,
    ConversationReplayed,
    ExecutionFinished,
    JsonObject,
    PrivateFolder,
    Problem,
    PromptNotTaken,
    Reporter,
    RuntimeProblem,
    RuntimeServices,
    SessionInfoChanged,
    SessionSpec,
    Tasks,
    UnknownReport,
)
from spaced_acp import codec_v1 as v1
from spaced_acp.calls import Caller, ended_how
from spaced_acp.choosing import Chooser, Wishes
from spaced_acp.codec_v1 import AgentFacts
from spaced_acp.conversation import (
    Conversation,
    ConversationLostByAgent,
    Conversations,
    is_unknown,
)
from spaced_acp.handshake import greet
from spaced_acp.link import AgentLink, LinkEnding
from spaced_acp.messages import Answer, Notification, Request
from spaced_acp.options import AcpOptions
from spaced_acp.prompt_blocks import PromptBlocks
from spaced_acp.speech import Speech
from spaced_acp.starting import agent_request, called, real_directory
from spaced_acp.turns import RunningTurn, failed, finished

_AGAIN: Final = "Prompt again; the agent is started anew for it."


class Agent:
    """One execution of an agent; `open` makes it ready for prompts.

    Attributes:
        tasks: everything that runs for it.
        reporter: where everything goes that is to be recorded.
        link, facts, conversation, chooser, blocks: there once `open` has returned.
        needs_conversation: whether the next turn begins a new conversation.
        wishes: what is chosen in each conversation that is begun or gone on with.
    """

    link: AgentLink
    facts: AgentFacts
    conversation: Conversation
    chooser: Chooser
    blocks: PromptBlocks

    def __init__(
        self,
        session: SessionSpec,
        options: AcpOptions,
        reporter: Reporter,
        tasks: Tasks,
        services: RuntimeServices,
    ) -> None:
        self.session = session
        self.tasks = tasks
        self.reporter = reporter
        self.clock = services.clock
        self.name = called(session.profile)
        self.speech = Speech(session.execution_id, reporter, services.clock)
        self.needs_conversation = False
        profile = session.profile
        self.wishes = Wishes(mode=profile.mode, model=profile.model, options=options.agent)
        self._options = options
        self._services = services
        self._ending: tuple[str, Problem] | None = None
        self._started: AgentLink | None = None
        self._is_closed = False

    async def open(self, continuity: JsonObject | None) -> None:
        """Start the agent and get its conversation ready.

        Raises:
            RuntimeProblem: it cannot be started, does not answer, or does not offer what the
                profile wants.
        """
        directory = real_directory(self.session)
        request = agent_request(self.session, directory)
        self.link = self._started = await AgentLink.start(request, self, self._services, self.tasks)
        caller = Caller(link=self.link, clock=self.clock, tasks=self.tasks, agent=self.name)
        self.facts = await greet(caller, self._options)
        self._conversations = Conversations(
            caller=caller,
            facts=self.facts,
            options=self._options,
            session=self.session,
            directory=directory,
        )
        folder = self._services.state_folder / "attachments" / self.session.session_id
        attachments = PrivateFolder(folder)
        self.blocks = PromptBlocks(self.facts, directory, attachments, self._services.read_blob)
        conversation = await self._find(continuity)
        # Told before anything is handed over: the daemon adds the transcript to the next turn if
        # the conversation is a new one.
        await self._tell(conversation, await self._use(conversation))

    @property
    def is_gone(self) -> bool:
        """Whether nothing more can be asked of it."""
        return self._is_closed or self.link.is_over or self._ending is not None

    def require_idle(self) -> None:
        """Refuse a turn that cannot begin.

        Raises:
            RuntimeProblem: the agent has gone, or is at another turn.
        """
        if self.is_gone:
            raise self.gone()
        if self.speech.turns.running is not None:
            raise RuntimeProblem(f"{self.name} is busy with another turn", remedy=_AGAIN)

    def gone(self) -> RuntimeProblem:
        """Return the error of one that is told something when it is gone."""
        return RuntimeProblem(f"{self.name} has ended", remedy=_AGAIN)

    async def begin_anew(self) -> None:
        """Begin a new conversation in the same process.

        Raises:
            RuntimeProblem: the agent begins none.
        """
        conversation = await self._conversations.begin()
        outcomes = await self._use(conversation)
        self.needs_conversation = False
        # Not awaited: whoever takes the reports may be the one who waits for the turn to begin.
        self.tasks.start(self._tell(conversation, outcomes), name="acp conversation")

    async def choose(self, name: str, value: object) -> ConfigureOutcome:
        """Change the mode, the model or an option, also for conversations that are begun later."""
        try:
            outcome = await self.chooser.choose(name, value)
        except RuntimeProblem:
            return "failed"
        if outcome == "applied" and isinstance(value, str | bool):
            self.wishes = self.wishes.with_choice(name, value)
        return outcome

    async def end_turn(self, turn: RunningTurn, answer: Answer) -> None:
        """Take the answer that ends a turn."""
        await self.speech.withdraw(self.link)
        await self.speech.end_turn(turn.id)
        if self._is_lost(turn, answer):
            await self._refuse_turn(turn)
            return
        if answer.error is None:
            ending = finished(turn, v1.read_result(answer.result))
        else:
            ending = failed(turn, answer.error, self.name)
        # Before the report: whoever takes it may start the next turn at once.
        self.speech.turns.end()
        await self.reporter.report(ending)

    def watch_silence(self, turn: RunningTurn) -> None:
        """End the agent if it says nothing for too long while nobody knows why."""
        self.link.heard_at = self.clock.now()  # what was before the turn was nobody's silence
        if self._options.idle_seconds:
            limit_ms = int(self._options.idle_seconds * 1000)
            self.tasks.start(self._watch(turn, limit_ms), name="acp silence")

    async def notified(self, notification: Notification) -> None:
        """Take what the agent tells; of its own inventions nothing is understood."""
        if notification.method == v1.UPDATE:
            await self.speech.hear(notification.params)

    async def asked(self, request: Request, link: AgentLink) -> None:
        """Take what the agent wants."""
        if request.method == v1.PERMISSION:
            await self.speech.want(request, link)
        else:
            await self.speech.refuse(request, link)

    async def ended(self, ending: LinkEnding, link: AgentLink) -> None:
        """Report that the agent is gone."""
        turn_id = self.speech.turns.current_id
        await self.speech.withdraw(None)
        reason, problem = self._ending or self._crashed(ending, link)
        details: dict[str, object] = {"exit_code": ending.exit.code, "signal": ending.exit.signal}
        details |= {"error_output": link.last_words(), "junk": link.junk}
        await self.reporter.report_last(
            ExecutionFinished(
                reason=reason,
                problem=problem,
                details={
                    name: value for name, value in details.items() if value not in (None, "", {})
                },
                turn_id=turn_id,
            )
        )

    async def close(self, grace_ms: int) -> None:
        """End it; nothing is reported any more, and nothing that it started is left."""
        self._is_closed = True
        self.reporter.silence()
        if self._started is not None:
            await self._started.stop(grace_ms)
        await self.tasks.close()

    async def _find(self, continuity: JsonObject | None) -> Conversation:
        """Go on with the conversation that there was, or begin one."""
        conversations = self._conversations
        if continuity is None:
            return await conversations.begin()
        self.speech.replay.is_open = True
        try:
            return await conversations.go_on(conversations.known(continuity))
        except ConversationLostByAgent as lost:
            self.speech.replay.is_open = False
            return await conversations.begin(lost=str(lost))

    async def _use(self, conversation: Conversation) -> Mapping[str, str]:
        """Make a conversation the session's, and choose in it what the profile says."""
        self.conversation = conversation
        self.speech.conversation_id = conversation.id
        self.chooser = Chooser(self._conversations.caller, conversation)
        return await self.chooser.apply(self.wishes)

    async def _tell(self, conversation: Conversation, outcomes: Mapping[str, str]) -> None:
        if conversation.lost is not None:
            words = f"{self.name} does not go on with the conversation: {conversation.lost}."
            await self.reporter.report(ConversationLost(message=words))
        elif conversation.way == "load":
            entries = tuple(self.speech.replay.entries)
            await self.reporter.report(ConversationReplayed(entries=entries))
        continuity = self._conversations.continuity(conversation)
        await self.reporter.report(ContinuityChanged(continuity=continuity))
        info = {**self.facts.as_details(), "begun_by": conversation.way}
        info |= self.chooser.settings.as_info()
        await self.reporter.report(SessionInfoChanged(info=info))
        missed = {name: outcome for name, outcome in outcomes.items() if outcome != "applied"}
        if missed:
            report = UnknownReport(kind="options-not-applied", payload=missed)
            await self.reporter.report(report)

    def _is_lost(self, turn: RunningTurn, answer: Answer) -> bool:
        """Tell whether the agent does not know the conversation in which it was prompted."""
        if answer.error is not None:
            return is_unknown(answer.error)
        is_refusal = v1.read_result(answer.result).stop_reason == "refusal"
        return is_refusal and self._options.refusal_means_lost and not turn.has_spoken

    async def _refuse_turn(self, turn: RunningTurn) -> None:
        """Report that a turn's prompts were not taken, since their conversation is unknown."""
        words = f"{self.name} does not know the conversation any more"
        self.needs_conversation = True
        self.speech.turns.running = None
        await self.reporter.report(ConversationLost(message=f"{words}."))
        await self.reporter.report(PromptNotTaken(turn_id=turn.id, message=words, after_ms=0))

    async def _watch(self, turn: RunningTurn, limit_ms: int) -> None:
        while self.speech.turns.running is turn:
            quiet_ms = self.clock.now() - self.link.heard_at
            if self.speech.is_waiting:
                quiet_ms = 0
            elif quiet_ms >= limit_ms:
                await self._give_up(limit_ms)
                return
            await self.clock.sleep(max(limit_ms - quiet_ms, 1))

    async def _give_up(self, limit_ms: int) -> None:
        words = f"{self.name} has said nothing for {limit_ms // 1000} seconds"
        problem = Problem(code="agent-silent", message=words, remedy=_AGAIN)
        self._ending = ("silent", problem)
        await self.link.stop(0)

    def _crashed(self, ending: LinkEnding, link: AgentLink) -> tuple[str, Problem]:
        lines = [line.strip() for line in link.last_words().splitlines() if line.strip()]
        words = f"{self.name} {ended_how(ending)}"
        words += f"; its last words: {lines[-1][:300]}" if lines else ""
        reason = "crashed" if ending.fault is None else "unreadable"
        return reason, Problem(code=f"agent-{reason}", message=words, remedy=_AGAIN)
