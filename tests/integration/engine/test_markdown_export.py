"""An export as Markdown reads well, whatever was said."""

import re

import pytest

from spaced.domain.events.transcript import AgentItemAppended
from spaced.engine.doctor import rebuild
from spaced.engine.exports.markdown_export import export_markdown
from spaced.engine.exports.redacting import UNREDACTED, Redacting
from spaced.engine.journal import Entry, Journal, Statement
from spaced.engine.prompts import Address, PromptRequest
from spaced.redaction import Redactor
from spaced.refusals import UnknownSession
from spaced.testing.samples import event
from tests.integration.engine.house import House, say
from tests.integration.journal.telling import plant

ECHO = {"do": "echo"}
SECRET = "sk-ant-api03-" + "Abc123Def456" * 4

WHOLE = """\
# Count \\*penguins\\*

- Session: SESSION
- Agent: scripted 1796117400000
- Profile: PROFILE
- Folder: FOLDER
- Status: idle
- Created: 2026-12-01 09:30:00
- Last changed: 2026-12-01 09:30:00
- Items: 6
- Times are UTC.

## Turn 1 · 2026-12-01 09:30:00 · completed

### User · 2026-12-01 09:30:00

> How many **penguins** are there?

- file · list.txt · text/plain · /data/list.txt

<details>
<summary>Reasoning · 2026-12-01 09:30:00</summary>

> I &lt;b>could&lt;/b> count.

</details>

**Tool call** Count · execute · completed · 2026-12-01 09:30:00

```json
{
  "command": "wc"
}
```

**Tool result** bash · 2026-12-01 09:30:00

````
42
```
````

### Assistant · 2026-12-01 09:30:00

> There are `42<b>`.

## Turn 2 · 2026-12-01 09:30:00 · completed

### User · 2026-12-01 09:30:00

> Thanks

## Waiting prompts

> And seals?
"""


async def _document(house: House, chat: str, redactor: Redacting = UNREDACTED) -> str:
    pieces = [piece async for piece in export_markdown(house.storage, chat, redactor=redactor)]
    return "".join(pieces)


async def _record(house: House, chat: str, *items: dict[str, object]) -> None:
    version = await house.storage.version(chat)
    told = [Statement(event=AgentItemAppended(item=item), session_id=chat) for item in items]
    entry = Entry(stream=chat, expected_version=version, statements=told)
    await Journal(house.storage, house.clock).append(entry)


async def test_a_chat_reads_from_top_to_bottom(house: House) -> None:
    """Facts, then turn by turn who said what, with tools and reasoning out of the way."""
    tool = {"do": "tool", "name": "bash", "title": "Count", "kind": "execute"}
    chat = await house.chat(
        [
            {"do": "think", "text": "I <b>could</b> count."},
            {**tool, "arguments": {"command": "wc"}, "output": "42\n```"},
            say("There are `42<b>`."),
        ],
        [{"do": "end"}],
        request={"title": "Count *penguins*"},
    )
    file = {"type": "file", "name": "list.txt", "mime": "text/plain", "path": "/data/list.txt"}
    text = {"type": "text", "text": "How many **penguins** are there?"}
    request = PromptRequest(parts=(text, file))
    await house.engine.prompts.send(Address(kind="session", id=chat), request)
    await house.idle(chat)
    await house.turn(chat, "Thanks")
    await house.send(chat, "And seals?", wake=False)

    document = await _document(house, chat)

    profile_id = (await house.session(chat)).agent_id
    known = {"SESSION": chat, "PROFILE": str(profile_id), "FOLDER": str(house.workplace)}
    wanted = WHOLE
    for name, value in known.items():
        wanted = wanted.replace(name, value)
    assert document == wanted


async def test_only_the_session_that_was_named_is_shown(house: House) -> None:
    """A follow-up has a document of its own, which names the run."""
    chat = await house.chat([ECHO])
    await house.turn(chat, "first words")
    await house.engine.sessions.complete(chat)
    follow_up = (await house.send(chat, "second words")).session_id
    await house.idle(follow_up)

    document = await _document(house, follow_up)

    assert f"- Run: {chat}\n" in document
    assert "> second words" in document
    assert "> first words" not in document


async def test_deleted_and_unknown_sessions_have_no_document(house: House) -> None:
    """Not even an empty one."""
    chat = await house.chat([ECHO])
    await house.engine.deletions.delete(chat)

    for name in (chat, "ses_nobody"):
        with pytest.raises(UnknownSession):
            await _document(house, name)


async def test_what_comes_late_is_put_under_its_turn_again(house: House) -> None:
    """Turns keep their numbers; items without a turn stay where they are, and say so."""
    chat = await house.chat([ECHO])
    await _record(
        house,
        chat,
        {"id": "a", "type": "message", "role": "user", "content": "A", "turn_id": "one"},
        {"id": "b", "type": "message", "role": "user", "content": "B", "turn_id": "two"},
        {"id": "c", "type": "message", "content": "C", "turn_id": "one", "late": True},
        {"id": "d", "type": "event", "event": "compaction", "background": True},
        {"id": "e", "type": "error", "error": "It broke.", "code": "broken"},
        {"id": "f", "type": "plan", "entries": [{"content": "x", "status": "completed"}]},
        {"id": "g", "type": "new-type", "what": "<b>"},
    )

    document = await _document(house, chat)

    body = document[document.index("## Turn") :]
    assert body == (
        "## Turn 1\n\n### User\n\n> A\n\n## Turn 2\n\n### User\n\n> B\n\n## Turn 1, continued\n\n"
        "### Somebody · late\n\n> C\n\n- compaction · background\n\n"
        "- **Error** (broken) It broke.\n\n**Plan**\n\n- [x] x\n\n**Entry** · new-type\n\n"
        '```json\n{\n  "id": "g",\n  "type": "new-type",\n  "what": "<b>"\n}\n```\n'
    )


async def test_a_damaged_chat_is_shown_as_far_as_it_goes(house: House) -> None:
    """The damage is named where it is, and once at the top."""
    chat = await house.chat([say("fine"), say("broken", source="other")])
    await house.turn(chat, "go")
    last = str((await house.items(chat))[-1]["id"])
    body = b'{"item_id":9}'
    await plant(
        house.storage, chat, event(body, kind="agent-item-updated", session_id=chat, item_id=last)
    )
    await rebuild(house.storage)

    document = await _document(house, chat)

    assert re.search(r"^- Damage: \S+ is damaged at version \d+: ", document, re.MULTILINE)
    assert "> fine" in document
    assert "> broken" not in document
    assert f"- **Damaged** · the item '{last}'" in document


async def test_a_redacted_document_holds_no_secret(house: House) -> None:
    """In its title, in what was said and done, in what waits."""
    chat = await house.chat(
        [
            say(f"It is {SECRET}.", piece_length=4),
            {
                "do": "tool",
                "name": "env",
                "arguments": {"API_KEY": SECRET},
                "output": f"K={SECRET}",
            },
        ],
        request={"title": f"About {SECRET}"},
    )
    await house.turn(chat, f"Use {SECRET}")
    await house.send(chat, f"later {SECRET}", wake=False)

    document = await _document(house, chat, Redactor())

    assert SECRET[:20] not in document
    assert SECRET[-20:] not in document
    assert "> It is [redacted]." in document
    assert "- What looks like a secret is hidden.\n" in document
    assert SECRET in (await _document(house, chat)).replace("\\", "")


async def test_long_chats_come_in_pieces(house: House) -> None:
    """And in order."""
    chat = await house.chat([ECHO])
    names = [f"item {number}" for number in range(230)]
    items: list[dict[str, object]] = [{"id": n, "type": "message", "content": n} for n in names]
    await _record(house, chat, *items)

    pieces = [piece async for piece in export_markdown(house.storage, chat)]

    assert len(pieces) > 4
    assert re.findall(r"^> (item \d+)$", "".join(pieces), re.MULTILINE) == names
