"""The command line, drawn at random: words, options and values that make sense and such that do not, for every command. It ends by itself or soon
after SIGTERM, with an exit code from 0 to 5, a sentence where that is not 0, JSON where --json is asked for, and no file changed but one
that is named as an output."""
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile

import numpy as np

from tap import FULL, SANITIZED, SURETY, main, run

FOLDER = tempfile.TemporaryDirectory()
START, WORK = os.path.join(FOLDER.name, "start"), os.path.join(FOLDER.name, "work")
DRAWS = 400 if FULL else 3 if SANITIZED else 5
PATIENCE = 1  # second until SIGTERM
COMMANDS = [c for c in re.findall(r"^  (\w+)  ", run("help").stdout, re.M) if c not in ("help", "reproduce")]
FILES = ["t.csv", "x.npy", "y.npy", "m", "c.json", "absent", ".", "new", "/dev/null", "t.csv/x", "empty"]
VALUES = ["", "0", "1", "2", "3", "-1", "0.1", "1e-300", "1e308", "nan", "inf", "18446744073709551615", "18446744073709551616", "5%", "101%", "0,1", "1,0", "none",
          "all", "a,b", ",", "1/2", "0/0", "3/2", "0:0.2:0.1", "1:0:-1", "0:1e9:1e-9", "linf", "l1", "pgd", "pgdu", "worst-case", "certified", "learn", "best", "signed", "real",
          "keep", "drop", "yes", "soft-forest", "linear", "trees", "\u00e9", "\x1b[31m", "a" * 5000, "--", "-x", "=", "vote_frozen_max", "chromatic", "baseline"]
OPTIONS = {c: re.findall(r"^  --([a-z0-9-]+)", run("help", c).stdout, re.M) for c in COMMANDS}


def prepare():
    os.mkdir(START)
    rng = np.random.default_rng(5)
    x, y = rng.random((60, 3)) + (np.arange(60) % 2)[:, None], np.arange(60) % 2
    with open(os.path.join(START, "t.csv"), "w") as f:
        for row, label in zip(x, y):
            f.write(",".join(f"{v:.5f}" for v in row) + f",{'ab'[label]}\n")
    np.save(os.path.join(START, "x.npy"), x.astype(np.float32))
    np.save(os.path.join(START, "y.npy"), y)
    open(os.path.join(START, "empty"), "w").close()
    run("train", "--train", "t.csv", "--scale", "none", "--eps", 0.1, "--trees", 2, "--epochs", 1, "--quiet", "--out", "m", cwd=START)
    run("certify", "m", "--train", "t.csv", "--looks", 1, "--despite-test", "--quiet", "--out", "c.json", cwd=START)


def sums():
    return {name: hashlib.sha256(open(os.path.join(WORK, name), "rb").read()).hexdigest() for name in os.listdir(START)}


def draw(rng, command):
    usual = {"train": ["--train", "t.csv", "--epochs", "1", "--trees", "2", "--out", "new"], "bound": ["--votes", "x.npy", "--labels", "y.npy"]}
    words = [command] + ([rng.choice(FILES)] if rng.random() < 0.7 and command not in usual else [])
    if rng.random() < 0.6:
        words += usual.get(command, ["--train", "t.csv"] if "train" in OPTIONS[command] else [])
    for _ in range(rng.randrange(5)):
        option = rng.choice(OPTIONS[command] or ["help"])
        words.append("--" + (option if rng.random() < 0.95 else option[:-1]))
        if rng.random() < 0.9:
            words.append(rng.choice(FILES if rng.random() < 0.35 else VALUES))
    if "looks" in OPTIONS[command] and rng.random() < 0.7:
        words += ["--looks", "1"]
    return words + ["--threads", "1"] * (rng.random() < 0.8) + ["--quiet"] * (rng.random() < 0.8) + ["--json"] * (rng.random() < 0.5)


def try_words(words):
    process = subprocess.Popen([SURETY, *words], cwd=WORK, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, said = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM)
        out, said = process.communicate(timeout=60)
    told = f"surety {words}: exit {process.returncode}\n{said.decode(errors='replace')}"
    assert 0 <= process.returncode <= 5, told
    assert process.returncode == 0 or said.strip() or process.returncode in (1, 5), told
    assert b"\x1b[31m" not in out + said, told
    if "--json" in words and out.strip() and "--help" not in words and words[words.index("--json") - 1][:2] != "--":
        json.loads(out)
    return told


def make(command):
    def test():
        rng = random.Random(command)
        for _ in range(DRAWS):
            shutil.rmtree(WORK, ignore_errors=True)
            shutil.copytree(START, WORK)
            before, words = sums(), draw(rng, command)
            told = try_words(words)
            changed = [name for name, now in sums().items() if now != before[name]]
            assert all(words.count(name) == 1 for name in changed), f"{told}: {changed}"  # named once: it may be what is written
    test.__name__ = "test_" + command
    return test


prepare()
for _command in COMMANDS:
    globals()["test_" + _command] = make(_command)

if __name__ == "__main__":
    main()
