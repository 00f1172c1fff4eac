"""Builds the sdist and, from it, the wheel; installs that alone and proves that it works.

Run by `make wheel` as `python -m tests.end_to_end.wheel_smoke`. It uses the package index that pip
is set up with. The wheel stays in `dist/`.
"""

import subprocess
import sys
import tempfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
DIST = REPOSITORY / "dist"
PROOF = Path(__file__).with_name("wheel_proof.py")
_TIME_LIMIT = 600


def main() -> None:
    """Build, look into the wheel, install it and prove it; exit with a sentence otherwise."""
    wheel = build()
    check_names(wheel)
    with tempfile.TemporaryDirectory(prefix="spaced-wheel-") as place:
        prove(wheel, Path(place))
    print(f"{wheel.relative_to(REPOSITORY)} works")


def build() -> Path:
    """Build both distributions and return the wheel."""
    for old in [*DIST.glob("spaced-*.whl"), *DIST.glob("spaced-*.tar.gz")]:
        old.unlink()
    run([sys.executable, "-m", "build", "--outdir", str(DIST), str(REPOSITORY)], REPOSITORY)
    wheels = list(DIST.glob("spaced-*.whl"))
    sdists = list(DIST.glob("spaced-*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        sys.exit(f"the build left {len(wheels)} wheels and {len(sdists)} sdists in dist/")
    print(f"built {sdists[0].name} and, from it, {wheels[0].name}")
    return wheels[0]


def check_names(wheel: Path) -> None:
    """Refuse a wheel with files outside our own packages and its metadata."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.partition("/")[0] for name in names}
    strange = sorted(top for top in tops if not is_ours(top))
    if strange:
        sys.exit(f"the wheel holds {strange} beside spaced/, spaced_*/ and its metadata")
    print(f"the wheel holds {len(names)} files, all in {', '.join(sorted(tops))}")


def is_ours(top: str) -> bool:
    """Tell whether a top-level name of the wheel is one of our packages or its metadata."""
    is_metadata = top.startswith("spaced-") and top.endswith(".dist-info")
    return top == "spaced" or is_metadata or (top.startswith("spaced_") and top.isidentifier())


def prove(wheel: Path, place: Path) -> None:
    """Install the wheel into an empty environment and run the proofs from another folder."""
    environment = place / "environment"
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    venv.create(environment, with_pip=True, symlinks=True)
    python = str(environment / "bin" / "python")
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    run([*pip, str(wheel)], elsewhere)
    # Isolated mode: neither the folder of the script nor PYTHONPATH may lend it the checkout.
    print(run([python, "-I", "-W", "error", str(PROOF)], elsewhere), end="")


def run(command: Sequence[str], folder: Path) -> str:
    """Run a command to its end and return its output; exit with the end of its complaint."""
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=_TIME_LIMIT, check=False
    )
    if done.returncode != 0:
        print(done.stdout + done.stderr, file=sys.stderr)
        lines = done.stderr.strip().splitlines() or done.stdout.strip().splitlines()
        said = lines[-1] if lines else f"exit status {done.returncode}"
        sys.exit(f"{' '.join(command[:4])} … failed: {said}")
    return done.stdout


if __name__ == "__main__":
    main()
