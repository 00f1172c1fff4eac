"""Real wheels from a few lines of text, and environments to install them into.

The wheels are written by hand, so no build tool and no network is needed. An environment sees what
the running one has installed, spaced and its dependencies among it, through one `.pth` file.
"""

import base64
import hashlib
import subprocess
import sys
import venv
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_TIME_LIMIT = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginPackage:
    """A package as its author would publish it.

    Attributes:
        files: text by path inside the wheel.
        entry_points: in the group `spaced`.
    """

    name: str
    files: Mapping[str, str]
    entry_points: Mapping[str, str]
    version: str = "1.0"
    requires: Sequence[str] = field(default_factory=tuple)


def build_wheel(package: PluginPackage, folder: Path) -> Path:
    """Write a package as a wheel and return its path."""
    stem = f"{package.name.replace('-', '_')}-{package.version}"
    info = f"{stem}.dist-info"
    files = dict(package.files)
    files[f"{info}/METADATA"] = _metadata(package)
    files[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    entries = "".join(f"{name} = {value}\n" for name, value in package.entry_points.items())
    files[f"{info}/entry_points.txt"] = f"[spaced]\n{entries}"
    record = "".join(_record_line(path, text) for path, text in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    wheel = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return wheel


def make_environment(folder: Path) -> Path:
    """Make a virtual environment that sees the running one; return its Python."""
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    visible = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    # `addsitedir` and not a bare path: only so are the `.pth` files there read, and with them an
    # editable install of spaced.
    lines = [f"import site; site.addsitedir({path!r})\n" for path in visible]
    site_packages = next((folder / "lib").glob("python*/site-packages"))
    (site_packages / "running_environment.pth").write_text("".join(lines))
    return python


def install(python: Path, wheels: Sequence[Path]) -> None:
    """Install wheels with pip, without the network and without their dependencies."""
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    options = ["--quiet", "--no-deps", "--no-index", "--no-compile"]
    run([*pip, "install", *options, *map(str, wheels)], folder=python.parent)


def run(command: Sequence[str], *, folder: Path) -> str:
    """Run a command to its end and return its output; its error output goes into a failure."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=_TIME_LIMIT, check=False
    )
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _metadata(package: PluginPackage) -> str:
    requires = "".join(f"Requires-Dist: {requirement}\n" for requirement in package.requires)
    return f"Metadata-Version: 2.1\nName: {package.name}\nVersion: {package.version}\n{requires}"


def _record_line(path: str, text: str) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=")
    return f"{path},sha256={digest.decode()},{len(text.encode())}\n"
