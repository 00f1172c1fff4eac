"""What keeps a log healthy: the doctor, the clean-up, the backup."""

import asyncio
from pathlib import Path

from spaced.api.presenting import finding_shape
from spaced.api.routing import RouteTable
from spaced.api.services import Services
from spaced.api.storage_facts import storage_facts
from spaced.engine.doctor import examine
from spaced.refusals import InvalidRequest
from spaced.wire import reports, requests

ROUTES = RouteTable("maintenance")


@ROUTES.post("/v1/doctor")
async def examine_log(services: Services) -> reports.DoctorReport:
    """Compare every derived row with a fresh fold of the log, while work goes on."""
    findings = [finding_shape(finding) async for finding in examine(services.storage)]
    return reports.DoctorReport(findings=tuple(findings), storage=await storage_facts(services))


@ROUTES.post("/v1/gc")
async def collect_garbage(services: Services) -> reports.Reclaimed:
    """Remove the blobs that nothing names any more, and give free space back."""
    done = await services.engine.blobs.collect()
    return reports.Reclaimed(blobs=done.blobs, bytes=done.bytes, waiting=done.waiting)


@ROUTES.post("/v1/backup", status=201)
async def write_backup(services: Services, *, body: requests.BackupTarget) -> reports.BackupDone:
    """Write a consistent copy into a new or empty folder, while work goes on."""
    target = Path(body.folder)
    if not target.is_absolute():
        raise InvalidRequest(f"the folder {body.folder[:200]!r} is not an absolute path")
    await services.storage.backup(target)
    return reports.BackupDone(folder=str(target), bytes=await asyncio.to_thread(_size, target))


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
