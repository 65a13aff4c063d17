"""Builds the module by CMake."""
import subprocess
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        folder = Path(self.get_ext_fullpath(extension.name)).resolve().parent
        options = [f"-DPython_EXECUTABLE={sys.executable}",
                   f"-DCMAKE_LIBRARY_OUTPUT_DIRECTORY={folder}"]
        try:
            import pybind11
            options.append(f"-Dpybind11_DIR={pybind11.get_cmake_dir()}")
        except ImportError:
            pass  # CMake finds that of the system
        source = Path(__file__).resolve().parent
        subprocess.run(["cmake", "-S", source, "-B", self.build_temp, *options], check=True)
        subprocess.run(["cmake", "--build", self.build_temp], check=True)


setup(ext_modules=[Extension("wordloom", ["wordloom.cpp"])], cmdclass={"build_ext": CMakeBuild})
