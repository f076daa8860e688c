"""docs/tables.md: its commands are run as they stand, in order, on the table of scikit-learn; its sentence is the certificate's."""
import os
import re
import shlex
import subprocess
import sys
import tempfile

from tap import SOURCE, SURETY, Skip, main

PAGE = open(os.path.join(SOURCE, "docs", "tables.md"), encoding="utf-8").read()


def test_the_whole_way():
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise Skip("python3-sklearn is not here") from None
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(SOURCE, "examples", "tables", "export.py"), folder], check=True)
        said = {}
        for line in re.findall(r"^\$ surety (.*)$", PAGE, re.M):
            words = shlex.split(line)
            done = subprocess.run([SURETY, *words], cwd=folder, capture_output=True, text=True, timeout=600,
                                  env={**os.environ, "XDG_STATE_HOME": folder})
            assert done.returncode == 0, (line, done.stderr)
            said[words[0]] = done.stdout
        assert list(said) == ["data", "train", "certify", "verify", "predict", "plan"], list(said)
        shown = re.search(r"^    (With confidence.*?); \.\.$", PAGE, re.M | re.S)[1]
        pattern = re.escape(" ".join(shown.split())).replace(r"\.\.\)", r"\w+\)")
        assert re.search(pattern, " ".join(said["certify"].split())), (shown, said["certify"])


if __name__ == "__main__":
    main()
