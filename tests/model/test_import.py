"""surety import with real models of XGBoost and scikit-learn: raw scores bit for bit, the maker's decisions, what is refused."""
import json
import os
import struct
import subprocess
import sys
import tempfile

import numpy as np

from tap import FULL, SOURCE, SURETY, Skip, answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
ROWS, D = 1500, 8
RNG = np.random.default_rng(7)
X = RNG.normal(size=(ROWS, D)).astype(np.float32)
HOLES = X.copy()
HOLES[RNG.random(X.shape) < 0.1] = np.nan
HOLES[RNG.random(X.shape) < 0.05] = 0
SCORE = X @ RNG.normal(size=D) + RNG.normal(size=ROWS)


def path(name):
    return os.path.join(FOLDER.name, name)


def labels(K):
    return np.digitize(SCORE, np.quantile(SCORE, np.arange(1, K) / K))


def xgboost():
    try:
        import xgboost as package
    except ImportError:
        raise Skip("python3-xgboost is not installed")
    return package


def sklearn():
    try:
        import sklearn.ensemble
    except ImportError:
        raise Skip("python3-sklearn is not installed")
    sys.path.insert(0, os.path.join(SOURCE, "python"))
    import surety_sklearn
    return sklearn.ensemble, surety_sklearn


def replay(file, points, scores, answers, K, *options):
    """Imports with a replay, then compares the answers."""
    np.save(path("X.npy"), points)
    np.save(path("P.npy"), np.ascontiguousarray(scores))
    names = ",".join(map(str, range(K)))
    got = answer("import", file, "--out", path("m"), "--check", path("X.npy"), "--expect", path("P.npy"), "--classes", names,
                 *options)
    assert got["kind"] == "trees" and got["replayed"] == len(points) and got["equal_bits"] is True, got
    assert got["features"] == points.shape[1] and got["classes"] == K and got["trees"] >= 1 and got["rounded"] == 0, got
    run("predict", path("m"), "--input", path("X.npy"), "--classes", path("c.csv"), "--scores", path("s.npy"))
    ours = np.loadtxt(path("c.csv"), delimiter=",", skiprows=1, dtype=int)[:, 1]
    assert (ours == answers).all(), (ours != answers).sum()
    raw = np.load(path("s.npy"))
    if raw.shape == np.shape(scores):
        assert raw.tobytes() == np.ascontiguousarray(scores).tobytes() and raw.dtype == scores.dtype, raw.dtype
    return got


# ---- XGBoost ----

def booster(K=2, rounds=20, **parameters):
    package = xgboost()
    data = package.DMatrix(HOLES, label=labels(K))
    many = {"num_class": K} if parameters.get("objective", "").startswith("multi") else {}
    return package, data, package.train({"objective": "binary:logistic", "max_depth": 4, "eta": 0.3, "nthread": 1, **many,
                                         **parameters}, data, num_boost_round=rounds)


def replay_booster(K=2, decide=None, **parameters):
    package, data, model = booster(K, **parameters)
    margins = model.predict(data, output_margin=True)
    answers = decide(margins, model.predict(data))
    for ending in "json", "ubj":
        model.save_model(path("model." + ending))
        replay(path("model." + ending), HOLES, margins, answers, K)


def test_xgboost_two_classes():
    for more in {}, {"base_score": 0.3}, {"booster": "dart", "rate_drop": 0.3}, {"num_parallel_tree": 4, "subsample": 0.5}:
        replay_booster(decide=lambda margin, p: p > 0.5, **more)
    replay_booster(decide=lambda margin, p: p > 0.5, objective="binary:hinge")
    replay_booster(decide=lambda margin, p: margin > 0, objective="binary:logitraw")


def test_xgboost_several_classes():
    replay_booster(4, decide=lambda margin, p: p.argmax(1), objective="multi:softprob")
    replay_booster(3, decide=lambda margin, p: p, objective="multi:softmax")
    replay_booster(3, decide=lambda margin, p: p.argmax(1), objective="multi:softprob", booster="dart", rate_drop=0.3)


def test_best_iteration():
    """XGBClassifier predicts up to best_iteration, Booster with all trees."""
    package, data, model = booster(rounds=12)
    model.set_attr(best_iteration="4")
    model.save_model(path("best.json"))
    few, all_ = (model.predict(data, output_margin=True, iteration_range=(0, n)) for n in (5, 0))
    assert replay(path("best.json"), HOLES, few, few > 0, 2)["trees"] == 5
    assert replay(path("best.json"), HOLES, all_, all_ > 0, 2, "--iterations", "all")["trees"] == 12


def test_names_of_features():
    """Columns are found by name, in any order, beside one of labels; a table that lacks one, or has more, is refused."""
    package = xgboost()
    names = [f"f {j}" for j in range(D)]
    model = package.train({"objective": "binary:logistic", "nthread": 1}, package.DMatrix(X, label=labels(2), feature_names=names), 5)
    model.save_model(path("named.json"))
    run("import", path("named.json"), "--out", path("m"), "--quiet")
    np.save(path("X.npy"), X)
    run("predict", path("m"), path("X.npy"), "--out", path("right.npy"), "--quiet")

    def table(order, more=(), name="named.csv"):
        head = [*more, *(names[j] for j in order)]
        with open(path(name), "w") as file:
            file.write(",".join(head) + "\n")
            for i, row in enumerate(X):
                file.write(",".join([str(labels(2)[i])] * len(more) + [repr(float(row[j])) for j in order]) + "\n")
        return path(name)

    for order, more in ((range(D), ()), (range(D)[::-1], ()), ([3, 1, 0, 2, 7, 6, 5, 4], ["answer"])):
        run("predict", path("m"), table(order, more), "--out", path("got.npy"), "--quiet")
        assert np.load(path("got.npy")).tobytes() == np.load(path("right.npy")).tobytes(), order
    fresh = lambda *words: answer("evaluate", path("m"), "--attacks", "none", "--eps", 0, *words)["attacks"][0]
    right = fresh("--fresh", table(range(D), ["answer"]))
    assert right == fresh("--fresh", table([3, 1, 0, 2, 7, 6, 5, 4], ["answer"]))
    assert right["adversarial_risk"] < 0.3, right
    assert "lacks the column 'f 3'" in error("predict", path("m"), table([0, 1, 2, 4, 5, 6, 7]), "--out", path("got.npy"), code=3)["what"]
    assert "none of the columns" in error("predict", path("m"), table(range(D), ["id", "answer"]), "--out", path("got.npy"), code=3)["what"]
    assert "--fresh" in error("evaluate", path("m"), "--attacks", "none", "--eps", 0, code=2)["what"]
    assert "labels" in error("evaluate", path("m"), "--attacks", "none", "--eps", 0, "--fresh", table(range(D)), code=3)["what"]


def test_threshold():
    package, data, model = booster()
    model.save_model(path("model.json"))
    p = model.predict(data)
    margins = model.predict(data, output_margin=True)
    for threshold in 0.1, 0.5, 0.9, float(p[3]):
        replay(path("model.json"), HOLES, margins, p > np.float32(threshold), 2, "--threshold", repr(threshold))
    error("import", path("model.json"), "--out", path("m"), "--threshold", 1, code=2)


def test_one_half_in_floats():
    """Margins so near 0 that a float sigmoid rounds to one half: XGBoost answers the first class there."""
    package, data, model = booster(rounds=1, max_depth=1)
    model.save_model(path("model.json"))
    with open(path("model.json")) as file:
        tree = json.load(file)
    u = 2.0 ** -24
    for leaf in (0.0, u, 1.49 * u, 1.5 * u, 1.51 * u, 2 * u, 3 * u, 4 * u, -u):
        arrays = tree["learner"]["gradient_booster"]["model"]["trees"][0]
        value = float(np.float32(leaf))
        arrays["split_conditions"][1:] = [value] * (len(arrays["split_conditions"]) - 1)
        with open(path("tiny.json"), "w") as file:
            json.dump(tree, file)
        tiny = package.Booster(model_file=path("tiny.json"))
        replay(path("tiny.json"), HOLES[:50], tiny.predict(data)[:50] * 0 + np.float32(value), tiny.predict(data)[:50] > 0.5, 2)


def fixture(version=(3, 0, 0), base="5E-1", objective="binary:logistic", columns=1, **changes):
    """A model file by hand: one stump per column on feature 0 at 0.25."""
    tree = {"left_children": [1, -1, -1], "right_children": [2, -1, -1], "split_indices": [0, 0, 0],
            "split_conditions": [0.25, -1.5, 2.0], "default_left": [1, 0, 0], "split_type": [0, 0, 0], "parents": [2147483647, 0, 0],
            "tree_param": {"num_nodes": "3", "size_leaf_vector": "1", "num_feature": "2", "num_deleted": "0"}, **changes}
    return {"version": list(version), "learner": {
        "attributes": {}, "feature_names": ["first", "second"], "feature_types": [],
        "gradient_booster": {"name": "gbtree", "model": {
            "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(columns)}, "tree_info": list(range(columns)),
            "trees": [tree] * columns}},
        "learner_model_param": {"base_score": base, "num_class": str(columns if columns > 1 else 0), "num_feature": "2",
                                "num_target": "1"},
        "objective": {"name": objective}}}


def write(content, name="fixture.json"):
    with open(path(name), "w") as file:
        json.dump(content, file)
    return path(name)


def test_versions_two_and_three():
    points = np.array([[0.25, 0], [np.nextafter(np.float32(0.25), np.float32(0)), 0], [np.nan, 1], [-0.0, 0]], np.float32)
    for version, base in (((2, 1, 4), "5E-1"), ((3, 0, 0), "[5E-1]"), ((3, 1, 0), 0.5)):
        scores = np.array([2.0, -1.5, -1.5, -1.5], np.float32)  # the base's margin is 0; 0.25 < 0.25 is false
        got = replay(write(fixture(version, base)), points, scores, scores > 0, 2)
        assert got["source"] == "xgboost %d.%d.%d" % version, got
    bases = np.array([0.5, 1.25, -2], np.float32)
    scores = bases + np.array([[2.0], [-1.5], [-1.5], [-1.5]], np.float32)
    replay(write(fixture(base="[5E-1,1.25E0,-2E0]", objective="multi:softprob", columns=3)), points, scores, scores.argmax(1), 3)


# ---- scikit-learn ----

def test_sklearn():
    ensemble, writer = sklearn()
    from sklearn.tree import DecisionTreeClassifier
    for K in 2, 4:
        y = labels(K)
        models = [DecisionTreeClassifier(max_depth=5), ensemble.RandomForestClassifier(15), ensemble.ExtraTreesClassifier(15),
                  ensemble.GradientBoostingClassifier(n_estimators=10), ensemble.HistGradientBoostingClassifier(max_iter=10),
                  ensemble.AdaBoostClassifier(n_estimators=10),
                  ensemble.AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=10, algorithm="SAMME")]
        if K == 2:
            models.append(ensemble.GradientBoostingClassifier(n_estimators=10, loss="exponential"))
        for model in models:
            points = HOLES if isinstance(model, ensemble.HistGradientBoostingClassifier) else X
            model.set_params(**{"random_state": 0} if "random_state" in model.get_params() else {})
            model.fit(points, y)
            writer.save(model, path("model.st"))
            scores = model.decision_function(points) if hasattr(model, "decision_function") else model.predict_proba(points)
            replay(path("model.st"), points, scores, model.predict(points), K)


def test_forest_as_votes():
    """Each tree a voter: its class shares, the same weight for all."""
    ensemble, writer = sklearn()
    for K in 2, 3:
        model = ensemble.RandomForestClassifier(9, max_depth=4, random_state=1).fit(X, labels(K))
        writer.save(model, path("model.st"))
        got = answer("import", path("model.st"), "--out", path("m"), "--each-tree")
        assert got["voter_count"] == 9 and got["equal_bits"] is None and got["replayed"] == 0, got
        np.save(path("X.npy"), X)
        run("predict", path("m"), "--input", path("X.npy"), "--out", path("v.npy"), "--votes", path("h.npy"))
        shares = np.stack([tree.predict_proba(X) for tree in model.estimators_], 1)
        wanted = shares if K > 2 else shares[:, :, 1] - shares[:, :, 0]
        assert np.abs(np.load(path("h.npy")) - wanted).max() < 1e-6
        mean = wanted.mean(1)
        assert np.abs(np.load(path("v.npy")) - mean).max() < 1e-6
        np.save(path("P.npy"), model.predict_proba(X))
        error("import", path("model.st"), "--out", path("m2"), "--each-tree", "--check", path("X.npy"), "--expect", path("P.npy"), code=2)
    model = ensemble.GradientBoostingClassifier(n_estimators=3).fit(X, labels(2))
    writer.save(model, path("model.st"))
    error("import", path("model.st"), "--out", path("m2"), "--each-tree", code=2)


def test_sklearn_threshold():
    ensemble, writer = sklearn()
    model = ensemble.RandomForestClassifier(10, max_depth=4, random_state=2).fit(X, labels(2))
    writer.save(model, path("model.st"))
    p = model.predict_proba(X)
    replay(path("model.st"), X, p, p[:, 1] > 0.3, 2, "--threshold", 0.3)


# ---- LightGBM ----

LIGHTGBM = """tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=1
objective=binary sigmoid:1
feature_names=first second
feature_infos=[0:1] [0:1]
tree_sizes=1 1

Tree=0
num_leaves=3
num_cat=0
split_feature=0 1
split_gain=1 1
threshold=0.30000000000000004 1.0000000180025095e-35
decision_type=8 10
left_child=-1 -2
right_child=1 -3
leaf_value=-0.10000000000000001 0.20000000000000001 0.40000000000000002
is_linear=0
shrinkage=1


Tree=1
num_leaves=1
num_cat=0
leaf_value=-0.25
is_linear=0
shrinkage=0.1


end of trees

feature_importances:

parameters:
end of parameters
"""


def write_text(text, name="model.txt"):
    with open(path(name), "w") as file:
        file.write(text)
    return path(name)


def test_lightgbm_by_hand():
    """Sums in double, <=, the missing way: NaN (right, left) or, without it, as 0."""
    points = np.array([[0.3, 0], [np.nextafter(np.float32(0.3), np.float32(1)), 0], [0.5, 1], [np.nan, 0.5], [0.5, np.nan]], np.float32)
    leaf = np.array([0.2, 0.2, 0.4, 0.4, 0.2])
    leaf[0] = -0.1 if float(points[0, 0]) <= 0.30000000000000004 else 0.2
    scores = leaf + -0.25
    replay(write_text(LIGHTGBM), points, scores, scores > 0, 2)
    nothing = LIGHTGBM.replace("decision_type=8 10", "decision_type=0 0")  # NaN is 0, which goes left at both
    leaf[3], leaf[4] = -0.1, 0.2
    scores = leaf + -0.25
    replay(write_text(nothing), points, scores, scores > 0, 2)
    averaged = LIGHTGBM.replace("feature_names", "average_output\nfeature_names")
    leaf[3] = 0.4
    scores = leaf + -0.25
    replay(write_text(averaged), points, scores, scores > 0, 2)


def test_real_lightgbm():
    """Models of LightGBM itself."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.environ.get("HOME") or "/tmp", ".cache")
    command = os.path.join(caches, "surety", "lightgbm", "lightgbm")
    if not (FULL and os.path.exists(command)):
        raise Skip("only in the full run, with LightGBM's command (script/setup lightgbm)")
    for K, parameters in ((2, "objective=binary"), (2, "objective=binary sigmoid=0.7"), (3, "objective=multiclass num_class=3"),
                          (2, "objective=binary boosting=dart"), (2, "objective=binary use_missing=false"),
                          (2, "objective=binary boosting=rf bagging_freq=1 bagging_fraction=0.6"),
                          (3, "objective=multiclass num_class=3 boosting=rf bagging_freq=1 bagging_fraction=0.6")):
        with open(path("l.csv"), "w") as file:
            for y, row in zip(labels(K), HOLES):
                file.write(",".join([str(y)] + [repr(float(v)) for v in row]) + "\n")
        ask = lambda *words: subprocess.run([command, "verbosity=-1", f"data={path('l.csv')}", *words], check=True, capture_output=True)
        ask("task=train", "num_trees=15", "num_leaves=15", f"output_model={path('l.txt')}", *parameters.split())
        ask("task=predict", f"input_model={path('l.txt')}", f"output_result={path('raw')}", "predict_raw_score=true")
        ask("task=predict", f"input_model={path('l.txt')}", f"output_result={path('p')}")
        p = np.loadtxt(path("p"))
        replay(path("l.txt"), HOLES, np.loadtxt(path("raw")), p > 0.5 if K == 2 else p.argmax(1), K)


# ---- what is refused ----

def refused(file, word, code=3, *options):
    record = error("import", file, "--out", path("nothing"), *options, code=code)
    text = " ".join(str(value) for value in record.values())
    assert word in text, (word, record)
    assert not os.path.exists(path("nothing"))


def changed(**changes):
    return write(fixture(**changes))


def test_not_supported():
    refused(changed(objective="reg:squarederror"), "reg:squarederror")
    refused(changed(objective="rank:pairwise"), "rank:pairwise")
    refused(changed(split_type=[1, 0, 0]), "categories")
    linear = fixture()
    linear["learner"]["gradient_booster"]["name"] = "gblinear"
    refused(write(linear), "gblinear")
    targets = fixture()
    targets["learner"]["learner_model_param"]["num_target"] = "2"
    refused(write(targets), "targets")
    refused(changed(tree_param={"size_leaf_vector": "3"}), "leaves of 3 values")
    refused(write_text(LIGHTGBM.replace("decision_type=8", "decision_type=9")), "categories")
    refused(write_text(LIGHTGBM.replace("decision_type=8", "decision_type=4")), "zero_as_missing")
    refused(write_text(LIGHTGBM.replace("is_linear=0", "is_linear=1")), "linear")
    refused(write_text(LIGHTGBM.replace("=binary", "=regression")), "regression")
    refused(write_text(LIGHTGBM.replace("=binary", "=multiclassova")), "multiclassova")
    with open(path("old"), "wb") as file:
        file.write(b"binf" + bytes(100))
    refused(path("old"), "save it as JSON")
    with open(path("old"), "wb") as file:
        file.write(b"\x80\x04\x95" + bytes(100))  # a pickle
    refused(path("old"), "python/surety_sklearn.py")


def test_bad_trees():
    refused(changed(left_children=[0, -1, -1]), "cycle")
    refused(changed(left_children=[2, -1, -1]), "parent already")
    refused(changed(left_children=[7, -1, -1]), "not there")
    refused(changed(split_indices=[2, 0, 0]), "feature that is not there")
    refused(changed(split_indices=[-1, 0, 0]), "feature that is not there")
    refused(changed(left_children=[]), "left_children")
    refused(changed(split_conditions=["a", 0, 0]), "numbers")
    refused(changed(split_conditions=[1e39, 0, 0]), "threshold")
    refused(changed(split_conditions=[0, 1e39, 0]), "finite")
    refused(changed(left_children=[-1, -1, -1], right_children=[-1, -1, -1]), "tests a feature")
    refused(changed(left_children=[-1, -1, -1]), "two children")
    refused(changed(left_children=[-7, -1, -1], right_children=[-7, -1, -1]), "two children")
    for base in ("5E-1x", "[5E-1", "[5E-1,5E-1]", "banana", "", "[]", "2", "0", "nan"):
        refused(changed(base=base), "base_score")
    for best in ("banana", "1", "-1", "1e99"):
        early = fixture()
        early["learner"]["attributes"]["best_iteration"] = best
        refused(write(early), "best_iteration")
        run("import", path("fixture.json"), "--out", path("m"), "--iterations", "all")
    dart = fixture()
    gbtree = dart["learner"]["gradient_booster"]
    dart["learner"]["gradient_booster"] = {"name": "dart", "gbtree": gbtree, "weight_drop": []}
    refused(write(dart), "a weight for each tree")
    refused(write(deep_fixture(65)), "too deep")
    run("import", write(deep_fixture(64)), "--out", path("m"))
    far = fixture()
    far["learner"]["gradient_booster"]["model"]["tree_info"] = [3]
    refused(write(far), "class that is not there")


def deep_fixture(depth):
    """A chain: node 2i has the children 2i + 1 (a leaf) and 2i + 2."""
    n = 2 * depth + 1
    left = [i + 1 if i % 2 == 0 and i < n - 1 else -1 for i in range(n)]
    right = [i + 2 if i % 2 == 0 and i < n - 1 else -1 for i in range(n)]
    return fixture(left_children=left, right_children=right, split_indices=[0] * n, split_conditions=[0.5] * n,
                   default_left=[0] * n, split_type=[0] * n)


def test_damaged_files():
    """Cut anywhere, a byte changed, nested without end: a sentence, no crash, nothing written."""
    text = json.dumps(fixture())
    for cut in range(0, len(text) - 1, max(1, len(text) // 25)):
        write_text(text[:cut], "cut.json")
        refused(path("cut.json"), "")
    write_text("{" * 1000000, "deep.json")
    refused(path("deep.json"), "nested")
    with open(path("deep.ubj"), "wb") as file:
        file.write(b"{i\x01a" + b"[" * 1000000)
    refused(path("deep.ubj"), "nested")
    for cut in range(5, len(LIGHTGBM) - 80, 40):
        write_text(LIGHTGBM[:cut], "cut.txt")
        refused(path("cut.txt"), "", 3, "--format", "lightgbm")
    write_text("", "empty")
    refused(path("empty"), "")
    refused(path("absent"), "")


def ubjson(value):
    """As XGBoost writes it."""
    if isinstance(value, dict):
        return b"{" + b"".join(b"L" + struct.pack(">q", len(k)) + k.encode() + ubjson(v) for k, v in value.items()) + b"}"
    if isinstance(value, list) and value and all(isinstance(v, float) for v in value):
        return b"[$d#L" + struct.pack(">q", len(value)) + b"".join(struct.pack(">f", v) for v in value)
    if isinstance(value, list):
        return b"[" + b"".join(map(ubjson, value)) + b"]"
    if isinstance(value, str):
        return b"SL" + struct.pack(">q", len(value)) + value.encode()
    return b"d" + struct.pack(">f", value) if isinstance(value, float) else b"l" + struct.pack(">i", value)


def test_damaged_ubjson():
    whole = ubjson(fixture())
    with open(path("whole.ubj"), "wb") as file:
        file.write(whole)
    points = np.array([[0.25, 0], [0, 0]], np.float32)
    scores = np.array([2.0, -1.5], np.float32)
    replay(path("whole.ubj"), points, scores, scores > 0, 2)
    for cut in range(2, len(whole), max(1, len(whole) // 40)):
        with open(path("cut.ubj"), "wb") as file:
            file.write(whole[:cut])
        refused(path("cut.ubj"), "")
    rng = np.random.default_rng(3)
    for _ in range(300 if FULL else 40):  # whatever comes out, it ends with a sentence or a model
        bytes_ = bytearray(whole)
        for at in rng.integers(0, len(whole), 3):
            bytes_[at] = rng.integers(0, 256)
        with open(path("noise.ubj"), "wb") as file:
            file.write(bytes_)
        done = subprocess.run([SURETY, "import", path("noise.ubj"), "--out", path("noise")], capture_output=True)
        assert done.returncode in (0, 3), (done.returncode, done.stderr)


def test_replay_differs():
    points = np.array([[0.25, 0], [0, 0], [0, 1]], np.float32)
    np.save(path("X.npy"), points)
    np.save(path("P.npy"), np.array([2.0, np.nextafter(np.float32(-1.5), np.float32(0)), 0], np.float32))
    record = error("import", write(fixture()), "--out", path("nothing"), "--check", path("X.npy"), "--expect", path("P.npy"), code=1)
    assert "-1.5 here, and -1.4999998807907104" in record["what"] and record["place"] == "row 1, score 0", record
    assert not os.path.exists(path("nothing"))
    done = run("import", write(fixture()), "--out", path("m"))
    assert "nothing was replayed" in done.stdout, done.stdout


def test_model_file():
    """What a damaged model file of this kind gets, tensor by tensor."""
    sys.path.insert(0, os.path.join(SOURCE, "tests", "model"))
    from read_safetensors import read
    run("import", write(fixture()), "--out", path("m"))
    tensors = read(path("m"))[0]
    for name, shape in (("start", (1,)), ("rule", (5,)), ("scale", (1,)), ("leaves", (2,)), ("nodes.threshold", (1,)), ("uses", (2,))):
        assert tensors[name].shape == shape, (name, tensors[name].shape)
    whole = open(path("m"), "rb").read()
    size = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8:8 + size])

    def damaged(name, index, value, form):
        bytes_ = bytearray(whole)
        at = 8 + size + header[name]["data_offsets"][0] + index * struct.calcsize(form)
        bytes_[at:at + struct.calcsize(form)] = struct.pack(form, value)
        with open(path("damaged"), "wb") as file:
            file.write(bytes_)
        return error("inspect", path("damaged"), code=3)

    assert "links back" in damaged("nodes.left", 0, 0, "<i")["what"]
    assert "not there" in damaged("nodes.left", 0, 5, "<i")["what"]
    assert "not there" in damaged("nodes.right", 0, -9, "<i")["what"]
    assert "parent already" in damaged("nodes.right", 0, -1, "<i")["what"]
    assert "feature" in damaged("nodes.feature", 0, 2, "<i")["what"]
    assert "0 nor 1" in damaged("nodes.missing", 0, 2, "<i")["what"]
    assert "finite" in damaged("nodes.threshold", 0, float("nan"), "<f")["what"]
    assert "finite" in damaged("leaves", 0, float("inf"), "<f")["what"]
    assert "score" in damaged("columns", 0, 1, "<i")["what"]
    assert "first tree" in damaged("groups", 0, 1, "<i")["what"]
    assert "rule" in damaged("rule", 0, 9.0, "<d")["what"]
    assert "divisor" in damaged("rule", 3, 0.0, "<d")["what"]
    assert "scale" in damaged("scale", 0, -1.0, "<d")["what"]
    assert "float" in damaged("start", 0, 0.1, "<d")["what"]


main()
