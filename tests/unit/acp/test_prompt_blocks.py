"""What goes over to the agent: texts as they are, files in whatever way it takes them."""

import base64
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from spaced.errors import RuntimeProblem
from spaced.runtime.protocol import Prompt, Turn
from tests.unit.acp.puppet import Puppet, Stage, greeting, turn_of


async def test_all_of_a_turn_goes_over_as_it_is(stage: Stage) -> None:
    """What was said before, the step's words, and each prompt, in this order and untouched."""
    puppet = Puppet()
    connection = await stage.open(puppet)
    await connection.start_turn(
        turn_of("first\u2028", "second \ud83d\ude00", history="H", instructions="I")
    )
    blocks = puppet.params_of("session/prompt")["prompt"]
    assert [block["text"] for block in blocks] == ["H", "I", "first\u2028", "second \U0001f600"]
    await stage.sink.end_of("turn_1")


async def parts_as_blocks(stage: Stage, *parts: dict[str, Any], **capabilities: Any) -> list[Any]:
    """Return the blocks that a prompt's parts become."""
    puppet = Puppet(initialize=lambda p, params: greeting(promptCapabilities=capabilities))
    connection = await stage.open(puppet)
    await connection.start_turn(Turn(id="turn_1", prompts=(Prompt(id="p", parts=parts),)))
    blocks: list[Any] = puppet.params_of("session/prompt")["prompt"]
    return blocks


async def test_a_file_goes_over_as_a_link(stage: Stage) -> None:
    """Every agent takes one; a path without a beginning is one in the session's folder."""
    part = {"type": "file", "name": "a b.txt", "mime": "text/plain", "path": "a b.txt"}
    (block,) = await parts_as_blocks(stage, part)
    assert (block["type"], block["name"], block["mimeType"]) == (
        "resource_link",
        "a b.txt",
        "text/plain",
    )
    assert unquote(block["uri"]) == f"file://{stage.session().directory}/a b.txt"


async def test_an_image_goes_over_to_who_can_see(stage: Stage) -> None:
    """Its content is in a blob."""
    stage.blobs["blob_1"] = b"\x89PNG"
    part = {"type": "file", "name": "a.png", "mime": "image/png", "blob": "blob_1"}
    (block,) = await parts_as_blocks(stage, part, image=True)
    assert (block["type"], base64.b64decode(block["data"])) == ("image", b"\x89PNG")


async def test_a_blob_goes_over_within_the_prompt_if_the_agent_takes_that(stage: Stage) -> None:
    """A text as text, and what claims to be one and is none as bytes."""
    stage.blobs |= {"blob_1": b"hello", "blob_2": b"\xff\xfe"}
    parts = [
        {"type": "file", "name": f"{i}.txt", "mime": "text/plain", "blob": f"blob_{i}"}
        for i in (1, 2)
    ]
    one, two = await parts_as_blocks(stage, *parts, embeddedContext=True)
    assert one["resource"]["text"] == "hello"
    assert base64.b64decode(two["resource"]["blob"]) == b"\xff\xfe"


async def test_a_blob_is_laid_down_as_a_file_for_all_others(stage: Stage) -> None:
    """Privately, and under a name that leads nowhere else."""
    stage.blobs["blob_1"] = b"hello"
    part = {"type": "file", "name": "../../etc/x y", "mime": "text/plain", "blob": "blob_1"}
    (block,) = await parts_as_blocks(stage, part)
    check_private_file(Path(unquote(block["uri"].removeprefix("file://"))), stage)


def check_private_file(path: Path, stage: Stage) -> None:
    """Check that a file holds the blob, lies in the runtime's folder, and is ours alone."""
    assert path.read_bytes() == b"hello"
    assert path.is_relative_to(Path(stage.session().directory) / "state")
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_blob_that_is_gone_keeps_the_turn_from_beginning(stage: Stage) -> None:
    """And the agent is free for the next one."""
    connection = await stage.open(Puppet())
    part = {"type": "file", "name": "a", "mime": "text/plain", "blob": "blob_1"}
    with pytest.raises(RuntimeProblem, match="blob_1"):
        await connection.start_turn(Turn(id="turn_1", prompts=(Prompt(id="p", parts=(part,)),)))
    await connection.start_turn(turn_of("go", turn_id="turn_2"))
    await stage.sink.end_of("turn_2")
