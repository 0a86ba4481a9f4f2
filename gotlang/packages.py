"""Programs in installed packages: `std`, which comes with this one, and those installed with pip; and the
install commands of extras. No Python of a package runs: its folder is found by the metadata of the
installation."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

STANDARD = Path(__file__).parent / "std"
_PAGES = Path(__file__).parent / "pages"
DOCUMENTATION = _PAGES if _PAGES.is_dir() else Path(__file__).parents[1]
"""The folder of `docs` and `programs`: in the wheel, or in the source tree beside the package."""


def pip_install(*extras: str) -> str:
    """The command that installs extras of this package: `pip install 'gotlang[tune]'`."""
    return f"pip install 'gotlang[{','.join(extras)}]'"


def source_name(module: str) -> str:
    """The name of the source of a module: `<std>/vote.got` for `std.vote`."""
    package, *parts = module.split(".")
    return str(PurePosixPath(f"<{package}>", *parts[:-1], f"{parts[-1]}.got"))


def in_package(name: str) -> bool:
    """Whether a source is a module of a package."""
    return name.startswith("<") and ">/" in name


def package_text(name: str) -> str:
    """The text of a module of a package, by the name of its source. Raises OSError if it does not exist."""
    if not in_package(name):
        raise OSError("there is no folder to import from")
    package, _, inside = name[1:].partition(">/")
    folder = _folder(package)
    if folder is None:
        raise OSError(f"no package `{package}` with programs is installed in this Python")
    path = folder / inside
    if not path.is_file():
        known = ", ".join(sorted(f"{package}.{other.stem}" for other in folder.glob("*.got")))
        raise OSError(f"the package has {known or 'no programs'}")
    return path.read_text("utf-8", "surrogateescape")


def package_file(name: str) -> Path | None:
    """The file of a module of a package, by the name of its source; None if it does not exist."""
    package, _, inside = name[1:].partition(">/")
    folder = _folder(package) if in_package(name) else None
    return folder / inside if folder is not None else None


def _folder(package: str) -> Path | None:
    """The folder of a package's programs: of the Python package that the entry point with this name in the
    group `gotlang.packages` names, or of the Python package with this name."""
    if package == "std":
        return STANDARD
    from importlib.metadata import entry_points
    from importlib.util import find_spec

    named = [point.value for point in entry_points(group="gotlang.packages", name=package)]
    name = named[0] if named else package
    top, *inner = name.split(".")
    try:
        spec = find_spec(top)  # top-level, so that nothing is imported
    except (ImportError, ValueError):
        return None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0], *inner) if places else None


def outside(path: str) -> str | None:
    """Why a program may not open a path, which must be in the program's folder; None if it may."""
    pure = PurePosixPath(path.replace("\\", "/"))
    if pure.is_absolute() or ":" in path:
        return f"`{path}` is an absolute path; a program opens only files in its own folder"
    if ".." in pure.parts:
        return f"`{path}` leaves the program's folder"
    return None
