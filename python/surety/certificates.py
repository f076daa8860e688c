"""Certificates: promises with everything that they rest on, and their recheck."""
import os
import tempfile
import warnings
from typing import Any, List, Optional, Sequence, Tuple

from surety._call import Error, Progress, Run, UsageError, call, document, ffi, lib, text
from surety.threats import Threat, WorstCase


def _limits(limits, count: int) -> List[dict]:
    return [dict(label=text(c.label), m=c.m, failed=c.failed, value=c.value) for c in (limits[k] for k in range(count))]


class Promise:
    """What certificates of models and of votes share: ``sentence``, ``value`` (the limit), ``delta``, ``bound``, ``classes``,
    and in ``document`` all that the file says."""

    _family = ""  # functions of the library: _family + "_json" and so on

    def __init__(self, pointer):
        self._pointer = pointer

    def save(self, path) -> None:
        """Writes the file, the same as that of ``surety certify``."""
        call(getattr(lib, self._family + "_save"), self._pointer, os.fsencode(path))

    def _read(self, path) -> None:
        call(getattr(lib, self._family + "_load"), os.fsencode(path), self._pointer)

    @property
    def document(self) -> dict:
        return document(getattr(lib, self._family + "_json")(self._pointer))

    @property
    def sentence(self) -> str:
        return text(self._pointer.claim)

    @property
    def value(self) -> float:
        """The limit on the risk; 1 and more promises nothing. Per class: the largest of them."""
        return self._pointer.value

    @property
    def delta(self) -> float:
        return self._pointer.delta

    @property
    def bound(self) -> str:
        return text(self._pointer.bound)

    @property
    def classes(self) -> List[dict]:
        """Limits per class, where asked for: [{label, m, failed, value}]."""
        return _limits(self._pointer.limits, self._pointer.limit_count)

    def __repr__(self) -> str:
        return f"<surety.{type(self).__name__} {self.bound} {self.value:.4f}, delta {self.delta:g}>"

    def _log(self, looks: int) -> None:
        """A line in the log of looks at S, as ``surety certify`` writes it, and its warning (docs/certificates.md)."""
        look = ffi.new("surety_look *", getattr(lib, self._family + "_look")(self._pointer))
        try:
            call(lib.surety_looks_add, look)
        except Error as why:
            warnings.warn(f"this look at S is not in the log: {why}")
        found = ffi.new("surety_looks *")
        if lib.surety_looks_read(look.learn, found, ffi.NULL) != lib.SURETY_OK:
            return
        logged = lib.surety_looks_count(found, look.learn).certificates
        lib.surety_looks_free(found)
        if logged > looks:
            warnings.warn(f"{logged} certificates from this S were made on this machine ('surety looks' lists them), and looks "
                          f"is {looks}: if what was seen of S led to any of them, this one promises too much")


class Certificate(Promise):
    """A promise about one model."""

    _family = "surety_certificate"

    def __init__(self):
        super().__init__(ffi.gc(ffi.new("surety_certificate *"), lib.surety_certificate_free))

    @classmethod
    def load(cls, path) -> "Certificate":
        """Reads a file. Whether it is true is another question: ``surety.verify``."""
        made = cls()
        made._read(path)
        return made

    @property
    def radius(self) -> Optional[float]:
        """Of a promised risk: the largest radius at which it holds; None: there is none."""
        found = self._pointer.radius
        return found if found == found else None

    @property
    def groups(self) -> List[dict]:
        """Of a certificate per group: [{label, m, failed, value}]."""
        return _limits(self._pointer.groups, self._pointer.group_count)

    @property
    def curve(self) -> List[dict]:
        """Of a curve: [{radius, failed, value}]."""
        return [dict(radius=c.radius, failed=c.failed, value=c.value)
                for c in (self._pointer.curve[i] for i in range(self._pointer.curve_count))]


def certify(model, data, looks: int, threat: Optional[Threat] = None, *, delta: Optional[float] = None,
            bound: Optional[str] = None, per_class: bool = False, promise_risk: Optional[float] = None,
            curve: Optional[Sequence[float]] = None, promises: Optional[Sequence[Tuple[float, float]]] = None,
            groups: Optional[str] = None, despite_test: bool = False, tolerance=None, progress: Progress = None,
            threads: int = 1) -> Certificate:
    """A certificate of a model and its rows.

    looks: how many certificates you might have issued after seeing S, this one included; 1 if all was decided before.
    threat: what is certified; unless given, the model's defense. delta: 1 - confidence. bound: by name, or "best".
    At most one of: per_class, a limit for every class; promise_risk, the largest radius with at most this risk; curve, a
    limit at each of these radii; promises, a list of (radius, limit) that are tested in this order; groups, a limit for each
    value of the column by which the rows were grouped."""
    s = ffi.new("surety_certify_settings *", lib.surety_certify_defaults(model._pointer))
    s.looks, s.despite_test = looks, despite_test
    kept = []
    if delta is not None:
        s.delta = delta
    if bound is not None:
        kept.append(ffi.new("char[]", bound.encode()))
        s.bound = kept[-1]
    asked = [name for name, value in (("per_class", per_class or None), ("promise_risk", promise_risk), ("curve", curve),
                                      ("promises", promises), ("groups", groups)) if value is not None]
    if len(asked) > 1:
        raise UsageError(f"{' and '.join(asked)} do not go together", expected="one statement per certificate")
    if per_class:
        s.statement = lib.SURETY_SAY_CLASSES
    if groups is not None:
        s.statement = lib.SURETY_SAY_GROUPS
    if promise_risk is not None:
        s.statement, s.promise = lib.SURETY_SAY_RADIUS, promise_risk
    points = [(radius, 0.0) for radius in curve] if curve is not None else list(promises if promises is not None else ())
    if curve is not None or promises is not None:
        s.statement = lib.SURETY_SAY_CURVE if curve is not None else lib.SURETY_SAY_PROMISES
        if len(points) > lib.SURETY_POINTS:
            raise UsageError(f"{len(points)} radii", expected=f"at most {lib.SURETY_POINTS}")
        for i, (radius, limit) in enumerate(points):
            s.points[i].radius, s.points[i].limit = radius, limit
        s.point_count = len(points)
    if (points or promise_risk is not None) and threat is None and s.threat.ball.radius == 0:
        threat = WorstCase(eps=0.0)
    kept.append(model._threat(threat, data, tolerance, ffi.addressof(s, "threat")))
    made = Certificate()
    with Run(progress, threads) as run:
        call(lib.surety_certify, model._pointer, data.pointer, s, made._pointer, run)
    made._log(looks)
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
