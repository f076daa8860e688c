"""The defaults for tables of one's own: what is trained, what is asked for, and what is said of a useless model."""
import json
import os
import tempfile

import numpy as np
from tap import answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
QUICK = ["--quiet", "--threads", 1]


def path(name):
    return os.path.join(FOLDER.name, name)


def table(name, m, rule, seed=0, d=6):
    """m rows of [0,1]^d with labels by a rule."""
    rng = np.random.default_rng(seed)
    x = rng.random((m, d)).astype(np.float32)
    np.save(path(f"X_{name}.npy"), x), np.save(path(f"y_{name}.npy"), rule(x, rng).astype(np.int64))
    return ["--train", path(f"X_{name}.npy"), "--learn-size", m // 5 * 2, "--test-size", m // 5]


PLAIN = table("plain", 1000, lambda x, rng: (x[:, 0] > x[:, 1]) ^ (x[:, 2] > 0.5))
RARE = table("rare", 1000, lambda x, rng: (x[:, 0] > 0.9) & (rng.random(len(x)) < 0.6))
NOISE = table("noise", 400, lambda x, rng: rng.random(len(x)) < 0.02)


def settings(model):
    return json.loads(answer("inspect", model)["texts"]["settings"])


def test_without_a_radius_nothing_is_defended():
    said = answer("train", *PLAIN, *QUICK, "--out", path("m"))
    s = settings(path("m"))
    assert s["defense"]["name"] == "none" and s["defense"]["eps"] == 0 and s["objective"] == "baseline" and s["loss"] == "logistic"
    assert s["voters"] == "real" and s["keep_last"] and s["decay"] and said["priors_compared"] == 1
    assert s["step1_epochs"] == -(-2500 // -(-400 // 64)), s  # 400 rows of S', 7 batches each epoch
    assert said["clean_rows"] == "test" and said["clean_error"] < 0.1 < said["majority_error"] and not said["constant"]


def test_whatever_needs_a_radius_asks_for_it():
    run("train", *PLAIN, *QUICK, "--epochs", 5, "--out", path("m5"))
    data = ["--train", path("X_plain.npy")]
    shown = answer("evaluate", path("m5"), *data, *QUICK)
    assert [row["attack"] for row in shown["attacks"]] == ["none"]
    for words in (["evaluate", path("m5"), *data, "--attacks", "worst-case"], ["attack", path("m5"), *data],
                  ["certify", path("m5"), *data, "--looks", 1, "--attack", "worst-case", "--out", path("no")],
                  ["train", *PLAIN, "--defense", "pgd", "--out", path("no")]):
        e = error(*words, *QUICK, code=2)
        assert "no usual radius" in e["what"] and "--eps" in e["expected"], e
    assert not os.path.exists(path("no"))
    ball = ["--norm", "linf", "--eps", 0.02]
    assert answer("evaluate", path("m5"), *data, *ball, "--attacks", "worst-case", *QUICK)["attacks"][0]["not_proved"] > 0
    assert answer("certify", path("m5"), *data, "--looks", 1, "--attack", "none", "--out", path("c.json"), *QUICK)["value"] < 1


def test_with_a_radius_the_defense_is_certified():
    run("train", *PLAIN, "--norm", "linf", "--eps", 0.02, "--epochs", 100, *QUICK, "--out", path("r"))
    s = settings(path("r"))
    assert s["defense"]["name"] == "worst-case" and s["defense"]["eps"] == 0.02 and (s["trees"], s["depth"], s["mask"]) == (25, 2, 0.5)
    rows = answer("evaluate", path("r"), "--train", path("X_plain.npy"), *QUICK)["attacks"]
    assert [row["attack"] for row in rows] == ["none", "pgd", "worst-case"]
    assert rows[0]["adversarial_risk"] <= rows[1]["adversarial_risk"] <= rows[2]["not_proved"] < 0.5


def test_the_papers_settings_for_own_data():
    run("train", "--preset", "paper", *PLAIN, "--epochs", 2, *QUICK, "--out", path("p"))
    s = settings(path("p"))
    assert s["defense"]["name"] == "pgdu" and s["defense"]["eps"] == 1 and s["objective"] == "chromatic" and not s["decay"]
    assert "auto, paper or table" in error("train", "--preset", "own", *PLAIN, "--out", path("no"), code=2)["what"]


def test_balance():
    """Six in a hundred rows are of the rare class, as many of the common one look the same: it pays to give the class up."""
    lost = {}
    for words in ([], ["--balance"]):
        said = answer("train", *RARE, *words, "--epochs", 200, *QUICK, "--out", path("b"))
        lost[bool(words)] = [c["risk"] for c in said["class_errors"]]
        assert settings(path("b"))["balance"] == bool(words)
    assert lost[True][1] < 0.2 and lost[True][1] <= lost[False][1] and lost[True][0] >= lost[False][0], lost


def test_useless_models_are_named():
    done = run("train", *NOISE, "--kind", "linear", "--epochs", 40, *QUICK, "--out", path("u"))
    assert "answers '0' to every row" in done.stderr and "--balance" in done.stderr, done.stderr
    assert answer("train", *NOISE, "--kind", "linear", "--epochs", 40, *QUICK, "--out", path("u"))["constant"]


def test_a_small_s_is_named():
    few = ["--train", path("X_plain.npy"), "--learn-size", 40, "--test-size", 100]
    done = run("train", *few, "--epochs", 5, *QUICK, "--out", path("f"))
    assert "S has 40 examples" in done.stderr and "0.073" in done.stderr, done.stderr  # 1 - .05^(1/40) = .0722
    assert "S has" not in run("train", *PLAIN, "--epochs", 5, *QUICK, "--out", path("f")).stderr


def test_the_last_epoch_was_the_best():
    shown = run("train", *PLAIN, "--keep", "best", "--holdout", 0.2, "--epochs", 40, "--lr", 0.03, "--threads", 1, "--out", path("k"))
    assert "the last epoch was the best: with more --epochs" in shown.stdout


main()
