"""The worst case as a user sees it: counts, radii and bounds found again in Python from the model file alone."""
import csv
import os
import tempfile

import mpmath
import numpy as np
import small
from read_safetensors import read
from tap import answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
DATA = small.write(FOLDER.name)
TRAIN = ["train", "--preset", "paper", *DATA, "--scale", "none", "--box", "0,1", "--learn-size", 200, "--epochs", 6, "--quiet"]


def path(name):
    return os.path.join(FOLDER.name, name)


def tensors(name):
    return read(path(name))[0]


def support(w, up, down, norm, b):
    """max <w, e> by a ternary search on the dual, in double."""
    a, room = np.abs(w), np.where(w > 0, up, down)
    if norm == "linf":
        return float(np.sum(a * np.minimum(room, b)))

    def dual(s):
        if norm == "l1":
            return s * b + float(np.sum(np.maximum(a - s, 0) * room))
        e = np.minimum(a / s, room)
        return s * b * b / 2 + float(np.sum(a * e - s * e * e / 2))
    low, high = 1e-9, float(a.max()) * (1 if norm == "l1" else 1000) + 1e-6
    for _ in range(60):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if dual(left) < dual(right) else (left, high)
    return min(dual(low), float(np.sum(a * room)))


def ends(model, x, norm, b):
    """Where the split arguments (H, I) may lie: probabilities to go left at both ends."""
    W, c = (model[k].astype(np.float64) for k in ("splits.weight", "splits.bias"))
    up, down = 1 - x, x
    out = np.zeros((*c.shape, 2))
    for t, i in np.ndindex(*c.shape):
        z = c[t, i] + W[t, i] @ x
        out[t, i] = z - support(-W[t, i], up, down, norm, b), z + support(W[t, i], up, down, norm, b)
    return 1 / (1 + np.exp(-out))


def climb(p, leaves):
    """The smallest value of every tree with these leaves (H, 2^l), bottom up."""
    out = []
    splits = p.shape[1]
    for t in range(p.shape[0]):
        f = [0.0] * splits + list(leaves[t])
        for i in reversed(range(splits)):
            f[i] = min(q * f[2 * i + 1] + (1 - q) * f[2 * i + 2] for q in p[t, i])
        out.append(f[0])
    return np.array(out)


def worst(model, x, y, norm, b):
    """The smallest y h of every tree."""
    return climb(ends(model, x, norm, b), y * np.tanh(model["leaves"].astype(np.float64)))


def worst_of_classes(model, x, y, norm, b):
    """The smallest h_y - h_k of every tree for every k (H, K)."""
    u = model["leaves"].astype(np.float64)
    s = np.exp(u) / np.exp(u).sum(2, keepdims=True)
    p = ends(model, x, norm, b)
    return np.stack([climb(p, s[:, :, y] - s[:, :, k]) for k in range(u.shape[2])], 1)


def class_margin(model, x, y, norm, b, signed, slack):
    """The worst margin, limits being larger by slack: of signed voters by the labels that are possible."""
    low = worst_of_classes(model, x, y, norm, b) + slack
    others = [k for k in range(low.shape[1]) if k != y]
    if signed:
        labels = [{y} | {k for k in others if row[k] <= 0} for row in low]
        low = np.array([[1 if c == {y} else -1 if k in c else 0 for k in range(low.shape[1])] for c in labels])
    return min(float(model["posterior"] @ low[:, k]) for k in others)


def margin(model, x, y, norm, b):
    """The worst vote of signed voters under Q: proved right if above 0. A limit within 1e-3 of 0 leaves it open."""
    low = worst(model, x, y, norm, b)
    q = model["posterior"]
    return float(np.sum(q * np.where(low > 1e-3, 1, -1))), float(np.sum(q * np.where(low > -1e-3, 1, -1)))


def test_counts_radii_and_bounds():
    x, labels = np.load(path("X_test.npy")).astype(np.float64), np.load(path("y_test.npy"))
    for norm, eps in (("linf", 0.05), ("l2", 0.5), ("l1", 2)):
        run(*TRAIN, "--defense", "certified", "--norm", norm, "--eps", eps, "--trees", 5, "--voters", "signed", "--out",
            path("m"))
        row = answer("evaluate", path("m"), *DATA, "--attacks", "pgd,worst-case", "--per-example", path("e.csv"),
                     "--quiet")["attacks"]
        worst_row, model = row[1], tensors("m")
        assert worst_row["attack"] == "worst-case" and worst_row["adversarial_risk"] is None
        assert row[0]["adversarial_risk"] <= worst_row["not_proved"], "an attack beat the proof"
        with open(path("e.csv"), encoding="utf-8") as f:
            lines = list(csv.DictReader(f))
        assert sum(v["verdict"] != "robust" for v in lines) == round(worst_row["not_proved"] * len(lines))
        for line in lines[::20]:
            i, y = int(line["index"]), int(line["label"])
            assert y == (-1 if labels[i] == 5 else 1)
            sure, perhaps = margin(model, x[i], y, norm, eps)
            assert (sure > 0) <= (line["verdict"] == "robust") <= (perhaps > 0), line
            radius = float(line["certified_radius"])
            assert (radius >= eps) == (line["verdict"] == "robust"), line
            if radius > 0:
                assert margin(model, x[i], y, norm, radius)[1] > 0, line
                assert margin(model, x[i], y, norm, radius * 1.02)[0] <= 0, line
            wrong = float(line["clean_vote"]) * y <= 0 or float(line["attacked_vote"]) * y <= 0
            assert wrong == (line["verdict"] == "vulnerable") or float(line["fooled_share"]) > 0, line
        k, m = round(worst_row["risks"]["not_proved"] * 200), 200
        limit = worst_row["bounds"]["worst_case_frozen"]["vote"]  # P[Bin(m, limit) <= k] = delta
        tail = mpmath.betainc(m - k, k + 1, 0, 1 - limit, regularized=True)
        assert abs(tail - 0.05) < 1e-9, (k, limit, tail)


def test_three_classes():
    folder = path("three")
    os.mkdir(folder)
    data = small.write(folder, train=900, test=150, classes=(1, 5, 8))
    x, labels = np.load(path("three/X_test.npy")).astype(np.float64), np.load(path("three/y_test.npy"))
    for norm, eps, votes in (("linf", 0.03, "signed"), ("l2", 0.3, "real"), ("l1", 1, "signed")):
        run("train", "--preset", "paper", *data, "--scale", "none", "--box", "0,1", "--learn-size", 200, "--epochs", 6, "--quiet", "--defense", "certified", "--norm", norm,
            "--eps", eps, "--trees", 5, "--voters", votes, "--out", path("m"))
        row = answer("evaluate", path("m"), *data, "--attacks", "pgd,worst-case", "--per-example", path("e.csv"),
                     "--quiet")["attacks"]
        model = tensors("m")
        with open(path("e.csv"), encoding="utf-8") as f:
            lines = list(csv.DictReader(f))
        unproved = sum(v["verdict"] != "robust" for v in lines)
        assert row[0]["adversarial_risk"] <= row[1]["not_proved"] == unproved / len(lines) < 0.9, row
        for line in lines[::10]:
            i, radius = int(line["index"]), float(line["certified_radius"])
            y = (1, 5, 8).index(labels[i])
            proved = [class_margin(model, x[i], y, norm, eps, votes == "signed", slack) > 0 for slack in (-1e-3, 1e-3)]
            assert proved[0] <= (line["verdict"] == "robust") <= proved[1], line
            assert (radius >= eps) == (line["verdict"] == "robust"), line
            if radius > 0:
                assert class_margin(model, x[i], y, norm, radius, votes == "signed", 1e-3) > 0, line
            wrong = min(float(line["clean_margin"]), float(line["attacked_margin"])) <= 0
            assert wrong == (line["verdict"] == "vulnerable") or float(line["fooled_share"]) > 0, line


def test_curve_is_above_the_attacks():
    run(*TRAIN, "--defense", "none", "--objective", "baseline", "--norm", "linf", "--out", path("m"))
    run("curve", path("m"), *DATA, "--attacks", "pgd,worst-case", "--eps-grid", "0:0.06:0.02", "--out", path("c.csv"),
        "--quiet")
    with open(path("c.csv"), encoding="utf-8") as f:
        lines = list(csv.DictReader(f))
    assert len(lines) == 4
    for before, line in zip([None, *lines], lines):
        assert float(line["pgd"]) <= float(line["worst-case"]), line
        assert before is None or float(before["worst-case"]) <= float(line["worst-case"]), line


def test_objective_worst_case():
    options = ["--defense", "certified", "--norm", "linf", "--eps", 0.05, "--voters", "real"]
    learned = answer(*TRAIN, *options, "--objective", "worst-case", "--out", path("q"))
    run(*TRAIN, *options, "--objective", "baseline", "--out", path("p"))
    values = [answer("evaluate", path(m), *DATA, "--attacks", "worst-case", "--quiet")["attacks"][0]["bounds"]["worst_case"]
              for m in ("q", "p")]
    assert learned["kl"] > 0 and values[0]["vote"] <= values[1]["vote"], values
    assert abs(min(learned["step2"]["objective"]) - values[0]["surrogate"]) < 1e-6
    assert np.array_equal(tensors("p")["prior"], tensors("q")["prior"])


def test_wrong_usage():
    error(*TRAIN, "--defense", "certified", "--objective", "chromatic", "--out", path("x"), code=2)
    error(*TRAIN, "--defense", "certified", "--mix", 2, "--out", path("x"), code=2)
    error(*TRAIN, "--defense", "pgd", "--mix", 0.5, "--out", path("x"), code=2)
    error(*TRAIN, "--keep", "last", "--holdout", 0.5, "--out", path("x"), code=2)
    error(*TRAIN, "--keep", "first", "--out", path("x"), code=2)
    assert "worst-case" in error("evaluate", path("m"), *DATA, "--attacks", "worst-cas", code=2)["what"]


if __name__ == "__main__":
    main()
