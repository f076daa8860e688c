"""docs/votes.md is run as it stands: its Python makes the votes, its commands are executed, and what they print must
be what the page shows (numbers within one percent: the linear algebra underneath may differ in its last bits)."""
import os
import re
import shlex
import subprocess
import sys
import tempfile

from tap import SOURCE, SURETY, main

FOLDER = tempfile.mkdtemp(prefix="surety-votes-doc-")
PAGE = open(os.path.join(SOURCE, "docs", "votes.md"), encoding="utf-8").read()
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.M | re.S)


def same_line(shown, got):
    """Equal words, and numbers that are near; what rounding leaves of a derivative may be anything small."""
    if NUMBER.sub("#", shown) != NUMBER.sub("#", got):
        return False
    for a, b in zip(map(float, NUMBER.findall(shown)), map(float, NUMBER.findall(got))):
        if abs(a - b) > 0.01 * max(abs(a), abs(b)) + 1e-9 and max(abs(a), abs(b)) > 1e-8 and "steps" not in shown:
            return False
    return True


def test_python_makes_the_votes():
    for code in blocks("python"):
        subprocess.run([sys.executable, "-c", code], cwd=FOLDER, check=True, timeout=600)
    assert os.path.exists(os.path.join(FOLDER, "votes.npy")) and os.path.exists(os.path.join(FOLDER, "labels.npy"))


def test_commands_print_what_the_page_shows():
    ran = 0
    for block in blocks("console"):
        command, _, shown = block.partition("\n")
        words = shlex.split(command)
        assert words[:2] == ["$", "surety"], command
        done = subprocess.run([SURETY, *words[2:]], cwd=FOLDER, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, (command, done.stderr)
        ran += 1
        if not shown.strip():
            continue
        a, b = shown.rstrip().splitlines(), done.stdout.rstrip().splitlines()
        assert len(a) == len(b), (command, done.stdout)
        for left, right in zip(a, b):
            assert same_line(left, right), f"{command}\nthe page: {left}\nthe run:  {right}"
    assert ran >= 4


if __name__ == "__main__":
    main()
