"""predict --prove and --radius: proofs of single inputs are those of evaluate, and no drawn point of a proved ball has another answer."""
import csv
import os
import tempfile

import numpy as np
import small
from tap import answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
QUICK = ["--quiet", "--threads", "2"]
DATA = small.write(FOLDER.name, train=600, test=150, pool=4, classes=(5, 7, 9))
TRAIN = ["--learn-size", 100, "--norm", "linf", "--eps", 0.02, "--lr", 0.1, "--epochs", 4, "--defense", "certified", "--objective", "baseline",
         "--scale", "none", "--box", "0,1", *QUICK]


def path(name):
    return os.path.join(FOLDER.name, name)


def table(name):
    with open(path(name), encoding="utf-8") as f:
        return list(csv.DictReader(f))


def check(*kind):
    run("train", *DATA, *TRAIN, *kind, "--out", path("m"))
    r = answer("predict", path("m"), path("X_test.npy"), "--classes", path("c.csv"), "--prove", "--radius", *QUICK)
    rows = table("c.csv")
    assert r["proved"] == sum(row["proved"] == "1" for row in rows) and 10 < r["proved"] < len(rows), r["proved"]
    run("evaluate", path("m"), *DATA, "--attacks", "worst-case", "--per-example", path("e.csv"), *QUICK)
    same = 0
    for mine, theirs in zip(rows, table("e.csv")):
        assert (float(mine["radius"]) >= 0.02) == (mine["proved"] == "1"), mine
        if mine["class"] == theirs["label"]:  # there the certified class is the label
            same += 1
            assert abs(float(mine["radius"]) - float(theirs["certified_radius"])) <= 1e-9, (mine, theirs)
    assert same > 50
    x, rng = np.load(path("X_test.npy")), np.random.default_rng(0)
    for i, row in enumerate(rows):
        if i % 10 == 0 and float(row["radius"]) > 0:
            b = float(row["radius"])
            moved = np.clip(x[i] + rng.choice([-b, b, 0], (40, x.shape[1])) * (1 - 1e-6), 0, 1).astype(np.float32)
            np.save(path("moved.npy"), moved)
            run("predict", path("m"), path("moved.npy"), "--classes", path("w.csv"), *QUICK)
            assert {r["class"] for r in table("w.csv")} == {row["class"]}, row
    assert answer("predict", path("m"), path("X_test.npy"), "--classes", path("w.csv"), "--prove", "--eps", 0, *QUICK)["proved"] == len(rows)
    assert list(table("w.csv")[0]) == ["row", "class", "proved"]


def test_soft_forest():
    check("--preset", "paper")


def test_linear():
    check("--kind", "linear")


def test_outside_the_box_nothing_is_proved():
    x = np.load(path("X_test.npy"))[:3].copy()
    x[1, 0] = 1.5
    np.save(path("out.npy"), x)
    answer("predict", path("m"), path("out.npy"), "--classes", path("w.csv"), "--radius", "--eps", 0, *QUICK)
    rows = table("w.csv")
    assert [r["proved"] for r in rows] == ["1", "0", "1"] and rows[1]["radius"] == "-1"


def test_refused():
    words = ["predict", path("m"), path("X_test.npy"), "--quiet"]
    assert "--classes" in error(*words, "--out", path("v.npy"), "--prove", code=2)["what"]
    assert "--eps" in error(*words, "--classes", path("w.csv"), "--prove", "--norm", "l2", code=2)["what"]
    error(*words, "--classes", path("w.csv"), "--eps", 0.1, code=2)
    error(*words, "--classes", path("w.csv"), "--prove", "--eps", -1, code=2)


def test_the_radius_is_said_in_its_unit_or_asked_for():
    run("train", *DATA, "--learn-size", 100, "--epochs", 1, *QUICK, "--out", path("plain"))
    words = ["predict", path("plain"), path("X_test.npy"), "--classes", path("w.csv"), "--prove"]
    assert "--eps" in error(*words, "--quiet", code=2)["what"]  # trained without one
    said = " ".join(run(*words, "--norm", "linf", "--eps", 0.1, *QUICK).stdout.split())  # lines are filled
    assert "linf ball of radius 0.1, in standard deviations" in said, said


if __name__ == "__main__":
    main()
