"""The access token: made once, kept, and refused if it could not protect anything."""

from pathlib import Path

import pytest

from spaced.daemon.token import access_token
from spaced.refusals import InvalidSettings, UnsafePlace
from tests.unit.daemon.privacy import mode_of


def test_the_first_start_makes_a_token_that_stays(tmp_path: Path) -> None:
    """Clients that have learnt it can go on after a restart."""
    token = access_token(tmp_path)

    assert access_token(tmp_path) == token
    assert len(token) >= 43
    assert token.isascii()
    assert mode_of(tmp_path / "token") == 0o600


def test_every_data_directory_has_another_token(tmp_path: Path) -> None:
    """They come from the system's source of randomness."""
    (tmp_path / "other").mkdir()

    assert access_token(tmp_path) != access_token(tmp_path / "other")


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_token_chosen_by_hand_is_taken(tmp_path: Path, end: str) -> None:
    """An editor may end the line or not."""
    (tmp_path / "token").write_bytes(b"chosen:by-hand-once" + end.encode())

    assert access_token(tmp_path) == "chosen:by-hand-once"


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"   \n", "holds spaces"),
        (b"two words of some length", "holds spaces"),
        (b"a-token-of-good-length\n\n", "holds spaces, several lines"),
        (b"one-line-of-some-length\nanother-line", "holds spaces, several lines"),
        (b"a-token-of-good-length\0", "or other characters than ASCII's"),
        ("kein-gutes-Schlüsselwort".encode(), "or other characters than ASCII's"),
        (b"\xef\xbb\xbfa-token-of-good-length", "or other characters than ASCII's"),
        (b"\xff\xfe" * 20, "or other characters than ASCII's"),
        (b"fifteen-letters", "does not have from 16 to 512 characters"),
        (b"x" * 513, "does not have from 16 to 512 characters"),
    ],
)
def test_what_is_no_token_is_refused_and_never_shown(
    tmp_path: Path, content: bytes, what: str
) -> None:
    """An empty one would let everybody in, and no request could carry the others."""
    (tmp_path / "token").write_bytes(content)
    (tmp_path / "token").chmod(0o600)

    with pytest.raises(InvalidSettings) as refused:
        access_token(tmp_path)
    assert refused.value.message.startswith(f"the access token in {tmp_path / 'token'} ")
    assert what in refused.value.message
    assert refused.value.remedy == "Delete the file; the next start makes a new token."
    assert len(content) < 10 or content.decode("latin-1") not in refused.value.message
    assert (tmp_path / "token").read_bytes() == content


def test_a_token_behind_a_link_is_refused(tmp_path: Path) -> None:
    """Somebody else may know what it leads to."""
    (tmp_path / "other").write_text("known-to-somebody-else")
    (tmp_path / "token").symlink_to(tmp_path / "other")

    with pytest.raises(UnsafePlace, match="is a symbolic link"):
        access_token(tmp_path)
