"""The tables `grant` and `descriptor`: what holds for the whole daemon."""

from collections.abc import Iterable
from typing import Final

import msgspec

from spaced.domain.events.system import (
    DescriptorBound,
    DescriptorUnbound,
    GrantRecorded,
    GrantRevoked,
)
from spaced.domain.workflow import ProfileDescriptor
from spaced.log.fact import Fact
from spaced.log.read_models.read_model import RowsInHand
from spaced.log.table import Column, Index, IndexColumn, Key, Row, Table

GRANT: Final = Table(
    name="grant",
    key=("id",),
    columns=(
        Column(name="id"),
        Column(name="stream"),
        Column(name="profile_id"),
        Column(name="directory"),
        Column(name="tool_kind"),
        Column(name="match"),
        Column(name="created_at", type="integer"),
    ),
    indexes=(
        Index(
            name="by_scope",
            columns=(
                IndexColumn(name="profile_id"),
                IndexColumn(name="directory"),
                IndexColumn(name="tool_kind"),
            ),
        ),
    ),
    role="derived",
)

DESCRIPTOR: Final = Table(
    name="descriptor",
    key=("agent_name", "model", "mode"),
    columns=(
        Column(name="agent_name"),
        Column(name="model"),
        Column(name="mode"),
        Column(name="stream"),
        Column(name="profile_id"),
    ),
    role="derived",
)


class Grants:
    """Keeps `grant` equal to the log: a row for each permission that stands."""

    table = GRANT

    def keys(self, fact: Fact) -> Iterable[tuple[str, Key]]:
        """None: a grant is written or removed, never changed."""
        del fact
        return ()

    def apply(self, fact: Fact, rows: RowsInHand) -> None:
        """Write or remove the grant."""
        match fact.event:
            case GrantRecorded() as grant:
                row: Row = {
                    "id": grant.grant_id,
                    "stream": fact.stream,
                    "profile_id": grant.profile_id,
                    "directory": grant.directory,
                    "tool_kind": grant.tool_kind,
                    "match": msgspec.json.encode(grant.match).decode(),
                    "created_at": fact.created_at,
                }
                rows.insert(GRANT.name, row)
            case GrantRevoked(grant_id=grant_id):
                rows.delete(GRANT.name, (grant_id,))
            case _:
                pass


class Descriptors:
    """Keeps `descriptor` equal to the log: a row for each descriptor bound by a person."""

    table = DESCRIPTOR

    def keys(self, fact: Fact) -> Iterable[tuple[str, Key]]:
        """None: the newest binding replaces what was."""
        del fact
        return ()

    def apply(self, fact: Fact, rows: RowsInHand) -> None:
        """Write or remove the binding."""
        match fact.event:
            case DescriptorBound(descriptor=descriptor, profile_id=profile_id):
                row: Row = {
                    "agent_name": descriptor.agent_name,
                    "model": descriptor.model,
                    "mode": descriptor.mode,
                    "stream": fact.stream,
                    "profile_id": profile_id,
                }
                rows.put(DESCRIPTOR.name, row)
            case DescriptorUnbound(descriptor=descriptor):
                rows.delete(DESCRIPTOR.name, _key(descriptor))
            case _:
                pass


def _key(descriptor: ProfileDescriptor) -> Key:
    return descriptor.agent_name, descriptor.model, descriptor.mode
