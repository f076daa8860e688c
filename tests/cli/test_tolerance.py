"""--tolerance: a template that must be filled in, training, attacks, verdicts, certificates and their recheck without the
file; every bad table gets a sentence; features that cannot change keep their bits."""
import csv
import json
import os
import sys
import tempfile

import numpy as np
from tap import SOURCE, answer, error, main, run

sys.path.insert(0, os.path.join(SOURCE, "tests", "certify"))
from seal import sealed  # noqa: E402

FOLDER = tempfile.TemporaryDirectory()
RADIUS = [0.3, 0.2, 0.001, 0.0]


def path(name):
    return os.path.join(FOLDER.name, name)


def write_data():
    random = np.random.default_rng(1)
    with open(path("d.csv"), "w", encoding="utf-8") as f:
        f.write("a,b,c,flag,y\n")
        for _ in range(900):
            s = random.choice([-1, 1])
            row = [s * 1.5 + random.normal(), s * 0.8 + 0.6 * random.normal(), 0.01 * random.normal(), random.random() < 0.5 + 0.3 * s]
            f.write(",".join(f"{v:.4f}" for v in row) + f",{'no' if s < 0 else 'yes'}\n")
    return ["--train", path("d.csv"), "--learn-size", 300, "--test-size", 200, "--box", "none", "--threads", 1, "--quiet"]


DATA = write_data()
AGAIN = ["--train", path("d.csv"), "--threads", 1, "--quiet"]
SHORT = ["--epochs", 8, "--batch", 32]


def template():
    run("data", "tolerances", *DATA[:-3], "--out", path("t.csv"))
    with open(path("t.csv"), encoding="utf-8") as f:
        return list(csv.reader(f))


def fill(radius=RADIUS, ends=True):
    lines = template()
    for line, r in zip(lines[1:], radius):
        line[1] = repr(r)
        if not ends:
            line[2] = line[3] = ""
    with open(path("t.csv"), "w", encoding="utf-8", newline="") as f:
        csv.writer(f).writerows(lines)
    return ["--tolerance", path("t.csv")]


def test_template_must_be_filled_in():
    lines = template()
    assert lines[0][:4] == ["feature", "radius", "lo", "hi"] and len(lines) == 5
    for line in lines[1:]:
        assert line[1] == "" and float(line[2]) < float(line[3]) and float(line[5]) > 0
    assert abs(float(lines[2][5]) - 1) < 0.1 and lines[4][2:4] == ["0", "1"]
    e = error("train", *DATA, "--tolerance", path("t.csv"), "--out", path("x"), code=3)
    assert "is not filled in" in e["what"] and e["place"] == "line 2" and e["file"] == path("t.csv")
    assert not os.path.exists(path("x"))
    e = error("data", "tolerances", *DATA[:-3], code=2)
    assert "--out" in e["what"]
    error("data", "tolerances", *DATA[:-3], "--out", path("d.csv"), code=2)  # its own input


def test_bad_tables():
    names = [line[0] for line in template()[1:]]
    good = [[n, str(r), "", ""] for n, r in zip(names, RADIUS)]
    for change, what in (
            (good[:3], "no line for the feature"), (good + [["height", "1", "", ""]], "no feature 'height'"),
            (good + [good[0]], "has two lines"), ([[names[0], "-1", "", ""]] + good[1:], "the radius is -1"),
            ([[names[0], "nan", "", ""]] + good[1:], "is 'nan'"), ([[names[0], "1", "2", "1"]] + good[1:], "lo is above hi"),
            ([[n, "0", "", ""] for n in names], "every radius is 0")):
        with open(path("bad.csv"), "w", encoding="utf-8", newline="") as f:
            csv.writer(f).writerows([["feature", "radius", "lo", "hi"]] + change)
        e = error("train", *DATA, "--tolerance", path("bad.csv"), "--out", path("x"), code=3)
        assert what in e["what"] and e["file"] == path("bad.csv") and e["expected"], e
    e = error("train", *DATA, "--tolerance", path("m.csv"), "--out", path("x"), code=3)
    assert e["file"] == path("m.csv")


def points(norm, words):
    """The attacked T, and T itself."""
    r = answer("attack", path("m"), *AGAIN, *words, "--split", "test", "--out", path("X.npy"))
    answer("attack", path("m"), *AGAIN, "--attack", "none", "--split", "test", "--out", path("X0.npy"))
    x, x0 = np.load(path("X.npy")), np.load(path("X0.npy"))
    e = x.astype(np.longdouble) - (x0 if x.ndim == 2 else x0[:, None])
    u = np.abs(e[..., :3]) / np.array(RADIUS[:3], np.longdouble)
    far = u.max(-1) if norm == "linf" else u.sum(-1) if norm == "l1" else np.sqrt((u * u).sum(-1))
    assert (e[..., 3] == 0).all() and far.max() <= 1 and abs(float(far.max()) - r["norm_max"]) < 1e-12
    return x, x0, r


def test_attacks_and_proofs():
    for norm in ("linf", "l2", "l1"):
        run("train", *DATA, *fill(), *SHORT, "--norm", norm, "--out", path("m"))
        about = answer("inspect", path("m"))["about"]
        table = json.loads(about["tolerance"])
        assert table["radius"] == RADIUS and about["eps"] == "1" and about["norm"] == norm
        for words in (["--attack", "pgd"], ["--attack", "apgd"], ["--attack", "unif"], ["--attack", "pgdu", "--samples", 3]):
            x, x0, r = points(norm, words)
            lo, hi = (np.array([np.float32(v) for v in table[k]]) for k in ("lo", "hi"))
            x0 = x0 if x.ndim == 2 else x0[:, None]
            assert (x >= np.minimum(lo, x0)).all() and (x <= np.maximum(hi, x0)).all()
            assert r["norm_max"] > 0.9
        row = answer("evaluate", path("m"), *AGAIN, "--attacks", "apgd,worst-case", "--per-example", path("pe.csv"))["attacks"]
        assert row[0]["adversarial_risk"] <= row[1]["not_proved"] + 1e-12 < 0.5, row
        with open(path("pe.csv"), encoding="utf-8") as f:
            lines = list(csv.DictReader(f))
        assert {x["verdict"] for x in lines} <= {"robust", "vulnerable", "open"}
        assert all((float(x["certified_radius"]) >= 1) == (x["verdict"] == "robust") for x in lines)
        assert all(float(x["norm"]) <= 1 for x in lines)


def test_curve_multiplies():
    run("train", *DATA, *fill(), *SHORT, "--norm", "linf", "--out", path("m"))
    run("curve", path("m"), *AGAIN, "--attacks", "pgd,worst-case", "--eps-grid", "0:4:1", "--out", path("curve.csv"))
    with open(path("curve.csv"), encoding="utf-8") as f:
        lines = list(csv.DictReader(f))
    risk = [float(line["pgd"]) for line in lines]
    assert [float(line["eps"]) for line in lines] == [0, 1, 2, 3, 4] and risk == sorted(risk) and risk[4] > risk[0] + 0.05
    at1 = answer("evaluate", path("m"), *AGAIN, "--attacks", "worst-case")["attacks"][0]
    assert at1["not_proved"] == float(lines[1]["worst-case"])


def test_certificate_without_the_file():
    run("train", *DATA, *fill(), *SHORT, "--norm", "linf", "--out", path("m"))
    c = answer("certify", path("m"), *AGAIN, "--looks", 1, "--out", path("c.json"))
    os.remove(path("t.csv"))
    assert c["tolerance"]["radius"] == RADIUS and len(c["tolerance"]["sha256"]) == 64 and c["attack"]["eps"] == 1
    assert "every feature within its own tolerance (table of 4 features, of which 1 cannot change)" in c["claim"], c["claim"]
    assert c["tolerance"]["sha256"][:16] in c["ledger"][0]["event"]
    verify = ["verify", path("c.json"), "--model", path("m"), "--train", path("d.csv"), "--quiet"]
    assert answer(*verify, "--retrain")["agrees"]
    assert answer("verify", path("c.json"), "--model", path("m"), "--numbers", "--quiet", code=5)["agrees"]
    # another table at the command, half as wide: another promise, checked the same way
    half = answer("certify", path("m"), *AGAIN, *fill([r / 2 for r in RADIUS], ends=False), "--looks", 1, "--out", path("h.json"))
    same = answer("certify", path("m"), *AGAIN, "--eps", 0.5, "--looks", 1, "--out", path("s.json"))
    assert half["attack"]["eps"] == 1 and half["tolerance"]["lo"] == [None] * 4
    assert half["value"] == same["value"] <= c["value"] and half["tolerance"]["sha256"] != c["tolerance"]["sha256"]
    os.remove(path("t.csv"))
    verify[1] = path("h.json")
    assert answer(*verify)["agrees"]


def forge(change):
    """Whether verify believes the certificate with a change, sealed again."""
    with open(path("c.json"), encoding="utf-8") as f:
        c = json.load(f)
    change(c)
    with open(path("forged.json"), "w", encoding="utf-8") as f:
        json.dump(sealed(c), f)
    return answer("verify", path("forged.json"), "--model", path("m"), "--train", path("d.csv"), "--quiet", code=1)["agrees"]


def test_forged_tolerances_are_noticed():
    run("train", *DATA, *fill(), *SHORT, "--norm", "linf", "--out", path("m"))
    answer("certify", path("m"), *AGAIN, "--looks", 1, "--out", path("c.json"))
    assert not forge(lambda c: c["tolerance"]["radius"].__setitem__(0, 3.0))
    assert not forge(lambda c: c["tolerance"]["features"].__setitem__(0, "other"))
    assert not forge(lambda c: c["tolerance"]["radius"].__setitem__(0, -1.0))
    assert not forge(lambda c: c["tolerance"].update(features=[], radius=[], lo=[], hi=[], sha256=None))


def test_same_bits_for_any_number_of_threads():
    words = [w for w in DATA if w not in ("--threads", 1)]
    for threads in (1, 3):
        run("train", *words, *fill(), *SHORT, "--norm", "l2", "--defense", "pgdu", "--steps", 4, "--threads", threads,
            "--out", path(f"m{threads}"))
    with open(path("m1"), "rb") as a, open(path("m3"), "rb") as b:
        assert a.read() == b.read()


if __name__ == "__main__":
    main()
