"""What makes a promise false in practice (found by attacking it): the training rows once more in S, and files that are
not those of the training. Labels are coin tosses: every vote is wrong on half of all new inputs."""
import json
import os
import tempfile

import numpy as np
from tap import answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
TRAIN = ["--defense", "none", "--objective", "baseline", "--mask", 0, "--trees", 10, "--depth", 4, "--lr", 0.05, "--quiet"]
TEST_KEYS = {"learn_in_prior", "test_in_prior", "near_learn_in_prior", "near_test_in_prior", "tolerance"}


def path(name):
    return os.path.join(FOLDER.name, name)


def put(name, x, y):
    np.save(path(f"X_{name}.npy"), x.astype(np.float32)), np.save(path(f"y_{name}.npy"), y)
    return path(f"X_{name}.npy")


def toss(m, seed, d=20):
    rng = np.random.default_rng(seed)
    return rng.random((m, d), np.float32), rng.choice([-1, 1], m)


X, Y = toss(150, 1)
SIX = ["--train", put("six", np.tile(X, (6, 1)), np.tile(Y, 6)), "--test", put("new", *toss(400, 2))]


def claim(model, data, *words):
    return answer("certify", model, *data, "--attack", "none", "--looks", 1, "--quiet", "--out", path("c.json"), *words)


def test_150_rows_six_times():
    """The lie: a limit far below 1/2. Refused; told, where it is asked for."""
    record = error("train", *SIX, "--learn-size", 300, *TRAIN, "--epochs", 1, "--out", path("no.safetensors"), code=1)
    assert "300 of the 300 examples of S (100.0 %) also occur in S', so S is not independent" in record["what"], record
    assert "--copies drop" in record["expected"] and "--copies keep" in record["expected"]
    assert not os.path.exists(path("no.safetensors"))
    model = path("kept.safetensors")
    said = answer("train", *SIX, "--learn-size", 300, *TRAIN, "--epochs", 60, "--copies", "keep", "--out", model)
    assert said["copies"]["learn_in_prior"] == 300 and TEST_KEYS <= set(said["copies"])
    row = answer("evaluate", model, *SIX, "--attacks", "none", "--quiet")
    assert row["copies"] == said["copies"]
    assert row["attacks"][0]["adversarial_risk"] > 0.4
    c = claim(model, SIX)
    assert c["value"] < 0.4 and c["copies"] == said["copies"] and c["data"]["copies"] == "keep"
    assert "300 of the 300 examples of S (100.0 %) also occur in S'" in c["claim"]
    assert "so S is not independent of the training" in c["claim"]
    v = answer("verify", path("c.json"), "--model", model, *SIX, "--quiet")
    assert v["agrees"] and v["copies"] == c["copies"]
    error("certify", model, *SIX, "--copies", "refuse", "--looks", 1, "--out", path("no.json"), "--quiet", code=1)
    for words in (["evaluate", model, *SIX, "--attacks", "none"], ["verify", path("c.json"), "--model", model, *SIX],
                  ["data", "show", *SIX, "--learn-size", 300]):
        text = " ".join(run(*words, "--quiet").stdout.split())
        assert "copies: of S 300 of 300 rows also occur in S'" in text, text


def test_drop_keeps_distinct_rows():
    model = path("dropped.safetensors")
    said = answer("train", *SIX, "--learn-size", 75, *TRAIN, "--epochs", 60, "--copies", "drop", "--out", model)
    assert said["copies"]["dropped"] == 750 and said["copies"]["near_learn_in_prior"] == 0
    c = claim(model, SIX)
    assert c["value"] > 0.4 and "distinct inputs, each counted once" in c["claim"]
    assert c["data"]["rows_prior"] == c["data"]["rows_learn"] == 75
    assert answer("verify", path("c.json"), "--model", model, *SIX, "--quiet")["agrees"]


def test_jitter_and_minus_zero_hide_nothing():
    rng = np.random.default_rng(3)
    x = np.tile(X, (6, 1)) + rng.uniform(-1e-7, 1e-7, (900, 20))
    near = ["--train", put("jitter", x.clip(0, 1), np.tile(Y, 6)), "--test", path("X_new.npy")]
    for rule in ("refuse", "drop"):
        record = error("train", *near, "--learn-size", 300, *TRAIN, "--copies", rule, "--out", path("no"), code=1)
        assert "also occur in S', up to 1e-6" in record["what"], record
    x = np.tile(X, (2, 1))
    x[:, 0] = 0
    x[150:, 0] = -0.0
    zero = ["--train", put("zero", x, np.tile(Y, 2)), "--test", path("X_new.npy")]
    assert answer("data", "show", *zero, "--learn-size", 100)["copies"]["learn_in_prior"] > 40
    assert answer("data", "show", *zero, "--learn-size", 100, "--copies", "drop")["copies"]["dropped"] == 150


def test_one_percent_is_said_only():
    x, y = toss(400, 4)
    x[399] = x[0]
    data = ["--train", put("few", x, y), "--test", path("X_new.npy"), "--learn-size", 200]
    c = answer("data", "show", *data)["copies"]
    assert c["learn_in_prior"] + c["learn_repeats"] <= 1
    said = answer("train", *data, *TRAIN, "--epochs", 1, "--out", path("few.safetensors"))
    assert said["copies"] == c


if __name__ == "__main__":
    main()
