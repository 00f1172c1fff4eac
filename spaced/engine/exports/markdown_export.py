"""A session as a Markdown document that people read: turn by turn, who said what and when."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence

from spaced.domain.json_values import JsonObject
from spaced.domain.prompt import AdmittedPrompt
from spaced.domain.prompt_parts import text_of
from spaced.domain.turn import RecordedTurn
from spaced.engine.exports.chat_reader import ChatReader, ToldItem
from spaced.engine.exports.encoding import time_text
from spaced.engine.exports.markdown_items import attachments, moment, render_item
from spaced.engine.exports.markdown_text import inline, quoted
from spaced.engine.exports.redacting import UNREDACTED, Redacting
from spaced.log.read_models.definitions import PROFILES
from spaced.log.read_models.lives import PROMPTS, TURNS
from spaced.storage.protocol import Storage


async def export_markdown(
    storage: Storage, session_id: str, *, redactor: Redacting = UNREDACTED
) -> AsyncIterator[str]:
    """Write a session as Markdown, in pieces; nothing comes before the session was found.

    One page of its items is in memory at a time. Long outputs of tools are shortened.

    Raises:
        UnknownSession: there is no such session, or it was deleted.
    """
    chat = await ChatReader.open(storage, session_id)
    async for piece in _MarkdownExport(storage, chat, redactor).pieces():
        yield piece


class _MarkdownExport:
    """One export on its way; it counts the turns."""

    def __init__(self, storage: Storage, chat: ChatReader, redactor: Redacting) -> None:
        self._storage = storage
        self._chat = chat
        self._redactor = redactor
        self._numbers: dict[str, int] = {}
        self._turn_id: str | None = None

    async def pieces(self) -> AsyncIterator[str]:
        """Write the document."""
        yield self._head(await self._profile_name())
        async for page in self._chat.items(self._chat.session):
            items = await asyncio.to_thread(self._folded, page)
            turns = await self._turns_of(items)
            yield await asyncio.to_thread(self._page, items, turns)
        heading = "\n## Waiting prompts\n"
        async for prompts in self._chat.lives(PROMPTS, status="pending"):
            waiting = [prompt for prompt in prompts if prompt.session_id == self._chat.session.id]
            if waiting:
                yield heading + await asyncio.to_thread(self._waiting, waiting)
                heading = ""

    async def _profile_name(self) -> str | None:
        key = (self._chat.session.agent_id or "",)
        rows = (await self._storage.get_rows(PROFILES.table.name, [key])).rows
        return PROFILES.state_of(rows[0]).profile.name if rows else None

    def _head(self, profile_name: str | None) -> str:
        session, run = self._chat.session, self._chat.run
        forked_from = (run.forked_from or {}).get("session_id")
        updated_at = session.created_at if session.updated_at is None else session.updated_at
        facts = {
            "Session": session.id,
            "Run": None if run.id == session.id else run.id,
            "Agent": profile_name,
            "Profile": session.agent_id,
            "Folder": session.directory or run.directory,
            "Forked from": forked_from if isinstance(forked_from, str) else None,
            "Status": f"{session.status}, archived" if run.is_archived else session.status,
            "Created": moment(time_text(session.created_at)),
            "Last changed": moment(time_text(updated_at)),
            "Items": f"{session.item_count:,}",
            "Damage": self._chat.damage,
        }
        lines = [f"- {name}: {self._inline(fact)}" for name, fact in facts.items() if fact]
        lines.append("- Times are UTC.")
        if self._redactor is not UNREDACTED:
            lines.append("- What looks like a secret is hidden.")
        title = self._inline(session.title or run.title or "") or "Untitled chat"
        return f"# {title}\n\n" + "\n".join(lines) + "\n"

    def _folded(self, page: Sequence[ToldItem]) -> list[JsonObject | str]:
        """Return the items, or a sentence for one that is damaged."""
        found = (told.fold_or_problem() for told in page)
        return [
            self._redactor.text(problem) if item is None else self._redactor.value(item)
            for item, problem in found
        ]

    async def _turns_of(self, items: Sequence[JsonObject | str]) -> dict[str, RecordedTurn]:
        named = (item.get("turn_id") for item in items if not isinstance(item, str))
        keys = [(name,) for name in dict.fromkeys(n for n in named if isinstance(n, str))]
        rows = (await self._storage.get_rows(TURNS.table.name, keys)).rows
        return {turn.id: turn for turn in map(TURNS.state_of, rows)}

    def _page(self, items: Sequence[JsonObject | str], turns: Mapping[str, RecordedTurn]) -> str:
        blocks: list[str] = []
        for item in items:
            if isinstance(item, str):
                blocks.append(f"- **Damaged** · {inline(item)}")
                continue
            turn_id = item.get("turn_id")
            if isinstance(turn_id, str) and turn_id != self._turn_id:
                self._turn_id = turn_id
                blocks.append(self._turn_heading(turn_id, turns.get(turn_id)))
            blocks.append(render_item(item))
        return "".join(f"\n{block}\n" for block in blocks)

    def _turn_heading(self, turn_id: str, turn: RecordedTurn | None) -> str:
        is_known = turn_id in self._numbers
        number = self._numbers.setdefault(turn_id, len(self._numbers) + 1)
        heading = f"## Turn {number}"
        if is_known:
            return f"{heading}, continued"
        if turn is None:
            return heading
        return f"{heading} · {moment(time_text(turn.started_at))} · {turn.outcome or turn.status}"

    def _waiting(self, prompts: Sequence[AdmittedPrompt]) -> str:
        blocks: list[str] = []
        for prompt in prompts:
            parts = self._redactor.value(list(prompt.parts))
            text = text_of(parts)
            blocks += [quoted(text) if text else "", attachments(parts)]
        return "".join(f"\n{block}\n" for block in blocks if block)

    def _inline(self, text: str) -> str:
        return inline(self._redactor.text(text))
