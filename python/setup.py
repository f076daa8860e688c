"""The version is CMake's; all that is compiled is described in core_build.py."""
import re
from pathlib import Path

from setuptools import setup

cmake = (Path(__file__).resolve().parent.parent / "CMakeLists.txt").read_text()
setup(
    version=re.search(r"project\(surety VERSION (\S+)", cmake)[1],
    packages=["surety"],
    py_modules=["surety_sklearn"],
    package_data={"surety": ["py.typed"]},
    cffi_modules=["core_build.py:ffi"],
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
    zip_safe=False,
)
