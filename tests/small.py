"""Small trainings for tests: a few hundred rows of two Fashion-MNIST classes as NPY files; and kills."""
import gzip
import os
import random
import signal
import subprocess
import time

import numpy as np
from tap import SURETY, run

FASHION = "/usr/share/datasets/fashion-mnist"


def read_idx(path):
    with gzip.open(path) as f:
        raw = f.read()
    dims = raw[3]
    shape = [int.from_bytes(raw[4 + 4 * i:8 + 4 * i], "big") for i in range(dims)]
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * dims).reshape(shape)


def write(folder, train=600, test=200, classes=(5, 9), pool=2):
    """X_train.npy, y_train.npy, X_test.npy, y_test.npy in folder: float32 in [0,1], images averaged over pool x pool
    pixels. Returns the options that name them."""
    for name, prefix, count in (("train", "train", train), ("test", "t10k", test)):
        x = read_idx(f"{FASHION}/{prefix}-images-idx3-ubyte.gz")
        y = read_idx(f"{FASHION}/{prefix}-labels-idx1-ubyte.gz")
        rows = np.flatnonzero(np.isin(y, classes))[:count]
        side = 28 // pool
        small = x[rows].reshape(len(rows), side, pool, side, pool).mean((2, 4)) / 255
        np.save(os.path.join(folder, f"X_{name}.npy"), small.reshape(len(rows), side * side).astype(np.float32))
        np.save(os.path.join(folder, f"y_{name}.npy"), y[rows].astype(np.int64))
    return ["--train", os.path.join(folder, "X_train.npy"), "--test", os.path.join(folder, "X_test.npy")]


def kill_and_resume(words, folder, attempts, most):
    """The training of these words gives the same bytes after up to `most` kills at any moment, each time it is tried."""
    whole, rng = os.path.join(folder, "whole"), random.Random(2)
    began = time.time()
    run(*words, "--out", whole, "--checkpoint", os.path.join(folder, "c-whole"))
    lasts = time.time() - began
    with open(whole, "rb") as f:
        expected = f.read()
    for attempt in range(attempts):
        out, kills = os.path.join(folder, f"resumed-{attempt}"), 0
        again = [SURETY, *map(str, words), "--out", out, "--checkpoint", os.path.join(folder, f"c-{attempt}"), "--resume"]
        while not os.path.exists(out):
            process = subprocess.Popen(again, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            try:
                _, said = process.communicate(timeout=rng.uniform(0.2, 0.9) * lasts if kills < most else None)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                kills += 1
                continue
            assert process.returncode == 0, (attempt, kills, process.returncode, said)
        with open(out, "rb") as f:
            assert f.read() == expected, f"attempt {attempt}, {kills} kills: other bytes"
