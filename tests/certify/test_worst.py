"""Certificates of the worst case: made, verified, refused, and counted again in Python."""
import json
import os
import tempfile

import mpmath
import small
from tap import answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
DATA = small.write(FOLDER.name, pool=4)
TRAIN = ["train", "--preset", "paper", *DATA, "--learn-size", 200, "--epochs", 6, "--quiet", "--threads", 1, "--norm", "linf", "--eps", 0.03]


def path(name):
    return os.path.join(FOLDER.name, name)


def certify(model, *words):
    return answer("certify", path(model), *DATA, "--looks", 1, "--out", path("c.json"), "--quiet", *words)


def verify(code=0):
    return json.loads(run("verify", path("c.json"), "--model", path("m"), *DATA, "--json", "--quiet", code=code).stdout)


def test_baseline():
    run(*TRAIN, "--defense", "certified", "--out", path("m"))
    c = certify("m")  # the worst case is the default of the certified defense
    assert c["bound"] == "worst_case_frozen" and c["risk"] == "worst_case" and c["attack"]["name"] == "worst-case"
    assert "no perturbation of norm up to 0.03 that keeps the input inside [0, 1], whatever the attack" in c["claim"], c["claim"]
    k, m = c["counts"]["max_wrong"] + c["counts"]["max_tied"], c["inputs"]["m"]
    assert abs(mpmath.betainc(m - k, k + 1, 0, 1 - c["value"], regularized=True) - 0.05) < 1e-9
    row = answer("evaluate", path("m"), *DATA, "--attacks", "worst-case", "--quiet")["attacks"][0]
    assert row["bounds"]["worst_case_frozen"]["vote"] == c["value"] and row["risks"]["not_proved"] == k / m
    assert row["best"] == {"bound": "worst_case_frozen", "vote": c["value"], "risk": "worst_case"}
    sampled = answer("evaluate", path("m"), *DATA, "--attacks", "none", "--quiet")["attacks"][0]
    smallest = min((b["vote"], name) for name, b in sampled["bounds"].items() if b["risk"] == "averaged_max")
    assert (sampled["best"]["vote"], sampled["best"]["bound"]) == smallest and smallest[1] == "vote_frozen_max"
    assert verify()["agrees"]
    assert certify("m", "--bound", "best")["value"] == c["value"] and verify()["agrees"]


def test_learned_posterior():
    run(*TRAIN, "--defense", "certified", "--objective", "worst-case", "--voters", "real", "--out", path("m"))
    one, best = certify("m"), certify("m", "--bound", "best")
    assert one["bound"] == "worst_case" and len(best["ledger"]) == 3 and verify()["agrees"]
    e = error("certify", path("m"), *DATA, "--looks", 1, "--out", path("x"), "--bound", "worst_case_frozen", code=1)
    assert "worst_case_frozen" in e["what"]


def test_any_model_has_a_worst_case():
    run(*TRAIN, "--defense", "pgdu", "--steps", 3, "--out", path("m"))
    sampled = certify("m", "--attack", "pgdu", "--samples", 5, "--steps", 3)
    worst = certify("m", "--attack", "worst-case")
    assert sampled["risk"] == "averaged_max" and worst["bound"] == "worst_case" and verify()["agrees"]
    assert worst["risks"]["averaged_max"] >= sampled["risks"]["averaged_max"]


def test_refused():
    for words in (["--attack", "pgdu", "--bound", "worst_case"], ["--attack", "worst-case", "--bound", "seeger"],
                  ["--attack", "worst-case", "--bound", "worst_case_holdout"]):
        error("certify", path("m"), *DATA, "--looks", 1, "--out", path("x"), *words, code=1)
    assert not os.path.exists(path("x"))
    certify("m", "--attack", "worst-case")
    with open(path("c.json"), encoding="utf-8") as f:
        c = json.load(f)
    c["attack"]["name"] = "pgd"
    with open(path("c.json"), "w", encoding="utf-8") as f:
        json.dump(c, f)
    assert not verify(code=1)["agrees"]


if __name__ == "__main__":
    main()
