"""A radius for a promised risk, a curve, ordered promises: against the radii of single examples and limits computed here."""
import json
import os
import tempfile

import mpmath
import numpy as np
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
    assert "linf radius for 0.1," in c["ledger"][0]["event"], c["ledger"][0]
    below = c["below_radius"]
    assert float(f"{c['radius']:.4g}") == c["radius"]
    assert binomial_limit(below, m, delta) <= 0.1, below
    k, many = 0, m  # the largest number whose limit is at most 0.1: limits grow with it
    while many - k > 1:
        middle = (k + many) // 2
        k, many = (middle, many) if binomial_limit(middle, m, delta) <= 0.1 else (k, middle)
    assert binomial_limit(k, m, delta) <= 0.1 < binomial_limit(k + 1, m, delta)
    assert below <= k, (below, k)
    wider = certify("--curve", f"{c['radius'] * 1.01}:{c['radius'] * 1.01}:1", "--looks", 2, out="w.json")
    assert wider["curve"][0]["failed"] > k, "a larger radius would do"
    at = certify("--curve", f"{c['radius']}:{c['radius']}:1", "--looks", 2, out="w.json")
    assert at["curve"][0]["failed"] == below and at["value"] <= 0.1
    assert f"fails on at most 10 % of the new inputs" in c["claim"] and "is the largest, rounded down, at which S allows the promised 10 %" in c["claim"]
    assert verify(*DATA)["agrees"] and verify("--numbers", code=5)["agrees"]
    forged(c, radius=c["radius"] * 2, attack={**c["attack"], "eps": c["radius"] * 2})
    forged(c, promised_risk=0.05, value=0.05)
    forged(c, below_radius=k + 1)


def test_radius_of_units():
    """A unit has the smallest radius of its rows: at the promised one a curve counts as many failures, and wider too many."""
    rng = np.random.RandomState(6)
    with open(path("u.csv"), "w", encoding="utf-8") as f:
        f.write("who,a,b,kind\n")
        for i in range(600):
            y = i // 2 % 2
            f.write(f"p{i // 2},{rng.normal() + 3 * y:.4f},{rng.normal() + 3 * y:.4f},{y}\n")
    data = ["--train", path("u.csv"), "--label-column", "kind"]
    run("train", *data, "--unit", "who", "--kind", "linear", "--norm", "linf", "--eps", 0.1, "--epochs", 10, "--out", path("um"), *QUICK)
    words = ["certify", path("um"), *data, "--attack", "worst-case", "--looks", 1, "--out", path("u.json"), *QUICK]
    c = answer(*words, "--promise-risk", 0.3)
    m, below, radius = c["inputs"]["m"], c["below_radius"], c["radius"]
    assert m == c["data"]["units_learn"] == 120 and radius > 0 and "120 units of S" in c["claim"]
    points = answer(*words, "--curve", f"{radius}:{radius * 1.01}:{radius * 0.01}")["curve"]
    assert points[0]["failed"] == below and binomial_limit(below, m, c["delta"]) <= 0.3, (points, below)
    assert binomial_limit(points[1]["failed"], m, c["delta"]) > 0.3, points


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


def first_kl(r, k):
    """max { p : kl(p||r) <= k }"""
    def kl(p):
        return p * mpmath.log(p / r) + ((1 - p) * mpmath.log((1 - p) / (1 - r)) if p < 1 else 0)
    low, high = r, 1.0
    for _ in range(60):
        p = (low + high) / 2
        low, high = (low, p) if kl(p) > k else (p, high)
    return high


def test_under_a_condition():
    """--shift and --label-noise: docs/theory.md 12.9 and 12.10 by hand; a chain of both; nobody believes a changed one."""
    plain = certify("--looks", 2, out="w.json")
    assert plain["assumed"] == dict.fromkeys(plain["assumed"]), plain["assumed"]
    r, m, k = plain["value"], plain["inputs"]["m"], plain["counts"]["max_wrong"] + plain["counts"]["max_tied"]
    flips = (r - 0.01) / (1 - 0.02)
    cases = {("--shift", "tv=0.02"): r + 0.02, ("--shift", "kl=0.01"): first_kl(r, 0.01),
             ("--shift", "chi2=0.01"): r + (0.01 * r * (1 - r)) ** 0.5, ("--shift", "ratio=1.5"): 1.5 * r,
             ("--label-noise", "flips=0.01"): flips, ("--label-noise", "pairs=0.01"): r + 0.01,
             ("--label-noise", "rows=0.01"): binomial_limit(k + 4, m, plain["delta"] / 2),
             ("--label-noise", "flips=0.01", "--shift", "ratio=2"): 2 * flips}
    for words, expected in cases.items():
        c = certify("--looks", 2, *words)
        value = c["assumed"]["value"]
        assert expected * (1 - 1e-12) <= value <= expected * (1 + 1e-9) and c["value"] == r, (words, value, expected)
        assert " If, beyond that, " in c["claim"] and "assumed, not measured" in c["claim"] and "fails on at most" in c["claim"]
        assert ("at least 1 % and at most 50 %" in c["claim"]) == ("flips=0.01" in words), c["claim"]
        assert verify(*DATA)["agrees"] and verify("--numbers", code=5)["agrees"], words
    forged(c, assumed={**c["assumed"], "value": value * 0.9})
    forged(c, assumed={**c["assumed"], "shift_budget": 1.9})
    forged(c, assumed=dict.fromkeys(c["assumed"]))
    c = certify("--promise-risk", 0.1, "--shift", "tv=0.02", "--looks", 2)
    assert abs(c["assumed"]["value"] - 0.12) < 1e-12 and c["value"] == 0.1 and verify(*DATA)["agrees"]
    words = ["certify", path("m"), *DATA, "--looks", 1, "--out", path("no.json"), *QUICK]
    for bad, code in ((["--shift", "tv"], 2), (["--shift", "ratio=0.5"], 2), (["--shift", "tv=-1"], 2), (["--shift", "tv=nan"], 2),
                      (["--label-noise", "flips=0"], 2), (["--label-noise", "few=0.1"], 2), (["--shift", "tv=0.1", "--per-class"], 2),
                      (["--label-noise", "flips=0.4"], 1), (["--label-noise", "rows=0.1", "--promise-risk", 0.1], 1)):
        error(*words, "--attack", "worst-case", *bad, code=code)
    for noise, code in (("flips=0.001", 1), ("pairs=0.001", 0)):  # pgdu looks at the label
        run(*words[:-len(QUICK)], "--attack", "pgdu", "--samples", 2, "--label-noise", noise, *QUICK, code=code)
    os.remove(path("no.json"))


def test_groups():
    """A column that is left out, one that is a feature, one of missing values; counts against those of single examples."""
    rng = np.random.RandomState(5)
    with open(path("g.csv"), "w", encoding="utf-8") as f:
        f.write("a,b,site,sex,kind\n")
        for i in range(500):
            y, site, sex = i % 2, "ABC"[rng.randint(3)], ["f", "m", ""][rng.choice(3, p=[0.6, 0.35, 0.05])]
            x = rng.normal(size=2) + 1.5 * y * (site != "C")
            f.write(f"{x[0]:.4f},{x[1]:.4f},{site},{sex},{'no' if y else 'yes'}\n")
    data = ["--train", path("g.csv"), "--label-column", "kind"]
    run("train", *data, "--drop", "sex", "--categorical", "site", "--eps", 0.05, "--norm", "linf", "--out", path("gm"), *QUICK)
    for column in ("sex", "site", "kind"):
        words = [path("gm"), *data, "--attack", "worst-case", "--groups", column, "--looks", 4]
        c = answer("certify", *words, "--out", path("c.json"), *QUICK)
        m, failed = c["inputs"]["m"], c["counts"]["max_wrong"] + c["counts"]["max_tied"]
        assert c["statement"] == "groups" and c["group_column"] == column and len(c["ledger"]) == len(c["groups"])
        assert sum(g["m"] for g in c["groups"]) == m and sum(g["failed"] for g in c["groups"]) == failed
        names = [g["group"] for g in c["groups"]]
        assert names == {"sex": ["f", "m", "(missing)"], "site": ["A", "B", "C"], "kind": ["no", "yes"]}[column], names
        for g in c["groups"]:
            assert abs(g["value"] / binomial_limit(g["failed"], g["m"], c["delta"] / 4 / len(names)) - 1) < 1e-9, g
        assert c["value"] == max(g["value"] for g in c["groups"]) and f"groups by '{column}' that S has at once" in c["claim"]
        done = run("verify", path("c.json"), "--model", path("gm"), *data, "--json", *QUICK)
        assert json.loads(done.stdout)["agrees"]
        run("verify", path("c.json"), "--model", path("gm"), "--numbers", *QUICK, code=5)
        if column != "sex":
            continue
        for threads in (1, 2):
            run("certify", *words, "--out", path(f"g{threads}.json"), "--quiet", "--threads", threads)
        assert open(path("g1.json"), encoding="utf-8").read() == open(path("g2.json"), encoding="utf-8").read()
        for part in (1, 2):
            run("certify", *words, "--part", f"{part}/2", "--part-file", path(f"part{part}"), *QUICK)
        run("merge", path("part1"), path("part2"), "--out", path("merged.json"), *QUICK)
        assert json.load(open(path("merged.json"), encoding="utf-8"))["groups"] == c["groups"]
        for change in ({"failed": 0}, {"value": 0.001}, {"group": "x"}):
            groups = [dict(g) for g in c["groups"]]
            groups[-1].update(change)
            with open(path("f.json"), "w", encoding="utf-8") as f:
                json.dump(sealed({**c, "groups": groups}), f)
            run("verify", path("f.json"), "--model", path("gm"), *data, *QUICK, code=1)
    per_class = answer("certify", path("gm"), *data, "--attack", "worst-case", "--per-class", "--looks", 4, "--out", path("p.json"), *QUICK)
    assert [(k["class"], k["m"], k["failed"], k["value"]) for k in per_class["classes"]] == [
        (g["group"], g["m"], g["failed"], g["value"]) for g in c["groups"]], "groups by the label are the classes"
    with open(path("new.csv"), "w", encoding="utf-8") as f:  # fresh rows, all of them S
        f.write("a,b,site,sex,kind\n" + "".join(f"{rng.normal():.4f},{rng.normal():.4f},A,{'fm'[i % 2]},{['yes', 'no'][i % 3 == 0]}\n" for i in range(60)))
    c = answer("certify", path("gm"), "--fresh", path("new.csv"), "--label-column", "kind", "--attack", "worst-case", "--groups", "sex",
               "--looks", 1, "--out", path("c.json"), *QUICK)
    assert [(g["group"], g["m"]) for g in c["groups"]] == [("f", 30), ("m", 30)]
    run("verify", path("c.json"), "--model", path("gm"), "--fresh", path("new.csv"), "--label-column", "kind", *QUICK)
    words = ["certify", path("gm"), *data, "--attack", "worst-case", "--looks", 4, "--out", path("no.json"), *QUICK]
    assert "values in S" in error(*words, "--groups", "a", code=1)["what"]
    assert "group column" in error(*words, "--groups", "sexx", code=3)["what"]
    error(*words, "--groups", "sex", "--per-class", code=2)


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
