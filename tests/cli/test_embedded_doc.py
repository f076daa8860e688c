"""docs/embedded.md: its commands are run as they stand, in order; its program compiles and answers as predict does."""
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from tap import SOURCE, SURETY, Skip, main

PAGE = open(os.path.join(SOURCE, "docs", "embedded.md"), encoding="utf-8").read()


def commands(folder):
    for line in re.findall(r"^\$ (.*)$", PAGE.replace("\\\n", ""), re.M):
        words = shlex.split(line)
        if "--cc" in words and not all(shutil.which(words[i + 1].split()[0]) for i, w in enumerate(words) if w in ("--cc", "--emulator")):
            print(f"# not here: {line}", flush=True)
            continue
        done = subprocess.run([SURETY if words[0] == "surety" else words[0], *words[1:]], cwd=folder, capture_output=True, text=True,
                              timeout=600, env={**os.environ, "XDG_STATE_HOME": folder})
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        yield words, done.stdout


def test_the_whole_way():
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise Skip("python3-sklearn is not here") from None
    blocks = re.findall(r"^```c\n(.*?)^```", PAGE, re.M | re.S)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, os.path.join(SOURCE, "examples", "tables", "export.py"), folder], check=True)
        place = lambda name: os.path.join(folder, name)
        with open(place("device.c"), "w", encoding="utf-8") as f:
            f.write(blocks[1])
        said = [(words[0], words[1], out) for words, out in commands(folder)]
        assert [s[:2] for s in said[:4]] == [("surety", "train"), ("surety", "certify"), ("surety", "export"), ("cc", "-std=c99")], said
        assert all("has the model's bits on" in s[2] for s in said[4:]) and len(said) >= 5, said
        assert "-DCELLS_SELF_CHECK" in said[2][2], said[2]
        text = open(place("cells.c"), encoding="ascii").read()
        for line in blocks[0].splitlines():  # the functions that the page names are there
            assert line.split(";")[0] in text, line
        answers(folder, place)


def answers(folder, place):
    """The table through device.c and through predict."""
    rows = [line.split(",") for line in open(place("breast_cancer.csv"), encoding="utf-8").read().splitlines()]
    with open(place("main.c"), "w", encoding="utf-8") as f:
        f.write("#include <stdio.h>\n#define CELLS_DECLARE\n#include \"cells.c\"\nint32_t cells_check(const float *);\n"
                "int main(void) {\n    float x[CELLS_COLUMNS];\n    int i = 0;\n    while (scanf(\"%f\", x + i % CELLS_COLUMNS) == 1)\n"
                "        if (++i % CELLS_COLUMNS == 0) puts(cells_class(cells_check(x)));\n    return 0;\n}\n")
    subprocess.run(["cc", "-std=c99", "main.c", "cells.c", "device.c", "-o", "device"], cwd=folder, check=True)
    got = subprocess.run([place("device")], input="\n".join(" ".join(r[:-1]) for r in rows[1:]), capture_output=True, text=True, check=True).stdout.split()
    subprocess.run([SURETY, "predict", "cells.model", "breast_cancer.csv", "--classes", "answers.csv", "--quiet"], cwd=folder, check=True, capture_output=True)
    wanted = [line.split(",")[1] for line in open(place("answers.csv"), encoding="utf-8").read().splitlines()[1:]]
    assert got == wanted and len(got) == 569, (len(got), len(wanted))


if __name__ == "__main__":
    main()
