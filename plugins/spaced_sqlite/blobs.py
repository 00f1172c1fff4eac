"""Content under the name of its digest: `blobs/ab/<rest of it>`, written once and never changed.

A blob is written beside its place, synced, and renamed into it, so a name always stands for whole
content. One lock orders putting and reclaiming: content that is put while it is being reclaimed
either is spared or is written anew.
"""

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock

from spaced.plugin_api import BlobId, Reclaimed, UnknownBlob
from spaced_sqlite.privacy import make_folder, sync_folder

_PREFIX = "blob_"
_BLOB_ID = re.compile(r"blob_([0-9a-f]{64})")


class BlobFolder:
    """The blobs of one storage; its methods block and may be called from several threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = Lock()
        self._put_lately: set[str] = set()
        self._being_written: set[str] = set()

    def put(self, content: bytes) -> BlobId:
        """Store content durably and return its id."""
        digest = hashlib.sha256(content).hexdigest()
        path = self._path(digest)
        with self._lock:
            self._put_lately.add(digest)
            is_stored, is_synced = path.exists(), digest not in self._being_written
            if not is_stored:
                self._being_written.add(digest)
        try:
            if not is_stored:
                self._write(path, content)
            elif not is_synced:
                # Another thread has just named it; its name must be durable for us as well.
                sync_folder(path.parent)
        finally:
            with self._lock:
                self._being_written.discard(digest)
                # Again, for a clean-up may have begun meanwhile.
                self._put_lately.add(digest)
        return BlobId(_PREFIX + digest)

    def get(self, blob_id: str) -> bytes:
        """Return a blob's content.

        Raises:
            UnknownBlob: there is none, or the id has another form.
        """
        match = _BLOB_ID.fullmatch(blob_id)
        if match is None:
            raise UnknownBlob(blob_id)
        try:
            return self._path(match[1]).read_bytes()
        except FileNotFoundError as error:
            raise UnknownBlob(blob_id) from error

    def reclaim(self, unused: Sequence[str]) -> Reclaimed:
        """Remove blobs, but none that was put since the last call."""
        with self._lock:
            spared, self._put_lately = self._put_lately, set(self._being_written)
        count = size = 0
        for digest in _digests(unused):
            with self._lock:
                if digest not in spared and digest not in self._put_lately:
                    removed = self._remove(digest)
                    count, size = count + (removed is not None), size + (removed or 0)
        return Reclaimed(blobs=count, bytes=size)

    def ids(self, *, after: str, limit: int) -> Sequence[str]:
        """Return ids in their order, from the one behind `after` on."""
        found: list[str] = []
        for folder in sorted(self.folder.glob("??")):
            # All of the folder's ids begin like this, so none of them is behind `after`.
            if f"{_PREFIX}{folder.name}~" <= after:
                continue
            if len(found) >= limit:
                break
            found += sorted(i for path in folder.glob("*") if (i := _id_of(path) or "") > after)
        return found[:limit]

    def paths(self) -> Iterator[Path]:
        """Iterate over the files of all blobs."""
        for path in self.folder.glob("??/*"):
            if _id_of(path) is not None:
                yield path

    def size(self) -> int:
        """Return the bytes of all blobs."""
        total = 0
        for path in self.paths():
            with suppress(FileNotFoundError):
                total += path.stat().st_size
        return total

    def _path(self, digest: str) -> Path:
        return self.folder / digest[:2] / digest[2:]

    def _write(self, path: Path, content: bytes) -> None:
        if not path.parent.is_dir():
            make_folder(path.parent)
            sync_folder(self.folder)
        # `mkstemp` makes a file of mode 0600, of a name that two threads never share.
        descriptor, part = tempfile.mkstemp(prefix="part-", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            Path(part).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(part).unlink(missing_ok=True)
            raise
        sync_folder(path.parent)

    def _remove(self, digest: str) -> int | None:
        path = self._path(digest)
        try:
            size = path.stat().st_size
            path.unlink()
        except FileNotFoundError:
            return None
        return size


def _id_of(path: Path) -> str | None:
    """Return the id of the blob that a file holds; a file may also be one that is being written."""
    blob_id = f"{_PREFIX}{path.parent.name}{path.name}"
    return None if _BLOB_ID.fullmatch(blob_id) is None else blob_id


def _digests(blob_ids: Sequence[str]) -> Iterator[str]:
    for blob_id in dict.fromkeys(blob_ids):
        match = _BLOB_ID.fullmatch(blob_id)
        if match is not None:
            yield match[1]
