"""Text of anybody stays in its place in a Markdown document, as a CommonMark reader sees it."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spaced.engine.exports.markdown_items import render_item
from spaced.engine.exports.markdown_text import fenced, inline, quoted

PIECES = st.one_of(
    st.sampled_from(
        ["`", "``", "```", "````", "~~~", "\n", "\n\n", "\r", "\r\n", " ", "   ", "\t"]
    ),
    st.sampled_from(["<b>", "<script>", "</details>", "<!--", "-->", '<a href="`">', "<?php"]),
    st.sampled_from(["<![CDATA[", "]]>", "<http://x`y>", "&lt;", "\\", "|", "| a | b |\n|-|-|\n"]),
    st.sampled_from(["- ", "1. ", "> ", "# ", "---", "===", "[a]: <x", "[a](", "**", "_", "a_b"]),
    st.sampled_from(["text", "\x0b", "\u2028", "\x1b[31m", "\x00", "~"]),
)
TEXTS = st.lists(PIECES, max_size=30).map("".join)
VALUES: st.SearchStrategy[Any] = (
    TEXTS | st.none() | st.just(5) | st.just([1]) | st.just({"a": "<b>"})
)
TYPES = ("message", "reasoning", "tool-call", "tool-result", "plan", "event", "error")
FIELDS = (
    *("role", "content", "name", "title", "kind", "arguments", "status", "output", "created_at"),
    *("event", "details", "error", "code", "model", "stream_status", "late"),
)
LISTS: dict[str, st.SearchStrategy[Any]] = {
    "parts": st.lists(st.dictionaries(st.sampled_from(["type", "name", "path"]), VALUES)),
    "entries": st.lists(st.dictionaries(st.sampled_from(["content", "status"]), VALUES)),
}
ITEMS = st.fixed_dictionaries(
    {"id": st.just("a"), "type": st.sampled_from(TYPES) | VALUES},
    optional=dict.fromkeys(FIELDS, VALUES) | LISTS,
)


def _read(document: str) -> list[tuple[list[str], list[str]]]:
    """Return the outermost blocks of a document and all HTML in it, as two readers see them."""
    markdown_it = pytest.importorskip("markdown_it")
    plain = markdown_it.MarkdownIt("commonmark")
    with_tables = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return [_seen(reader.parse(document)) for reader in (plain, with_tables)]


def _seen(tokens: list[Any]) -> tuple[list[str], list[str]]:
    inside = [child for token in tokens for child in token.children or ()]
    html = [t.content.strip() for t in (*tokens, *inside) if t.type.startswith("html")]
    outermost = [t.type for t in tokens if t.level == 0 and t.type != "inline"]
    return [t for t in outermost if not t.endswith("_close")], html


@settings(max_examples=400, deadline=None)
@given(text=TEXTS)
def test_a_quote_ends_where_it_ends(text: str) -> None:
    """Whatever it holds: open fences, HTML, lists, tables, definitions."""
    for blocks, html in _read(f"# before\n\n{quoted(text)}\n\nafter\n"):
        assert html == []
        assert (blocks[0], blocks[-1]) == ("heading_open", "paragraph_open")
        assert set(blocks[1:-1]) <= {"blockquote_open"}


@settings(max_examples=200, deadline=None)
@given(text=TEXTS)
def test_a_block_of_code_ends_where_it_ends(text: str) -> None:
    """Its fence is longer than any inside."""
    for seen in _read(f"# before\n\n{fenced(text)}\n\nafter\n"):
        assert seen == (["heading_open", "fence", "paragraph_open"], [])


@settings(max_examples=200, deadline=None)
@given(text=TEXTS)
def test_a_line_is_one_line_of_plain_text(text: str) -> None:
    """In a heading it marks nothing."""
    for seen in _read(f"# x {inline(text)}\n\nafter\n"):
        assert seen == (["heading_open", "paragraph_open"], [])


@settings(max_examples=400, deadline=None)
@given(item=ITEMS)
def test_any_item_stays_in_its_place(item: dict[str, Any]) -> None:
    """Also one whose fields are of no type that anybody expects."""
    for blocks, html in _read(f"before\n\n{render_item(item)}\n\nafter\n"):
        ours = [line for line in html if line != "</details>"]
        assert all(line.startswith("<details>\n<summary>Reasoning") for line in ours)
        assert len(ours) == html.count("</details>") == (item["type"] == "reasoning")
        assert blocks.count("heading_open") == (item["type"] == "message")
        assert (blocks[0], blocks[-1]) == ("paragraph_open", "paragraph_open")


def test_prose_keeps_its_markdown() -> None:
    """Code too, with what looks like HTML in it."""
    text = "Use `Vec<T>`:\n\n```rust\nlet a: Vec<u8>;\n```\n\n- **one**\n- a < b"

    assert quoted(text) == (
        "> Use `Vec<T>`:\n>\n> ```rust\n> let a: Vec<u8>;\n> ```\n>\n> - **one**\n> - a < b"
    )


def test_html_becomes_text() -> None:
    """Outside of code, and wherever it is not sure that it is code."""
    assert quoted("a <b>c</b> <!-- d") == "> a &lt;b>c&lt;/b> &lt;!-- d"
    assert quoted("a ` <b> `\n` <i> `") == "> a ` <b> `\n> ` <i> `"
    assert quoted("a ` b\n` <i> `") == "> a ` b\n> ` &lt;i> `"
    assert quoted("\\` <i> `") == "> \\` &lt;i> `"
    assert quoted("| `a | <i>` |") == "> | `a | &lt;i>` |"


def test_a_fence_that_never_ends_is_ended() -> None:
    """So what follows is no code."""
    assert quoted("a\n```sh\nls") == "> a\n> ```sh\n> ls\n> ```"


def test_what_a_terminal_would_obey_is_shown() -> None:
    """A file may be looked at with `cat`."""
    assert inline("\x1b[31mred\x07\u202e") == "␛\\[31mred␇\ufffd"
    assert fenced("a\r\nb\rc\x00") == "```\na\nb\nc␀\n```"
    assert quoted("\x1b]0;title\x07") == "> ␛]0;title␇"


def test_a_long_output_is_shortened_and_says_so() -> None:
    """Its beginning and its end are there."""
    output = "".join(f"line {number}\n" for number in range(5000))
    shown = render_item({"type": "tool-result", "name": "bash", "output": output})

    assert len(shown) < 9000
    assert "line 0\n" in shown
    assert "line 4999\n" in shown
    assert f"of {len(output):,} characters are left out" in shown
