"""The two-minute proof: a chat, a permission, a `kill -9`, and nothing lost and nothing twice."""

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from spaced.cli.demo.count import Count, count
from spaced.cli.demo.daemon_process import DaemonProcess
from spaced.client import calls
from spaced.client.client import Client

CHAT: Final = "ses_demo"
PROFILE: Final = "prof_demo_story"
_PATIENCE: Final = 60.0

SCRIPT: Final[dict[str, list[dict[str, Any]]]] = {
    "Who are you?": [
        {"do": "say", "text": "A scripted agent: I need no model, no network and no key."}
    ],
    "Clean up": [
        {
            "do": "tool",
            "name": "Remove build folder",
            "kind": "execute",
            "arguments": {"command": "rm -r build"},
            "subject": "rm -r build",
            "output": "removed 3 files",
            "permission": True,
        },
        {"do": "say", "text": "The build folder is gone."},
    ],
    "Work for long": [{"do": "say", "text": "I have begun, and it will take "}, {"do": "hang"}],
    "*": [{"do": "echo"}],
}

Say = Callable[[str], None]


@dataclass(slots=True)
class Story:
    """What happens, told as it does.

    Attributes:
        say: prints a line.
        admitted: every prompt that was accepted, with its receipt's version.
        cursors: of every durable event that the listening client heard, over all lives.
    """

    folder: Path
    say: Say
    admitted: dict[str, int] = field(default_factory=dict)
    cursors: list[str] = field(default_factory=list)
    _heard: asyncio.Condition = field(default_factory=asyncio.Condition)
    _kinds: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def tell(self) -> Count:
        """Go through all of it and return what was counted."""
        daemon = await self._start("1. A daemon on an empty folder")
        client = Client(daemon.place, patience=30.0)
        listening: asyncio.Task[None] | None = None
        try:
            start = await self._set_up(client)
            listening = asyncio.ensure_future(self._listen(client, start))
            await self._first_life(client)
            await self._prepare_crash(client)
            self.say(f"5. kill -9 {daemon.pid}, in the middle of that turn")
            await daemon.kill()
            daemon = await self._start("6. The daemon again, on the same folder")
            await self._second_life(client)
            return await self._count(client)
        finally:
            if listening is not None:
                listening.cancel()
                await asyncio.wait({listening})
            await daemon.stop()

    async def _start(self, title: str) -> DaemonProcess:
        self.say(title)
        daemon = await DaemonProcess.start(self.folder)
        self.say(f"   pid {daemon.pid}, listening on {daemon.place}")
        return daemon

    async def _set_up(self, client: Client) -> str:
        """Create the chat, and return the cursor from which everything of it is heard."""
        start = (await client.status()).head
        definition = {
            "name": "Demo story",
            "agent_name": "scripted",
            "runtime": "scripted",
            "options": {"script": SCRIPT},
        }
        await client.do(calls.create_profile(PROFILE, definition))
        await client.create_session(profile=PROFILE, directory=str(self.folder), session_id=CHAT)
        return start

    async def _first_life(self, client: Client) -> None:
        self.say("2. A chat, and a prompt that is on disk before it is answered")
        await self._prompt(client, "msg_demo_1", "Who are you?")
        await client.wait(CHAT, timeout=_PATIENCE)
        await self._show_last(client)
        self.say("3. A tool that asks for permission; any client may answer")
        await self._prompt(client, "msg_demo_2", "Clean up")
        asked = await self._until("permission-asked")
        self.say(f"   asked:  {asked['body']['subject']}")
        options = asked["body"]["options"]
        option = next(o["option_id"] for o in options if str(o["kind"]).startswith("allow"))
        await client.answer_permission(
            asked["body"]["ask_id"], option, digest=asked["body"]["digest"]
        )
        await client.wait(CHAT, timeout=_PATIENCE)
        await self._show_last(client)

    async def _prepare_crash(self, client: Client) -> None:
        self.say("4. A turn that takes long, and three prompts that wait behind it")
        await self._prompt(client, "msg_demo_3", "Work for long")
        await self._until("turn-dispatched", times=3)
        for number in (4, 5, 6):
            await self._prompt(client, f"msg_demo_{number}", f"Waiting prompt {number}")

    async def _second_life(self, client: Client) -> None:
        ended = await self._until("turn-ended", times=3)
        self.say(f"   the turn that was cut off is closed visibly: {ended['body']['outcome']}")
        self.say("7. A client that saw no answer sends everything again, under the same ids")
        first = dict(self.admitted)
        for number, text in enumerate(("Who are you?", "Clean up", "Work for long"), start=1):
            await self._prompt(client, f"msg_demo_{number}", text)
        for number in (4, 5, 6):
            await self._prompt(client, f"msg_demo_{number}", f"Waiting prompt {number}")
        same = "the same receipts as before" if self.admitted == first else "OTHER RECEIPTS"
        self.say(f"   {same}")
        self.say("8. The prompts that waited are answered, in their order")
        await client.wait(CHAT, timeout=_PATIENCE)
        for item in (await client.items(CHAT)).items[-6:]:
            self.say(f"   {item.get('role', ''):9} {str(item.get('content', ''))[:60]}")

    async def _count(self, client: Client) -> Count:
        self.say("9. Counted")
        counted = await count(
            client, CHAT, self.folder, admitted=self.admitted, heard=self._catching_up
        )
        for line in counted.lines:
            self.say(f"   {line}")
        return counted

    async def _prompt(self, client: Client, prompt_id: str, text: str) -> None:
        receipt = await client.prompt(CHAT, text, prompt_id=prompt_id)
        known = self.admitted.setdefault(prompt_id, receipt.admitted_version)
        if known != receipt.admitted_version:
            self.admitted[f"{prompt_id} again"] = receipt.admitted_version

    async def _show_last(self, client: Client) -> None:
        page = await client.items(CHAT, limit=1)
        self.say(f"   answer: {page.items[-1].get('content')}")

    async def _listen(self, client: Client, start: str) -> None:
        async with aclosing(client.events(CHAT, after=start)) as frames:
            async for frame in frames:
                if frame.cursor is None or "version" not in frame.data:
                    continue
                async with self._heard:
                    self.cursors.append(frame.cursor)
                    self._kinds.append((frame.name, frame.data))
                    self._heard.notify_all()

    async def _until(self, kind: str, *, times: int = 1) -> dict[str, Any]:
        """Wait until the listening client has heard an event of a kind so many times."""
        async with asyncio.timeout(_PATIENCE), self._heard:
            await self._heard.wait_for(lambda: len(self._of(kind)) >= times)
            return self._of(kind)[times - 1]

    async def _catching_up(self, last: str) -> list[str]:
        """Return what the client heard, once it has heard the last event."""
        async with asyncio.timeout(_PATIENCE), self._heard:
            await self._heard.wait_for(lambda: last in self.cursors)
            return list(self.cursors)

    def _of(self, kind: str) -> list[dict[str, Any]]:
        return [data for name, data in self._kinds if name == kind]
