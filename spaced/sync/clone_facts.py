"""What the clone that a folder lies in says of it; read without running anything of the clone.

Only refs and objects are read, never the configuration, so that no hook, filter, monitor or helper
of a repository that somebody else wrote is ever run, and no environment variable of git's matters.
"""

import hashlib
import logging
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dulwich.object_store import DiskObjectStore
    from dulwich.objects import Tree

log = logging.getLogger(__name__)

_SHORT_FILE: Final = 64 * 1024
"""Bytes of `.git`, `HEAD` and the like; a longer one is none."""
_REFS_FILE: Final = 64 * 1024 * 1024
"""Bytes of `packed-refs`."""
_HOPS: Final = 5
"""How often a ref may name another one."""
_HEX: Final = frozenset("0123456789abcdef")
_IDS: Final = (40, 64)
"""Lengths of ids, of SHA-1 and of SHA-256."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneFacts:
    """The commit that a folder is at, and what that commit has in the folder.

    Attributes:
        commit: the full id; `None` if there is none yet.
        blobs: for each file of the folder the id of its bytes; `None` if that cannot be told.
    """

    commit: str | None
    blobs: Mapping[str, str] | None = field(default=None, repr=False)

    def is_dirty(self, name: str, content: bytes) -> bool | None:
        """Tell whether a file's bytes differ from the commit's; `None` if that cannot be told.

        No filter is run, so a file that a filter would change on its way into the repository
        (line endings, large files stored elsewhere) differs always.
        """
        if self.commit is None:
            return True
        if self.blobs is None:
            return None
        return self.blobs.get(name) != _blob_id(content)


def _blob_id(content: bytes) -> str:
    # Git names content so; nothing here relies on nobody being able to forge it.
    told = b"blob %d\0" % len(content)
    return hashlib.sha1(told + content, usedforsecurity=False).hexdigest()


def clone_facts(folder: str) -> CloneFacts | None:
    """Return the facts of the clone that a folder lies in; `None` if it lies in none.

    Whatever is broken in the clone makes facts unknown, and is never an error.
    """
    try:
        return _facts(Path(folder).resolve())
    except Exception:
        log.debug("the clone of %s cannot be read", folder, exc_info=True)
        return None


def _facts(folder: Path) -> CloneFacts | None:
    for root in (folder, *folder.parents):
        git = _git_folder(root / ".git")
        if git is not None:
            common = _common_folder(git)
            commit = _resolved(git, common)
            blobs = None if commit is None else _blobs(common, commit, folder.relative_to(root))
            return CloneFacts(commit=commit, blobs=blobs)
    return None


def _git_folder(at: Path) -> Path | None:
    """Return the folder that `.git` is, or names in a worktree and in a submodule."""
    if (at / "HEAD").is_file():
        return at
    text = _read(at, _SHORT_FILE)
    if text is None or not text.startswith("gitdir:"):
        return None
    named = (at.parent / text.removeprefix("gitdir:").strip()).resolve()
    return named if (named / "HEAD").is_file() else None


def _common_folder(git: Path) -> Path:
    text = _read(git / "commondir", _SHORT_FILE)
    return git if text is None else (git / text.strip()).resolve()


def _resolved(git: Path, common: Path) -> str | None:
    """Return the commit that HEAD names, through the refs that lie about."""
    text = _read(git / "HEAD", _SHORT_FILE)
    for _ in range(_HOPS):
        if text is None:
            return None
        if not text.startswith("ref:"):
            return _id(text.strip())
        name = text.removeprefix("ref:").strip()
        if not name.startswith("refs/") or ".." in Path(name).parts:
            return None
        text = _read(git / name, _SHORT_FILE) or _read(common / name, _SHORT_FILE)
        if text is None:
            return _packed(common, name)
    return None


def _packed(common: Path, name: str) -> str | None:
    for line in (_read(common / "packed-refs", _REFS_FILE) or "").splitlines():
        found, _, ref = line.partition(" ")
        if ref == name:
            return _id(found)
    return None


def _id(text: str) -> str | None:
    return text if len(text) in _IDS and set(text) <= _HEX else None


def _blobs(common: Path, commit: str, inside: Path) -> Mapping[str, str] | None:
    """Return the blobs of a folder in a commit; of a folder that is not there none."""
    if len(commit) != _IDS[0]:
        return None  # the objects of such clones have other names than we could compute
    # Late, since most folders lie in no clone.
    from dulwich.object_store import DiskObjectStore

    store = DiskObjectStore(str(common / "objects"))
    try:
        return _tree_blobs(store, commit, inside)
    except Exception:
        log.debug("the objects of %s cannot be read", common, exc_info=True)
        return None
    finally:
        store.close()


def _tree_blobs(store: "DiskObjectStore", commit: str, inside: Path) -> Mapping[str, str]:
    from dulwich.objects import ObjectID, Tree

    tree = store[store[ObjectID(commit.encode())].tree]  # type: ignore[attr-defined]  # a commit
    for part in inside.parts:
        assert isinstance(tree, Tree)
        name = os.fsencode(part)
        if name not in tree:
            return {}
        tree = store[tree[name][1]]
    assert isinstance(tree, Tree)
    return _files_of(tree)


def _files_of(tree: "Tree") -> Mapping[str, str]:
    return {
        os.fsdecode(entry.path): entry.sha.decode()
        for entry in tree.items()
        if stat.S_ISREG(entry.mode)
    }


def _read(path: Path, most: int) -> str | None:
    """Return a small file's text; `None` if it is none, or more than that."""
    try:
        # Without waiting, since a hostile clone may have put a pipe there.
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(opened, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return None
        content = file.read(most + 1)
    return None if len(content) > most else content.decode(errors="replace")
