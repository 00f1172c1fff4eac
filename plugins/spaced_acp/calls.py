"""Requests that are waited for, each within its time: nothing of a handshake may hang for ever."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from spaced.plugin_api import ChildGone, Clock, JsonObject, RuntimeProblem, Tasks
from spaced_acp.link import AgentLink, LinkEnding
from spaced_acp.messages import AUTH_REQUIRED, Answer, ErrorAnswer
from spaced_acp.problems import AgentNotStarted, AgentSilent, LoginNeeded


class CallRefused(Exception):
    """The agent answered with an error."""

    def __init__(self, method: str, error: ErrorAnswer) -> None:
        super().__init__(f"{method}: {error.text}")
        self.method = method
        self.error = error


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Asks an agent, by its name, for things that it has to answer soon."""

    link: AgentLink
    clock: Clock
    tasks: Tasks
    agent: str

    async def call(self, method: str, params: JsonObject, *, seconds: float) -> JsonObject:
        """Return what the agent answers.

        Raises:
            CallRefused: it answers with an error that the caller may know what to do about.
            LoginNeeded: it wants a login first.
            AgentSilent: it does not answer in time.
            AgentNotStarted: it ended instead.
        """
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        async def take(answer: Answer) -> None:
            if not answered.done():
                answered.set_result(answer)

        async def send() -> None:
            with suppress(ChildGone):  # the end of the link says so as well
                await self.link.request(method, params, take)

        # All of it beside the caller: one that reads nothing keeps us from writing, too.
        alarm = self.tasks.start(self.clock.sleep(int(seconds * 1000)), name="acp alarm")
        sending = self.tasks.start(send(), name=f"acp {method}")
        over = self.tasks.start(self.link.until_over(), name="acp end")
        first: set[asyncio.Future[Any]] = {answered, alarm, over}
        try:
            await asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (alarm, sending, over):
                task.cancel()
        if not answered.done():
            raise await self._unanswered(method, seconds)
        answer = answered.result()
        if answer.error is None:
            return answer.result
        if answer.error.code == AUTH_REQUIRED:
            raise LoginNeeded(f"{self.agent} wants a login: {answer.error.text[:300]}")
        raise CallRefused(method, answer.error)

    async def _unanswered(self, method: str, seconds: float) -> RuntimeProblem:
        if self.link.is_over:
            return await self._gone(method)
        words = _last_line(self.link.last_words())
        return AgentSilent(
            f"{self.agent} did not answer {method!r} within {seconds:g} seconds{words}"
        )

    async def _gone(self, method: str) -> AgentNotStarted:
        ended = await self.link.stop(0)
        ending = LinkEnding(exit=ended)
        words = _last_line(self.link.last_words())
        return AgentNotStarted(f"{self.agent} {ended_how(ending)} at {method!r}{words}")


def ended_how(ending: LinkEnding) -> str:
    """Return how an agent ended, in words that follow its name."""
    if ending.fault is not None:
        return f"cannot be understood: {ending.fault}"
    if ending.exit.signal is not None:
        return f"was ended by signal {ending.exit.signal}"
    return f"ended with exit code {ending.exit.code}"


def _last_line(words: str) -> str:
    lines = [line.strip() for line in words.splitlines() if line.strip()]
    return f"; its last words: {lines[-1][:300]}" if lines else ""
