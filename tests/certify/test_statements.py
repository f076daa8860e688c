"""A radius for a promised risk, a curve, ordered promises: against the radii of single examples and limits computed here."""
import json
import os
import tempfile

import mpmath
import small
from seal import sealed
from tap import answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
QUICK = ["--quiet", "--threads", "2"]
DATA = small.write(FOLDER.name, train=900, test=100, pool=4)


def path(name):
    return os.path.join(FOLDER.name, name)


run("train", "--preset", "paper", *DATA, "--learn-size", 400, "--norm", "linf", "--eps", 0.02, "--lr", 0.1, "--epochs", 8, "--steps", 2,
    "--defense", "certified", "--objective", "baseline", "--out", path("m"), *QUICK)
run("train", "--preset", "paper", *DATA, "--learn-size", 400, "--norm", "linf", "--eps", 0.02, "--lr", 0.1, "--epochs", 4, "--steps", 2,
    "--out", path("learned"), *QUICK)


def certify(*words, out="c.json"):
    return answer("certify", path("m"), *DATA, "--attack", "worst-case", "--out", path(out), *words, *QUICK)


def verify(*words, code=0):
    return json.loads(run("verify", path("c.json"), "--model", path("m"), *words, "--json", *QUICK, code=code).stdout)


def binomial_limit(k, m, delta):
    low, high = k / m, 1.0
    for _ in range(60 if k < m else 0):
        p = (low + high) / 2
        low, high = (p, high) if mpmath.betainc(m - k, k + 1, 0, 1 - p, regularized=True) > delta else (low, p)
    return high


def forged(c, **changes):
    """A certificate that was changed, and sealed again: nobody may believe it, from data or from counts."""
    with open(path("c.json"), "w", encoding="utf-8") as f:
        json.dump(sealed({**c, **changes}), f)
    assert not verify(*DATA, code=1)["agrees"], changes
    v = verify("--numbers", code=1)
    assert not v["agrees"], changes



def test_radius():
    c = certify("--promise-risk", 0.1, "--looks", 2)
    m, delta = c["inputs"]["m"], c["delta"] / 2
    assert c["statement"] == "radius" and c["value"] == c["promised_risk"] == 0.1 and c["attack"]["eps"] == c["radius"] > 0
    assert len(c["ledger"]) == 1 and c["ledger"][0]["share"] <= c["delta"]
    below = c["below_radius"]
    assert binomial_limit(below, m, delta) <= 0.1, below
    k = max(k for k in range(m) if binomial_limit(k, m, delta) <= 0.1)
    assert below <= k, (below, k)
    wider = certify("--curve", f"{c['radius'] * 1.01}:{c['radius'] * 1.01}:1", "--looks", 2, out="w.json")
    assert wider["curve"][0]["failed"] > k, "a larger radius would do"
    at = certify("--curve", f"{c['radius']}:{c['radius']}:1", "--looks", 2, out="w.json")
    assert at["curve"][0]["failed"] == below and at["value"] <= 0.1
    assert f"fails on at most 10 % of the new inputs" in c["claim"] and "is the largest at which S allows the promised 10 %" in c["claim"]
    assert verify(*DATA)["agrees"] and verify("--numbers", code=5)["agrees"]
    forged(c, radius=c["radius"] * 2, attack={**c["attack"], "eps": c["radius"] * 2})
    forged(c, promised_risk=0.05, value=0.05)
    forged(c, below_radius=k + 1)


def test_no_radius():
    c = certify("--promise-risk", 0.001, "--looks", 1)
    assert c["radius"] is None and c["vacuous"] and c["value"] == 1 and "promises nothing" in c["claim"]
    assert verify(*DATA)["agrees"] and verify("--numbers", code=5)["agrees"]


def test_curve():
    c = certify("--curve", "0:0.06:0.02", "--looks", 3)
    m = c["inputs"]["m"]
    assert [p["radius"] for p in c["curve"]] == [0, 0.02, 0.04, 0.06] and len(c["ledger"]) == 4
    for p in c["curve"]:
        assert abs(p["value"] / binomial_limit(p["failed"], m, c["delta"] / 4 / 3) - 1) < 1e-9, p
    single = certify("--eps", 0.04, "--looks", 3, out="one.json")
    assert single["counts"]["max_wrong"] + single["counts"]["max_tied"] == c["curve"][2]["failed"]
    assert single["value"] < c["curve"][2]["value"] and single["statement"] == "limit" and single["curve"] == []
    assert c["value"] == c["curve"][-1]["value"] and "for all 4 radii r at once" in c["claim"]
    assert verify(*DATA)["agrees"] and verify("--numbers", code=5)["agrees"]
    for i, change in ((0, {"failed": 0}), (1, {"value": 0.001}), (3, {"radius": 0.9})):
        points = [dict(p) for p in c["curve"]]
        points[i].update(change)
        with open(path("c.json"), "w", encoding="utf-8") as f:
            json.dump(sealed({**c, "curve": points}), f)
        assert not verify(*DATA, code=1)["agrees"], change
    text = run("certify", path("m"), *DATA, "--attack", "worst-case", "--curve", "0:0.06:0.02", "--looks", 3, "--out", path("t.json"), *QUICK).stdout
    assert ["radius", "failed", "limit"] in [line.split() for line in text.splitlines()]


def test_promises():
    with open(path("p.csv"), "w", encoding="utf-8") as f:
        f.write("radius,limit\n0,0.2\n0.02,0.3\n0.06,0.02\n0,0.9\n")
    c = certify("--promises", path("p.csv"), "--looks", 1)
    m = c["inputs"]["m"]
    assert [p["kept"] for p in c["promises"]] == [True, True, False, False] and c["promises"][3]["failed"] is None
    assert len(c["ledger"]) == 1 and c["value"] == 0.3 and c["attack"]["eps"] == 0.02
    for p in c["promises"][:3]:
        assert (binomial_limit(p["failed"], m, c["delta"]) <= p["limit"]) == p["kept"]
    assert "keeps the first 2 of the 4 promises" in c["claim"]
    assert verify(*DATA)["agrees"] and verify("--numbers", code=5)["agrees"]
    promises = [dict(p) for p in c["promises"]]
    promises[2]["kept"] = True
    forged(c, promises=promises)
    with open(path("p.csv"), "w", encoding="utf-8") as f:
        f.write("0.02,0.001\n0,0.9\n")
    c = certify("--promises", path("p.csv"), "--looks", 1)
    assert c["vacuous"] and c["value"] == 1 and "is not kept on S" in c["claim"]
    assert verify(*DATA)["agrees"] and verify("--numbers", code=5)["agrees"]
    with open(path("p.csv"), "w", encoding="utf-8") as f:
        f.write("0.02;0.3\n")
    words = ["certify", path("m"), *DATA, "--promises", path("p.csv"), "--looks", 1, "--out", path("no.json"), *QUICK]
    assert error(*words, code=3)["place"] == "line 1"


def test_refused():
    words = ["certify", path("m"), *DATA, "--looks", 1, "--out", path("no.json"), *QUICK]
    assert "one statement" in error(*words, "--curve", "0:1:1", "--per-class", code=2)["what"]
    assert "one statement" in error(*words, "--promise-risk", 0.1, "--curve", "0:1:1", code=2)["what"]
    assert "--eps" in error(*words, "--promise-risk", 0.1, "--eps", 0.1, code=2)["what"]
    error(*words, "--promise-risk", 1.5, code=2)
    error(*words, "--curve", "0:1:0.001", code=2)
    error(*words, "--curve", "1:0:1", code=2)
    error(*words, "--curve", "0:1:0.5", "--bound", "best", code=2)
    assert "worst-case" in error(*words, "--attack", "pgdu", "--promise-risk", 0.1, code=1)["expected"]
    words[1] = path("learned")
    assert "baseline" in error(*words, "--attack", "worst-case", "--promise-risk", 0.1, code=1)["expected"]
    assert not os.path.exists(path("no.json"))


if __name__ == "__main__":
    main()
