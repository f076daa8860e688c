"""Guarantees for any classifier, trees of other makers, plans, monitors, figures, the tour, the docs."""
import doctest
import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
import types
import warnings

import package
import tap

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import beta
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import (AdaBoostClassifier, ExtraTreesClassifier, GradientBoostingClassifier,
                              HistGradientBoostingClassifier, RandomForestClassifier)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import surety

X, Y = load_breast_cancer(return_X_y=True)
X = X.astype(np.float32)


class Fixed:
    """Answers what it was told, row by row."""

    def __init__(self, answers):
        self.answers = answers

    def predict(self, rows):
        return np.repeat(self.answers, len(rows) // len(self.answers), axis=0)


# ---- guarantees ----

@settings(max_examples=30, deadline=None)
@given(st.integers(2, 400), st.data())
def test_the_limit_is_clopper_and_pearsons(m, data):
    failed = data.draw(st.integers(0, m))
    delta, looks = data.draw(st.floats(0.001, 0.5)), data.draw(st.integers(1, 20))
    y = np.arange(m) % 3
    answers = np.where(np.arange(m) < failed, (y + 1) % 3, y)
    g = surety.guarantee(Fixed(answers), np.zeros((m, 2)), y, delta=delta, looks=looks)
    exact = 1.0 if failed == m else beta.ppf(1 - delta / looks, failed + 1, m - failed)
    assert g.risk == failed / m and exact * (1 - 1e-9) <= g.value <= exact * (1 + 1e-6)


def test_promises_hold_as_often_as_they_say():
    """400 worlds with a known risk; at delta 0.2 at most about a fifth of the promises may be false."""
    random, risk, m, false = np.random.default_rng(0), 0.1, 150, 0
    for _ in range(400):
        y = random.integers(0, 2, m)
        answers = np.where(random.random(m) < risk, 1 - y, y)
        false += surety.guarantee(Fixed(answers), np.zeros((m, 1)), y, delta=0.2, looks=1).value < risk
    assert 20 < false < 105


def test_rows_that_repeat_are_named():
    """150 rows repeated six times are no 900 draws; a DataFrame's array may be in Fortran order."""
    model = LogisticRegression(max_iter=1000).fit(X[:200], Y[:200])
    rows, labels = np.asfortranarray(np.tile(X[300:450], (6, 1))), np.tile(Y[300:450], 6)
    with pytest.warns(UserWarning, match="750 of the 900 rows of S repeat an earlier one"):
        g = surety.guarantee(model, rows, labels, looks=1)
    assert g.repeats == 750 and "750 of the 900 rows of S (83.3 %) repeat an earlier one" in g.sentence
    assert surety.guarantee(model, X[300:], Y[300:], looks=1).repeats == 0


def test_limits_per_class_pay_for_each(tmp_path):
    y = np.repeat(["a", "b", "c"], [50, 100, 30])
    answers = np.where(np.arange(180) % 10 == 0, "b", y)
    g = surety.guarantee(Fixed(answers), np.zeros((180, 2)), y, delta=0.06, looks=2, per_class=True)
    assert [c["label"] for c in g.classes] == ["a", "b", "c"] and [c["failed"] for c in g.classes] == [5, 0, 3]
    for c in g.classes:
        exact = beta.ppf(1 - 0.06 / 3 / 2, c["failed"] + 1, c["m"] - c["failed"])
        assert exact * (1 - 1e-9) <= c["value"] <= exact * (1 + 1e-6)
    assert g.value == max(c["value"] for c in g.classes)


def test_the_command_makes_and_verifies_the_same(tmp_path):
    forest = RandomForestClassifier(10, random_state=0).fit(X[:300], Y[:300])
    noise = surety.Noise("linf", 0.05, samples=4, seed=3)
    g = surety.guarantee(forest, X[300:], Y[300:], noise, looks=2, delta=0.1)
    path = str(tmp_path / "g.json")
    g.save(path)
    files = ["--votes", tmp_path / "g.votes.npy", "--labels", tmp_path / "g.labels.npy", "--rows", tmp_path / "g.rows.npy"]
    said = tap.answer("verify", path, *files)
    assert said["agrees"] and said["level"] == "bits"
    believed = surety.verify_votes(path, tmp_path / "g.votes.npy", tmp_path / "g.labels.npy")
    assert believed and believed.level == "numbers"  # how many rows repeat
    assert surety.verify_votes(path, *files[1::2]).level == "bits"
    assert "radius 0.12345678, clipped to [0, 1.0000001]," in surety.Noise("linf", 0.12345678, box=(0, 1.0000001)).words()
    made = tap.answer("certify", *files, "--looks", 2, "--delta", 0.1, "--threat", noise.words(), "--of", "RandomForestClassifier",
                      "--classes", 2, "--out", tmp_path / "c.json")
    assert made == g.document
    points = noise.draw(X[300:])
    wrong = (forest.predict(points.reshape(-1, 30)).reshape(-1, 4) != Y[300:, np.newaxis]).any(axis=1)
    assert g.risk == wrong.mean()
    # A vote that is changed, a number that is changed, a certificate without its files.
    votes = np.load(tmp_path / "g.votes.npy")
    votes[0] = 1 - votes[0]
    np.save(tmp_path / "other.npy", votes)
    assert "sha256.votes" in tap.answer("verify", path, "--votes", tmp_path / "other.npy", *files[2:], code=1)["reason"]
    document = json.loads((tmp_path / "g.json").read_text())
    document["value"] /= 2
    (tmp_path / "lie.json").write_text(json.dumps(document))
    assert "changed" in tap.error("verify", tmp_path / "lie.json", *files, code=1)["what"]
    assert "--votes" in tap.error("verify", path, code=2)["what"]
    assert "--eps" in tap.error("certify", *files, "--looks", 1, "--eps", 1, "--out", tmp_path / "d.json", code=2)["what"]
    assert "looks" in tap.error("certify", *files, "--out", tmp_path / "d.json", code=2)["what"]
    assert "nothing says why" in tap.error("certify", *files, "--looks", 1, "--out", tmp_path / "d.json", code=2)["what"]
    assert not os.path.exists(tmp_path / "d.json")


def test_looks_are_logged_as_the_command_logs_them(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    models = [LogisticRegression(max_iter=10000).fit(X[:300], Y[:300]), DecisionTreeClassifier(random_state=0).fit(X[:300], Y[:300])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = surety.guarantee(models[0], X[300:], Y[300:], looks=1)
        surety.guarantee(models[0], X[300:], Y[300:], looks=1)  # the same again is no other
    with pytest.warns(UserWarning, match="2 certificates from this S"):
        surety.guarantee(models[1], X[300:], Y[300:], looks=1)
    first.save(tmp_path / "g.json")
    shown = tap.answer("looks", tmp_path / "g.json")["sets"]
    assert [s["certificates"] for s in shown] == [2] and shown[0]["sha256_learn"] == first.document["sha256"]["rows"]
    clf = surety.VoteClassifier(kind="linear", epochs=3).fit(X, Y)
    made = clf.certify(looks=1)
    with pytest.warns(UserWarning, match="2 certificates from this S"):
        clf.certify(looks=1, delta=0.1)
    made.save(tmp_path / "c.json")
    assert tap.answer("looks", tmp_path / "c.json")["sets"][0]["events"][0]["model"] == clf.model_.sha256
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "c.json"))  # a file where the folder should be
    with pytest.warns(UserWarning, match="not in the log"):
        assert clf.certify(looks=1).document == made.document


def test_sentences_say_what_they_cannot_vouch_for():
    model = LogisticRegression(max_iter=10000).fit(X[:300], Y[:300])
    clean = surety.guarantee(model, X[300:], Y[300:], looks=1).sentence
    assert "unperturbed" in clean and "no example of S had a part" in clean and "do not show" in clean
    moved = surety.guarantee(model, X[300:], Y[300:], X[300:, np.newaxis].repeat(2, axis=1), looks=1, threat_words="two copies")
    assert "two copies" in moved.sentence and "random numbers of its own" in moved.sentence
    useless = surety.guarantee(Fixed(np.ones(269, int)), X[300:], Y[300:], looks=1)
    assert "no better than always answering 1" in useless.sentence
    hopeless = surety.guarantee(Fixed(1 - Y[300:]), X[300:], Y[300:], looks=1)
    assert hopeless.value == 1 and "promises nothing" in hopeless.sentence
    with pytest.raises(surety.UsageError, match="sampled"):
        surety.guarantee(model, X[300:], Y[300:], surety.WorstCase("linf", 0.1), looks=1)
    with pytest.raises(surety.UsageError, match="sampled"):
        surety.guarantee(model, X[300:], Y[300:], "noise", looks=1)
    with pytest.raises(surety.CheckFailed, match="paid"):
        surety.guarantee(model, X[300:], Y[300:], looks=0)


def test_frames_and_functions():
    import pandas as pd
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    model = LogisticRegression().fit(frame[:300], Y[:300])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # names are kept, also of perturbed rows
        one = surety.guarantee(model, frame[300:], Y[300:], surety.Noise("l2", 0.1, samples=2), looks=1)
    two = surety.guarantee(lambda rows: model.predict(pd.DataFrame(rows, columns=["a", "b", "c"])), X[300:, :3], Y[300:],
                           surety.Noise("l2", 0.1, samples=2), looks=1)
    assert one.value == two.value


def test_labels_of_any_kind():
    y = np.array(["a", "b"] * 20)
    g = surety.guarantee(Fixed(np.where(np.arange(40) < 4, "longer", y)), np.zeros((40, 2)), y, looks=1, per_class=True)
    assert list(g.labels) == ["a", "b", "longer"] and g.risk == 0.1
    assert [c["value"] for c in g.classes][2] == 1  # no example of it in S
    images = np.zeros((40, 5, 5))
    seen = []
    g = surety.guarantee(lambda rows: seen.append(rows.shape) or y, images, y, looks=1)
    assert seen == [(40, 5, 5)] and g.risk == 0
    with pytest.raises(surety.UsageError, match="type"):
        surety.guarantee(Fixed(np.zeros(40, int)), np.zeros((40, 2)), y, looks=1)


@pytest.mark.parametrize("norm, order", [("l2", 2), ("linf", np.inf), ("l1", 1)])
def test_noise_is_uniform_in_its_ball(norm, order):
    x = np.zeros((20000, 3))
    moved = surety.Noise(norm, 2.0).draw(x)[:, 0]
    sizes = np.linalg.norm(moved, ord=order, axis=1)
    assert sizes.max() <= 2 * (1 + 1e-12)
    assert abs((sizes < 1).mean() - 1 / 8) < 0.01  # half the radius is an eighth of the volume
    assert abs(moved.mean(axis=0)).max() < 0.03


@pytest.mark.parametrize("voters, learn", [("real", False), ("signed", True)])
def test_bounds_of_the_command(tmp_path, voters, learn):
    random = np.random.default_rng(1)
    labels = random.choice([-1, 1], 200)
    votes = np.clip(labels[:, np.newaxis, np.newaxis] * 0.4 + random.normal(size=(200, 3, 5)), -1, 1)
    np.save(tmp_path / "v.npy", votes)
    np.save(tmp_path / "y.npy", labels)
    words = ["--posterior", "learn"] if learn else []
    said = tap.answer("bound", "--votes", tmp_path / "v.npy", "--labels", tmp_path / "y.npy", "--voters", voters, *words)
    assert surety.bound(votes, labels, "learn" if learn else None, voters=voters) == said


# ---- trees of other makers ----

@pytest.mark.parametrize("maker", [DecisionTreeClassifier(max_depth=5, random_state=0), RandomForestClassifier(5, random_state=0),
                                   ExtraTreesClassifier(5, random_state=0), GradientBoostingClassifier(n_estimators=5),
                                   HistGradientBoostingClassifier(max_iter=5), AdaBoostClassifier(n_estimators=5)],
                         ids=lambda maker: type(maker).__name__)
def test_from_sklearn(maker):
    for rows, labels in ((X, Y), load_iris(return_X_y=True)):
        rows = rows.astype(np.float32)
        fitted = maker.fit(rows, labels)
        for replayed in (rows, None):
            model = surety.from_sklearn(fitted, replayed)
            assert np.array_equal(model.answers(rows), fitted.predict(rows))


def test_from_xgboost(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    for rows, labels in ((X, Y), load_iris(return_X_y=True)):
        fitted = xgboost.XGBClassifier(n_estimators=8, n_jobs=1).fit(rows, labels)
        model = surety.from_xgboost(fitted)
        assert surety.from_xgboost(fitted.get_booster(), rows).class_count == len(model.classes)
        assert np.array_equal(model.scores(rows), fitted.predict(rows, output_margin=True))
        assert np.array_equal(model.answers(rows), fitted.predict(rows))
    lie = xgboost.XGBClassifier(n_estimators=3, n_jobs=1).fit(X, Y)
    other = surety.from_xgboost(xgboost.XGBClassifier(n_estimators=4, n_jobs=1).fit(X, Y))
    with pytest.raises(surety.CheckFailed):
        surety.trees.replay(other, X, lie.predict(X, output_margin=True))
    model = surety.from_xgboost(xgboost.XGBClassifier(n_estimators=8, n_jobs=1).fit(X[:400], Y[:400]))
    c = model.certify(X[400:], Y[400:], looks=1, threat=surety.WorstCase("linf", 0.01))
    assert 0 < c.value < 0.5 and "imported" in c.sentence
    assert surety.verify(c, model, X[400:], Y[400:], fresh=True)
    sizes = model.export(tmp_path / "m.c", certificate=c)
    assert sizes["bytes"] == os.path.getsize(tmp_path / "m.c") and c.document["digest"] in (tmp_path / "m.c").read_text()


class LightGBM:
    """A booster that LightGBM's own command trains and asks: save_model and predict as lightgbm.Booster has them."""

    command = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "surety/lightgbm/lightgbm")

    def __init__(self, folder, rows, labels, *parameters):
        self.folder = folder
        self.ask("task=train", "num_trees=8", "num_leaves=9", f"output_model={folder}/model.txt", *parameters, rows=rows, labels=labels)

    def ask(self, *words, rows, labels):
        with open(f"{self.folder}/rows.csv", "w") as file:
            for row, label in zip(rows, labels):
                file.write(",".join([str(label), *(repr(float(value)) for value in row)]) + "\n")
        subprocess.run([self.command, "verbosity=-1", "num_threads=1", f"data={self.folder}/rows.csv", *words], check=True,
                       capture_output=True)

    def save_model(self, path):
        shutil.copy(f"{self.folder}/model.txt", path)

    def predict(self, rows, raw_score=False):
        self.ask("task=predict", f"input_model={self.folder}/model.txt", f"output_result={self.folder}/found",
                 f"predict_raw_score={str(raw_score).lower()}", rows=rows, labels=np.zeros(len(rows), int))
        return np.loadtxt(f"{self.folder}/found")


@pytest.mark.skipif(not os.path.exists(LightGBM.command), reason="LightGBM's command is not there: script/setup lightgbm")
def test_from_lightgbm(tmp_path):
    iris = load_iris(return_X_y=True)
    for rows, labels, parameters in ((X, Y, ["objective=binary"]), (*iris, ["objective=multiclass", "num_class=3"])):
        rows = rows.astype(np.float32)
        booster = LightGBM(str(tmp_path), rows, labels, *parameters)
        found = booster.predict(rows)
        answers = found > 0.5 if found.ndim == 1 else found.argmax(axis=1)
        for replayed in (rows, None):
            model = surety.from_lightgbm(booster, replayed)
            assert np.array_equal(model.answers(rows), answers)
        assert np.array_equal(model.scores(rows), booster.predict(rows, raw_score=True))
    fitted = types.SimpleNamespace(booster_=booster, classes_=np.array(["a", "b", "c"]))  # as an LGBMClassifier
    assert surety.from_lightgbm(fitted).classes == ["a", "b", "c"]
    other = LightGBM(str(tmp_path), rows, labels, "objective=multiclass", "num_class=3", "learning_rate=0.3")
    with pytest.raises(surety.CheckFailed):
        surety.trees.replay(model, rows, other.predict(rows, raw_score=True))


# ---- around them ----

def test_plans_and_monitors(tmp_path):
    assert surety.plan(0.05, 0.02) == tap.answer("plan", "--promise", 0.05, "--expected", 0.02)["examples"]
    assert surety.plan(0.05, 0.02, classes=3) == tap.answer("plan", "--promise", 0.05, "--expected", 0.02, "--classes",
                                                            3)["examples"]
    c = surety.VoteClassifier(kind="linear", epochs=3).fit(X, Y).certify(looks=1)
    watch = surety.Monitor(c)
    assert not watch.add([False] * 50) and watch.seen == 50 and watch.limit < 0.2
    watch.save(tmp_path / "state")
    again = surety.Monitor.load(c, tmp_path / "state")
    assert again.seen == 50 and again.add([True] * 60) and again.alarm <= 110
    g = surety.guarantee(Fixed(Y), X, Y, looks=1)
    watch = surety.Monitor(g)
    assert not watch.add([False] * 20)
    watch.save(tmp_path / "g.json.monitor")
    g.save(tmp_path / "g.json")
    assert tap.answer("monitor", tmp_path / "g.json")["seen"] == 20  # the command's state
    again = surety.Guarantee.load(tmp_path / "g.json")
    assert again.document == g.document and again.risk == 0 and surety.Monitor.load(again, tmp_path / "g.json.monitor").seen == 20


def test_figures(tmp_path):
    import matplotlib
    matplotlib.use("Agg")
    clf = surety.VoteClassifier(kind="linear", eps=0.1, epochs=5).fit(X, Y)
    curve = clf.curve(X[:40], Y[:40], [0, 0.1], ["pgd", "worst-case"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        limits, classes = clf.certify(looks=9, curve=[0.05, 0.1]), clf.certify(looks=9, per_class=True)
    for number, ax in enumerate([surety.plot_curve(curve, limits), surety.plot_classes(classes)]):
        ax.figure.savefig(tmp_path / f"{number}.pdf")
        assert os.path.getsize(tmp_path / f"{number}.pdf") > 1000


def test_the_tour(tmp_path):
    done = subprocess.run([sys.executable, os.path.join(tap.SOURCE, "python/examples/tour.py"), str(tmp_path)],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "agrees (bits)" in done.stdout and {"curve.pdf", "classes.pdf", "forest.votes.npy"} <= set(os.listdir(tmp_path))


def test_examples_of_docstrings_and_the_page():
    for found in pkgutil.iter_modules(surety.__path__):
        module = importlib.import_module("surety." + found.name)
        assert doctest.testmod(module).failed == 0, found.name
    page = os.path.join(tap.SOURCE, "docs/python.md")
    assert doctest.testfile(page, module_relative=False, optionflags=doctest.ELLIPSIS).failed == 0


def test_pip_installs_it(tmp_path):
    """Into a virtual environment with system packages; the library of this build is used, unless all tests are wanted."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "SURETY_BUILD")}
    environment["XDG_CACHE_HOME"] = str(tmp_path)
    if not tap.FULL:
        environment["SURETY_BUILD"] = os.path.abspath(package.BUILD)
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    subprocess.run([python, "-m", "pip", "install", "-q", "--no-build-isolation", "--no-index", "--no-deps",
                    os.path.join(tap.SOURCE, "python")], check=True, env=environment, cwd=tmp_path)
    program = "import surety; print(surety.__version__, surety.__file__)"
    said = subprocess.run([python, "-c", program], check=True, env=environment, cwd=tmp_path, capture_output=True, text=True).stdout
    assert str(tmp_path) in said


if __name__ == "__main__":
    package.main(__file__)
