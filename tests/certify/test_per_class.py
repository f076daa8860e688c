"""Limits per class, and what is said of a model that is no better than always answering the largest class."""
import json
import math
import os
import tempfile

import mpmath
import numpy as np
import small
from seal import sealed
from tap import answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
QUICK = ["--quiet", "--threads", "1"]
TRAIN = ["--learn-size", 300, "--norm", "linf", "--eps", 0.01, "--lr", 0.1, "--epochs", 8, "--steps", 2, *QUICK]


def path(name):
    return os.path.join(FOLDER.name, name)


def data(name, **options):
    os.makedirs(path(name), exist_ok=True)
    return small.write(path(name), train=900, test=100, pool=4, **options)


TEN = data("ten", classes=tuple(range(10)))
TWO = data("two")


def certify(model, where, *words, **options):
    return answer("certify", path(model), *where, "--looks", 2, "--out", path("c.json"), "--samples", 3, "--steps", 2, *words,
                  *QUICK, **options)


def verify(model, where, code=0, **options):
    return json.loads(run("verify", path("c.json"), "--model", path(model), *where, "--json", *QUICK, code=code, **options).stdout)


def check_limits(c, where):
    """Every limit counted again: the binomial one at delta / (classes x candidates x looks)."""
    G, T = len(c["classes"]), c["inputs"]["priors_compared"]
    delta = c["delta"] / (G * T * c["inputs"]["looks"])
    for entry in c["classes"]:
        k, m = entry["failed"], entry["m"]
        if k == m:
            assert entry["value"] == 1
        else:
            assert abs(mpmath.betainc(m - k, k + 1, 0, 1 - entry["value"], regularized=True) / delta - 1) < 1e-6, entry
    assert sum(e["m"] for e in c["classes"]) == c["inputs"]["m"] and c["value"] == max(e["value"] for e in c["classes"])
    assert sum(e["failed"] for e in c["classes"]) == c["counts"]["max_wrong"] + c["counts"]["max_tied"]
    assert len(c["ledger"]) == G and sum(e["share"] for e in c["ledger"]) <= c["delta"]
    assert [e["class"] for e in c["classes"]] == c["data"]["classes"]


def test_two_classes():
    run("train", "--preset", "paper", *TWO, *TRAIN, "--objective", "baseline", "--out", path("two.m"))
    c = certify("two.m", TWO, "--per-class")
    check_limits(c, TWO)
    assert "fails, for all of its 2 classes at once, on at most " in c["claim"] and "of class 5 and " in c["claim"], c["claim"]
    assert "%% of all".replace("%%", "%") in c["claim"]
    assert verify("two.m", TWO)["agrees"]
    assert certify("two.m", TWO)["value"] < c["value"] and certify("two.m", TWO)["classes"] == []
    text = run("certify", path("two.m"), *TWO, "--looks", 1, "--per-class", "--attack", "none", "--out", path("t.json"), *QUICK).stdout
    lines = text.splitlines()
    assert ["class", "examples", "failed", "limit"] in [line.split() for line in lines]
    assert all(len(line) <= 80 for line in lines[:-2]), text
    c = certify("two.m", TWO)
    with open(path("c.json"), "w", encoding="utf-8") as f:
        json.dump(sealed({**c, "data": {**c["data"], "classes": ["no", "yes"]}}), f)
    v = verify("two.m", ["--numbers"], code=1)
    assert not v["agrees"] and "data.classes" in v["reason"], v["reason"]


def test_many_classes_and_the_worst_case():
    run("train", "--preset", "paper", *TEN, *TRAIN, "--defense", "certified", "--out", path("ten.m"))
    c = certify("ten.m", TEN, "--per-class")
    assert c["bound"] == "worst_case_frozen" and len(c["classes"]) == 10
    check_limits(c, TEN)
    assert verify("ten.m", TEN)["agrees"]
    assert verify("ten.m", ["--numbers"], code=5)["agrees"], "the counts of the classes add up"
    for k, entry in ((0, {"m": 1}), (3, {"failed": 0}), (5, {"value": 0.01}), (7, {"class": "x"})):
        classes = [dict(e) for e in c["classes"]]
        classes[k].update(entry)
        with open(path("c.json"), "w", encoding="utf-8") as f:
            json.dump(sealed({**c, "classes": classes}), f)
        assert not verify("ten.m", TEN, code=1)["agrees"], entry
        v = verify("ten.m", ["--numbers"], code=1)
        assert not v["agrees"] and ("do not add up" in v["reason"]) == (k < 5), (entry, v["reason"])


def test_a_class_that_s_does_not_have():
    rng = np.random.default_rng(1)
    y = np.array([0] * 300 + [1] * 300 + [2] * 3)
    x = np.clip(rng.normal(0.3 + 0.2 * y[:, None], 0.05, (len(y), 4)), 0, 1).astype(np.float32)
    np.save(path("X_rare.npy"), x)
    np.save(path("y_rare.npy"), y)
    where = ["--train", path("X_rare.npy"), "--test-size", 100]
    for seed in range(20):  # until the three rows of class 2 are all in S'
        run("train", "--preset", "paper", *where, "--learn-size", 100, "--seed", seed, "--mask", 0, "--lr", 0.1, "--epochs", 3, "--defense", "none",
            "--objective", "baseline", "--out", path("rare"), *QUICK)
        c = certify("rare", where[:2], "--per-class", "--attack", "none")
        if c["classes"][2]["m"] == 0:
            break
    assert c["classes"][2] == {"class": "2", "m": 0, "failed": 0, "value": 1.0} and c["value"] == 1 and not c["vacuous"]
    assert "all of those of class 2" in c["claim"] and "% of all" not in c["claim"], c["claim"]
    assert verify("rare", where[:2])["agrees"]


def test_a_small_class_has_a_small_tolerance():
    """Without FMA a certificate may have counted one example in a thousand too few; not five of the sixty of one class."""
    rng = np.random.default_rng(3)
    with open(path("rare.csv"), "w", encoding="utf-8") as f:
        f.write("a,b,kind\n")
        for _ in range(12500):
            rare = rng.random() < 0.012
            f.write(f"{rng.normal(0.3 if rare else -2):.5f},{rng.normal():.5f},{'rare' if rare else 'usual'}\n")
    rare = ["--train", path("rare.csv")]
    run("train", *rare, "--kind", "linear", "--balance", "--epochs", 3, *QUICK, "--out", path("rare.m"))
    c = answer("certify", path("rare.m"), *rare, "--attack", "none", "--per-class", "--looks", 1, "--out", path("c.json"), *QUICK)
    entry = c["classes"][0]
    m, limit = c["inputs"]["m"], entry["value"]
    assert m == 5000 and entry["class"] == "rare" and entry["m"] < 90 and entry["failed"] > 4, entry
    lie = json.loads(json.dumps(c))
    one = lie["classes"][0]
    one["failed"] -= 4
    wrong = c["counts"]["wrong"] - 4
    for key in ("wrong", "max_wrong", "prior_wrong", "prior_max_wrong"):
        lie["counts"][key] -= 4
    lie["risks"]["averaged"] = lie["risks"]["averaged_max"] = wrong / m
    k, delta = one["failed"], c["delta"] / 2
    low, high = 0.0, 1.0
    for _ in range(80):
        p = (low + high) / 2
        low, high = (p, high) if mpmath.betainc(one["m"] - k, k + 1, 0, 1 - p, regularized=True) > delta else (low, p)
    one["value"] = high
    value = lie["value"] = max(e["value"] for e in lie["classes"])
    for old, new, words in ((limit, one["value"], "{} of the new inputs of class rare"), (c["value"], value, "so on at most {} of all")):
        assert words.format(up(old)) in lie["claim"]
        lie["claim"] = lie["claim"].replace(words.format(up(old)), words.format(up(new)))
    with open(path("lie.json"), "w", encoding="utf-8") as f:
        json.dump(sealed(lie), f)
    generic = {"SURETY_CPU": "generic"}
    assert verify("rare.m", rare, code=5, env=generic)["agrees"]
    words = ["verify", path("lie.json"), "--model", path("rare.m"), *rare, *QUICK]
    said = answer(*words, env=generic, code=1)
    assert [d["field"] for d in said["differences"]] == ["classes[0].failed"], said


def up(x):
    return f"{math.ceil(x * 1e4) / 100:.2f} %"


def test_refused():
    run("train", "--preset", "paper", *TWO, *TRAIN, "--out", path("learned"))
    words = ["certify", path("learned"), *TWO, "--looks", 1, "--out", path("no.json"), "--per-class", "--attack", "none", *QUICK]
    assert "baseline" in error(*words, code=1)["expected"]
    error(*words, "--bound", "vote_frozen_max", code=1)
    error(*words, "--bound", "best", code=2)
    error(*words, "--bound", "vote_frozen_averaged", code=1)


def imbalanced(share, noise):
    """Labels 0 and 1, the second rare; features that tell nothing if noise."""
    rng = np.random.default_rng(2)
    y = (rng.random(1500) < share).astype(np.int64)
    x = np.clip(rng.normal(0.3 if noise else 0.3 + 0.4 * y[:, None], 0.05, (len(y), 4)), 0, 1).astype(np.float32)
    np.save(path("X_some.npy"), x)
    np.save(path("y_some.npy"), y)
    where = ["--train", path("X_some.npy")]
    run("train", "--preset", "paper", *where, "--test-size", 300, "--learn-size", 500, "--mask", 0, "--lr", 0.1, "--epochs", 20, "--defense", "none",
        "--objective", "baseline", "--out", path("some"), *QUICK)
    return certify("some", where, "--attack", "none"), where


def test_no_better_than_the_majority():
    """The lie: 'fails on at most 8 %' of a model that has learned nothing but that 95 % are of one class."""
    c, where = imbalanced(0.05, noise=True)
    assert c["value"] < 0.1 and c["majority"]["class"] == "0" and c["majority"]["failed"] > 0
    assert f"this model is no better than always answering 0, which fails on {c['majority']['failed']} of its 500" in c["claim"]
    assert verify("some", where)["agrees"]
    c, _ = imbalanced(0.4, noise=False)
    assert c["value"] < 0.1 and "no better" not in c["claim"]


def test_without_a_training_set_the_majority_is_that_of_s():
    imbalanced(0.95, noise=True)  # always answers 1
    rng = np.random.default_rng(3)
    np.save(path("X_new.npy"), np.clip(rng.normal(0.3, 0.05, (400, 4)), 0, 1).astype(np.float32))
    np.save(path("y_new.npy"), (rng.random(400) < 0.95).astype(np.int64))
    where = ["--fresh", path("X_new.npy")]
    c = certify("some", where, "--attack", "none")
    assert c["majority"]["class"] == "1" and c["majority"]["rows_prior"] == 0
    assert f"this model is no better than always answering 1, which fails on {c['majority']['failed']} of its 400" in c["claim"], c["claim"]
    assert verify("some", where)["agrees"]


if __name__ == "__main__":
    main()
