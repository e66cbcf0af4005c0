"""Builds the package as pip asks for it (PEP 517): the library by its own configure and make, in a folder of its own,
and a wheel of it and the files of src/ascgrad. Nothing is written to the source tree.

A wheel is for any Python 3, as the package calls the library by ctypes. ASCGRAD_CONFIGURE holds more arguments for
configure, CC and CFLAGS are as ever."""

import base64
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
SOURCE = HERE.parent
LIBRARY = "libascgrad.so.1"
NEEDS = """building ascgrad needs a C compiler, make, autoconf, automake, libtool, pkg-config, and the headers of
OpenBLAS, zlib, utf8proc and jansson. Debian, Ubuntu:
  apt-get install gcc make autoconf automake libtool pkg-config \\
      libopenblas-dev zlib1g-dev libutf8proc-dev libjansson-dev
Other systems: ./quickstart, in the source tree, finds out what is missing and installs it."""
METADATA = """Metadata-Version: 2.1
Name: ascgrad
Version: {version}
Summary: Autodiff, ASCender attention and Grassmann mixing of libascgrad, for NumPy and PyTorch
Requires-Python: >=3.9
Requires-Dist: numpy>=1.26
Provides-Extra: torch
Requires-Dist: torch>=2.1; extra == "torch"
"""
WHEEL = """Wheel-Version: 1.0
Generator: ascgrad
Root-Is-Purelib: false
Tag: {tag}
"""


def version():
    text = (SOURCE / "include/ascgrad/base.h").read_text(encoding="utf-8")
    return re.search(r'#define ASC_VERSION "(.*?)"', text)[1]


# ---- the library ----


def run(what, *command, cwd):
    """Runs a step; where it fails, what it said at the end, and what may be missing."""
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        lines = done.stdout.splitlines()
        said = [line for line in lines if "error:" in line] or lines[-15:]
        sys.exit("\n".join([f"ascgrad: {what} failed:", *said, NEEDS]))


def copy_source(to):
    """The source tree, less what a build in it may have left."""

    def passed_over(folder, names):
        top = Path(folder) == SOURCE
        return [
            name
            for name in names
            if name.endswith((".o", ".lo", ".la", ".pyc"))
            or name in (".libs", ".deps", "__pycache__", ".git")
            or (
                top
                and (
                    name in ("Makefile", "config.status", "config.h", "libtool", "runs", "my-run", "autom4te.cache")
                    or re.fullmatch(r"build(-(?!aux).*)?", name)
                )
            )
        ]

    shutil.copytree(SOURCE, to, ignore=passed_over, symlinks=True)


def build_library(room):
    """The shared library, made in the folder `room`."""
    source, build = room / "source", room / "build"
    copy_source(source)
    build.mkdir()
    tools = ["make"] if (source / "configure").exists() else ["make", "autoreconf", "automake", "libtoolize"]
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        sys.exit(f"ascgrad: there is no {', no '.join(missing)}.\n{NEEDS}")
    if not (source / "configure").exists():
        run("autogen.sh", "./autogen.sh", cwd=source)
    more = shlex.split(os.environ.get("ASCGRAD_CONFIGURE", ""))
    run("configure", str(source / "configure"), "-q", "--disable-static", *more, cwd=build)
    run("make", "make", "-s", f"-j{len(os.sched_getaffinity(0))}", "library", cwd=build)
    return build / ".libs" / LIBRARY


# ---- the wheel ----


def lay_out(library, folder):
    """The package as it is installed."""
    package = folder / "ascgrad"
    shutil.copytree(HERE / "src/ascgrad", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(library, package / LIBRARY)
    subprocess.run(
        [sys.executable, "-B", str(HERE / "generate"), str(SOURCE), str(library), str(package)], check=True
    )
    return package


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def tag():
    return f"py3-none-{re.sub(r'[-.]', '_', sysconfig.get_platform())}"


def about():
    """The files that make a folder a wheel's, less its RECORD."""
    return {
        "METADATA": METADATA.format(version=version()).encode(),
        "WHEEL": WHEEL.format(tag=tag()).encode(),
        "LICENSE": (SOURCE / "LICENSE").read_bytes(),
    }


def write_wheel(folder, name):
    """Zips what `folder` holds, with those files."""
    info = f"ascgrad-{version()}.dist-info"
    files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
    files.update({f"{info}/{file}": data for file, data in about().items()})
    record = "".join(f"{path},{digest(data)},{len(data)}\n" for path, data in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    with zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, (2026, 1, 1, 0, 0, 0))
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            wheel.writestr(entry, data)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """PEP 517's, so that nothing is built to be asked for its name."""
    folder = Path(metadata_directory) / f"ascgrad-{version()}.dist-info"
    folder.mkdir()
    for file, data in about().items():
        (folder / file).write_bytes(data)
    return folder.name


def plain_place():
    """A folder for temporary ones under whose path make can build; None for the usual one."""
    places = [tempfile.gettempdir(), "/var/tmp", "/tmp"]
    return next((p for p in places if os.access(p, os.W_OK) and re.fullmatch(r"[A-Za-z0-9_/.+@~-]+", p)), None)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """PEP 517's."""
    name = f"ascgrad-{version()}-{tag()}.whl"
    if not (SOURCE / "configure.ac").exists():
        sys.exit(f"ascgrad: {SOURCE} is not the library's source tree, of which this folder is a part")
    with tempfile.TemporaryDirectory(prefix="ascgrad-", dir=plain_place()) as room:
        room = Path(room)
        library = Path(os.environ["ASCGRAD_LIBRARY"]) if os.environ.get("ASCGRAD_LIBRARY") else build_library(room)
        lay_out(library, room / "wheel")
        write_wheel(room / "wheel", Path(wheel_directory) / name)
    return name


def build_sdist(sdist_directory, config_settings=None):
    sys.exit("ascgrad: the source distribution is the library's, by `make dist`; `pip install ./python` there")
