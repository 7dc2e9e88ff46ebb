"""What pyproject.toml cannot say: what is built beside the package.

For `make wheel`, WARPGYM_WHEEL_NATIVE is the folder of the program and of what it needs
(scripts/wheel). For `pip install ./python`, where `make` has built libwarpgym_rl.so, the wheel has
that library, with jansson beside it. Either is for one kind of machine alone."""

import ctypes.util
import os
import shutil
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
NATIVE = os.environ.get("WARPGYM_WHEEL_NATIVE")
LIBRARY = Path(os.environ.get("WARPGYM_RL_LIBRARY") or HERE.parent / "build" / "libwarpgym_rl.so")


def jansson():
    """The file that the loader takes here; none: each machine has its own."""
    name = ctypes.util.find_library("jansson")
    if not name:
        return None
    ctypes.CDLL(name)
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    loaded = [line.split()[-1] for line in lines if name in line]
    return Path(loaded[0]).resolve() if loaded else None


class OfOneMachine(Distribution):
    def has_ext_modules(self):
        return bool(NATIVE) or LIBRARY.is_file()


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        package = Path(self.build_lib) / "warpgym"
        if NATIVE:
            shutil.copytree(NATIVE, package / "native")
        elif LIBRARY.is_file():
            self.copy_library(package / "rl")

    def copy_library(self, to):
        shutil.copy2(LIBRARY, to / LIBRARY.name)
        if beside := jansson():
            shutil.copy2(beside, to / "libjansson.so.4")


class WheelWithLibrary(bdist_wheel):
    def get_tag(self):
        _, _, platform = super().get_tag()
        return "py3", "none", os.environ.get("WARPGYM_WHEEL_TAG") or platform


setup(
    distclass=OfOneMachine,
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelWithLibrary},
)
