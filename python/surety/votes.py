"""Guarantees for any classifier, from its answers alone."""
import io
import os
import tempfile
import warnings
from typing import Any, List, Optional, Union

import numpy as np

from surety._call import Progress, Run, UsageError, call, document, ffi, lib, parse
from surety.certificates import Promise, Verification
from surety.threats import Clean, Noise, Threat


def bound(votes, labels, posterior=None, prior=None, *, voters: str = "real", objective: str = "average_max_seeger",
          hold_out: int = 0, delta: float = 0.05, looks: int = 1, priors_compared: int = 1, classes: int = 0,
          progress: Progress = None, threads: int = 1) -> dict:
    """Risks and every bound for the votes of any ensemble, as ``surety bound`` has them (docs/votes.md).

    votes: floats in [-1, 1] of shape (m, n, H) or (m, H): of two classes; whole numbers: signed votes or class numbers;
    floats (m, n, H, K): scores. labels (m): -1 and +1, or class numbers. posterior: weights (H), or "learn".

    >>> rng = np.random.default_rng(0)
    >>> labels = rng.choice([-1, 1], 500)
    >>> votes = labels[:, None] * np.where(rng.random((500, 9)) < 0.8, 1, -1)
    >>> found = bound(votes, labels, posterior="learn")
    >>> 0 < found["bounds"]["average_max_seeger"]["vote"] < 1
    True
    """
    s = ffi.new("surety_votes_settings *", lib.surety_votes_defaults())
    s.learn = isinstance(posterior, str) and posterior == "learn"
    info = ffi.new("const surety_bound_info **")
    call(lib.surety_bound_find, objective.encode(), info)
    s.objective = info[0].id
    s.signed_votes = parse(lib.surety_voter_set_parse, "surety_voter_set", voters) == lib.SURETY_SIGNED
    s.hold_out, s.delta, s.looks, s.priors_compared, s.classes = hold_out, delta, looks, priors_compared, classes
    arrays = {"votes": np.asarray(votes), "labels": np.asarray(labels)}
    if prior is not None:
        arrays["prior"] = np.asarray(prior, float)
    if posterior is not None and not s.learn:
        arrays["posterior"] = np.asarray(posterior, float)
    result = ffi.new("surety_votes_result *")
    with tempfile.TemporaryDirectory() as folder, Run(progress, threads) as run:
        kept = _write(folder, {name: _npy(array) for name, array in arrays.items()})
        for name, path in kept.items():
            setattr(s, name, path)
        call(lib.surety_bound_votes, s, result, run)
    try:
        return document(lib.surety_votes_result_json(result))
    finally:
        lib.surety_votes_result_free(result)


def _npy(array: np.ndarray) -> bytes:
    """An array as the bytes of its file."""
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(array, order="C"), allow_pickle=False)
    return buffer.getvalue()


def _write(folder: str, files: dict) -> dict:
    """NPY files in a folder: {name: path as a C text}."""
    paths = {}
    for name, data in files.items():
        path = os.path.join(folder, name + ".npy")
        with open(path, "wb") as file:
            file.write(data)
        paths[name] = ffi.new("char[]", os.fsencode(path))
    return paths


class Guarantee(Promise):
    """A promise about any classifier: also ``risk``, the share of S on which it failed.

    ``save("c.json")`` writes the certificate and, beside it, c.votes.npy, c.labels.npy and c.rows.npy, from which
    ``surety.verify_votes`` or ``surety verify c.json --votes c.votes.npy --labels c.labels.npy --rows c.rows.npy`` derive
    it again."""

    _family = "surety_votes_certificate"

    def __init__(self, files: Optional[dict] = None, labels: Optional[np.ndarray] = None):
        super().__init__(ffi.new("surety_votes_certificate *"))
        self._files = files or {}
        #: what the class numbers of ``classes`` stand for
        self.labels = labels

    @classmethod
    def load(cls, path) -> "Guarantee":
        """Reads a file. Whether it is true is another question: ``surety.verify_votes``."""
        made = cls()
        made._read(path)
        return made

    @property
    def risk(self) -> float:
        """The share of S on which the classifier failed."""
        return self._pointer.risk

    @property
    def repeats(self) -> int:
        """Rows of S that equal an earlier one. Where they are many the sentence says so."""
        return self._pointer.repeats

    @property
    def classes(self) -> List[dict]:
        found = super().classes
        return found if self.labels is None else [{**one, "label": label} for one, label in zip(found, self.labels)]

    def save(self, path) -> None:
        """Writes the certificate, and beside it the votes, labels and rows that it is about."""
        stem = os.path.splitext(os.fspath(path))[0]
        for name, data in self._files.items():
            with open(f"{stem}.{name}.npy", "wb") as file:
                file.write(data)
        super().save(path)


def guarantee(model: Any, X, y, threat: Union[None, Threat, np.ndarray] = None, *, delta: float = 0.05, looks: int,
              per_class: bool = False, threat_words: Optional[str] = None, name: Optional[str] = None) -> Guarantee:
    """How often any classifier fails on new inputs, at most, with confidence 1 - delta.

    model: anything with ``predict`` (or ``predict_proba`` and ``classes_``), or a function from rows to labels.
    X, y: S, rows that had no part in the training nor in any choice. threat: Noise(..) draws perturbations of each row;
    an array (m, n, d) holds perturbations that you made, by a rule that looked at no other row (threat_words says how);
    None: the inputs as they are. looks: how many such promises you might have made after seeing S, this one included.

    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:300], y[:300])
    >>> g = guarantee(model, X[300:], y[300:], Noise("linf", 0.001, samples=5), looks=1)
    >>> 0 < g.risk <= g.value < 0.1
    True
    """
    rows = np.asarray(X)
    points, words = _points(rows, threat, threat_words)
    m, n = points.shape[:2]
    if len(np.asarray(y)) != m:
        raise UsageError(f"{m} rows and {len(np.asarray(y))} labels", expected="one label per row")
    asked = X if words is None else _as_given(points.reshape(m * n, *rows.shape[1:]), X)
    answers = np.asarray(_predict(model, asked)).reshape(m, n)
    labels = _classes(np.asarray(y), answers.ravel(), np.asarray(getattr(model, "classes_", [])))
    if not 2 <= len(labels) <= lib.SURETY_CLASSES_MOST:
        raise UsageError(f"there are {len(labels)} classes", expected="2 to 255")
    arrays = {"votes": np.searchsorted(labels, answers).astype(np.uint8)[:, :, np.newaxis],
              "labels": np.searchsorted(labels, np.asarray(y)).astype(np.uint8), "rows": rows}
    if rows.dtype.kind == "O":
        arrays["rows"] = rows.astype(str)
    s = ffi.new("surety_votes_promise *")
    s.votes = lib.surety_votes_defaults()
    s.votes.delta, s.votes.looks, s.votes.classes, s.per_class = delta, looks, len(labels), per_class
    said = {key: ffi.new("char[]", value.encode()) for key, value in
            (("threat", words), ("of", name or type(model).__name__)) if value}
    for key, value in said.items():
        setattr(s, key, value)
    files = {key: _npy(array) for key, array in arrays.items()}
    made = Guarantee(files, labels)
    with tempfile.TemporaryDirectory() as folder, Run() as run:
        kept = _write(folder, files)
        s.votes.votes, s.votes.labels, s.rows = kept["votes"], kept["labels"], kept["rows"]
        call(lib.surety_certify_votes, s, made._pointer, run)
    made._log(looks)
    if lib.surety_votes_certificate_repeats(made._pointer):
        warnings.warn(f"{made.repeats} of the {m} rows of S repeat an earlier one: if rows were copied, this promises too much")
    return made


def verify_votes(certificate, votes, labels, rows=None) -> Verification:
    """Derives the certificate of a Guarantee again from the files of its votes, labels and rows. Without rows how many of them
    repeat is believed: ``level`` is "numbers" then."""
    s = ffi.new("surety_votes_promise *")
    s.votes = lib.surety_votes_defaults()
    kept = {key: ffi.new("char[]", os.fsencode(path)) for key, path in
            (("votes", votes), ("labels", labels), ("rows", rows)) if path is not None}
    s.votes.votes, s.votes.labels = kept["votes"], kept["labels"]
    if rows is not None:
        s.rows = kept["rows"]
    out = ffi.new("surety_verification *")
    with Run() as run:
        call(lib.surety_verify_votes, os.fsencode(certificate), s, out, run)
    return Verification(document(lib.surety_verification_json(out)))


def _points(rows: np.ndarray, threat, words: Optional[str]):
    """(m, n, d) points that are asked about, and how they were made."""
    if threat is None or isinstance(threat, Clean):
        return rows[:, np.newaxis], None
    if isinstance(threat, Noise):
        return threat.draw(rows), threat.words()
    if isinstance(threat, (Threat, str)):
        raise UsageError("only what is sampled can be asked of any classifier", expected="Noise(..), or perturbed rows (m, n, d)")
    points = np.asarray(threat)
    if points.ndim < rows.ndim or points.shape[0] != len(rows) or points.shape[-1] != rows.shape[-1]:
        raise UsageError(f"perturbations of the shape {points.shape} for rows of {rows.shape}", expected="(m, n, d)")
    if points.ndim == rows.ndim:
        points = points[:, np.newaxis]
    return points, words or "perturbed rows that the user made, by a rule not stated"


def _classes(y: np.ndarray, *others: np.ndarray) -> np.ndarray:
    """All labels that occur, sorted."""
    known = [part for part in (y, *others) if part.size]
    if len({part.dtype.kind in "biuf" for part in known}) > 1:
        raise UsageError(f"labels of the type {y.dtype}, and answers of the type {others[0].dtype}", expected="one kind of label")
    return np.unique(np.concatenate(known))


def _predict(model, rows):
    if hasattr(model, "predict"):
        return model.predict(rows)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.classes_)[np.argmax(model.predict_proba(rows), axis=1)]
    if callable(model):
        return model(rows)
    raise UsageError(f"a {type(model).__name__} does not predict", expected="predict, predict_proba, or a function")


def _as_given(points: np.ndarray, X):
    """Perturbed rows as a DataFrame where the rows were one."""
    if not hasattr(X, "columns"):
        return points
    return type(X)(points, columns=X.columns)
