"""Trees that are grown, as a user trains them: same bytes for any threads and after kills; proofs that no point of the
ball breaks; certificates that verify; what is refused."""
import csv
import hashlib
import json
import math
import os
import signal
import struct
import subprocess
import tempfile

import numpy as np
import small
from read_safetensors import read
from tap import FULL, SURETY, answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()


def path(name):
    return os.path.join(FOLDER.name, name)


def content(name):
    with open(path(name), "rb") as f:
        return f.read()


DATA = small.write(FOLDER.name)
BASE = ["train", *DATA, "--scale", "none", "--learn-size", 200, "--kind", "trees", "--quiet"]
ROBUST = ["--defense", "certified", "--norm", "linf", "--eps", 0.1, "--box", "0,1"]


def table(name, rows, seed, holes):
    """Three classes, four features of different scales, a part of the values missing."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 4)) * [1, 10, 0.1, 5]
    y = np.digitize(x[:, 0] + x[:, 1] / 10 + 0.1 * rng.normal(size=rows), (-0.8, 0.8))
    with open(path(name), "w") as f:
        f.write("a,b,c,d,label\n")
        for row, label in zip(x, y):
            fields = ["" if holes and rng.random() < 0.1 else f"{v:.4f}" for v in row]
            f.write(",".join(fields) + f",{'xyz'[label]}\n")
    return ["train", "--train", path(name), "--kind", "trees", "--quiet", *(["--missing", "keep"] if holes else [])]


def test_same_bytes_for_any_threads():
    three = table("three.csv", 400, 1, True)
    for words in ([*BASE, *ROBUST, "--trees", 8], [*BASE, "--defense", "none", "--trees", 8, "--depth", 4],
                  [*BASE, *ROBUST, "--trees", 4, "--balance", "--keep", "last"],
                  [*three, "--defense", "certified", "--norm", "linf", "--eps", 0.1, "--trees", 6, "--depth", 3]):
        for threads in (1, 2, 3):
            run(*words, "--threads", threads, "--out", path(f"t{threads}"))
        assert content("t1") == content("t2") == content("t3"), words
        run(*words, "--out", path("avx2"), env={"SURETY_CPU": "avx2"})
        assert content("t1") == content("avx2"), words
    run(*BASE, *ROBUST, "--trees", 4, "--seed", 1, "--out", path("other"))
    run(*BASE, *ROBUST, "--trees", 4, "--out", path("zero"))
    assert content("other") != content("zero")


def test_kill_and_resume():
    words = [*BASE, *ROBUST, "--trees", 40, "--depth", 5, "--threads", 2]
    small.kill_and_resume(words, FOLDER.name, attempts=10 if FULL else 2, most=4)


def test_damaged_trees_of_the_best_epoch_are_refused():
    """Behind all else a checkpoint has each tensor as it is now, then as it was in the best epoch; those of trees end
    with leaves, threshold, feature, missing, left, right, roots, columns, groups, uses (voters/trees_set.h), each in whole
    lines of 64 bytes."""
    T, depth = 8, 3
    words = [*BASE, *ROBUST, "--trees", T, "--depth", depth, "--out", path("forged-model"), "--checkpoint"]
    run(*words, path("c-forged"))
    d = answer("inspect", path("forged-model"))["features"]
    os.remove(path("forged-model"))
    body, inner = content("c-forged")[:-64], 2 ** depth - 1
    sizes = {"leaves": 8 * T * (inner + 1), **dict.fromkeys(("threshold", "feature", "missing", "left", "right"), 4 * T * inner),
             "roots": 4 * T, "columns": 4 * T, "groups": 4, "uses": 4 * d}
    sizes = {name: (size + 63) // 64 * 64 for name, size in sizes.items()}
    best = {name: len(body) - sum(2 * sizes[n] for n in list(sizes)[at + 1:]) - sizes[name] for at, name in enumerate(sizes)}

    def resume(name, value):
        forged = bytearray(body)
        forged[best[name]:best[name] + len(value)] = value
        with open(path("forged"), "wb") as f:
            f.write(bytes(forged) + hashlib.sha256(forged).hexdigest().encode())
        return [*words, path("forged"), "--resume"]

    for name, value in (("leaves", struct.pack("<d", math.nan)), ("leaves", struct.pack("<d", math.inf)),
                        ("threshold", struct.pack("<f", math.nan)), ("feature", struct.pack("<i", -1)),
                        ("feature", struct.pack("<i", d)), ("missing", struct.pack("<i", 7)), ("left", struct.pack("<i", 1 << 30)),
                        ("left", struct.pack("<i", 0)), ("right", struct.pack("<i", -(1 << 30))), ("roots", struct.pack("<i", 1 << 30)),
                        ("columns", struct.pack("<i", 1))):
        e = error(*resume(name, value), code=3)
        assert "numbers that no training has" in e["what"] and e["file"] == path("forged"), (name, value, e)
    assert not os.path.exists(path("forged-model"))
    run(*resume("leaves", b""))  # the same bytes are taken


def edges(x, eps, count, rng):
    """Points of the linf ball in [0, 1], most of their features at an end of it."""
    lo, hi = np.maximum(x.astype(np.float64) - eps, 0), np.minimum(x.astype(np.float64) + eps, 1)
    lo32, hi32 = lo.astype(np.float32), hi.astype(np.float32)
    lo32 = np.where(lo32 < lo, np.nextafter(lo32, np.float32(2)), lo32)
    hi32 = np.where(hi32 > hi, np.nextafter(hi32, np.float32(-2)), hi32)
    u = rng.random((count, *x.shape))
    inner = np.clip((lo32 + u * (hi32 - lo32)).astype(np.float32), lo32, hi32)
    return np.where(rng.random(inner.shape) < 0.7, np.where(u < 0.5, lo32, hi32), inner).astype(np.float32)


def test_proofs_hold():
    run(*BASE, *ROBUST, "--trees", 30, "--out", path("m"))
    run(*BASE, "--defense", "none", "--trees", 30, "--box", "0,1", "--out", path("plain"))
    worst = {}
    for name in ("m", "plain"):
        result = answer("evaluate", path(name), *DATA, "--norm", "linf", "--eps", 0.1, "--attacks", "none,search,worst-case",
                        "--per-example", path("e.csv"), "--quiet")
        of = {a["attack"]: a for a in result["attacks"]}
        worst[name] = next(a["not_proved"] for a in of.values() if a.get("not_proved") is not None)
        assert of["none"]["adversarial_risk"] < 0.15 and of["search"]["adversarial_risk"] <= worst[name]
        with open(path("e.csv")) as f:
            rows = list(csv.DictReader(f))
        x, rng = np.load(path("X_test.npy")), np.random.default_rng(0)
        proved = [i for i, r in enumerate(rows) if r["verdict"] == "robust"]
        assert proved
        for i in proved[:: 1 if FULL else 8]:
            points = edges(x[i], 0.1, 500, rng)
            np.save(path("p.npy"), np.vstack([x[i:i + 1], points]))
            run("predict", path(name), "--input", path("p.npy"), "--out", path("v.npy"), "--quiet")
            votes = np.load(path("v.npy")).ravel()
            assert (np.sign(votes) == np.sign(votes[0])).all() and votes[0] != 0, i
    assert worst["m"] < 0.25 and worst["m"] < worst["plain"], worst


def naive(model, rows, eps):
    """Classes, and treewise limits of each class's duels, from the tensors alone: scores (rows, K, K) of the lower class against
    the higher one, and their least and largest values over the ball."""
    t = read(model)[0]
    K = len(t["start"])
    value, least, most = (np.zeros((len(rows), K, K)) for _ in range(3))

    def visit(at, x, lo, hi):  # leaves in reach
        if at < 0:
            return [t["leaves"][-1 - at]]
        f, split = t["nodes.feature"][at], t["nodes.threshold"][at]
        if np.isnan(x[f]):
            return visit(t["nodes.left" if t["nodes.missing"][at] else "nodes.right"][at], x, lo, hi)
        reached = []
        if lo[f] <= split:
            reached += visit(t["nodes.left"][at], x, lo, np.where(np.arange(len(x)) == f, np.minimum(hi, split), hi))
        if hi[f] > split:
            above = np.nextafter(split, np.float32(np.inf))
            reached += visit(t["nodes.right"][at], x, np.where(np.arange(len(x)) == f, np.maximum(lo, above), lo), hi)
        return reached

    for i, x in enumerate(rows):
        for root, column in zip(t["roots"], t["columns"]):
            a, b = divmod(int(column), K)
            value[i, a, b] += visit(root, x, x, x)[0]
            leaves = visit(root, x, (x.astype(float) - eps).astype(np.float32), (x.astype(float) + eps).astype(np.float32))
            least[i, a, b] += min(leaves)
            most[i, a, b] += max(leaves)
    return value, least, most


def test_duels():
    """Four classes: answers, ties and treewise proofs as another hand computes them; the words."""
    rng = np.random.default_rng(8)
    x = rng.random((900, 3)).astype(np.float32)
    y = (2 * (x[:, 0] > 0.5) + (x[:, 1] + 0.3 * (rng.random(900) - 0.5) > 0.5)).astype(np.int64)
    x[rng.random(x.shape) < 0.05] = np.nan
    np.save(path("X_duel.npy"), x)
    np.save(path("y_duel.npy"), y)
    data = ["--train", path("X_duel.npy")]
    run("train", *data, "--kind", "trees", "--scale", "none", "--missing", "keep", "--trees", 8, "--depth", 3, "--norm", "linf", "--eps",
        0.05, "--learn-size", 300, "--test-size", 200, "--quiet", "--out", path("duel"))
    assert answer("inspect", path("duel"))["duels"] and "duels" in run("inspect", path("duel")).stdout
    assert "duels" in run("predict", path("duel"), "--input", path("X_duel.npy"), "--classes", path("c.csv"), "--out", path("v.npy")).stdout
    value, least, most = naive(path("duel"), x, 0.05)
    score = value - value.transpose(0, 2, 1)  # [i, k, c] above 0: c wins against k
    wins = (score > 0).sum(1)
    expected = np.where((wins == 3).any(1), wins.argmax(1), -1)
    with open(path("c.csv")) as f:
        got = np.array([-1 if r["class"] == "tied" else int(r["class"]) for r in csv.DictReader(f)])
    assert (got == expected).all() and (got == -1).any(), (got != expected).sum()
    answer("attack", path("duel"), *data, "--attack", "none", "--split", "learn", "--out", path("s.npy"), "--labels", path("t.npy"))
    s, t = np.load(path("s.npy")).reshape(-1, 3), np.load(path("t.npy"))
    _, least, most = naive(path("duel"), s, 0.05)
    low = np.array([min(least[i, k, c] if k < c else -most[i, c, k] for k in range(4) if k != c) for i, c in enumerate(t)])
    certificate = answer("certify", path("duel"), *data, "--attack", "worst-case", "--budget", 0, "--looks", 1, "--out", path("d.json"))
    with open(path("d.json")) as f:
        failed = json.load(f)["counts"]
    assert failed["max_wrong"] + failed["max_tied"] == (low <= 1e-9).sum() > 0, (failed, (low <= 1e-9).sum())
    assert "duel vote of this model" in certificate["claim"] and "tied" in certificate["claim"]
    assert answer("verify", path("d.json"), "--model", path("duel"), *data)["agrees"]


def test_shifted_copies():
    """--augment shift: recorded, trained again from the record, refused for rows that are no images."""
    x, y = np.load(path("X_train.npy")).reshape(-1, 14, 14)[:300], np.load(path("y_train.npy"))[:300]
    np.save(path("X_plain.npy"), x)
    np.save(path("y_plain.npy"), y)
    words = ["--scale", "none", *ROBUST, "--trees", 5, "--keep", "last", "--kind", "trees", "--learn-size", 100, "--test-size", 50,
             "--quiet"]
    models = {}
    for augment in ("none", "shift"):
        out = path(f"aug-{augment}")
        run("train", "--train", path("X_plain.npy"), *words, "--augment", augment, "--out", out)
        models[augment] = content(f"aug-{augment}")
        run("train", "--train", path("X_plain.npy"), *words, "--augment", augment, "--threads", 3, "--out", out + "3")
        assert content(f"aug-{augment}3") == models[augment]
    assert models["none"] != models["shift"] and b'\\"augment\\":\\"shift\\"' in models["shift"]
    run("certify", path("aug-shift"), "--train", path("X_plain.npy"), "--attack", "worst-case", "--looks", 1, "--out", path("a.json"))
    assert answer("verify", path("a.json"), "--model", path("aug-shift"), "--train", path("X_plain.npy"), "--retrain")["agrees"]
    e = error("train", "--train", path("X_train.npy"), *words, "--augment", "shift", "--out", path("no"), code=2)
    assert "image" in e["what"], e


def test_certificate_and_retraining():
    run(*BASE, *ROBUST, "--trees", 12, "--depth", 4, "--out", path("m"))
    inspected = answer("inspect", path("m"))
    assert inspected["kind"] == "trees"
    certificate = answer("certify", path("m"), *DATA, "--attack", "worst-case", "--looks", 1, "--out", path("c.json"))
    assert certificate["bound"] == "worst_case_frozen" and certificate["value"] < 0.4
    verified = answer("verify", path("c.json"), "--model", path("m"), *DATA, "--retrain")
    assert verified["agrees"]


def test_tolerances_and_missing_values():
    words = table("holes.csv", 600, 3, True)
    with open(path("tolerance.csv"), "w") as f:
        f.write("feature,radius,lo,hi\na,0.05,,\nb,0.5,,\nc,0,,\nd,0.2,,\n")
    run(*words, "--tolerance", path("tolerance.csv"), "--norm", "linf", "--trees", 30, "--depth", 4, "--out", path("m"))
    result = answer("evaluate", path("m"), "--train", path("holes.csv"), "--attacks", "none,search,worst-case", "--quiet")
    clean, found = (a["adversarial_risk"] for a in result["attacks"][:2])
    worst = result["attacks"][2]["not_proved"]
    assert clean <= found <= worst < 0.6 and clean < 0.35, result


def test_learned_weights():
    """Step 2: each tree a voter. The prior's vote is the sum of the trees; kills change nothing; more classes are refused."""
    words = [*BASE, *ROBUST, "--trees", 20, "--depth", 3, "--objective", "worst-case", "--threads", 1]
    run(*words, "--out", path("q"))
    run(*BASE, *ROBUST, "--trees", 20, "--depth", 3, "--out", path("sum"))
    t, s = read(path("q"))[0], read(path("sum"))[0]
    assert len(t["prior"]) == 20 and len(s["prior"]) == 1
    kept = t["prior"] > 1e-300
    np.testing.assert_allclose(t["prior"][kept], t["scale"][kept] / t["scale"][kept].sum(), rtol=1e-12)
    assert kept.sum() == len(s["roots"]) and (t["prior"] != t["posterior"]).any()
    for name, more in (("q", ["--prior"]), ("sum", [])):
        run("predict", path(name), "--input", path("X_test.npy"), "--out", path(name + ".npy"), "--quiet", *more)
    by_vote, by_sum = np.load(path("q.npy")).ravel(), np.load(path("sum.npy")).ravel()
    np.testing.assert_allclose(by_vote, by_sum, atol=1e-6)
    for kill in (0.3, 0.6, 0.9):
        process = subprocess.Popen([SURETY, *map(str, words), "--out", path("q2"), "--checkpoint", path("cq"), "--resume"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(kill)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.wait()
    run(*words, "--out", path("q2"), "--checkpoint", path("cq"), "--resume")
    assert content("q2") == content("q")
    certificate = answer("certify", path("q"), *DATA, "--attack", "worst-case", "--looks", 1, "--out", path("cq.json"))
    assert certificate["bound"] == "worst_case" and answer("verify", path("cq.json"), "--model", path("q"), *DATA, "--retrain")["agrees"]
    e = error(*table("more.csv", 300, 4, False), "--defense", "none", "--objective", "chromatic", "--out", path("no"), code=2)
    assert "duels" in e["what"], e


def test_refusals():
    for words, part in ((["--defense", "pgd", "--norm", "linf", "--eps", 0.1], "none or certified"),
                        (["--defense", "certified", "--norm", "l2", "--eps", 0.5], "linf"),
                        ([*ROBUST, "--voters", "signed"], "real votes"),
                        ([*ROBUST, "--objective", "chromatic"], "baseline"),
                        ([*ROBUST, "--mask", 1], "mask"), ([*ROBUST, "--depth", 13], "depth"), ([*ROBUST, "--trees", 90000000], "")):
        e = error(*BASE, *words, "--out", path("no"), code=2)
        assert part in e["what"] + e.get("expected", ""), e
        assert not os.path.exists(path("no"))


if __name__ == "__main__":
    main()
