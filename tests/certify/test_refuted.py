"""T refutes S: where failures on T are impossible under a bound or a certificate, every command says so.

The lie: the labels of T are swapped, so that the vote fails on nearly all of T while S promises little."""
import json
import os
import tempfile

import mpmath
import numpy as np
import small
from tap import answer, main, run

FOLDER = tempfile.TemporaryDirectory()
DATA = small.write(FOLDER.name, pool=4)
QUICK = ["--quiet", "--threads", "1"]
TRAIN = ["train", "--preset", "paper", *DATA, "--learn-size", 200, "--epochs", 8, "--lr", 0.1, "--norm", "linf", "--eps", 0.01, "--steps", 2, *QUICK]


def path(name):
    return os.path.join(FOLDER.name, name)


def swap():
    y = np.load(path("y_test.npy"))
    np.save(path("y_test.npy"), 14 - y)  # 5 and 9 change places


def model(name, *words):
    if not os.path.exists(path(name)):
        run(*TRAIN, *words, "--out", path(name))
    return path(name)


def certify(*words, **options):
    return run("certify", *words, *DATA, "--looks", 1, "--out", path("c.json"), "--json", "--samples", 5, "--steps", 2,
               *QUICK, **options)


def chance(m, failed, limit):
    return mpmath.betainc(failed, m - failed + 1, 0, limit, regularized=True)


KINDS = (("honest", [], []), ("honest", [], ["--bound", "seeger"]), ("frozen", ["--objective", "baseline"], []),
         ("proved", ["--defense", "certified"], []))


def test_an_honest_t_refutes_nothing():
    for name, training, words in KINDS:
        c = json.loads(certify(model(name, *training), *words).stdout)
        assert c["test"]["refuted"] is False and c["test"]["m"] in (200, 1000) and "refutes" not in c["claim"]
        done = run("verify", path("c.json"), "--model", path(name), *DATA, "--json", *QUICK)
        assert json.loads(done.stdout)["refuted"] is None and done.stderr == ""
        done = run("evaluate", path(name), *DATA, "--attacks", "none,pgdu,worst-case", "--samples", 3, "--steps", 2, "--json",
                   *QUICK)
        assert all(row["refuted"] is None for row in json.loads(done.stdout)["attacks"]) and done.stderr == ""


def test_swapped_labels_are_noticed():
    swap()
    for name, training, words in KINDS:
        m = model(name + "-swapped", *training)
        e = json.loads(certify(m, *words, code=1).stdout)["error"]
        assert "T refutes" in e["what"] and "--despite-test" in e["expected"]
        said = certify(m, *words, "--despite-test")
        c = json.loads(said.stdout)
        t = c["test"]
        assert "T REFUTES" in said.stderr and c["claim"].startswith("The test set T refutes this certificate")
        assert "--despite-test" in c["claim"] and t["refuted"] is True and 0 <= t["chance"] < 1e-6
        if c["risk"] != "averaged":
            exact = chance(t["m"], t["failed"], c["value"])
            assert exact <= t["chance"] <= max(exact * (1 + 1e-6), 1e-300), (exact, t)
        v = run("verify", path("c.json"), "--model", m, *DATA, "--json", *QUICK)
        assert json.loads(v.stdout)["agrees"] and json.loads(v.stdout)["refuted"]["m"] == t["m"] and "T REFUTES" in v.stderr


def test_evaluate_says_it():
    m = model("honest-swapped")
    said = run("evaluate", m, *DATA, "--attacks", "none,worst-case", "--json", *QUICK)
    rows = json.loads(said.stdout)["attacks"]
    for row in rows:
        r = row["refuted"]
        assert r["m"] == 200 and r["failed"] > 100 and r["limit"] == row["bounds"][r["bound"]]["vote"] and r["chance"] < 1e-6
    assert said.stderr.count("T REFUTES S") == 2
    assert "T REFUTES S" in run("evaluate", m, *DATA, "--attacks", "none", *QUICK).stderr


def test_a_withheld_certificate_was_a_look():
    log = {"XDG_STATE_HOME": path("state")}
    certify(model("honest-swapped"), code=1, env=log)
    assert answer("looks", env=log)["sets"][0]["certificates"] == 1


if __name__ == "__main__":
    main()
