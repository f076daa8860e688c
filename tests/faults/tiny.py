"""A world in which every command ends in a moment: 60 rows of three features in two classes, a model of two trees, a certificate, its two parts, votes."""
import hashlib
import json
import os
import shutil
import tempfile

import numpy as np

from tap import run

FOLDER = tempfile.TemporaryDirectory()
START = os.path.join(FOLDER.name, "start")  # what every run begins with
WORK = os.path.join(FOLDER.name, "work")
ONE = ["--threads", "1", "--quiet"]
DATA = ["--train", "t.csv", "--test-size", "10", "--learn-size", "20", "--scale", "none"]
CERTIFY = ["certify", "m", "--train", "t.csv", "--attack", "unif", "--samples", "2", "--looks", "1"]
COMMANDS = {
    "train": ["train", *DATA, "--eps", "0.1", "--trees", "2", "--depth", "1", "--epochs", "2", "--defense", "none", "--objective", "baseline", "--keep", "last",
              "--out", "new.m"],
    "evaluate": ["evaluate", "m", "--train", "t.csv", "--attacks", "none,unif", "--samples", "2", "--per-example", "e.csv"],
    "curve": ["curve", "m", "--train", "t.csv", "--attacks", "none", "--eps-grid", "0:0.1:0.1", "--out", "curve.csv"],
    "attack": ["attack", "m", "--train", "t.csv", "--attack", "unif", "--out", "x.npy", "--labels", "y.npy"],
    "certify": [*CERTIFY, "--out", "new.json"],
    "verify": ["verify", "c.json", "--model", "m", "--train", "t.csv"],
    "predict": ["predict", "m", "t.csv", "--out", "v.npy", "--classes", "c.csv"],
    "inspect": ["inspect", "m", "--json"],
    "export": ["export", "m", "--format", "c", "--out", "m.c"],
    "bound": ["bound", "--votes", "votes.npy", "--labels", "labels.npy", "--posterior", "learn", "--out", "q.npy"],
    "part": [*CERTIFY, "--part", "1/1", "--part-file", "part"],
    "merge": ["merge", "part-1", "part-2", "--out", "new.json"],
    "monitor": ["monitor", "c.json", "--labels", "outcomes.csv", "--state", "state.json"],
    "report": ["report", "m", "c.json", "--train", "t.csv", "--samples", "2", "--out", "page.html"],
    "data": ["data", "show", "--train", "t.csv", "--json"],
    # Of a study, tests that have half a second for each run compute the one cell, others find it in the folder.
    "reproduce": ["reproduce", "--tasks", "fashion-sandal-v-boot", "--norms", "l2", "--voters", "signed", "--defenses", "pgd", "--epochs", "1", "--samples", "1",
                  "--steps", "1", "--out", "study"],
}


def prepare():
    os.mkdir(START)
    rng = np.random.default_rng(5)
    with open(os.path.join(START, "t.csv"), "w") as f:
        for i in range(60):
            f.write(",".join(f"{v + i % 2:.5f}" for v in rng.random(3)) + f",{'ab'[i % 2]}\n")
    labels = rng.choice([-1, 1], 20)
    np.save(os.path.join(START, "votes.npy"), np.clip(labels[:, None, None] * rng.random((20, 2, 3)), -1, 1).astype(np.float32))
    np.save(os.path.join(START, "labels.npy"), labels)
    with open(os.path.join(START, "outcomes.csv"), "w") as f:
        f.write("0\n0\n0\n")
    run(*[w if w != "new.m" else "m" for w in COMMANDS["train"]], *ONE, cwd=START)
    run(*CERTIFY, "--out", "c.json", *ONE, cwd=START)
    for part in (1, 2):
        run(*CERTIFY, "--part", f"{part}/2", "--part-file", f"part-{part}", *ONE, cwd=START)


def add_cell():
    """A study whose one cell is there, and nothing that is made of it."""
    run(*COMMANDS["reproduce"], *ONE, cwd=START)
    for name in os.listdir(os.path.join(START, "study")):
        if name not in ("cells", "study.json"):
            place = os.path.join(START, "study", name)
            shutil.rmtree(place) if os.path.isdir(place) else os.unlink(place)


def contents(folder=WORK):
    """Every file of the folder and what is in it; of a cell of a study, without its seconds and the digest over them."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as f:
                text = f.read()
            if os.path.basename(place) == "cells" and name.endswith(".json"):
                cell = json.loads(text)
                text = json.dumps({key: cell[key] for key in cell if key not in ("seconds", "digest")}).encode()
            found[os.path.relpath(path, folder)] = hashlib.sha256(text).hexdigest()
    return found
