"""What lies where in the storage's folder."""

from typing import Final

DATABASE: Final = "spaced.db"
WAL: Final = "spaced.db-wal"
SHARED_MEMORY: Final = "spaced.db-shm"
BLOBS: Final = "blobs"
SNAPSHOTS: Final = "snapshots"
MANIFEST: Final = "backup.json"
"""Only in a backup."""
