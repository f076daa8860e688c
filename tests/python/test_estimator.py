"""VoteClassifier beside the command and inside scikit-learn."""
import contextlib
import io
import json
import os
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import package
import tap

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import surety

X, Y = load_breast_cancer(return_X_y=True)
X = X.astype(np.float32)


@pytest.fixture(scope="module")
def certified():
    return surety.VoteClassifier(norm="linf", eps=0.1, epochs=20).fit(X, Y)


def commands(folder, *words, data=(X, Y)):
    """The bytes of the model that the command trains on the same rows."""
    np.save(os.path.join(folder, "X.npy"), data[0])
    np.save(os.path.join(folder, "y.npy"), data[1])
    out = os.path.join(folder, "m")
    tap.run("train", "--train", os.path.join(folder, "X.npy"), "--test-size", 0, "--threads", 1, "--out", out, "--norm", "linf",
            "--quiet", *words)
    with open(out, "rb") as file:
        return file.read()


@pytest.mark.parametrize("words, settings", [
    (["--eps", 0.1, "--epochs", 20], dict(eps=0.1, epochs=20)),
    (["--epochs", 5], dict(epochs=5)),
    (["--kind", "linear", "--defense", "pgd", "--eps", 0.05, "--epochs", 3, "--seed", 7, "--learn-size", 100],
     dict(kind="linear", defense="pgd", eps=0.05, epochs=3, random_state=7, learn_size=100)),
    (["--kind", "trees", "--eps", 0.1, "--trees", 20, "--depth", 3], dict(kind="trees", eps=0.1, trees=20, depth=3)),
    (["--objective", "average-max", "--voters", "signed", "--defense", "pgdu", "--eps", 0.1, "--epochs", 2, "--keep", "best",
      "--scale", "minmax"],
     dict(objective="average-max", voters="signed", defense="pgdu", eps=0.1, epochs=2, keep="best", scale="minmax")),
])
def test_the_same_bytes_as_the_command(tmp_path, words, settings):
    made = surety.VoteClassifier(norm="linf", **settings).fit(X, Y).model_.to_bytes()
    assert made == commands(str(tmp_path), *words)


def awkward():
    """Numbers with gaps, columns of categories and of units."""
    random = np.random.default_rng(0)
    x = X[:300, :6].copy()
    x[::7, 2] = np.nan
    x[:, 4] = random.integers(0, 4, 300)
    x[::9, 4] = np.nan
    x[:, 5] = random.integers(0, 120, 300)
    return x, Y[:300]


@pytest.mark.parametrize("words, settings", [
    (["--missing", "median", "--drop", "1,5"], dict(missing="median", drop=[1, 5])),
    (["--missing", "flag", "--categorical", "5", "--unit", "-1"], dict(missing="flag", categorical=[5], unit=-1)),
    (["--missing", "keep", "--kind", "trees", "--trees", 5, "--unit", "6"], dict(missing="keep", kind="trees", trees=5, unit=6)),
])
def test_gaps_categories_and_units_have_the_bytes_of_the_command(tmp_path, words, settings):
    size = {} if "trees" in settings else dict(epochs=3)
    words = words + [word for key, value in size.items() for word in ("--" + key, value)]
    clf = surety.VoteClassifier(copies="keep", **size, **settings).fit(*awkward())
    assert clf.model_.to_bytes() == commands(str(tmp_path), "--copies", "keep", *words, data=awkward())
    assert surety.verify(clf.certify(looks=9), clf, *awkward())


def parts(model):
    """The texts of a model's file, and the bytes of its tensors."""
    size = int.from_bytes(model[:8], "little")
    return json.loads(model[8:8 + size])["__metadata__"], model[8 + size:]


def test_texts_in_a_frame_are_those_of_a_csv_file(tmp_path):
    """Categories, units and groups as texts or long numbers: the same tensors and digests of rows."""
    import pandas as pd
    random, m = np.random.default_rng(0), 300
    frame = pd.DataFrame({"age": random.integers(20, 80, m).astype(float), "dose": random.normal(size=m).astype(np.float32),
                          "color": random.choice(["red", "green", " blue ", "NA", "7.0", "07"], m),
                          "site": pd.Categorical(random.choice(["north", "south"], m)),
                          "patient": random.integers(0, 150, m) + 10 ** 9})  # float32 cannot tell them apart
    frame.loc[::11, "age"], frame.loc[::13, "color"] = np.nan, None
    labels = np.where(frame["dose"] + (frame["color"] == "red") > 0.3, "ill", "well")
    frame.assign(y=labels).to_csv(tmp_path / "t.csv", index=False)
    clf = surety.VoteClassifier(eps=0.1, epochs=20, categorical=["color"], drop=["site"], unit="patient", missing="flag",
                                copies="keep").fit(frame, labels)
    tap.run("train", "--train", tmp_path / "t.csv", "--test-size", 0, "--eps", 0.1, "--norm", "linf", "--epochs", 20, "--categorical",
            "color", "--drop", "site", "--unit", "patient", "--missing", "flag", "--copies", "keep", "--out", tmp_path / "m")
    with open(tmp_path / "m", "rb") as file:
        (theirs, bytes_), (mine, own) = parts(file.read()), parts(clf.model_.to_bytes())
    assert own == bytes_ and {key for key in mine if mine[key] != theirs[key]} == {"data.preparation", "settings"}
    for key in ("label", "label_column", "file_columns"):  # a file has its label in a column
        assert json.loads(mine["data.preparation"]).pop(key) != json.loads(theirs["data.preparation"]).pop(key)
    made = clf.certify(looks=9)
    assert made.document["data"]["unit"] == "patient" and made.document["inputs"]["m"] < 100
    assert surety.verify(made, clf, frame, labels)
    assert made.value == tap.answer("certify", tmp_path / "m", "--train", tmp_path / "t.csv", "--looks", 9, "--out",
                                    tmp_path / "c.json")["value"]
    assert np.array_equal(clf.predict(frame[frame.columns[::-1]]), clf.predict(frame))
    assert np.array_equal(surety.Model.load(tmp_path / "m").votes(frame), clf.model_.votes(frame))
    grouped = surety.VoteClassifier(kind="linear", epochs=5, categorical=["color"], drop=["site", "patient"], missing="flag",
                                    copies="keep").fit(frame, labels)
    limits = grouped.certify(looks=9, X=frame, y=labels, groups="site").groups
    assert [one["label"] for one in limits] == ["north", "south"] and sum(one["m"] for one in limits) == 120
    with pytest.raises(surety.UsageError, match="column of the rows"):
        grouped.certify(looks=9, groups="site")
    with pytest.raises(surety.InputError, match="'color' holds texts"):
        surety.VoteClassifier(drop=["site"]).fit(frame, labels)


@pytest.mark.parametrize("kind", surety.kinds())
def test_every_kind_has_the_bytes_of_the_command(tmp_path, kind):
    """Whatever kinds there are: trained with a radius, certified, derived again."""
    size = dict(trees=20) if kind == "trees" else dict(epochs=3)
    words = [word for key, value in size.items() for word in ("--" + key, value)]
    clf = surety.VoteClassifier(kind=kind, norm="linf", eps=0.05, **size).fit(X, Y)
    assert clf.model_.to_bytes() == commands(str(tmp_path), "--kind", kind, "--eps", 0.05, *words)
    assert clf.certified_radius(X[:5]).shape == (5,)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of looks: the same rows serve all kinds here
        made = clf.certify(looks=1)
    assert made.value <= 1 and surety.verify(made, clf, X, Y)


def test_layers(tmp_path):
    clf = surety.VoteClassifier(kind="lipschitz", layers=[16, 8], epochs=2).fit(X, Y)
    assert clf.model_.to_bytes() == commands(str(tmp_path), "--kind", "lipschitz", "--layers", "16,8", "--epochs", 2)


def test_three_classes_and_text_labels(tmp_path):
    x, y = load_iris(return_X_y=True)
    names = np.array(["rose", "iris", "10"])[y]
    clf = surety.VoteClassifier(epochs=50, copies="keep").fit(x, names)
    assert list(clf.classes_) == ["10", "iris", "rose"]
    assert clf.score(x, names) > 0.9
    assert np.array_equal(clf.classes_[clf.predict_proba(x).argmax(axis=1)], clf.predict(x))
    numbers = surety.VoteClassifier(epochs=50, copies="keep").fit(x, np.array(["10", "9", "-3"])[y])  # ordered by value there
    assert numbers.score(x, np.array(["10", "9", "-3"])[y]) > 0.9
    assert surety.VoteClassifier(epochs=5, copies="keep").fit(x, y).model_.to_bytes() == commands(
        str(tmp_path), "--epochs", 5, "--copies", "keep", data=(x.astype(np.float32), y))


# The defaults as they are; of the rest short trainings, unless everything is to be run.
@pytest.mark.parametrize("settings", [
    dict(),
    dict(kind="linear", eps=0.05, epochs=None if tap.FULL else 100),
    dict(kind="trees", trees=20 if tap.FULL else 10),
    dict(kind="lipschitz", layers=[8], epochs=400 if tap.FULL else 150),
], ids=str)
def test_check_estimator(settings):
    check_estimator(surety.VoteClassifier(**settings))


def test_certificates_and_their_recheck(certified, tmp_path):
    path = str(tmp_path / "c.json")
    made = certified.certify(looks=1)
    made.save(path)
    assert 0 < made.value < 0.25 and "227" in made.sentence and made.document["value"] == made.value
    found = surety.verify(path, certified, X, Y)
    assert found and found.level == "bits", found
    assert surety.verify(made, certified, numbers=True).level == "numbers"
    assert surety.verify(made, certified, X, Y, retrain=True).document["retrained"]
    other = surety.verify(path, certified, X, np.roll(Y, 1))
    assert not other and other.reason
    certified.model_.save(str(tmp_path / "m"))
    np.save(str(tmp_path / "X.npy"), X)
    np.save(str(tmp_path / "y.npy"), Y)
    said = tap.answer("verify", path, "--model", str(tmp_path / "m"), "--train", str(tmp_path / "X.npy"))
    assert said["agrees"] and said["level"] == "bits"


def test_statements(certified):
    per_class = certified.certify(looks=2, per_class=True)
    assert [c["label"] for c in per_class.classes] == ["0", "1"] and all(c["value"] < 1 for c in per_class.classes)
    assert certified.certify(looks=2, promise_risk=0.2).radius > 0
    curve = certified.certify(looks=2, curve=np.array([0.05, 0.1, 0.2])).curve
    for asked in ({"promise_risk": 0.0}, {"curve": []}, {"promises": []}):  # nothing that makes sense, and not one limit instead
        with pytest.raises(surety.Error):
            certified.certify(looks=2, **asked)
    assert len(curve) == 3 and curve[0]["value"] <= curve[2]["value"]
    with pytest.raises(surety.UsageError, match="do not go together"):
        certified.certify(looks=2, per_class=True, promise_risk=0.1)


def test_fresh_rows_and_other_rows(certified):
    with pytest.raises(surety.CheckFailed):
        certified.certify(looks=1, X=X, y=Y, fresh=True)
    with pytest.raises(surety.CheckFailed):
        certified.certify(looks=1, X=X[::-1], y=Y[::-1])
    new = X + np.float32(0.001)
    assert certified.certify(looks=1, X=new, y=Y, fresh=True).document["data"]["fresh"]


def test_an_undefended_vote_asks_for_a_radius():
    clf = surety.VoteClassifier(kind="linear", epochs=2).fit(X, Y)
    assert clf.certify(looks=1).document["attack"]["name"] == "none"
    with pytest.raises(surety.UsageError, match="radius"):
        clf.certify(looks=1, threat=surety.WorstCase())
    assert clf.certify(looks=1, threat=surety.WorstCase("linf", 0.01)).value <= 1


def test_radii_are_true(certified):
    """No perturbation within the proved radius, in standard deviations of S', changes the answer."""
    some, random = X[:20], np.random.default_rng(0)
    radii, answers = certified.certified_radius(some), certified.predict(some)
    prepared = certified.model_.info
    scale = np.std(X, axis=0) * 0.5  # at most the standard deviation in S'
    assert (radii > 0).all() and prepared
    for _ in range(50):
        moved = some + random.choice([-1, 1], some.shape) * radii[:, np.newaxis] * scale
        assert np.array_equal(certified.predict(moved), answers)
    assert np.array_equal(certified.prove(some, surety.WorstCase("linf", 0.1)), radii >= 0.1)


def test_votes_and_radii_are_the_commands(certified, tmp_path):
    certified.model_.save(tmp_path / "m")
    np.save(tmp_path / "X.npy", X)
    tap.run("predict", tmp_path / "m", tmp_path / "X.npy", "--out", tmp_path / "V.npy", "--classes", tmp_path / "C.csv", "--radius")
    assert np.array_equal(np.load(tmp_path / "V.npy"), certified.model_.votes(X))
    assert np.array_equal(np.load(tmp_path / "V.npy"), certified.decision_function(X))
    table = np.genfromtxt(tmp_path / "C.csv", delimiter=",", names=True)
    assert np.array_equal(table["class"], certified.predict(X))
    assert np.allclose(table["radius"], certified.certified_radius(X), rtol=1e-8)


def test_pickles_clones_threads_and_processes(certified):
    again = pickle.loads(pickle.dumps(certified))
    assert np.array_equal(again.predict_proba(X), certified.predict_proba(X))
    with pytest.raises(surety.UsageError, match="not with it any more"):
        again.certify(looks=1)
    assert again.certify(looks=1, X=X, y=Y).document == certified.certify(looks=1).document
    wanted = surety.VoteClassifier(kind="linear", epochs=2).fit(X, Y).model_.to_bytes()

    def fit(threads):
        return clone(surety.VoteClassifier(kind="linear", epochs=2, threads=threads)).fit(X, Y).model_.to_bytes()
    with ThreadPoolExecutor(4) as pool:
        assert all(made == wanted for made in pool.map(fit, [1, 2] * 4))


def test_a_forked_worker():
    """After threads were used here."""
    surety.VoteClassifier(kind="linear", epochs=1, threads=2).fit(X, Y)
    child = os.fork()
    if child == 0:
        good = surety.VoteClassifier(kind="linear", epochs=2, threads=2).fit(X, Y).score(X, Y) > 0.5
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_pipelines_and_searches():
    one = make_pipeline(StandardScaler(), surety.VoteClassifier(kind="linear", epochs=5))
    assert cross_val_score(one, X, Y, cv=3).mean() > 0.9
    search = GridSearchCV(surety.VoteClassifier(kind="linear", epochs=2), {"lr": [0.01, 0.05]}, cv=2, n_jobs=2,
                          error_score="raise").fit(X, Y)
    assert search.best_score_ > 0.9
    search = GridSearchCV(surety.VoteClassifier(kind="linear", epochs=3), {"lr": [0.01, 0.02]}, cv=2).fit(X, Y)
    with pytest.warns(UserWarning, match="other settings"):
        search.best_estimator_.certify(looks=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.best_estimator_.certify(looks=100)
    many = GridSearchCV(one, {"voteclassifier__lr": [0.01, 0.02, 0.05]}, cv=2, n_jobs=2).fit(X, Y)  # rows differ by fold
    with pytest.warns(UserWarning, match="with 2 other settings"):
        many.best_estimator_[-1].certify(looks=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        many.best_estimator_[-1].certify(looks=3)


def test_frames_names_and_tolerances():
    import pandas as pd
    frame = pd.DataFrame(X[:, :4], columns=["a", "b", "c", "d"])
    clf = surety.VoteClassifier(kind="linear", epochs=5, tolerance={"a": 0.5, "c": (0.1, 0, 1e4)}).fit(frame, Y)
    assert list(clf.feature_names_in_) == ["a", "b", "c", "d"]
    made = clf.certify(looks=1).document["tolerance"]
    assert made["features"] == ["a", "b", "c", "d"] and made["radius"] == [0.5, 0, 0.1, 0]
    with pytest.raises(surety.UsageError, match="no feature"):
        surety.VoteClassifier(tolerance={"nose": 1}).fit(frame, Y)
    swapped = frame[["d", "a", "c", "b"]]
    assert np.array_equal(clf.model_.votes(swapped), clf.model_.votes(frame))


def test_missing_values_and_constant_columns():
    x = X[:, :5].copy()
    x[::7, 2] = np.nan
    x[:, 3] = 1
    with pytest.raises(ValueError, match="NaN"):
        surety.VoteClassifier(epochs=2).fit(x, Y)
    clf = surety.VoteClassifier(epochs=20, missing="flag").fit(x, Y)
    assert clf.score(x, Y) > 0.8
    assert clf.certify(looks=1).value < 1


def test_errors_say_where():
    with pytest.raises(surety.UsageError, match="pgdd"):
        surety.VoteClassifier(defense="pgdd", eps=0.1).fit(X, Y)
    with pytest.raises(surety.UsageError) as caught:
        surety.VoteClassifier(kind="forrest").fit(X, Y)
    assert "soft-forest" in str(caught.value) + caught.value.expected
    with pytest.raises(surety.Error) as caught:
        surety.Model.load("/nowhere/m")
    assert caught.value.file == "/nowhere/m"
    assert pickle.loads(pickle.dumps(caught.value)).what == caught.value.what
    with pytest.raises(surety.InputError):
        surety.Model.from_bytes(b"no model")


class Cell(io.StringIO):
    """What a notebook puts in the place of stderr: no terminal, no file descriptor."""
    encoding = "UTF-8"


def test_progress_and_its_exceptions():
    seen = []
    surety.VoteClassifier(kind="linear", epochs=3, progress=lambda *report: seen.append(report)).fit(X, Y)
    assert seen and seen[-1][0] and isinstance(seen[-1][1], int)
    clf = surety.VoteClassifier(kind="linear", epochs=3, progress=True)
    with contextlib.redirect_stderr(Cell()) as cell:
        clf.fit(X, Y)
    assert "100 %" in cell.getvalue() and "\n" not in cell.getvalue() and cell.getvalue().endswith(" \r")

    def angry(*report):
        raise RuntimeError("enough")
    with pytest.raises(RuntimeError, match="enough"):
        surety.VoteClassifier(kind="linear", epochs=3, progress=angry).fit(X, Y)


def test_ctrl_c():
    """An interrupt ends a long training soon, and the process goes on."""
    program = """
import os, signal, sys, threading, time
import numpy as np, surety
x = np.random.default_rng(0).normal(size=(5000, 50)); y = x[:, 0] > 0
threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
began = time.time()
try:
    surety.VoteClassifier(epochs=100000, learn_size=100).fit(x, y)
except KeyboardInterrupt:
    print("stopped", time.time() - began - 1.0)
print(surety.VoteClassifier(epochs=1, learn_size=100).fit(x, y).classes_)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.startswith("stopped"), done.stdout + done.stderr
    assert "[False  True]" in done.stdout, done.stdout + done.stderr
    assert float(done.stdout.split()[1]) < 10  # seconds; on an idle machine far below one


def test_attacks_and_evaluations(certified):
    new, labels = X[:60], Y[:60]
    moved = certified.attack(new, labels, surety.Attack("linf", 0.5, name="pgd"))
    assert moved.shape == new.shape and moved.dtype == np.float32
    clean = certified.evaluate(new, labels, [surety.Clean()])["error"][0]
    table = certified.evaluate(new, labels, [surety.Clean(), surety.Attack("linf", 0.5), surety.WorstCase("linf", 0.5)])
    assert list(table["error"]) == sorted(table["error"]) and table["error"][0] == clean
    assert (certified.predict(moved) != labels).mean() <= table["error"][1]
    many = certified.attack(new, labels, surety.Attack("linf", 0.1, name="pgdu", samples=3))
    assert many.shape == (60, 3, X.shape[1])
    curve = certified.curve(new, labels, [0, 0.1, 0.5], ["pgd", "worst-case"])
    assert (curve["pgd"] <= curve["worst-case"]).all() and (np.diff(curve["worst-case"]) >= 0).all()


def test_fits_do_not_leak():
    """Measured: memory after many fits is that after a few."""
    import resource
    count, x, y = 1000 if tap.FULL else 60, X[:100, :5], Y[:100]

    def fits(many):
        for _ in range(many):
            surety.VoteClassifier(kind="linear", epochs=1).fit(x, y).certify(looks=1)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        few = fits(110)
        assert fits(count) - few < 4 * count + 2000  # kB


if __name__ == "__main__":
    package.main(__file__)
