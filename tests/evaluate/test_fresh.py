"""Bounds from examples that trained the voters are worth nothing: evaluate and curve refuse the training rows
split another way, also from another file.

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
run("train", "--preset", "paper", *DATA, *SPLIT, "--defense", "none", "--objective", "baseline", "--mask", 0, "--epochs", 20, "--quiet",
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


def test_the_same_rows_in_another_file_are_refused():
    x, y = np.load(path("X_one.npy")), np.load(path("y_one.npy"))
    np.save(path("X_back.npy"), x[::-1]), np.save(path("y_back.npy"), y[::-1])
    half = y == 1
    np.save(path("X_half.npy"), np.where(half[:, None], x, 1 - x)), np.save(path("y_half.npy"), y)
    with open(path("one.csv"), "w") as f:
        f.writelines(",".join(map(repr, row.tolist())) + f",{label}\n" for row, label in zip(x, y))
    for words in (["--train", path("X_back.npy")], ["--train", path("X_half.npy")],
                  ["--train", path("one.csv"), "--learn-size", 60]):
        record = error(*EVALUATE, *words, code=1)
        assert "split another way" in record["what"], record
    assert frozen("--train", path("one.csv")) == frozen(*DATA)


def test_another_T_is_the_callers_word():
    model, train = path("with_test.safetensors"), [*DATA, "--learn-size", 50]
    run("train", "--preset", "paper", *train, "--test", path("X_two.npy"), "--defense", "none", "--epochs", 1, "--quiet", "--out", model)
    np.save(path("X_three.npy"), 1 - np.load(path("X_two.npy"))), np.save(path("y_three.npy"), np.load(path("y_two.npy")))
    for test in ("two", "three"):
        answer("evaluate", model, "--attacks", "none", "--quiet", *train, "--test", path(f"X_{test}.npy"))


def test_another_file_has_no_bounds():
    said = answer(*EVALUATE, *OTHER, "--learn-size", 400)
    assert said["rows"] == "other" and said["attacks"][0]["bounds"] == {} and said["attacks"][0]["risks"] is None
    assert said["attacks"][0]["adversarial_risk"] > 0.3
    run(*CURVE, *OTHER)
    assert os.path.exists(path("curve.csv"))


if __name__ == "__main__":
    main()
