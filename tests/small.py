"""Small real data for tests: a few hundred rows of two Fashion-MNIST classes as NPY files."""
import gzip
import os

import numpy as np

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
