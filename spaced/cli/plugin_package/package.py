"""Writes the package that the author of a plugin starts from.

The templates beside this module are a whole package that works, for a plugin named `acme`. Another
name takes the place of that word, in texts and in paths.
"""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import distribution
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from spaced.daemon.directories import FOLDER_MODE
from spaced.daemon.private_files import os_refusal, write_private
from spaced.plugin_api import ENTRY_POINT_GROUP
from spaced.refusals import InvalidRequest, Refused

LONGEST_NAME: Final = 40
PREFIX: Final = "spaced-"

_TEMPLATES: Final = "templates"
_SUFFIX: Final = ".template"
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def write_package(name: str, folder: Path) -> Sequence[Path]:
    """Write a package with a small runtime into a new folder `spaced-NAME`; all of it, or nothing.

    Args:
        name: lower-case words of letters and digits, joined by dashes. It becomes the name of the
            plugin and of its runtime; the distribution is `spaced-NAME`, its module `spaced_NAME`.
        folder: where the new folder is made; it has to be there.

    Returns:
        Every file that was written, in order.

    Raises:
        InvalidRequest: the name cannot be used, or the folder is not there.
        Refused: something has the new folder's name already.
        UnsafePlace: the system does not let us write there.
        StorageFull: there is no space.
    """
    check_name(name)
    texts = package_texts(name)
    home = _make_home(folder, f"{PREFIX}{name}")
    try:
        return [_write(home, path, text) for path, text in texts.items()]
    except BaseException:
        shutil.rmtree(home, ignore_errors=True)  # it was made just now, so nothing else is in it
        raise


def check_name(name: str) -> None:
    """Refuse a name that no plugin of somebody else can have.

    Raises:
        InvalidRequest: it is none, or spaced itself has a plugin of this name.
    """
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise InvalidRequest(
            f"{name!r} cannot be the name of a plugin",
            remedy="Use lower-case letters, digits and single dashes, at most"
            f" {LONGEST_NAME} characters, beginning with a letter: {_likeness(name)}.",
        )
    if name.startswith(PREFIX):
        raise InvalidRequest(
            f"the package of a plugin {name!r} would be called {PREFIX}{name}",
            remedy=f"Leave the first word out: {name.removeprefix(PREFIX)}.",
        )
    if name in _own_plugins():
        raise InvalidRequest(
            f"spaced itself has a plugin {name!r}",
            remedy="Choose another name, such as one that says whose it is.",
        )


def package_texts(name: str) -> Mapping[str, str]:
    """Return the text of each file of the package, by its path there, in order."""
    words = {
        "spaced_acme": f"spaced_{name.replace('-', '_')}",
        "Acme": "".join(word.capitalize() for word in name.split("-")),
        "acme": name,
    }
    pattern = re.compile("|".join(words))

    def renamed(text: str) -> str:
        return pattern.sub(lambda found: words[found[0]], text)

    templates = files("spaced.cli.plugin_package") / _TEMPLATES
    texts = {renamed(path): renamed(text) for path, text in _templates(templates, "")}
    return dict(sorted(texts.items()))


def _templates(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _templates(entry, f"{path}{entry.name}/")
        elif entry.name.endswith(_SUFFIX):
            yield f"{path}{entry.name.removesuffix(_SUFFIX)}", entry.read_text(encoding="utf-8")


def _make_home(folder: Path, name: str) -> Path:
    home = folder.absolute() / name
    try:
        _make_folder(home)
    except FileExistsError as error:
        raise Refused(
            f"{home} exists already, and nothing is written over",
            remedy="Choose another name, move it away, or go to another folder.",
        ) from error
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InvalidRequest(
            f"there is no folder {folder}", remedy="Make it first, or name another one."
        ) from error
    except OSError as error:
        raise os_refusal(home, "made", error) from error
    return home


def _write(home: Path, path: str, text: str) -> Path:
    target = home / path
    if target.parent != home and not target.parent.is_dir():
        _make_folder(target.parent)
    write_private(target, text.encode())
    return target


def _make_folder(path: Path) -> None:
    path.mkdir(mode=FOLDER_MODE)
    path.chmod(FOLDER_MODE)  # a strict umask takes bits away from what `mkdir` makes


def _own_plugins() -> set[str]:
    entries = distribution("spaced").entry_points
    return {entry.name for entry in entries if entry.group == ENTRY_POINT_GROUP}


def _likeness(name: str) -> str:
    words = "-".join(re.findall(r"[a-z0-9]+", name.lower()))
    likeness = words.removeprefix(PREFIX).lstrip("0123456789-")[:LONGEST_NAME].rstrip("-")
    return likeness or "acme"
