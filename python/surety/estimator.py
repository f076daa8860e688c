"""A scikit-learn classifier: a vote that is trained to resist perturbations, and can promise how often it fails."""
import sys
import warnings
from collections import deque
from typing import Any, Optional

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection._search import BaseSearchCV
from sklearn.utils import check_consistent_length, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from surety import _data
from surety._call import CheckFailed, Run, UsageError, call, document, ffi, lib, parse
from surety.certificates import Certificate, certify
from surety.model import Model, Tolerance, tolerance_of
from surety.threats import Threat, WorstCase

# Digests of the rows of late trainings in this process, with their settings: see _warn_of_looks.
_trainings: deque = deque(maxlen=100)


class VoteClassifier(ClassifierMixin, BaseEstimator):
    """A weighted majority vote with a guarantee.

    The parameters are the options of ``surety train`` for own data (docs/data.md, docs/worst-case.md), with its defaults:
    None is what suits the kind and the defense. Without a radius the vote is trained undefended. threads: 0 is every core;
    results never depend on it.

    Of the rows of ``fit`` a share ``learn_size``, drawn by ``random_state``, becomes S: it trains nothing unless an objective
    asks for it, and gives the promise of ``certify``.

    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = VoteClassifier(norm="linf", eps=0.1, epochs=20).fit(X, y)
    >>> c = clf.certify(looks=1)
    >>> c.value < 0.25
    True
    >>> clf.certified_radius(X[:3]).shape
    (3,)
    """

    def __init__(self, kind: Optional[str] = None, norm: str = "linf", eps: Optional[float] = None,
                 defense: Optional[str] = None, *, tolerance: Optional[Tolerance] = None, voters: Optional[str] = None,
                 trees: Optional[int] = None, depth: Optional[int] = None, mask: Optional[float] = None, layers=None,
                 objective: Optional[str] = None, loss: Optional[str] = None, epochs: Optional[int] = None, batch: Optional[int] = None,
                 lr: Optional[float] = None, decay: Optional[bool] = None, balance: bool = False, mix: float = 0.0,
                 holdout: Optional[float] = None, keep: Optional[str] = None, steps: Optional[int] = None,
                 restarts: Optional[int] = None, budget: Optional[int] = None, delta: float = 0.05, learn_size=0.4,
                 scale: Optional[str] = None, box=None, missing: str = "error", categorical=None, drop=None,
                 unit=None, copies: str = "refuse", random_state: Any = 0, threads: int = 1, progress=None):
        self.kind = kind
        self.norm = norm
        self.eps = eps
        self.defense = defense
        self.tolerance = tolerance
        self.voters = voters
        self.trees = trees
        self.depth = depth
        self.mask = mask
        self.layers = layers
        self.objective = objective
        self.loss = loss
        self.epochs = epochs
        self.batch = batch
        self.lr = lr
        self.decay = decay
        self.balance = balance
        self.mix = mix
        self.holdout = holdout
        self.keep = keep
        self.steps = steps
        self.restarts = restarts
        self.budget = budget
        self.delta = delta
        self.learn_size = learn_size
        self.scale = scale
        self.box = box
        self.missing = missing
        self.categorical = categorical
        self.drop = drop
        self.unit = unit
        self.copies = copies
        self.random_state = random_state
        self.threads = threads
        self.progress = progress

    # ---- training ----

    def fit(self, X, y, X_test=None, y_test=None) -> "VoteClassifier":
        """Trains on X and y. X_test, y_test: rows for T, on which ``certify`` tries to refute what it promises."""
        checked, y = _validate(self, X, self.missing == "error", y=y)
        X = checked if self.unit is None else X  # float32 may round what tells units apart
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError(f"y has only one class, {self.classes_[0]!r}; a classifier needs at least two")
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2 ** 31)
        s, kept = _data.settings(self.learn_size, 0, self.scale, self.box, self.missing, self.categorical, self.drop,
                                 self.unit, self.copies, int(seed))
        data = _data.open_arrays(s, X, y, X_test, y_test, getattr(self, "feature_names_in_", None),
                                 [] if self.unit is None else [self.unit])
        self._order(data.labels)
        settings, kept = self._settings(data, int(seed))
        out, result = ffi.new("surety_model **"), ffi.new("surety_train_result *")
        with Run(self.progress, self.threads) as run:
            call(lib.surety_train, settings, data.pointer, ffi.NULL, out, result, run)
        self.model_ = Model(out[0])
        self._data = data
        self._searched = _settings_tried()
        self._remember(result, data)
        return self

    def _order(self, labels) -> None:
        """Class numbers of the library by place in classes_: it orders texts of whole numbers by value."""
        numbers = {label: k for k, label in enumerate(labels)}
        spelled = _data.Labels(self.classes_)
        texts = spelled.texts if spelled.texts is not None else [str(value) for value in spelled.values]
        self.order_ = np.array([numbers[label.strip()] for label in texts])

    def _settings(self, data, seed: int):
        """surety_train_settings, and what must live as long."""
        t = ffi.new("surety_train_settings *", lib.surety_train_defaults())
        kept: list = []
        if self.kind is not None:
            kept.append(ffi.new("char[]", self.kind.encode()))
            t.voters.kind = kept[-1]
        given = tolerance_of(lib.surety_data_features(data.info), self.tolerance)
        radius = self.eps if self.eps is not None else 1.0 if given else None
        usual = "certified" if radius is not None else "none"
        t.defense.kind = parse(lib.surety_defense_parse, "surety_threat_kind", self.defense or usual)
        if radius is None and t.defense.kind != lib.SURETY_ATTACK_NONE:
            raise UsageError(f"the defense {self.defense} needs a radius", expected="eps, or a tolerance for every feature: "
                             "what is harmless in your data, nobody else can know")
        t.defense.ball.norm = parse(lib.surety_norm_parse, "surety_norm", self.norm)
        t.defense.ball.radius = radius or 0.0
        t.seed = t.defense.seed = seed
        lib.surety_train_own(t)
        self._override(t)
        lib.surety_train_follow(t, data.info.classes, self.voters is not None)
        brought = ffi.new("surety_tolerance **")
        call(lib.surety_ball_settle, ffi.addressof(t.defense, "ball"), given, data.info, brought)
        kept += [given, ffi.gc(brought[0], lib.surety_tolerance_free)]
        return t, kept

    def _override(self, t) -> None:
        """What was asked for, in place of what suits."""
        for place, name, value in ((t.voters, "count", self.trees), (t.voters, "depth", self.depth), (t.voters, "mask", self.mask),
                                   (t, "step1_epochs", self.epochs), (t, "step2_epochs", self.epochs), (t, "batch", self.batch),
                                   (t, "lr", self.lr), (t, "decay", self.decay), (t, "balance", self.balance),
                                   (t, "mix", self.mix), (t, "delta", self.delta), (t.defense, "steps", self.steps),
                                   (t.defense, "restarts", self.restarts), (t.defense, "budget", self.budget)):
            if value is not None:
                setattr(place, name, value)
        if self.layers is not None:  # units of each, 0 behind the last
            t.voters.layers = list(self.layers) + [0] * (len(t.voters.layers) - len(self.layers))
        if self.voters is not None:
            t.voter_set = parse(lib.surety_voter_set_parse, "surety_voter_set", self.voters)
        if self.objective is not None:
            t.objective = parse(lib.surety_objective_parse, "surety_objective", self.objective)
        if self.loss is not None:
            t.loss = parse(lib.surety_loss_parse, "surety_loss", self.loss)
        if self.keep is not None or self.holdout is not None:
            if self.keep not in (None, "best", "last"):
                raise UsageError(f"keep is '{self.keep}'", expected="best or last")
            t.keep_last, t.holdout = self.keep == "last", self.holdout or 0.0

    def _remember(self, result, data) -> None:
        labels = [ffi.new("char[]", str(label).encode()) for label in data.labels]
        self.training_ = document(lib.surety_train_result_json(result, ffi.new("const char *[]", labels)))
        if result.constant:
            warnings.warn("the vote answers the same class to every row: it has learned nothing; a smaller radius, more "
                          "epochs or balance=True may help")
        lib.surety_train_result_free(result)
        rows = np.concatenate([np.frombuffer(ffi.buffer(data.info.row_digests[which], 8 * data.info.m[which]), np.uint64)
                               for which in (lib.SURETY_SET_PRIOR, lib.SURETY_SET_LEARN)])
        _trainings.append((repr(sorted(self.get_params().items(), key=lambda item: item[0])), rows))

    # ---- answers ----

    def _features(self, X) -> np.ndarray:
        check_is_fitted(self)
        X = _validate(self, X, self.missing == "error", reset=False)
        return self.model_.features(X, None if _data.has_texts(X) else getattr(self, "feature_names_in_", None))

    def predict(self, X) -> np.ndarray:
        """The class that the vote answers; where it is tied, the first of those with the largest share."""
        z = self._features(X)
        answers = self.model_._answers(z, threads=self.threads)
        places = np.empty_like(self.order_)
        places[self.order_] = np.arange(len(self.order_))
        tied = answers < 0
        found = places[np.where(tied, 0, answers)]
        if tied.any():
            found[tied] = np.argmax(self.model_._shares(z[tied], threads=self.threads)[:, self.order_], axis=1)
        return self.classes_[found]

    def predict_proba(self, X) -> np.ndarray:
        """(m, K): the share of the vote that each class has. Not calibrated."""
        z = self._features(X)
        return self.model_._shares(z, threads=self.threads)[:, self.order_]

    def decision_function(self, X) -> np.ndarray:
        """(m): the vote in [-1, 1], above 0 for the second class; of K > 2 classes their shares."""
        z = self._features(X)
        votes = self.model_._votes(z, threads=self.threads)
        if votes.ndim > 1:
            return votes[:, self.order_]
        return votes if self.order_[0] == 0 else -votes

    def certified_radius(self, X, threat: Optional[WorstCase] = None) -> np.ndarray:
        """(m): the largest radius around each row within which the answer is proved to stay the same; -1: not even at the
        row itself. In the unit of the features: standard deviations unless scale says otherwise, or tolerances."""
        z = self._features(X)
        return self.model_._radii(z, threat)

    def prove(self, X, threat: Optional[WorstCase] = None) -> np.ndarray:
        """(m) bool: no point of the ball around the row has another answer."""
        z = self._features(X)
        return self.model_._proofs(z, threat)

    # ---- promises ----

    def certify(self, looks: int, threat: Optional[Threat] = None, *, X=None, y=None, fresh: bool = False, X_test=None,
                y_test=None, **asked) -> Certificate:
        """A certificate from S, or (X, y with fresh=True) from rows that had no part in the training.

        looks: how many certificates you might have issued after seeing S, this one included. Whoever chose this model with the
        help of its own training rows (GridSearchCV, cross_val_score on all of them) has looked at S: every setting that
        could have been chosen counts, or rows that nobody has seen give the promise (docs/python.md).
        What else may be asked for: ``surety.certificates.certify``. After pickling, X and y of ``fit`` are needed again."""
        check_is_fitted(self)
        asked = {"progress": self.progress, "threads": self.threads, **asked}
        names = {"copies": asked.pop("copies", None), "box": asked.pop("box", None), "groups": asked.get("groups")}
        if X is None and names["groups"] is not None:
            raise UsageError("groups are a column of the rows", expected="X and y, as given to fit")
        if X is not None:
            data = self.model_.open(X, y, X_test, y_test, fresh, **names)
        else:
            data = getattr(self, "_data", None)
        if data is None:
            raise UsageError("the rows that trained this model are not with it any more", expected="X and y, as given to fit")
        if not fresh:
            self._warn_of_looks(looks, data)
        return certify(self.model_, data, looks, threat, **asked)

    def _warn_of_looks(self, looks: int, data) -> None:
        S = np.frombuffer(ffi.buffer(data.info.row_digests[lib.SURETY_SET_LEARN], 8 * data.info.m[lib.SURETY_SET_LEARN]),
                          np.uint64)
        own = repr(sorted(self.get_params().items(), key=lambda item: item[0]))
        others = {settings for settings, rows in list(_trainings) if settings != own and np.isin(S, rows).any()}
        count = max(len(others), self._searched - 1)
        if count >= looks:
            warnings.warn(f"rows of S were given to trainings with {count} other settings, by a search or in this process, and "
                          f"looks is {looks}: if what was seen of them led to this model, the certificate promises too much "
                          "(docs/certificates.md, 'Looks')")

    def evaluate(self, X, y, threats, **run):
        """How the vote fares on rows under threats: ``surety.Model.evaluate``."""
        return self.model_.evaluate(X, y, threats, **run)

    def curve(self, X, y, radii, attacks=("worst-case",), **run):
        """Risk against radius: ``surety.Model.curve``."""
        return self.model_.curve(X, y, radii, attacks, **run)

    def attack(self, X, y, threat: Threat, **run) -> np.ndarray:
        """Perturbed rows: ``surety.Model.attack``."""
        return self.model_.attack(X, y, threat, **run)

    def __getstate__(self):
        state = dict(super().__getstate__())
        state.pop("_data", None)  # rows are not part of a model
        return state

    def _more_tags(self):
        return {"allow_nan": self.missing != "error"}

    def __sklearn_tags__(self):  # scikit-learn 1.6 and later; not tested here
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        return tags


def _settings_tried() -> int:
    """How many settings were tried by the search of scikit-learn (GridSearchCV and the like) that calls fit for the last
    time, with the best of them; 0: none calls it. It may have tried them on other processes, or on rows that a pipeline had
    prepared for each fold, where nothing else tells."""
    frame = sys._getframe(1)
    while frame is not None:
        if isinstance(frame.f_locals.get("self"), BaseSearchCV):
            return max(2, len(frame.f_locals.get("all_candidate_params") or ()))
        frame = frame.f_back
    return 0


def _validate_frame(estimator, X, y=None, reset: bool = True):
    """The same for a DataFrame with texts, whose columns the library judges: it stays one."""
    names = _data.column_names(X)
    if names is None:
        raise UsageError("a DataFrame with texts, and with columns that have no names", expected="names that are texts")
    if reset:
        estimator.n_features_in_, estimator.feature_names_in_ = len(names), np.array(names, object)
    if y is None:
        return X
    check_consistent_length(X, y)
    return X, column_or_1d(y, warn=True)


def _validate(estimator, X, finite: bool, **words):
    """scikit-learn's checks, as float32."""
    if _data.has_texts(X):
        return _validate_frame(estimator, X, **words)
    rule = True if finite else "allow-nan"
    if hasattr(estimator, "_validate_data"):
        return estimator._validate_data(X, dtype=np.float32, force_all_finite=rule, **words)
    from sklearn.utils.validation import validate_data
    return validate_data(estimator, X, dtype=np.float32, ensure_all_finite=rule, **words)
