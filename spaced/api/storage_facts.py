"""What the API tells about where the data lie."""

from spaced.api.services import Services
from spaced.wire.reports import StorageFacts


async def storage_facts(services: Services) -> StorageFacts:
    """Return engine, place, sizes and warnings of the storage."""
    report = await services.storage.describe()
    warnings = list(report.warnings)
    if report.unfilled_tables:
        tables = ", ".join(report.unfilled_tables)
        warnings.append(f"some lists are incomplete until `spaced doctor --rebuild`: {tables}")
    return StorageFacts(
        name=services.facts.storage,
        engine=report.engine,
        location=report.location,
        sizes=dict(report.sizes),
        warnings=tuple(warnings),
    )
