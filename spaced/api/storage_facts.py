"""What the API tells about where the data lie."""

from spaced.api.services import Services
from spaced.storage.protocol import StorageReport
from spaced.wire.reports import StorageFacts


async def storage_facts(services: Services) -> StorageFacts:
    """Return engine, place, sizes and warnings of the storage."""
    return facts_of(services.facts.storage, await services.storage.describe())


def facts_of(name: str, report: StorageReport) -> StorageFacts:
    """Return what a storage of this name reports."""
    warnings = list(report.warnings)
    if report.unfilled_tables:
        tables = ", ".join(report.unfilled_tables)
        warnings.append(f"some lists are incomplete until `spaced doctor --rebuild`: {tables}")
    return StorageFacts(
        name=name,
        engine=report.engine,
        location=report.location,
        sizes=dict(report.sizes),
        warnings=tuple(warnings),
    )
