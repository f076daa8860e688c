"""kill -9 at random moments of train, reproduce, certify, merge and monitor. After each kill every file is the old one or the new one; the same command is
started again, and killed again, until it ends: then the folder holds the bytes of a run that was left alone. A few kills by default, 100 of each command with
SURETY_TEST_FULL=1, any number with script/kills."""
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time

import tiny
from tap import FULL, SANITIZED, SURETY, Skip, main
from tiny import COMMANDS, FOLDER, ONE, START, WORK, contents

COUNT = int(os.environ.get("SURETY_KILLS", 100 if FULL else 4))
LEFT = re.compile(r"\.part-[0-9a-f]{8}$|\.lock$|\.checkpoint$")  # what a kill may leave beside the outputs
NAMES = ["train", "certify", "merge", "monitor", "reproduce"]


def begin(words):
    resume = ["--resume"] if words[0] == "train" else []
    env = {**os.environ, "XDG_STATE_HOME": os.path.join(FOLDER.name, "state"), "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([SURETY, *words, *resume, *ONE], cwd=WORK, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def fresh():
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(START, WORK)


def seen():
    """What the monitor has counted."""
    path = os.path.join(WORK, "state.json")
    if not os.path.exists(path):
        return 0
    with open(path) as f:
        return json.load(f)["seen"]


def look(start, good, before, told):
    """Old or new, whatever was under way. The state of a monitor: without the new outcomes or with all three. Whether a kill left something half done."""
    files, half = contents(), False
    for name, sum_ in files.items():
        half |= bool(LEFT.search(name))
        if name == "state.json":
            assert seen() in (before, before + 3), told
        else:
            assert LEFT.search(name) or sum_ in (start.get(name), good.get(name)), f"{told}: {name}"
    assert all(name in files for name in start), told
    return half


def until_it_ends(name, start, good, rng, lasts, most):
    """Kills and starts again, at most `most` times. How many kills there were, and after how many something half done lay about."""
    fresh()
    kills = halves = 0
    while True:
        before = seen()
        process = begin(COMMANDS[name])
        try:
            said = process.communicate(timeout=rng.random() * lasts if kills < most else None)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            said = process.communicate()[1]
        told = f"{name} after {kills} kills: exit {process.returncode} {said.decode(errors='replace')}"
        if process.returncode == 0:
            break
        assert process.returncode == -9, told
        kills += 1
        halves += look(start, good, before, told)
    files = contents()
    if name == "monitor":
        assert seen() == before + 3, told
    same = {n: s for n, s in files.items() if not re.search(r"\.part-[0-9a-f]{8}$|\.lock$", n)}
    same.pop("state.json", None)
    assert same == {n: s for n, s in good.items() if n != "state.json"}, f"{told}: {same.keys() ^ good.keys()}"
    return kills, halves


def check(name):
    if SANITIZED:
        raise Skip("nothing that the release build does not show, ten times slower")
    fresh()
    start = contents()
    began = time.time()
    process = begin(COMMANDS[name])
    assert process.wait() == 0, process.stderr.read()
    process.stderr.close()
    lasts, good = 1.2 * (time.time() - began), contents()
    rng, kills, halves, ends = random.Random(name), 0, 0, 0
    while kills < COUNT:
        more = until_it_ends(name, start, good, rng, lasts, min(8, COUNT - kills))
        kills, halves, ends = kills + more[0], halves + more[1], ends + 1
        if ends > 20 and kills < ends:  # the machine has become faster
            lasts *= 0.7
    print(f"# {name}: {kills} kills, {halves} with something half done, {ends} ends", flush=True)


def make(name):
    def test():
        check(name)
    test.__name__ = "test_" + name
    return test


if not SANITIZED:
    tiny.prepare()
for _name in sys.argv[1:] or NAMES:
    globals()["test_" + _name] = make(_name)

if __name__ == "__main__":
    main()
