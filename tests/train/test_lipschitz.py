"""Networks that stretch no distance, as a user trains them: same bytes for any threads and after kills; radii and
proofs beside a NumPy network with its own constant and its own attack; certificates; what is refused."""
import csv
import json
import os
import struct
import tempfile

import numpy as np

import small
from tap import FULL, answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()


def path(name):
    return os.path.join(FOLDER.name, name)


def content(name):
    with open(path(name), "rb") as f:
        return f.read()


DATA = small.write(FOLDER.name)
BASE = ["train", *DATA, "--scale", "none", "--learn-size", 200, "--kind", "lipschitz", "--quiet"]
BALL = ["--norm", "l2", "--eps", 0.5, "--box", "0,1"]
SHORT = ["--layers", "24,17", "--epochs", 3, "--loss", "bounded"]
SMALL = ["--layers", "24,17", "--epochs", 6, "--threads", 1]


def three(name):
    """Three classes, four features of different scales."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 4)) * [1, 10, 0.1, 5]
    y = np.digitize(x[:, 0] + x[:, 1] / 10 + 0.1 * rng.normal(size=600), (-0.8, 0.8))
    with open(path(name), "w") as f:
        f.write("a,b,c,d,label\n")
        for row, label in zip(x, y):
            f.write(",".join(f"{v:.4f}" for v in row) + f",{'xyz'[label]}\n")
    return ["--train", path(name)]


class Network:
    """One network of a model file, in doubles."""

    def __init__(self, name, t=0):
        raw = content(name)
        size = struct.unpack("<Q", raw[:8])[0]
        head = json.loads(raw[8:8 + size])
        kinds = {"F64": np.float64, "F32": np.float32, "U64": np.uint64, "U8": np.uint8}
        tensors = {k: np.frombuffer(raw[8 + size:][slice(*v["data_offsets"])], kinds[v["dtype"]]).reshape(v["shape"])
                   for k, v in head.items() if k != "__metadata__"}
        count = sum(k.endswith(".weight") for k in tensors)
        self.layers = [(tensors[f"layers.{i}.weight"][t].astype(float), tensors[f"layers.{i}.bias"][t].astype(float))
                       for i in range(count)]
        self.scale = float(tensors["scale"][t])

    def forward(self, x):
        kept = []
        for i, (w, c) in enumerate(self.layers):
            z = x @ w.T + c
            if i == len(self.layers) - 1:
                return z, kept
            half = z.shape[1] // 2
            first = z[:, :half] > z[:, half:2 * half]
            kept.append(first)
            x = np.hstack([np.maximum(z[:, :half], z[:, half:2 * half]), np.minimum(z[:, :half], z[:, half:2 * half]),
                           z[:, 2 * half:]])

    def gradient(self, x, direction):
        """Of <direction, f>."""
        _, kept = self.forward(x)
        g = np.broadcast_to(direction, (len(x), len(self.layers[-1][1])))
        for (w, _), first in zip(self.layers[::-1], [None, *kept[::-1]]):
            if first is not None:
                half = first.shape[1]
                a, b = g[:, :half], g[:, half:2 * half]
                g = np.hstack([np.where(first, a, b), np.where(first, b, a), g[:, 2 * half:]])
            g = g @ w
        return g

    def constant(self, layers=None):
        """The product of the largest singular values: no larger than any proved constant may be."""
        return np.prod([np.linalg.norm(w, 2) for w, _ in self.layers[:layers]])


def attack(network, x, y, radius):
    """The largest fall of y f within radius, by steps along the gradient, without a box."""
    best, point = network.forward(x)[0][:, 0] * y, x.copy()
    for _ in range(30):
        g = network.gradient(point, np.ones(1)) * y[:, None]
        point = point - 0.2 * radius[:, None] * g / np.linalg.norm(g, axis=1, keepdims=True)
        away = np.linalg.norm(point - x, axis=1, keepdims=True)
        point = x + (point - x) * np.minimum(1, radius[:, None] / np.maximum(away, 1e-30))
        best = np.minimum(best, network.forward(point)[0][:, 0] * y)
    return best


def test_same_bytes_for_any_threads():
    many = ["train", *three("three.csv"), "--kind", "lipschitz", "--quiet", "--eps", 0.1]
    for words in ([*BASE, *BALL, *SHORT, "--trees", 3, "--defense", "pgd", "--steps", 3],
                  [*BASE, *BALL, *SHORT, "--mix", 0.3, "--steps", 3], [*many, "--layers", 9, "--epochs", 3]):
        for threads in (1, 3):
            run(*words, "--threads", threads, "--out", path(f"t{threads}"))
        assert content("t1") == content("t3"), words
        run(*words, "--threads", 1, "--out", path("avx2"), env={"SURETY_CPU": "avx2"})
        assert content("t1") == content("avx2"), words
    run(*BASE, *BALL, *SHORT, "--seed", 1, "--out", path("other"))
    assert content("other") != content("t1")


def test_kill_and_resume():
    words = [*BASE, *BALL, "--layers", "32,32", "--epochs", 25, "--threads", 1]
    small.kill_and_resume(words, FOLDER.name, attempts=5 if FULL else 1, most=2)


def test_radii_beside_numpy():
    run(*BASE, *BALL, *SMALL, "--out", path("m"))
    of = {a["attack"]: a for a in answer("evaluate", path("m"), *DATA, "--attacks", "none,pgd,apgd,worst-case",
                                         "--per-example", path("e.csv"), "--quiet")["attacks"]}
    not_proved = of["worst-case"]["not_proved"]
    assert of["none"]["adversarial_risk"] < 0.1 and of["apgd"]["adversarial_risk"] <= not_proved < 0.3, of
    network, x = Network("m"), np.load(path("X_test.npy")).astype(float)
    y = np.where(np.load(path("y_test.npy")) == 9, 1.0, -1.0)
    assert network.constant() < 1.0001, network.constant()
    with open(path("e.csv")) as f:
        rows = list(csv.DictReader(f))
    radius = np.array([float(r["certified_radius"] or -1) for r in rows])
    margin = network.forward(x)[0][:, 0] * y
    right = margin > 0.01
    assert np.all(radius[right] <= margin[right] / network.constant() + 1e-6)
    assert np.all(radius[right] >= 0.98 * margin[right] - 0.01), "the proof is no wider than one forward pass says"
    assert np.all(attack(network, x[right], y[right], radius[right]) > -1e-5)
    assert abs(np.mean(radius < 0.5) - not_proved) < 0.011


def test_predict_proves():
    run("predict", path("m"), "--input", path("X_test.npy"), "--classes", path("v.csv"), "--prove", "--radius", "--quiet")
    with open(path("v.csv")) as f:
        rows = list(csv.DictReader(f))
    network, x = Network("m"), np.load(path("X_test.npy")).astype(float)
    f = network.forward(x)[0][:, 0]
    for row, value in zip(rows, f):
        radius = float(row["radius"] or -1)
        assert radius <= abs(value) / network.constant() + 1e-6, row
        assert radius >= 0.98 * abs(value) - 0.01, row


def test_more_classes_and_votes():
    data = three("three.csv")
    for words in (["--layers", 16], ["--layers", 16, "--trees", 3], ["--layers", 16, "--trees", 3, "--voters", "signed"]):
        run("train", *data, "--kind", "lipschitz", "--eps", 0.2, "--epochs", 20, "--threads", 1, *words, "--quiet", "--out", path("k"))
        of = {a["attack"]: a for a in answer("evaluate", path("k"), *data, "--attacks", "none,apgd,worst-case",
                                             "--quiet")["attacks"]}
        clean, found, worst = (of["none"]["adversarial_risk"], of["apgd"]["adversarial_risk"],
                               of["worst-case"]["not_proved"])
        assert clean <= found <= worst < 0.75 and clean < 0.3, (words, clean, found, worst)
    inspected = run("inspect", path("k")).stdout
    assert "3 (Lipschitz networks of 16 units)" in inspected, inspected


def test_other_norms_and_tolerances():
    run(*BASE, "--norm", "l1", "--eps", 2, "--box", "0,1", *SMALL, "--out", path("l1"))
    worst = answer("evaluate", path("l1"), *DATA, "--attacks", "apgd,worst-case", "--quiet")["attacks"]
    assert worst[0]["adversarial_risk"] <= worst[1]["not_proved"] < 0.9, worst
    told = run(*BASE, "--norm", "linf", "--eps", 0.02, "--box", "0,1", *SMALL, "--out", path("linf")).stderr
    assert "sqrt(features)" in told and "trees" in told, told
    data = three("three.csv")
    with open(path("tolerance.csv"), "w") as f:
        f.write("feature,radius,lo,hi\na,0.05,,\nb,0.5,,\nc,0,,\nd,0.2,,\n")
    run("train", *data, "--kind", "lipschitz", "--tolerance", path("tolerance.csv"), "--norm", "l2", "--layers", 16, "--epochs", 20, "--threads", 1,
        "--quiet", "--out", path("m2"))
    of = {a["attack"]: a for a in answer("evaluate", path("m2"), *data, "--attacks", "none,apgd,worst-case",
                                         "--quiet")["attacks"]}
    assert of["none"]["adversarial_risk"] <= of["apgd"]["adversarial_risk"] <= of["worst-case"]["not_proved"] < 0.9, of


def test_certificate_and_retraining():
    run(*BASE, *BALL, *SMALL, "--out", path("m"))
    certificate = answer("certify", path("m"), *DATA, "--attack", "worst-case", "--looks", 1, "--out", path("c.json"))
    assert certificate["bound"] == "worst_case_frozen" and certificate["value"] < 0.4
    assert answer("verify", path("c.json"), "--model", path("m"), *DATA, "--retrain")["agrees"]


def test_refusals():
    for words, part in ((["--layers", "8,0"], "list"), (["--layers", "8,,8"], "list"), (["--layers", "x"], "list"),
                        (["--layers", "1,2,3,4,5,6,7"], "list"), (["--layers", "5000"], "4096"),
                        (["--batch", 5000], "4096")):
        e = error(*BASE, *BALL, *words, "--out", path("no"), code=2)
        assert part in e["what"] + e.get("expected", ""), e
        assert not os.path.exists(path("no"))


def test_damaged_files():
    raw = content("m")
    size = struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8:8 + size])
    at = 8 + size + head["scale"]["data_offsets"][0]
    with open(path("bad"), "wb") as f:
        f.write(raw[:at] + struct.pack("<f", 3) + raw[at + 4:])
    assert "power" in error("inspect", path("bad"), code=3)["expected"]


if __name__ == "__main__":
    main()
