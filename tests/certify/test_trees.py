"""Imported trees from file to certificate: proofs that no point of the ball breaks, verdicts, verify, the same bits for any threads."""
import csv
import json
import os
import tempfile

import numpy as np

import small
from seal import sealed
from tap import FULL, Skip, answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
EPS = 0.05


def path(name):
    return os.path.join(FOLDER.name, name)


def model(K=2):
    """A real XGBoost model of small images; its rows are in X_train, fresh ones in X_test."""
    try:
        import xgboost
    except ImportError:
        raise Skip("python3-xgboost is not installed")
    small.write(FOLDER.name, train=900, test=400, classes=(5, 7, 9) if K == 3 else (5, 9), pool=4)
    x, y = np.load(path("X_train.npy")), np.load(path("y_train.npy"))
    y = np.searchsorted(np.unique(y), y)
    name = path(f"trees{K}")
    booster = xgboost.train({"objective": "multi:softprob" if K > 2 else "binary:logistic", "max_depth": 4, "nthread": 1,
                             **({"num_class": K} if K > 2 else {})}, xgboost.DMatrix(x, label=y), num_boost_round=15)
    booster.save_model(path("model.json"))
    names = "5,7,9" if K == 3 else "5,9"
    run("import", path("model.json"), "--out", name, "--classes", names)
    return name, booster


def ball(norm="linf", eps=EPS):
    return ["--fresh", path("X_test.npy"), "--fresh-labels", path("y_test.npy"), "--box", "0,1", "--norm", norm, "--eps", eps]


def examples(name, norm, eps, *options):
    run("evaluate", name, *ball(norm, eps), "--attacks", "search", "--per-example", path("e.csv"), "--quiet", *options)
    with open(path("e.csv")) as file:
        return list(csv.DictReader(file))


def edges(x, eps, count, rng):
    """Points of the linf ball, a part of them at its float32 edge."""
    lo = np.maximum(x.astype(np.float64) - eps, 0)
    hi = np.minimum(x.astype(np.float64) + eps, 1)
    lo32, hi32 = lo.astype(np.float32), hi.astype(np.float32)
    lo32 = np.where(lo32 < lo, np.nextafter(lo32, np.float32(2)), lo32)
    hi32 = np.where(hi32 > hi, np.nextafter(hi32, np.float32(-2)), hi32)
    u = rng.random((count, *x.shape))
    inner = (lo32 + u * (hi32 - lo32)).astype(np.float32)
    return np.where(rng.random(inner.shape) < 0.5, np.where(u < 0.5, lo32, hi32), np.clip(inner, lo32, hi32)).astype(np.float32)


def test_no_point_breaks_a_proof():
    """XGBoost itself is asked at random points and corners of the balls of examples that were proved."""
    import xgboost
    rng = np.random.default_rng(11)
    for K in 2, 3:
        name, booster = model(K)
        rows = examples(name, "linf", EPS)
        verdicts = [row["verdict"] for row in rows]
        assert verdicts.count("robust") > 50 and verdicts.count("vulnerable") > 10 and verdicts.count("open") < 5, verdicts
        x, y = np.load(path("X_test.npy")), np.load(path("y_test.npy"))
        y = np.searchsorted(np.unique(y), y)
        proved = np.flatnonzero([verdict == "robust" for verdict in verdicts])
        for _ in range(100 if FULL else 5):
            points = edges(x[proved], EPS, 20, rng)
            p = booster.predict(xgboost.DMatrix(points.reshape(-1, x.shape[1])))
            answers = (p > 0.5 if K == 2 else p.argmax(1)).reshape(20, -1)
            assert (answers == y[proved]).all(), "a point breaks a proof"


def test_points_of_the_attack():
    """XGBoost is wrong at every point that search calls wrong, and the points lie in the ball."""
    import xgboost
    for norm, eps in (("linf", EPS), ("l2", 0.15), ("l1", 0.2)):
        name, booster = model()
        got = answer("attack", name, "--attack", "search", "--out", path("A.npy"), *ball(norm, eps))
        a, x, y = (np.load(path(n)).astype(np.float64) for n in ("A.npy", "X_test.npy", "y_test.npy"))
        wrong = (booster.predict(xgboost.DMatrix(a.astype(np.float32))) > 0.5) != (y == 9)
        assert wrong.sum() == got["fooled"] and got["found_by"] == "search", (wrong.sum(), got)
        e = np.abs(a - x)
        far = {"linf": e.max(1), "l2": np.sqrt((e ** 2).sum(1)), "l1": e.sum(1)}[norm]
        assert far.max() <= eps and got["norm_max"] <= eps and a.min() >= 0 and a.max() <= 1
        worst = answer("evaluate", name, *ball(norm, eps), "--attacks", "search,worst-case", "--quiet")["attacks"]
        assert worst[0]["adversarial_risk"] == wrong.mean() <= worst[1]["not_proved"], worst
        if norm == "linf":
            assert worst[1]["not_proved"] - wrong.mean() < 0.01, worst


def test_radii_are_tight():
    """Just inside the certified radius nothing is found, a little outside the attack wins."""
    name, _ = model()
    rows = [row for row in examples(name, "linf", EPS) if 0 < float(row["certified_radius"]) < 0.3]
    radius = np.median([float(row["certified_radius"]) for row in rows])
    at = {row["index"]: row for row in examples(name, "linf", radius * 1.001)}
    for row in rows:
        if float(row["certified_radius"]) > radius * 1.002:
            assert at[row["index"]]["verdict"] == "robust", row
        if float(row["certified_radius"]) < radius * 0.999:
            assert at[row["index"]]["verdict"] != "robust", row
    found = [at[row["index"]]["verdict"] for row in rows if float(row["certified_radius"]) < radius * 0.999]
    assert found.count("vulnerable") >= 0.95 * len(found), found


def test_budget_and_threads():
    """A larger budget proves no less; the same bits for any number of threads."""
    name, _ = model()
    shares = []
    for budget in 0, 1, 10, 1000:
        texts = {run("evaluate", name, *ball("l2", 0.15), "--attacks", "search,worst-case", "--budget", budget, "--threads", threads,
                     "--json", "--quiet").stdout for threads in (1, 3)}
        assert len(texts) == 1
        shares.append(json.loads(texts.pop())["attacks"][1]["not_proved"])
    assert shares == sorted(shares, reverse=True) and shares[0] > shares[-1], shares


def test_certificates():
    name, _ = model()
    certificate, other = path("c.json"), path("other.json")
    options = [*ball("l2", 0.15), "--looks", 1]
    got = answer("certify", name, *options, "--out", certificate, "--quiet")
    assert got["bound"] == "worst_case_frozen" and got["attack"]["budget"] == 1000 and got["model"]["kind"] == "trees", got
    assert "by the word of whoever declared it" in got["claim"], got["claim"]
    fresh = ["--fresh", path("X_test.npy"), "--fresh-labels", path("y_test.npy")]
    assert answer("verify", certificate, "--model", name, *fresh)["level"] == "bits"
    run("verify", certificate, "--model", name, "--numbers", code=5)
    treewise = answer("certify", name, *options, "--out", other, "--budget", 0, "--quiet")
    assert treewise["value"] > got["value"] and answer("verify", other, "--model", name, *fresh)["agrees"]
    with open(path("forged.json"), "w") as file:  # another budget is another certificate
        json.dump(sealed({**got, "attack": {**got["attack"], "budget": 0}}), file)
    forged = json.loads(run("verify", path("forged.json"), "--model", name, *fresh, "--json", code=1).stdout)
    assert not forged["agrees"], forged
    searched = answer("certify", name, *options, "--attack", "search", "--out", other, "--quiet")
    assert searched["bound"] == "vote_frozen_max" and "a search of at most 1000 steps" in searched["claim"], searched["claim"]
    assert answer("verify", other, "--model", name, *fresh)["agrees"]


def test_what_trees_cannot():
    name, _ = model()
    record = error("evaluate", name, *ball(), "--attacks", "pgd", code=2)
    assert "gradient" in record["what"] and "search" in record["expected"], record
    record = error("evaluate", name, "--fresh", path("X_test.npy"), "--fresh-labels", path("y_test.npy"), "--attacks", "search", code=2)
    assert "radius" in record["what"], record
    rows = answer("evaluate", name, *ball(), "--attacks", "unif", "--quiet")["attacks"]
    assert rows[0]["found_by"] == "search", rows
    assert [a["attack"] for a in answer("evaluate", name, *ball(), "--quiet")["attacks"]] == ["none", "search", "worst-case"]
    run("curve", name, "--fresh", path("X_test.npy"), "--fresh-labels", path("y_test.npy"), "--eps-grid", "0:0.1:0.05", "--attacks",
        "search,worst-case", "--out", path("curve.csv"))
    assert open(path("curve.csv")).readline() == "eps,search,worst-case\n"


def test_labels():
    """Without names, labels 0, 1 or -1, 1 are the model's classes; others must be named."""
    name, _ = model()
    run("import", path("model.json"), "--out", path("unnamed"))
    y = np.load(path("y_test.npy"))
    for labels in (y == 9).astype(np.int64), np.where(y == 9, 1, -1):
        np.save(path("labels.npy"), labels)
        got = answer("evaluate", path("unnamed"), "--fresh", path("X_test.npy"), "--fresh-labels", path("labels.npy"), "--attacks", "none",
                     "--quiet")
        assert got["clean_error"] < 0.1, got["clean_error"]
    record = error("evaluate", path("unnamed"), "--fresh", path("X_test.npy"), "--fresh-labels", path("y_test.npy"), "--attacks", "none",
                   code=1)
    assert "import --classes" in record["expected"], record
    error("import", path("model.json"), "--out", path("no"), "--classes", "1,2,3", code=2)


main()
