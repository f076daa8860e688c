"""A second reader of a task, written without the library: prints what the three sets must be, as JSON.

independent.py FOLDER LEARN_SIZE CLASS..
"""
import gzip
import hashlib
import json
import os
import struct
import sys

import numpy as np


def read(folder, name):
    path = os.path.join(folder, name)
    data = open(path, "rb").read() if os.path.exists(path) else gzip.open(path + ".gz").read()
    ndim = data[3]
    shape = struct.unpack(f">{ndim}I", data[4 : 4 + 4 * ndim])
    return np.frombuffer(data, np.uint8, offset=4 + 4 * ndim).reshape(shape)


def pick(folder, prefix, classes):
    images = read(folder, prefix + "-images-idx3-ubyte")
    labels = read(folder, prefix + "-labels-idx1-ubyte")
    rows = np.flatnonzero(np.isin(labels, classes))
    return images[rows].reshape(len(rows), -1), np.array([classes.index(a) for a in labels[rows]]), rows


def sizes(x):
    return struct.pack("<QQ", x.shape[1], len(x))


def digests(x):
    x = x.astype(np.float32) / np.float32(255) + np.float32(0)
    return [hashlib.sha256(row.astype("<f4").tobytes()).digest() for row in x]


def set_digest(x, y, rows):
    of_rows = (struct.pack("<II", row, label) + d for row, label, d in zip(rows, y, digests(x)))
    return hashlib.sha256(sizes(x) + b"".join(of_rows)).hexdigest()


def class_digest(x):
    return hashlib.sha256(sizes(x) + b"".join(sorted(digests(x)))).hexdigest()


def describe(x, y, rows):
    return {
        "digest": set_digest(x, y, rows),
        "m": len(y),
        "classes": np.bincount(y, minlength=len(classes)).tolist(),
        "x": hashlib.sha256((x.astype(np.float32) / np.float32(255)).tobytes()).hexdigest(),
        "y": hashlib.sha256(y.astype(np.uint8).tobytes()).hexdigest(),
        "row": hashlib.sha256(rows.astype(np.uint32).tobytes()).hexdigest(),
    }


def shared(a, b):
    known = {row.tobytes() for row in b}
    return sum(row.tobytes() in known for row in a)


folder, learn, classes = sys.argv[1], int(sys.argv[2]), [int(a) for a in sys.argv[3:]]
x, y, rows = pick(folder, "train", classes)
test = pick(folder, "t10k", classes)
print(json.dumps({
    "learn": describe(x[:learn], y[:learn], rows[:learn]),
    "prior": describe(x[learn:], y[learn:], rows[learn:]),
    "test": describe(*test),
    "learn_in_prior": shared(x[:learn], x[learn:]),
    "test_in_prior": shared(test[0], x[learn:]),
    "test_in_learn": shared(test[0], x[:learn]),
    "classes": [class_digest(x[y == k]) for k in range(len(classes))],
}))
