"""Bounds from examples that trained the voters are worth nothing: evaluate and curve refuse the training file
split another way.

Labels are coin tosses: every vote has the true risk 1/2, and an S that reaches into S' would hide that."""
import os
import tempfile

import numpy as np

from tap import answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()


def path(name):
    return os.path.join(FOLDER.name, name)


def write(name, seed):
    rng = np.random.default_rng(seed)
    np.save(path(f"X_{name}.npy"), rng.random((500, 60), np.float32))
    np.save(path(f"y_{name}.npy"), rng.choice([-1, 1], 500))
    return ["--train", path(f"X_{name}.npy"), "--train-labels", path(f"y_{name}.npy")]


DATA, OTHER = write("one", 1), write("two", 2)
SPLIT = ["--learn-size", 50, "--test-size", 50]
MODEL = path("m.safetensors")
run("train", *DATA, *SPLIT, "--defense", "none", "--objective", "baseline", "--mask", 0, "--epochs", 20, "--quiet",
    "--out", MODEL)
EVALUATE = ["evaluate", MODEL, "--attacks", "none", "--quiet"]
CURVE = ["curve", MODEL, "--attacks", "none", "--eps-grid", "0:0:1", "--out", path("curve.csv"), "--quiet"]


def frozen(*words):
    return answer(*EVALUATE, *words)["attacks"][0]["bounds"]["vote_frozen_max"]["vote"]


def test_the_split_of_the_training():
    assert frozen(*DATA) > 0.5


def test_another_split_is_refused():
    for words in (["--learn-size", 400], ["--test-size", 300], ["--classes", "1,-1"]):
        for command in (EVALUATE, CURVE):
            record = error(*command, *DATA, *words, code=1)
            assert "split another way" in record["what"], record
    assert not os.path.exists(path("curve.csv"))


def test_another_file_is_the_callers_word():
    assert frozen(*OTHER, "--learn-size", 400) > 0.4
    run(*CURVE, *OTHER)
    assert os.path.exists(path("curve.csv"))


if __name__ == "__main__":
    main()
