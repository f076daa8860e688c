"""docs/votes.md and docs/notes/votes.md are run as they stand: the page's Python makes the votes, the commands of both are
executed, and what they print must be what is shown (numbers within one percent: the linear algebra underneath may differ
in its last bits). A line '..' of the page stands for lines that it leaves out; the notes show the whole."""
import os
import re
import shlex
import subprocess
import sys
import tempfile

from tap import SOURCE, SURETY, main

FOLDER = tempfile.mkdtemp(prefix="surety-votes-doc-")
PAGE, NOTES = (open(os.path.join(SOURCE, "docs", name), encoding="utf-8").read() for name in ("votes.md", "notes/votes.md"))
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)


def same_line(shown, got):
    """Equal words, and numbers that are near; what rounding leaves of a derivative may be anything small."""
    if NUMBER.sub("#", shown) != NUMBER.sub("#", got):
        return False
    for a, b in zip(map(float, NUMBER.findall(shown)), map(float, NUMBER.findall(got))):
        if abs(a - b) > 0.01 * max(abs(a), abs(b)) + 1e-9 and max(abs(a), abs(b)) > 1e-8 and "steps" not in shown:
            return False
    return True


def test_python_makes_the_votes():
    for code in blocks(PAGE, "python"):
        subprocess.run([sys.executable, "-c", code], cwd=FOLDER, check=True, timeout=600)
    assert os.path.exists(os.path.join(FOLDER, "votes.npy")) and os.path.exists(os.path.join(FOLDER, "labels.npy"))


def check_shown(command, shown, got):
    """The lines shown are those printed, all of them and in their order; where '..' stands, any number is left out."""
    at, skips = 0, False
    for line in shown:
        if line == "..":
            skips = True
            continue
        while skips and at < len(got) and not same_line(line, got[at]):
            at += 1
        assert at < len(got) and same_line(line, got[at]), f"{command}\nthe page: {line}\nthe run:  {got[at:]}"
        at, skips = at + 1, False
    assert at == len(got) or skips, f"{command}\nnot shown: {got[at:]}"


def test_commands_print_what_the_page_shows():
    ran, whole, cut = 0, set(), set()
    for block in blocks(PAGE, "console") + blocks(NOTES, "console"):
        command, _, shown = block.partition("\n")
        words = shlex.split(command)
        assert words[:2] == ["$", "surety"], command
        done = subprocess.run([SURETY, *words[2:]], cwd=FOLDER, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, (command, done.stderr)
        ran += 1
        if not shown.strip():
            continue
        lines = shown.rstrip().splitlines()
        (cut if ".." in lines else whole).add(command)
        check_shown(command, lines, done.stdout.rstrip().splitlines())
    assert ran >= 8 and len(whole) == 4 and cut and cut <= whole, (ran, whole, cut)


if __name__ == "__main__":
    main()
