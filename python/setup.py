"""What pyproject.toml cannot say: where `make` has built libwarpgym_rl.so, the wheel has it, with
jansson beside it, and is for this machine's kind alone."""

import ctypes.util
import os
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
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


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        if not LIBRARY.is_file():
            return
        to = Path(self.build_lib) / "warpgym" / "rl"
        shutil.copy2(LIBRARY, to / LIBRARY.name)
        if beside := jansson():
            shutil.copy2(beside, to / "libjansson.so.4")


class WheelWithLibrary(bdist_wheel):
    def finalize_options(self):
        super().finalize_options()
        if LIBRARY.is_file():
            self.root_is_pure = False

    def get_tag(self):
        _, _, platform = super().get_tag()
        return "py3", "none", platform


setup(cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": WheelWithLibrary})
