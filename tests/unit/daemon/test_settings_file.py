"""Which settings files are read, and on which line what stands."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaced.daemon.settings_file import LARGEST, read_settings_file
from spaced.refusals import InvalidSettings

TRICKY = '''# a comment = "with # signs"
"data_dir" = "/tmp/x#y" # = not a key
retention = """
[not] = "a header" ""
\\""" 7d"""
log . level = \'\'\'
[it's] ''= x\'\'\'
[listen] # [comment]
port = 80
"hos\\u0074" = '\\'
allowed_hosts = [ "a]", # ["
  'b"', """c
]""",
  ]
inline = { x = [1, { y = "}" }],   z.w = 2 }

[ storages . "sq.lite" ]
'''


def _write(folder: Path, content: bytes) -> Path:
    path = folder / "config.toml"
    path.write_bytes(content)
    return path


def _refusal(path: Path) -> str:
    with pytest.raises(InvalidSettings) as refused:
        read_settings_file(path)
    return refused.value.message


def test_every_key_is_found_on_its_line(tmp_path: Path) -> None:
    """Strings, comments, arrays and quoted names do not mislead the search."""
    file = read_settings_file(_write(tmp_path, TRICKY.encode()))

    assert file is not None
    assert file.lines == {
        ("data_dir",): 2,
        ("retention",): 3,
        ("log", "level"): 6,
        ("listen",): 8,
        ("listen", "port"): 9,
        ("listen", "host"): 10,
        ("listen", "allowed_hosts"): 11,
        ("listen", "inline"): 15,
        ("storages", "sq.lite"): 17,
    }


def test_lines_count_the_same_with_the_line_ends_of_windows(tmp_path: Path) -> None:
    """Editors disagree about line ends, not about lines."""
    content = b"\xef\xbb\xbf" + TRICKY.replace("\n", "\r\n").encode()
    file = read_settings_file(_write(tmp_path, content))

    assert file is not None
    assert file.lines["storages", "sq.lite"] == 17


def test_a_key_of_an_inline_table_stands_where_the_table_begins(tmp_path: Path) -> None:
    """That is near enough for whoever looks for it."""
    file = read_settings_file(_write(tmp_path, TRICKY.encode()))

    assert file is not None
    assert file.place_of(("listen", "inline", "x")) == f"{file.path} line 15"
    assert file.place_of(("unheard", "of")) == str(file.path)


def test_an_array_of_tables_begins_at_the_first_one(tmp_path: Path) -> None:
    """A mistake in any of them leads to the place where they begin."""
    file = read_settings_file(_write(tmp_path, b"\n[[mcp_servers]]\nn=1\n[[mcp_servers]]\nn=2"))

    assert file is not None
    assert file.lines == {("mcp_servers",): 2, ("mcp_servers", "n"): 3}


_NAMES = st.text(alphabet="ab.[]=#'\" ", min_size=1, max_size=6)
_STRINGS = st.text(alphabet="ab\"'\\\n#[]{}=., ", max_size=12)


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '\\"') + '"'


def _multiline(text: str) -> str:
    """Write a text with as few escapes as TOML lets one."""
    body = text.replace("\\", "\\\\").replace('"""', '""\\"')
    return f'"""\n{body}"""'


@given(tables=st.dictionaries(_NAMES, st.lists(_STRINGS, max_size=3), max_size=6))
def test_whatever_values_hold_each_key_is_found_on_its_line(
    tmp_path_factory: pytest.TempPathFactory, tables: Mapping[str, list[str]]
) -> None:
    """The lines of a document are known from writing it."""
    lines, text = {}, ""
    for name, values in tables.items():
        lines[name,] = text.count("\n") + 1
        text += f"{_quoted_name(name)} = [{', '.join(map(_multiline, values))}] # ]\n"
    file = read_settings_file(_write(tmp_path_factory.getbasetemp(), text.encode()))

    assert file is not None
    assert file.values == tables
    assert file.lines == lines


def test_there_may_be_no_file(tmp_path: Path) -> None:
    """Everything has a default."""
    assert read_settings_file(tmp_path / "missing.toml") is None


def test_a_file_that_is_no_toml_is_refused_with_the_line(tmp_path: Path) -> None:
    """The parser's own words tell what it met."""
    refusal = _refusal(_write(tmp_path, b"a = 1\nb = = 2"))

    assert refusal.startswith(f"{tmp_path / 'config.toml'} is no TOML: ")
    assert "line 2" in refusal


def test_a_file_that_is_not_utf8_is_refused_with_the_line(tmp_path: Path) -> None:
    """An editor of another age wrote it."""
    refusal = _refusal(_write(tmp_path, b"a = 1\nb = '\xe4'"))

    assert refusal == f"{tmp_path / 'config.toml'} line 2: this is no text in UTF-8"


def test_a_folder_is_refused(tmp_path: Path) -> None:
    """Whoever names the folder instead of the file in it is told so."""
    assert _refusal(tmp_path) == f"{tmp_path} is a folder, not a settings file"


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    """Nobody may ever write to it."""
    os.mkfifo(tmp_path / "config.toml")

    assert _refusal(tmp_path / "config.toml").endswith("is no plain file")


def test_a_file_below_a_file_is_refused(tmp_path: Path) -> None:
    """The system's words tell what is in the way."""
    path = _write(tmp_path, b"") / "below.toml"

    assert _refusal(path) == f"{path} cannot be read: Not a directory"


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    """It is some other file; parsing it would take its time."""
    assert read_settings_file(_write(tmp_path, b"#" * LARGEST)) is not None
    assert "is larger than 1048576 bytes" in _refusal(_write(tmp_path, b"#" * (LARGEST + 1)))


@pytest.mark.parametrize(
    "content", [f"a = {'[' * 50_000}", f"a = {'9' * 5000}"], ids=["deep", "many digits"]
)
def test_what_exhausts_the_parser_is_refused(tmp_path: Path, content: str) -> None:
    """Depth and length have their limits, and no traceback tells of them."""
    assert "is no TOML" in _refusal(_write(tmp_path, content.encode()))


def test_a_file_that_everybody_may_write_is_refused(tmp_path: Path) -> None:
    """It decides which programs run."""
    path = _write(tmp_path, b"")
    path.chmod(0o666)

    assert _refusal(path).startswith(f"everybody may write to {path}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    """Its owner would decide which programs run as us."""
    path = _write(tmp_path, b"")
    os.chown(path, 12345, -1)

    assert _refusal(path).endswith("belongs to another user (uid 12345)")


def test_a_link_to_a_file_of_ours_is_read(tmp_path: Path) -> None:
    """Many people keep such files elsewhere and link them."""
    (tmp_path / "link.toml").symlink_to(_write(tmp_path, b"a = 1"))
    file = read_settings_file(tmp_path / "link.toml")

    assert file is not None
    assert file.values == {"a": 1}
