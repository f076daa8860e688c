"""predict, attack, inspect and evaluate's table as a user runs them, checked against NumPy and an independent reader of model files."""
import json
import os
import struct
import tempfile

import numpy as np

import small
from read_safetensors import read
from tap import answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
DATA = small.write(FOLDER.name, pool=4)  # d = 49
D = 49


def path(name):
    return os.path.join(FOLDER.name, name)


def train(name, *options):
    run("train", "--preset", "paper", *DATA, "--scale", "none", "--box", "0,1", "--learn-size", 200, "--steps", 4, "--epochs", 2, "--quiet", "--out", path(name), *options)
    return path(name)


FOREST = train("forest", "--trees", 7, "--depth", 3, "--voters", "real", "--mask", 0.3)
SIGNED = train("signed", "--trees", 5, "--norm", "linf", "--defense", "ifgsmu", "--objective", "average-max")
LINEAR = train("linear", "--kind", "linear", "--trees", 4, "--norm", "l1", "--defense", "pgd", "--objective", "baseline", "--seed", 9)
X = np.load(path("X_test.npy"))
Y = np.where(np.load(path("y_test.npy")) == 9, 1, -1)


def voters(model, x):
    """Real outputs (.., H) in double, straight from the file's tensors."""
    t, metadata, _ = read(model)
    if metadata["kind"] == "linear":
        return np.tanh(x.astype(float) @ t["linear.weight"].T.astype(float) + t["linear.bias"])
    p = 1 / (1 + np.exp(-(np.einsum("...j,tij->...ti", x.astype(float), t["splits.weight"].astype(float)) +
                          t["splits.bias"])))
    f = list(np.moveaxis(np.broadcast_to(np.tanh(t["leaves"].astype(float)), p.shape[:-1] + t["leaves"].shape[1:]), -1, 0))
    f = [None] * p.shape[-1] + f
    for i in reversed(range(p.shape[-1])):
        f[i] = p[..., i] * f[2 * i + 1] + (1 - p[..., i]) * f[2 * i + 2]
    return f[0]


def vote(model, x, weights="posterior"):
    t, metadata, _ = read(model)
    h = voters(model, x)
    return (np.sign(h) if metadata["voters"] == "signed" else h) @ t[weights]


def test_the_file_is_what_the_manual_says():
    for model, H, kind in ((FOREST, 7, "soft-forest"), (SIGNED, 5, "soft-forest"), (LINEAR, 4, "linear")):
        tensors, metadata, begin = read(model)
        assert begin % 64 == 0 and metadata["kind"] == kind
        shapes = {name: (t.dtype.str, t.shape) for name, t in tensors.items()}
        if kind == "linear":
            assert list(shapes) == ["prior", "posterior", "rows.prior", "rows.learn", "linear.weight", "linear.bias"]
            assert shapes["linear.weight"] == ("<f4", (H, D)) and shapes["linear.bias"] == ("<f4", (H,))
        else:
            splits = 7 if H == 7 else 3
            assert list(shapes) == ["prior", "posterior", "rows.prior", "rows.learn", "splits.weight", "splits.bias", "leaves", "mask"]
            assert shapes["splits.weight"] == ("<f4", (H, splits, D)) and shapes["mask"] == ("|u1", (H, splits, D))
            assert shapes["splits.bias"] == ("<f4", (H, splits)) and shapes["leaves"] == ("<f4", (H, splits + 1))
            assert set(np.unique(tensors["mask"])) == {0, 1} and not tensors["splits.weight"][tensors["mask"] == 0].any()
        for name in ("prior", "posterior"):
            assert shapes[name] == ("<f8", (H,)) and abs(tensors[name].sum() - 1) < 1e-9 and (tensors[name] > 0).all()
        for word in (b"/tmp", FOLDER.name.encode(), b"thread"):
            with open(model, "rb") as f:
                assert word not in f.read().split(b"prior")[0]


def test_inspect():
    shown = answer("inspect", FOREST)
    tensors, metadata, _ = read(FOREST)
    assert shown["kind"] == "soft-forest" and shown["voter_count"] == 7 and shown["depth"] == 3 and shown["features"] == D
    assert np.array_equal(shown["prior"], tensors["prior"]) and np.array_equal(shown["posterior"], tensors["posterior"])
    q, p = tensors["posterior"], tensors["prior"]
    assert abs(shown["kl"] - (q * np.log(q / p)).sum()) < 1e-12
    about = {**shown["about"], **shown["texts"]}
    assert about == metadata
    import hashlib
    with open(FOREST, "rb") as f:
        assert shown["sha256"] == hashlib.sha256(f.read()).hexdigest()
    text = run("inspect", LINEAR).stdout
    assert "4 (linear voters) over 49 features" in text and "l1 ball of radius 10" in text and "seed            9\n" in text
    assert f"\ndata.prior      {answer('inspect', LINEAR)['texts']['data.prior']}\n" in text  # a digest is shown whole
    assert "7 (soft trees of depth 3)" in run("inspect", FOREST).stdout


def test_predict_agrees_with_numpy():
    for model in (FOREST, SIGNED, LINEAR):
        for prior in (False, True):
            result = answer("predict", model, "--input", path("X_test.npy"), "--out", path("V.npy"), "--votes",
                            path("H.npy"), *(["--prior"] if prior else []))
            V, H = np.load(path("V.npy")), np.load(path("H.npy"))
            assert V.dtype == np.float64 and V.shape == (200,) and H.dtype == np.float32
            assert np.abs(H - voters(model, X)).max() < 1e-5
            near = np.abs(voters(model, X)).min(-1) < 1e-5  # a sign that rounding decides
            assert np.abs(V - vote(model, X, "prior" if prior else "posterior"))[~near].max() < 1e-5
            assert result["m"] == 200 and result["n"] == 1 and result["positive"] == (V > 0).sum()
            assert result["vote_min"] == V.min() and result["vote_max"] == V.max() and np.abs(V).max() <= 1


def test_predict_three_axes_and_types():
    run("predict", FOREST, "--input", path("X_test.npy"), "--out", path("flat.npy"))
    flat = np.load(path("flat.npy"))
    np.save(path("X3.npy"), X.reshape(20, 10, D).astype(np.float64))
    result = answer("predict", FOREST, "--input", path("X3.npy"), "--out", path("V3.npy"), "--votes", path("H3.npy"))
    V, H = np.load(path("V3.npy")), np.load(path("H3.npy"))
    assert V.shape == (20, 10) and H.shape == (20, 10, 7) and (result["m"], result["n"]) == (20, 10)
    assert np.array_equal(V.ravel(), flat)
    for threads in (1, 2, 7):
        run("predict", FOREST, "--input", path("X_test.npy"), "--out", path("t.npy"), "--threads", threads)
        assert np.array_equal(np.load(path("t.npy")), flat)
    run("predict", FOREST, "--input", path("X_test.npy"), "--out", path("t.npy"), env={"SURETY_CPU": "avx2"})
    assert np.array_equal(np.load(path("t.npy")), flat)
    for dtype, divided in ((np.int16, 1), (np.uint8, 255)):  # bytes are divided, as all readers do
        np.save(path("ints.npy"), (200 * X / divided ** 0.5).astype(dtype))
        run("predict", FOREST, "--input", path("ints.npy"), "--out", path("t.npy"))
        assert np.abs(np.load(path("t.npy")) - vote(FOREST, np.load(path("ints.npy")) / divided)).max() < 1e-5, dtype


def distance(points, norm):
    e = np.abs(points.astype(np.longdouble) - X.reshape(X.shape[:1] + (1,) * (points.ndim - 2) + X.shape[1:]))
    return e.max(-1) if norm == "linf" else np.sqrt((e * e).sum(-1)) if norm == "l2" else e.sum(-1)


def test_attack_writes_what_it_says():
    for model, norm, eps in ((FOREST, "l2", 1), (SIGNED, "linf", 0.1), (LINEAR, "l1", 10)):
        for kind in ("none", "unif", "fgsm", "ifgsm", "pgd", "ifgsmu", "pgdu"):
            result = answer("attack", model, *DATA, "--attack", kind, "--split", "test", "--samples", 3, "--out",
                            path("A.npy"), "--labels", path("B.npy"))
            A, B = np.load(path("A.npy")), np.load(path("B.npy"))
            assert A.dtype == np.float32 and B.dtype == np.int8 and np.array_equal(B, Y)
            assert A.shape == ((200, 3, D) if kind[-1] == "u" else (200, D))
            norms = distance(A, norm)
            assert norms.max() <= eps and A.min() >= 0 and A.max() <= 1
            assert abs(result["norm_max"] - norms.max()) < 1e-12 and abs(result["norm_mean"] - norms.mean()) < 1e-9
            run("predict", model, "--input", path("A.npy"), "--out", path("V.npy"))
            wrong = Y.reshape((200,) + (1,) * (A.ndim - 2)) * np.load(path("V.npy")) <= 0
            assert result["fooled"] == wrong.sum() and result["m"] == 200
            if kind == "none":
                assert np.array_equal(A, X)
            quiet = answer("attack", model, *DATA, "--attack", kind, "--samples", 3)  # without files
            assert quiet == result
            run("attack", model, *DATA, "--attack", kind, "--samples", 3, "--out", path("C.npy"), "--threads", 3,
                env={"SURETY_CPU": "avx2"})
            assert np.array_equal(A, np.load(path("C.npy")))


def test_attack_options_and_splits():
    def fooled(*options):
        return answer("attack", FOREST, *DATA, *options)["fooled"]
    assert fooled("--attack", "none") <= fooled("--attack", "pgd") <= fooled("--attack", "pgd", "--eps", 3)
    assert answer("attack", FOREST, *DATA, "--split", "learn")["m"] == 200
    assert answer("attack", FOREST, *DATA, "--split", "prior")["m"] == 400
    assert answer("attack", FOREST, *DATA, "--norm", "linf", "--eps", 0.1)["norm_max"] <= 0.1
    assert "own data have no usual radius" in error("attack", FOREST, *DATA, "--norm", "linf", code=2)["what"]
    one = answer("attack", FOREST, *DATA, "--seed", 1)
    assert one != answer("attack", FOREST, *DATA, "--seed", 2)
    assert one == answer("attack", FOREST, *DATA, "--seed", 1)
    assert answer("attack", FOREST, *DATA, "--prior")["m"] == 200
    text = run("attack", FOREST, *DATA, "--attack", "fgsm").stdout
    assert "fgsm, l2 ball of radius 1" in text and "voted wrong" in text


def test_attack_a_task():
    run("train", "--task", "fashion-sandal-v-boot", "--epochs", 1, "--steps", 1, "--trees", 2, "--defense", "none",
        "--objective", "baseline", "--quiet", "--out", path("task"))
    result = answer("attack", path("task"), "--attack", "fgsm")  # the task is the model's
    assert result["m"] == 2000 and result["norm_max"] <= 1
    assert answer("attack", path("task"), "--attack", "none", "--split", "learn")["m"] == 5000
    e = error("attack", path("task"), *DATA, "--learn-size", 200, "--classes", "5,9", code=3)
    assert "49 features" in e["what"] and "784 features" in e["expected"]


def test_wrong_usage():
    assert "did you mean 'pgd'" in error("attack", FOREST, *DATA, "--attack", "pgdd", code=2)["what"]
    assert "did you mean 'linf'" in error("attack", FOREST, *DATA, "--norm", "linff", code=2)["what"]
    assert "did you mean 'test'" in error("attack", FOREST, *DATA, "--split", "tset", code=2)["what"]
    assert "did you mean --samples" in error("attack", FOREST, *DATA, "--sample5", 1, code=2)["what"]
    assert "did you mean --attack?" in error("attack", FOREST, *DATA, "--defense", "pgd", code=2)["what"]
    for options in (["--eps", "-1"], ["--eps=-0.5"], ["--eps", "nan"], ["--eps", "1e40"], ["--eps", "x"],
                    ["--steps", "0"], ["--steps", "-3"], ["--step-size", "-1"], ["--noise", "-0.1"],
                    ["--attack", "pgdu", "--samples", "0"], ["--restarts", "0"], ["--seed", "9223372036854775808"],
                    ["--box", "1,0"], ["--box", "0"], ["--labels", path("y.npy")], ["--attack"], ["more"],
                    ["--out", path("y.npy"), "--labels", path("y.npy")]):
        e = error("attack", FOREST, *DATA, *options, code=2)
        assert e["code"] == "wrong_usage", options
    assert not os.path.exists(path("y.npy"))
    answer("attack", FOREST, *DATA, "--attack", "none", "--steps", "0")  # it takes none
    assert "--train" in error("attack", FOREST, code=2)["what"]
    error("attack", code=2)
    error("predict", FOREST, code=2)
    error("predict", FOREST, "--input", path("X_test.npy"), code=2)
    error("predict", FOREST, "--input", path("X_test.npy"), "--out", path("q.npy"), "--votes", path("q.npy"), code=2)
    error("predict", FOREST, "--input", path("X_test.npy"), "--out", FOLDER.name, code=2)
    error("inspect", code=2)
    error("inspect", FOREST, FOREST, code=2)


def damaged(name, offset_of, value):
    """A copy of the forest with one float32 of a tensor replaced."""
    with open(FOREST, "rb") as f:
        raw = bytearray(f.read())
    begin = 8 + int.from_bytes(raw[:8], "little")
    at = begin + json.loads(raw[8:begin])[offset_of]["data_offsets"][0]
    raw[at:at + 4] = struct.pack("<f", value)
    with open(path(name), "wb") as f:
        f.write(raw)
    return path(name)


def test_bad_input():
    for tensor in ("splits.weight", "splits.bias", "leaves"):
        for value in (float("nan"), float("inf")):
            e = error("inspect", damaged("bad", tensor, value), code=3)
            assert e["code"] == "bad_input" and tensor in e["place"] and e["file"] == path("bad")
            error("predict", path("bad"), "--input", path("X_test.npy"), "--out", path("v.npy"), code=3)
            error("attack", path("bad"), *DATA, code=3)
    e = error("inspect", path("absent"), code=3)
    assert e["file"] == path("absent")
    error("inspect", path("X_test.npy"), code=3)
    error("inspect", FOLDER.name, code=3)
    # another d than the model's
    np.save(path("X_other.npy"), X[:, :40])
    np.save(path("y_other.npy"), np.load(path("y_test.npy")))
    e = error("attack", FOREST, "--train", path("X_other.npy"), "--test-size", 50, "--learn-size", 50, code=3)
    assert "40" in e["what"] and "49" in e["expected"]
    e = error("predict", FOREST, "--input", path("X_other.npy"), "--out", path("v.npy"), code=3)
    assert "40" in e["what"] and "49" in e["expected"] and e["file"] == path("X_other.npy")
    # outside the box
    e = error("attack", FOREST, *DATA, "--box", "0,0.5", code=3)
    assert "0.5" in e["expected"] or "box" in e["what"]
    assert answer("attack", FOREST, *DATA, "--box", "none")["norm_max"] <= 1
    assert answer("attack", FOREST, *DATA, "--box", "-5,5")["norm_max"] <= 1
    # points
    for name, array in (("nan", np.where(np.arange(D) == 3, np.nan, X)), ("inf", np.where(np.arange(D) == 3, np.inf, X)),
                        ("flat", X[0]), ("deep", X.reshape(2, 2, 50, D)), ("empty", X[:0]), ("text", np.array(["a"] * D)),
                        ("complex", X.astype(complex))):
        np.save(path(f"{name}.npy"), array)
        e = error("predict", FOREST, "--input", path(f"{name}.npy"), "--out", path("v.npy"), code=3)
        assert e["file"] == path(f"{name}.npy"), (name, e)
    assert not os.path.exists(path("v.npy"))
    error("predict", FOREST, "--input", path("X_test.npy"), "--out", path("absent/v.npy"), code=4)
    assert not [name for name in os.listdir(FOLDER.name) if ".part" in name]


def test_disk_space_is_checked_first():
    e = error("attack", FOREST, *DATA, "--attack", "pgdu", "--samples", 16000000, "--out", path("huge.npy"), code=4)
    assert "disk" in e["what"] and not os.path.exists(path("huge.npy"))
    assert not [name for name in os.listdir(FOLDER.name) if "huge" in name]


def test_help_examples_work():
    for command in ("predict", "attack", "inspect"):
        text = run("help", command).stdout
        words = text.split("Example:")[1].replace("\\\n", "").split()
        assert words[:2] == ["surety", command]
        words = [FOREST if w == "model.safetensors" else path("X_test.npy") if w == "X.npy" and command == "predict" else
                 path("out_" + w) if w.endswith(".npy") else w for i, w in enumerate(words)]
        run(*words[1:], *(DATA if command == "attack" else []))


def test_evaluate_shows_every_bound_smallest_first():
    for model, first in ((LINEAR, "vote_frozen_max"), (SIGNED, None)):
        words = ["evaluate", model, *DATA, "--attacks", "none,unif,pgdu,worst-case,ifgsmu", "--samples", 3, "--quiet"]
        rows, text = answer(*words)["attacks"], run(*words).stdout
        assert all(len(line) <= 80 for line in text.splitlines())
        worst = [r for r in rows if r["attack"] == "worst-case"]
        drawn = [r for r in rows if r["attack"] != "worst-case"]
        shown = [line.split() for line in text.splitlines() if line[:2].strip().islower() and line[1] == " "]
        for block, kinds in ((drawn[:3], 2), (drawn[3:], 2), (worst, 1)):
            names = block[0]["bounds"]
            lines, shown = shown[:len(names)], shown[len(names):]
            assert {line[-1] for line in lines} == set(names)
            risks = [names[line[-1]]["risk"] for line in lines]
            assert len({*risks}) == kinds and risks == sorted(risks, reverse=True)  # averaged_max, then averaged
            for line in lines:
                values = [float(v) for v in line[-1 - len(block):-1]]
                assert all(0 <= v - r["bounds"][line[-1]]["vote"] <= 1.01e-4 for v, r in zip(values, block)), line
            for one, two in zip(lines, lines[1:]):
                if names[one[-1]]["risk"] == names[two[-1]]["risk"]:
                    assert max(one[-1 - len(block):-1]) <= max(two[-1 - len(block):-1]), (one, two)
            letters = {line[0]: names[line[-1]]["event"] for line in lines}
            assert all(letters[line[0]] == names[line[-1]]["event"] for line in lines)
            if first and kinds == 2:
                assert lines[0][-1] == first
        assert not shown


if __name__ == "__main__":
    main()
