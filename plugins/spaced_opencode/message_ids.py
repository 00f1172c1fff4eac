"""The ids that our prompts get on the server: the same prompts, the same id, in their right place.

An id is `msg_`, 12 hex digits of a time and 14 characters. Servers have compared ids to learn which
message is newer, so one of ours must be larger than all that the session has, and smaller than what
the server makes next. Its time is therefore the newest that the server has told, plus one, and no
clock of ours is asked. The 14 characters come from our prompts: by them they are found again.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Final

_FORM: Final = re.compile(r"[a-z]+_([0-9a-f]{12})[0-9A-Za-z]{14}")
_TAIL: Final = re.compile(r"[0-9A-Za-z]{14}$")
_LETTERS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_TAIL_LENGTH: Final = 14
_STEPS_PER_MILLISECOND: Final = 4096
_LOW_48_BITS: Final = (1 << 48) - 1


def tail_of(prompt_ids: Sequence[str]) -> str:
    """Return the 14 characters by which a message with these prompts is known."""
    if len(prompt_ids) == 1 and _FORM.fullmatch(prompt_ids[0]):
        return prompt_ids[0][-_TAIL_LENGTH:]
    number = int.from_bytes(hashlib.sha256("\n".join(prompt_ids).encode()).digest(), "big")
    letters = []
    for _ in range(_TAIL_LENGTH):
        number, place = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[place])
    return "".join(letters)


def next_message_id(tail: str, *, newest_ids: Iterable[str], created_ms: int) -> str:
    """Return the id of a message that comes after others.

    Args:
        newest_ids: ids of the session's newest messages; those of another form do not count.
        created_ms: when the server has made the session, by its own clock.
    """
    times = [int(found[1], 16) for found in map(_FORM.fullmatch, newest_ids) if found]
    newest = max(times, default=created_ms * _STEPS_PER_MILLISECOND & _LOW_48_BITS)
    return f"msg_{(newest + 1) & _LOW_48_BITS:012x}{tail}"


def part_id_of(message_id: str, number: int) -> str:
    """Return the id of a message's part, so that a part that is sent twice is one part."""
    form = _FORM.fullmatch(message_id)
    assert form is not None
    place = (int(form[1], 16) + number) & _LOW_48_BITS
    return f"prt_{place:012x}{message_id[-_TAIL_LENGTH:]}"


def has_tail(message_id: str, tail: str) -> bool:
    """Tell whether a message has the prompts that a tail stands for."""
    found = _TAIL.search(message_id)
    return found is not None and found[0] == tail
