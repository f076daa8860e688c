"""The trees you have: XGBoost, LightGBM, scikit-learn. Replayed bit for bit before they are believed."""
import copy
import os
import tempfile
from typing import Optional, Sequence

import numpy as np

import surety_sklearn
from surety._call import CheckFailed, Run, call, ffi, lib, names, strings, text
from surety._data import matrix
from surety.model import Model


def import_model(path, format: str = "auto", *, threshold: float = 0.0, all_iterations: bool = False, each_tree: bool = False,
                 classes: Optional[Sequence] = None) -> Model:
    """A file of trees as a model, as ``surety import`` does. Formats: surety.trees.formats()."""
    kept = [ffi.new("char[]", format.encode())]
    s = ffi.new("surety_import_settings *", dict(format=kept[0], threshold=threshold, all_iterations=all_iterations,
                                                 each_tree=each_tree))
    if classes is not None:
        listed = strings(classes)
        kept.append(listed)
        s.classes, s.class_count = listed[0], len(classes)
    out = ffi.new("surety_model **")
    call(lib.surety_model_import, os.fsencode(path), s, out)
    return Model(out[0])


def formats() -> list:
    """The formats that can be imported."""
    return names(lib.surety_import_format)


def replay(model: Model, X, scores) -> int:
    """Compares the raw scores of rows with those of the maker, bit for bit; CheckFailed names the first that differs.
    Returns the number of rows."""
    with tempfile.TemporaryDirectory() as folder, Run() as run:
        paths = [os.path.join(folder, name) for name in ("x.npy", "scores.npy")]
        np.save(paths[0], matrix(X))
        np.save(paths[1], np.asarray(scores))
        out = ffi.new("surety_replay *")
        call(lib.surety_model_replay, model._pointer, *(os.fsencode(path) for path in paths), out, run)
        return out.rows


def probes(model: Model, count: int = 1000) -> np.ndarray:
    """(count, d) rows on both sides of the model's own thresholds, for a replay without data."""
    tensors = {}
    for index in range(lib.surety_voters_tensors(model._voters)):
        t = lib.surety_voters_tensor(model._voters, index)
        if text(t.name) in ("nodes.feature", "nodes.threshold"):
            kind = {lib.SURETY_ELEMENT_F32: np.float32, lib.SURETY_ELEMENT_F64: np.float64}.get(t.type, np.int32)
            size = np.dtype(kind).itemsize * t.rows * t.stride
            tensors[text(t.name)] = np.frombuffer(ffi.buffer(ffi.cast("char *", t.bytes), size), kind).reshape(
                t.rows, t.stride)[:, :t.length].ravel().copy()
    random, d = np.random.default_rng(0), lib.surety_voters_features(model._voters)
    rows = random.normal(size=(count, d)).astype(np.float32)
    feature, threshold = tensors["nodes.feature"], tensors["nodes.threshold"].astype(np.float32)
    for j in range(d):
        values = threshold[(feature == j) & np.isfinite(threshold)]
        if len(values):
            picked = random.choice(values, count)
            beside = np.stack([picked, np.nextafter(picked, np.float32(-np.inf)), np.nextafter(picked, np.float32(np.inf))])
            rows[:, j] = beside[random.integers(0, 3, count), np.arange(count)]
    return rows


def from_xgboost(booster, X=None, **settings) -> Model:
    """An xgboost.Booster or XGBClassifier as a model with its maker's bits and decisions, replayed on X (unless given, on
    rows beside its own thresholds)."""
    import xgboost
    labels = getattr(booster, "classes_", None)
    core = booster.get_booster() if hasattr(booster, "get_booster") else booster
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        core.save_model(path)
        model = import_model(path, "xgboost", **_classes(labels, settings))
    rows = probes(model) if X is None else matrix(X)
    used = {} if settings.get("all_iterations") else _best(core)
    scores = core.predict(xgboost.DMatrix(rows, feature_names=core.feature_names, feature_types=core.feature_types),
                          output_margin=True, **used)
    replay(model, rows, scores)
    return model


def _best(core) -> dict:
    """Trees up to best_iteration, as XGBClassifier predicts and `surety import` reads."""
    best = core.attributes().get("best_iteration") if hasattr(core, "attributes") else None
    return {} if best is None else {"iteration_range": (0, int(best) + 1)}


def from_lightgbm(booster, X=None, **settings) -> Model:
    """A lightgbm.Booster or LGBMClassifier as a model with its maker's bits and decisions, replayed on X (unless given, on
    rows beside its own thresholds)."""
    labels = getattr(booster, "classes_", None)
    core = getattr(booster, "booster_", booster)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.txt")
        core.save_model(path)
        model = import_model(path, "lightgbm", **_classes(labels, settings))
    rows = probes(model) if X is None else matrix(X)
    replay(model, rows, core.predict(rows.astype(np.float64), raw_score=True))
    return model


def from_sklearn(fitted, X=None, **settings) -> Model:
    """A tree, forest or boosted ensemble of scikit-learn as a model with its maker's bits and decisions, replayed on X
    (unless given, on rows beside its own thresholds)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.st")
        surety_sklearn.save(fitted, path)
        model = import_model(path, "sklearn", **settings)
    rows = probes(model) if X is None else matrix(X)
    maker = copy.copy(fitted)
    if getattr(maker, "n_jobs", None) not in (None, 1):
        maker.n_jobs = 1  # several threads add up in no fixed order
    replay(model, rows, maker.decision_function(rows) if hasattr(maker, "decision_function") else maker.predict_proba(rows))
    wrong = np.flatnonzero(np.asarray(fitted.classes_)[model.answers(rows)] != np.asarray(maker.predict(rows)))
    if len(wrong):
        raise CheckFailed("the imported model decides otherwise than its maker", place=f"row {wrong[0]}")
    return model


def _classes(labels, settings: dict) -> dict:
    if labels is None or settings.get("classes") is not None:
        return settings
    return {**settings, "classes": [str(label) for label in labels]}
