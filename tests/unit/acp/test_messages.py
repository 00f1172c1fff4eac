"""Lines of an agent: what is a message, and what is junk."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaced_acp.messages import (
    Answer,
    Notification,
    Request,
    read_message,
    write_error,
    write_notification,
    write_request,
    write_result,
)


def test_a_request_has_a_method_and_an_id() -> None:
    """Zero is an id like any other; agents begin to count with it."""
    found = read_message(b'{"jsonrpc":"2.0","id":0,"method":"m","params":{"a":1}}')
    assert found == Request(id=0, method="m", params={"a": 1})


def test_a_notification_has_no_id() -> None:
    """Nobody waits for an answer to it."""
    found = read_message(b'{"jsonrpc":"2.0","method":"m","params":{"a":1}}\r')
    assert found == Notification(method="m", params={"a": 1})


def test_an_answer_has_a_result_or_an_error() -> None:
    """An empty result is one; some agents answer with null."""
    assert read_message(b'{"id":7,"result":null}') == Answer(id=7, result={})
    found = read_message(
        b'{"id":"x","error":{"code":-32603,"message":"no","data":{"details":"why"}}}'
    )
    assert isinstance(found, Answer)
    assert found.error is not None
    assert (found.error.code, found.error.text) == (-32603, "no why")


@pytest.mark.parametrize("error", ['"just words"', "{}", '{"code":"x"}', '{"data":[1]}'], ids=str)
def test_an_error_of_any_shape_is_one(error: str) -> None:
    """What went wrong must not go wrong a second time."""
    found = read_message(f'{{"id":1,"error":{error}}}'.encode())
    assert isinstance(found, Answer)
    assert found.error is not None
    assert found.error.text


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"Loading plugins...",
        b"42",
        b'"text"',
        b"null",
        b"[1,2]",
        b"{}",
        b'{"level":"info","msg":"ready"}',
        b'{"jsonrpc":"2.0"}',
        b'{"id":true,"result":{}}',
        b'{"id":null,"error":{"code":1,"message":"parse"}}',
        b'{"id":1,"method":"cut',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"id":1,"method":7}',
        b'{"n":' + b"9" * 5000 + b"}",
    ],
    ids=lambda line: repr(line)[:40],
)
def test_everything_else_is_junk(line: bytes) -> None:
    """Banners and logs are no reason to give a session up."""
    assert read_message(line) is None


def test_half_a_character_survives() -> None:
    """Agents cut texts between two code units, and the other half comes with the next chunk."""
    found = read_message(rb'{"method":"m","params":{"text":"\ud83d"}}')
    assert found == Notification(method="m", params={"text": "\ud83d"})


def test_bytes_that_are_no_text_cost_only_themselves() -> None:
    """A tool's output in another encoding must not lose the whole message."""
    found = read_message(b'{"method":"m","params":{"text":"a\xffb"}}')
    assert found == Notification(method="m", params={"text": "a\ufffdb"})


def test_parameters_of_a_wrong_type_are_none() -> None:
    """Lists are allowed by JSON-RPC and never used by the protocol."""
    assert read_message(b'{"method":"m","params":[1]}') == Notification(method="m", params={})


@given(st.binary(max_size=200))
def test_no_line_breaks_the_reader(line: bytes) -> None:
    """Whatever an agent prints."""
    read_message(line)


@given(st.text(max_size=50))
def test_what_is_written_is_one_line_and_reads_back(text: str) -> None:
    """Line ends of every alphabet, halves of characters and all."""
    for line in (
        write_request(1, "m", {"t": text}),
        write_notification("m", {"t": text}),
        write_result(1, {"t": text}),
    ):
        assert line.count(b"\n") == 1
        assert len(line.decode("ascii").splitlines()) == 1
        value = json.loads(line)
        assert (value.get("params") or value["result"])["t"] == text
    assert json.loads(write_error(3, -32601, text))["error"] == {"code": -32601, "message": text}
