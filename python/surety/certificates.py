"""Certificates: promises with everything that they rest on, and their recheck."""
import os
import tempfile
from typing import Any, Optional, Sequence, Tuple

from surety._call import Progress, Run, UsageError, call, document, ffi, lib, text
from surety.threats import Threat, WorstCase


class Certificate:
    """A promise about one model: ``sentence``, ``value`` (the limit), and in ``document`` all that its file says."""

    def __init__(self, pointer=None):
        self._pointer = pointer if pointer is not None else _new()

    @classmethod
    def load(cls, path) -> "Certificate":
        """Reads a file. Whether it is true is another question: ``surety.verify``."""
        made = cls()
        call(lib.surety_certificate_load, os.fsencode(path), made._pointer)
        return made

    def save(self, path) -> None:
        """Writes the file, the same as that of ``surety certify``."""
        call(lib.surety_certificate_save, self._pointer, os.fsencode(path))

    @property
    def document(self) -> dict:
        return document(lib.surety_certificate_json(self._pointer))

    @property
    def sentence(self) -> str:
        return text(self._pointer.claim)

    @property
    def value(self) -> float:
        """The limit on the risk; 1 and more promises nothing."""
        return self._pointer.value

    @property
    def delta(self) -> float:
        return self._pointer.delta

    @property
    def bound(self) -> str:
        return text(self._pointer.bound)

    @property
    def radius(self) -> Optional[float]:
        """Of a promised risk: the largest radius at which it holds; None: there is none."""
        found = self._pointer.radius
        return found if found == found else None

    @property
    def classes(self) -> list:
        """Of a certificate per class: [{label, m, failed, value}]."""
        return [dict(label=text(c.label), m=c.m, failed=c.failed, value=c.value)
                for c in (self._pointer.limits[i] for i in range(self._pointer.limit_count))]

    @property
    def curve(self) -> list:
        """Of a curve: [{radius, failed, value}]."""
        return [dict(radius=c.radius, failed=c.failed, value=c.value)
                for c in (self._pointer.curve[i] for i in range(self._pointer.curve_count))]

    def __repr__(self) -> str:
        return f"<surety.Certificate {self.bound} {self.value:.4f}, delta {self.delta:g}>"


def _new():
    return ffi.gc(ffi.new("surety_certificate *"), lib.surety_certificate_free)


def certify(model, data, looks: int, threat: Optional[Threat] = None, *, delta: Optional[float] = None,
            bound: Optional[str] = None, per_class: bool = False, promise_risk: Optional[float] = None,
            curve: Optional[Sequence[float]] = None, promises: Optional[Sequence[Tuple[float, float]]] = None,
            despite_test: bool = False, tolerance=None, progress: Progress = None,
            threads: int = 1) -> Certificate:
    """A certificate of a model and its rows.

    looks: how many certificates looking at S could have led to, this one included; 1 if all was decided before.
    threat: what is certified; unless given, the model's defense. delta: 1 - confidence. bound: by name, or "best".
    At most one of: per_class, a limit for every class; promise_risk, the largest radius with at most this risk; curve, a
    limit at each of these radii; promises, a list of (radius, limit) that are tested in this order."""
    s = ffi.new("surety_certify_settings *", lib.surety_certify_defaults(model._pointer))
    s.looks, s.despite_test = looks, despite_test
    kept = []
    if delta is not None:
        s.delta = delta
    if bound is not None:
        kept.append(ffi.new("char[]", bound.encode()))
        s.bound = kept[-1]
    asked = [name for name, value in (("per_class", per_class), ("promise_risk", promise_risk), ("curve", curve),
                                      ("promises", promises)) if value]
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)} do not go together", expected="one statement per certificate")
    if per_class:
        s.statement = lib.SURETY_SAY_CLASSES
    if promise_risk:
        s.statement, s.promise = lib.SURETY_SAY_RADIUS, promise_risk
    points = [(radius, 0.0) for radius in curve] if curve else list(promises or ())
    if points:
        s.statement = lib.SURETY_SAY_CURVE if curve else lib.SURETY_SAY_PROMISES
        if len(points) > lib.SURETY_POINTS:
            raise UsageError(f"{len(points)} radii", expected=f"at most {lib.SURETY_POINTS}")
        for i, (radius, limit) in enumerate(points):
            s.points[i].radius, s.points[i].limit = radius, limit
        s.point_count = len(points)
    if (points or promise_risk) and threat is None and s.threat.ball.radius == 0:
        threat = WorstCase(eps=0.0)
    kept.append(model._threat(threat, data, tolerance, ffi.addressof(s, "threat")))
    made = Certificate()
    with Run(progress, threads) as run:
        call(lib.surety_certify, model._pointer, data.pointer, s, made._pointer, run)
    return made


class Verification:
    """Whether a certificate follows from the data: true in an ``if`` where it does."""

    def __init__(self, found: dict):
        self.document = found
        self.agrees: bool = found["agrees"]
        self.level: str = found["level"]
        self.reason: str = found["reason"]
        self.differences: list = found["differences"]

    def __bool__(self) -> bool:
        return self.agrees

    def __repr__(self) -> str:
        return f"<surety.Verification agrees ({self.level})>" if self.agrees else f"<surety.Verification: {self.reason}>"


def verify(certificate, model, X=None, y=None, *, X_test=None, y_test=None, fresh: bool = False, numbers: bool = False,
           retrain: bool = False, progress: Progress = None, threads: int = 1) -> Verification:
    """Derives a certificate (its path, or itself) again from the model and the rows that it was made of.

    fresh: the rows were declared fresh. numbers: without rows; its counts are believed, all that follows from them is
    computed again. retrain: also trains the model again from its recorded settings and compares the bytes."""
    model = getattr(model, "model_", model)
    s = ffi.new("surety_verify_settings *", lib.surety_verify_defaults())
    s.numbers, s.retrain = numbers, retrain
    out: Any = ffi.new("surety_verification *")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "certificate.json")
        if isinstance(certificate, Certificate):
            certificate.save(path)
        else:
            path = os.fspath(certificate)
        file = ffi.new("char[]", os.fsencode(os.path.join(folder, "model")))
        s.model = file
        model.save(text(file))
        if not numbers:
            if X is None or y is None:
                raise UsageError("the rows of the certificate are needed", expected="X and y, or numbers=True")
            data = model.open(X, y, X_test, y_test, fresh)
            s.opened = data.pointer
        with Run(progress, threads) as run:
            call(lib.surety_verify, os.fsencode(path), s, out, run)
    return Verification(document(lib.surety_verification_json(out)))
