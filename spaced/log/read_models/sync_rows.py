"""The tables `sync_file` and `sync_status`: what sync remembers and no event tells."""

from typing import Final

from spaced.log.table import Column, Index, IndexColumn, Table

SYNC_FILE: Final = Table(
    name="sync_file",
    key=("source_id", "name"),
    columns=(Column(name="source_id"), Column(name="name"), Column(name="verdict")),
    indexes=(Index(name="by_source", columns=(IndexColumn(name="source_id"),)),),
    role="own",
)
"""What a file said when it was last taken over; the same bytes are not parsed again."""

SYNC_STATUS: Final = Table(
    name="sync_status",
    key=("source_id",),
    columns=(Column(name="source_id"), Column(name="status")),
    role="own",
)
"""How the last run of a source ended, also where that was as the time before."""
