"""Words of rows, findable: an FTS5 index without the texts.

FTS5 keeps no copy of what it indexes (`content=''`), so to take a row out it must be told again
which words it held. SQLite before 3.43 knows no other way. The distinct words of each row are
therefore kept compressed in `words:<table>`.

A word is a run of letters and digits, case-folded; `_` separates. Only its first 64 characters are
indexed, so that encoded data does not swell the index. Python splits; the tokenizer `ascii` only
has to find the blanks again: to it every letter beyond ASCII is part of a word, so it can never
split otherwise. Newest rows come first.
"""

import re
import zlib
from collections.abc import Iterable, Mapping
from typing import Final

from spaced.plugin_api import UnusableQuery
from spaced_sqlite.driver import sqlite3
from spaced_sqlite.row_tables import ROW_ID, RowTable, quoted

LONGEST_WORD: Final = 64

_WORD = re.compile(r"[^\W_]+")
_PLAIN: Final = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
"""What becomes of each ASCII character: the same words that `_WORD` finds, in lower case."""
_QUERY_WORD = re.compile(r"([^\W_]+)(\*?)")


def words_of(texts: Iterable[str]) -> list[str]:
    """Return the distinct words of texts, sorted, as they are indexed."""
    found: set[str] = set()
    for text in texts:
        found.update(_words_in(text))
    return sorted({word[:LONGEST_WORD] for word in found})


def match_expression(query: str) -> str:
    """Return a query in FTS5's language; all its own signs are gone or quoted.

    Raises:
        UnusableQuery: it holds no word.
    """
    terms = [f'"{_indexed(word)}"{star}' for word, star in _QUERY_WORD.findall(query)]
    if not terms:
        raise UnusableQuery(f"the query {query!r} holds no word")
    return " AND ".join(dict.fromkeys(terms))


class SearchIndex:
    """The words of one table's rows; all calls run inside the writer's transaction."""

    def __init__(self, conn: sqlite3.Connection, table: RowTable) -> None:
        self._conn = conn
        index, words = quoted(table.index_table), quoted(table.words_table)
        self._add_sql = f"insert into {index} (rowid, words) values (?, ?)"  # noqa: S608
        self._remove_sql = f"insert into {index} ({index}, rowid, words) values ('delete', ?, ?)"  # noqa: S608
        self._keep_sql = f"insert into {words} ({ROW_ID}, words) values (?, ?)"  # noqa: S608
        self._kept_sql = f"select words from {words} where {ROW_ID} = ?"  # noqa: S608
        self._forget_sql = f"delete from {words} where {ROW_ID} = ?"  # noqa: S608
        self._merge_sql = f"insert into {index} ({index}, rank) values ('merge', ?)"  # noqa: S608

    def replace(self, row_id: int, text: Mapping[str, str]) -> None:
        """Index a row under the words of these texts and no others."""
        self.remove(row_id)
        words = " ".join(words_of(text.values()))
        if words:
            self._conn.execute(self._add_sql, (row_id, words))
            self._conn.execute(self._keep_sql, (row_id, zlib.compress(words.encode())))

    def remove(self, row_id: int) -> None:
        """Take a row out of the index; one that is not in it is fine."""
        kept = self._conn.execute(self._kept_sql, (row_id,)).fetchone()
        if kept is not None:
            self._conn.execute(self._remove_sql, (row_id, zlib.decompress(kept[0]).decode()))
            self._conn.execute(self._forget_sql, (row_id,))

    def merge(self, pages: int) -> bool:
        """Do a part of merging the index into one piece; return whether more is to do.

        Only a merge makes removed words leave the file. The first call of a merge passes a
        negative number of pages, which starts it over all pieces.
        """
        before = self._conn.total_changes
        self._conn.execute(self._merge_sql, (pages,))
        # What FTS5 documents: fewer than two changes mean that there was nothing to merge.
        return self._conn.total_changes - before >= 2  # noqa: PLR2004


def _words_in(text: str) -> list[str]:
    """Return the words of a text, case-folded.

    Lines of plain ASCII are split all at once by a table, in a third of the time that the pattern
    takes: the writer's thread does this, so a long answer must not hold the other appends up.
    """
    lines = [text] if text.isascii() else text.split("\n")
    plain = "\n".join([line for line in lines if line.isascii()])
    words = plain.translate(_PLAIN).split()
    for line in lines:
        if not line.isascii():
            words += [word.casefold() for word in _WORD.findall(line)]
    return words


def _indexed(word: str) -> str:
    return word.casefold()[:LONGEST_WORD]
