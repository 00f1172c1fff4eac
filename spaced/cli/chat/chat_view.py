"""Everything that a chat shows of its session, from the frames of its stream. No input or output.

Frames come in order: what was missed, then `live`, then what happens. An ask is shown only once the
next frame has come: one that a rule has answered is followed by that answer, and concerns nobody.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from spaced.cli.chat.asks import AskDesk
from spaced.cli.chat.open_ask import OpenAsk, option_name, title_of
from spaced.cli.chat.paper import Paper
from spaced.cli.chat.queue_view import QueueView, Waiting
from spaced.cli.chat.spans import Span, dim, failing, one_line
from spaced.cli.chat.transcript_view import TranscriptView
from spaced.client.sse import Frame
from spaced.wire.shapes import Prompt, Session

_ASKED: Final = ("permission-asked", "question-asked")
_SETTLED: Final = ("permission-answered", "question-answered", "ask-expired")
_ENDS: Final = ("completed", "failed", "cancelled")
_AT_WORK: Final = ("busy", "waiting", "retry")
_LONGEST: Final = 300
_EXPIRED: Final = {
    "turn-ended": "its turn has ended",
    "interrupted": "it was interrupted",
    "withdrawn": "the agent no longer asks",
    "restart": "the agent is gone since the restart",
}
_WORDS: Final = {
    "starting": "the agent is being started",
    "busy": "busy, Ctrl-C interrupts",
    "waiting": "waits for your answer",
    "queued": "waits until fewer agents are at work",
}


class ChatView:
    """One session on paper.

    Attributes:
        asks: what waits for an answer.
        queue: the prompts.
        is_away: whether the daemon cannot be reached.
        is_over: whether the session was deleted.
        is_caught_up: whether everything that was missed has been taken.
    """

    def __init__(self) -> None:
        self.asks = AskDesk()
        self.queue = QueueView()
        self.is_away = False
        self.is_over = False
        self.is_caught_up = False
        self.is_busy = False
        self._paper = Paper()
        self._transcript = TranscriptView(self._paper)
        self._live: Mapping[str, Any] = {"word": "idle"}
        self._title = ""
        self._session_id = ""
        self._untold: list[tuple[Waiting, int]] = []

    def begin(
        self, session: Session, prompts: Iterable[Prompt], items: Sequence[Mapping[str, Any]]
    ) -> None:
        """Show what is there already; what is going on right now comes with the stream."""
        self._session_id = session.id
        self._title = one_line(session.title or "", longest=_LONGEST)
        self.queue.begin(prompts, is_paused=session.queue_paused)
        self._transcript.begin(items)
        if self.queue.is_paused and self.queue.count:
            self._remark_pause()
        if session.status in _ENDS:
            self.remark(f"the session is {session.status}")

    def take(self, frame: Frame) -> None:
        """Take a frame of the session's stream."""
        body = frame.data.get("body", frame.data)
        if frame.name not in _SETTLED:
            self._paper_asks()
        if self._transcript.take(frame.name, body):
            return
        match frame.name:
            case "hello":
                self.is_caught_up = False
            case "live":
                self._take_live(body)
            case "status" if body["session_id"] == self._session_id:
                self._take_status(body["live"])
            case "permission-asked":
                self.asks.take(str(body["ask_id"]), "permission", body)
            case "question-asked":
                self.asks.take(str(body["ask_id"]), "question", body)
            case name if name in _SETTLED:
                self._settle(name, body)
            case _:
                self._take_fact(frame.name, body)

    def tear_off(self) -> list[Span]:
        """Return what there is to print since the last time."""
        return self._paper.tear_off()

    def remark(self, text: str) -> None:
        """Write a line by the way; the text is shown as it is."""
        self._paper.remark(dim(f"- {text}"))

    def tell(self, text: str) -> None:
        """Write lines that somebody asked for; the text is shown as it is."""
        self._paper.begin(None)
        self._paper.write(dim(text))

    def complain(self, text: str) -> None:
        """Write a line about something that went wrong; the text is shown as it is."""
        self._paper.remark(failing(f"! {text}"))

    def show_ask(self) -> None:
        """Write what waits for an answer once more, whatever its length."""
        self._paper.begin(None)
        self._paper.write(*self.asks.show_current())

    def show_new_asks(self) -> None:
        """Write what waits for an answer and was not seen."""
        self._paper_asks()

    @property
    def status(self) -> str:
        """What the session is doing, in a few words."""
        if self.is_away:
            return "the daemon is away"
        word = str(self._live["word"])
        told = [_WORDS.get(word, word) if word != "retry" else self._retry(self._live)]
        if self.queue.count:
            paused = ", paused: /resume" if self.queue.is_paused else ""
            told.append(f"{self.queue.count} queued{paused}")
        return " · ".join([*told, *([self._title] if self._title else [])])

    def _take_live(self, told: Mapping[str, Any]) -> None:
        self._transcript.reconnect(told["texts"])
        asks = [ask for ask in told["asks"] if ask["session_id"] == self._session_id]
        self.asks.keep_only(str(ask["id"]) for ask in asks)
        for ask in asks:
            self.asks.take(str(ask["id"]), ask["kind"], ask)
        self.is_caught_up = True
        self._take_status(told["statuses"].get(self._session_id, {"word": "idle"}))
        for prompt, before in self._untold:
            if self.queue.has(prompt.id):
                self._remark_admitted(prompt, before)
        self._untold.clear()
        self._paper_asks()

    def _take_status(self, live: Mapping[str, Any]) -> None:
        before, self._live = self._live, live
        self.is_busy = live["word"] != "idle"
        if live["word"] == "retry" and live != before:
            self.remark(self._retry(live))
        if live["word"] == "queued" and before["word"] != "queued":
            self.remark(_WORDS["queued"])

    def _retry(self, live: Mapping[str, Any]) -> str:
        message = one_line(str(live.get("message") or "it did not work"), longest=_LONGEST)
        at = str(live.get("next_at") or "")
        attempt = live.get("attempt")
        coming = f"attempt {attempt}" if attempt else "the next attempt"
        return f"{message}; {coming} {f'at {at[11:19]} UTC' if at else 'comes'}"

    def _settle(self, name: str, body: Mapping[str, Any]) -> None:
        ask = self.asks.settle(str(body["ask_id"]))
        if ask is None:
            return
        by = str(body.get("by") or "person")
        if not ask.is_shown:
            # Nobody was asked; that something was refused is worth a line all the same.
            if name == "permission-answered" and body.get("outcome") == "reject":
                self.remark(f"refused ({_by(by)}): {title_of(ask)}")
            return
        self.remark(_settled(name, ask, body, by))

    def _paper_asks(self) -> None:
        spans = self.asks.show_new()
        if spans:
            self._paper.begin(None)
            self._paper.write(*spans)

    def _take_fact(self, name: str, body: Mapping[str, Any]) -> None:
        prompt = self.queue.take(name, body)
        if prompt is not None:
            self._take_prompt(name, prompt, int(body.get("queue_index") or 0))
        match name:
            case "queue-paused" if self.queue.count:
                self._remark_pause()
            case "queue-resumed" if self.queue.count:
                self.remark("the queue goes on")
            case "session-configured" | "run-updated":
                self._take_settings(body)
            case "session-reset" if body.get("reason") != "lost":
                self.remark("the agent begins a new conversation")
            case "agent-status-changed" if body.get("status") in _ENDS:
                self.remark(f"the session is {body['status']}")
            case "run-deleted" | "session-deleted":
                self.is_over = True
                self.complain("the session was deleted")

    def _take_prompt(self, name: str, prompt: Waiting, before: int) -> None:
        if name == "prompt-returned":
            self.remark(f"pending again: {prompt.text}")
        elif name == "prompt-cancelled":
            self.remark(f"cancelled: {prompt.text}")
        elif name == "prompt-admitted" and self.is_caught_up:
            self._remark_admitted(prompt, before)
        elif name == "prompt-admitted":
            # What was missed may also tell that it does not wait any more.
            self._untold.append((prompt, before))

    def _remark_admitted(self, prompt: Waiting, before: int) -> None:
        has_turn = self.queue.has_turn or self._live["word"] in _AT_WORK
        if prompt.held:
            self.remark(f"held back until the next prompt: {prompt.text}")
        elif prompt.delivery == "steer" and has_turn:
            self.remark(f"to be handed into the running turn: {prompt.text}")
        elif has_turn or before:
            self.remark(f"queued as number {before + 1}: {prompt.text}")

    def _remark_pause(self) -> None:
        self.remark(f"the queue is paused, {self.queue.count} waiting; /resume lets it go on")

    def _take_settings(self, body: Mapping[str, Any]) -> None:
        had_title = bool(self._title)
        for name in ("title", "model", "mode"):
            if not isinstance(value := body.get(name), str):
                continue
            told = one_line(value, longest=_LONGEST)
            if name == "title":
                self._title = told
            # The first title is the first prompt, which stands there anyway.
            if name != "title" or had_title:
                self.remark(f"{name}: {told}")


def _settled(name: str, ask: OpenAsk, body: Mapping[str, Any], by: str) -> str:
    if name == "ask-expired":
        reason = str(body.get("reason"))
        return f"no answer is wanted any more, {_EXPIRED.get(reason, one_line(reason, longest=40))}"
    if name == "question-answered":
        answers = "; ".join(", ".join(map(str, texts)) for texts in body.get("answers") or ())
        return f"answered: {one_line(answers, longest=_LONGEST)}"
    return f"answered: {option_name(ask, str(body.get('option_id')))} ({_by(by)})"


def _by(by: str) -> str:
    names = {
        "person": "by a person",
        "rule": "by a rule",
        "grant": "by a standing permission",
        "headless": "since nobody is to be asked",
    }
    return names.get(by, one_line(by, longest=40))
