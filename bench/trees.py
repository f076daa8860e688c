"""trees.py FOLDER: cases trees-predict, trees-prove and trees-train as JSON. A model of XGBoost, 100 trees of depth 6, of fashion-sandal-v-boot;
its own predictor and ours take turns, one thread each, and the best of both counts. trees-train: 100 trees of depth 6 grown
against linf 0.1, beside XGBoost's hist with as many bins (30) on the same rows; its limit is what XGBoost does."""
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests"))
import small  # noqa: E402

try:
    import xgboost
except ImportError:
    print(json.dumps({"cases": []}))
    sys.exit()

EPS, TURNS, TREES, BINS = 0.1, 5, 100, 30


def train_ours(folder):
    """Seconds of growing, without reading the data."""
    out = os.path.join(folder, "grown.st")
    done = subprocess.run([os.path.join(ROOT, "build", "surety"), "train", "--task", "fashion-sandal-v-boot", "--kind", "trees",
                           "--defense", "certified", "--norm", "linf", "--eps", str(EPS), "--trees", str(TREES), "--depth", "6",
                           "--keep", "last", "--threads", "1", "--out", out, "--quiet", "--json"], check=True, capture_output=True)
    return json.loads(done.stdout)["seconds"]


def train_theirs(data):
    begin = time.perf_counter()
    xgboost.train({"objective": "binary:logistic", "max_depth": 6, "tree_method": "hist", "max_bin": BINS, "nthread": 1}, data,
                  num_boost_round=TREES)
    return time.perf_counter() - begin


with tempfile.TemporaryDirectory() as folder:
    small.write(folder, train=12000, test=2000, classes=(5, 9), pool=1)
    X, y, T, u = (np.load(os.path.join(folder, n + ".npy")) for n in ("X_train", "y_train", "X_test", "y_test"))
    model = xgboost.train({"objective": "binary:logistic", "max_depth": 6, "tree_method": "hist", "nthread": 2},
                          xgboost.DMatrix(X[5000:], label=y[5000:] == 9), num_boost_round=100)
    model.set_param({"nthread": 1})
    file, rows, labels = (os.path.join(folder, n) for n in ("model.json", "T.npy", "u.npy"))
    model.save_model(file)
    np.save(rows, T)
    np.save(labels, (u == 9).astype(np.int8))
    subprocess.run([os.path.join(ROOT, "build", "surety"), "import", file, "--out", file + ".st"], check=True, capture_output=True)
    theirs, ours = 0, {"predict": 0, "prove": 0}
    grow, grow_theirs = 1e9, 1e9
    for _ in range(3):
        grow = min(grow, train_ours(folder))
        grow_theirs = min(grow_theirs, train_theirs(xgboost.DMatrix(X[5000:], label=y[5000:] == 9, nthread=1)))
    for _ in range(TURNS):
        for _ in range(5):
            data = xgboost.DMatrix(T, nthread=1)  # a new one: predictions of a known one are kept
            for ask in (lambda: model.predict(data, output_margin=True), lambda: model.inplace_predict(T, predict_type="margin")):
                begin = time.perf_counter()
                ask()
                theirs = max(theirs, len(T) / (time.perf_counter() - begin))
        got = json.loads(subprocess.run([os.path.join(ROOT, "build", "bench", "bench_trees"), file + ".st", rows, labels, str(EPS)],
                                        check=True, capture_output=True).stdout)
        ours = {key: max(ours.get(key, 0), value) for key, value in got.items()}
cases = [{"name": "trees-predict", "threads": 1, "seconds": len(T) / ours["predict"], "rate": ours["predict"], "unit": "row/s",
          "limit": theirs, "share": ours["predict"] / theirs},
         {"name": "trees-prove", "threads": 1, "seconds": len(T) / ours["prove"], "rate": ours["prove"], "unit": "row/s",
          "limit": 0, "share": ours["decided"]},
         {"name": "trees-train", "threads": 1, "seconds": grow, "rate": TREES * 7000 / grow, "unit": "row/s",
          "limit": TREES * 7000 / grow_theirs, "share": grow_theirs / grow}]
print(json.dumps({"cases": cases}))
