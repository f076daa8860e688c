"""Models: votes over voters, with what they remember of their training."""
import json
import os
import tempfile
from typing import Any, Dict, Iterable, List, Optional, Sequence, Union

import numpy as np

from surety import _data
from surety._call import Progress, Run, UsageError, call, document, ffi, lib, names, parse, text
from surety._data import Data, doubles, floats
from surety.certificates import Certificate, certify
from surety.threats import Attack, Clean, Threat, WorstCase, ball_of, threat_struct

Tolerance = Union[Dict[str, Any], Any]  # {name: radius or (radius, lo, hi)}, or a DataFrame as surety data tolerances has it


def kinds() -> List[str]:
    """The kinds of voters that the library knows.

    >>> "soft-forest" in kinds()
    True
    """
    return names(lib.surety_kind_name)


def tolerance_of(features, asked: Optional[Tolerance]):
    """surety_tolerance of the features, by name; NULL where none is asked for."""
    if asked is None:
        return ffi.NULL
    if hasattr(asked, "columns"):
        asked = {str(row["feature"]): tuple(float(row[key]) for key in ("radius", "lo", "hi") if key in row)
                 for _, row in asked.iterrows()}
    known = [text(features.names[j]) if features.names else str(j + 1) for j in range(features.d)]
    unknown = sorted(set(map(str, asked)) - set(known))
    if unknown:
        raise UsageError(f"a tolerance for '{unknown[0]}', which is no feature", expected="names of features: " +
                         ", ".join(known[:20]) + (", .." if len(known) > 20 else ""))
    limits = np.tile([0.0, -np.inf, np.inf], (features.d, 1))
    for name, value in asked.items():
        given = np.atleast_1d(np.asarray(value, float))
        limits[known.index(str(name)), :len(given)] = given
    limits[np.isnan(limits[:, 1]), 1], limits[np.isnan(limits[:, 2]), 2] = -np.inf, np.inf
    radius, lo, hi = (np.ascontiguousarray(column) for column in limits.T)
    out = ffi.new("surety_tolerance **")
    call(lib.surety_tolerance_new, ffi.new("surety_features *", features), doubles(radius), doubles(lo), doubles(hi), out)
    return ffi.gc(out[0], lib.surety_tolerance_free)


class Model:
    """A weighted vote: made by VoteClassifier.fit, Model.load, surety.from_xgboost and the like.

    Pickled by its bytes, which are those of the file that the command reads and writes."""

    def __init__(self, pointer):
        self._pointer = ffi.gc(pointer, lib.surety_model_free)

    # ---- bytes and files ----

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "bytes") -> "Model":
        """The model in the bytes of its file."""
        out = ffi.new("surety_model **")
        call(lib.surety_model_decode, ffi.from_buffer("const uint8_t[]", data), len(data), name.encode(), out)
        return cls(out[0])

    @classmethod
    def load(cls, path) -> "Model":
        """The model in a file."""
        out = ffi.new("surety_model **")
        call(lib.surety_model_load, os.fsencode(path), out)
        return cls(out[0])

    def to_bytes(self) -> bytes:
        """The bytes of its file: equal models have equal bytes."""
        out, size = ffi.new("uint8_t **"), ffi.new("size_t *")
        call(lib.surety_model_encode, self._pointer, out, size)
        try:
            return ffi.buffer(out[0], size[0])[:]
        finally:
            lib.surety_bytes_free(out[0])

    def save(self, path) -> None:
        """Writes the file: it appears complete or not at all."""
        call(lib.surety_model_save, self._pointer, os.fsencode(path))

    def __reduce__(self):
        return Model.from_bytes, (self.to_bytes(),)

    def export(self, path, format: str = "c", prefix: str = "model", certificate: Optional[Certificate] = None) -> dict:
        """Writes the model for others, such as one C file without any library; returns its sizes."""
        s = ffi.new("surety_export_settings *", lib.surety_export_defaults())
        kept = [ffi.new("char[]", word.encode()) for word in (format, prefix)]
        s.format, s.prefix = kept
        if certificate is not None:
            c = certificate._pointer
            s.digest, s.claim, s.certified = c.digest, c.claim, c.model.sha256
        result = ffi.new("surety_export_result *")
        call(lib.surety_model_export, self._pointer, os.fsencode(path), s, result)
        return document(lib.surety_export_result_json(result))

    # ---- what it says of itself ----

    @property
    def info(self) -> dict:
        """What the file says of itself: kind, sizes, settings, history."""
        return document(lib.surety_model_json(self._pointer))

    @property
    def sha256(self) -> str:
        out = ffi.new("char[65]")
        call(lib.surety_model_sha256, self._pointer, out)
        return text(out)

    @property
    def _voters(self):
        return lib.surety_model_voters(self._pointer)

    @property
    def kind(self) -> str:
        return text(lib.surety_voters_kind(self._voters))

    @property
    def class_count(self) -> int:
        return lib.surety_voters_classes(self._voters)

    @property
    def classes(self) -> List[str]:
        """What people call its classes, by class number."""
        number = ffi.new("char[4]")
        return [text(lib.surety_model_class(self._pointer, k, number)) for k in range(self.class_count)]

    @property
    def imported(self) -> Optional[str]:
        """What it was imported from, such as "xgboost 1.7.4"; None: trained here."""
        return text(lib.surety_model_imported(self._pointer)) or None

    def __repr__(self) -> str:
        return f"<surety.Model {self.kind}, {self.class_count} classes, SHA-256 {self.sha256[:16]}>"

    # ---- answers ----

    def features(self, X, columns: Optional[Sequence[str]] = None) -> np.ndarray:
        """The features (m, d) that the voters see: the columns of X (of these names) prepared as those of the training."""
        prepared = lib.surety_model_preparation(self._pointer)
        if not prepared:
            return _columns_fit(_data.matrix(X), lib.surety_voters_features(self._voters))
        given = _data.Columns(X)
        wanted = [text(lib.surety_preparation_column(prepared, j)) for j in range(lib.surety_preparation_columns(prepared))]
        names = columns if columns is not None else _data.column_names(X)
        given = given.pick(_find(wanted, names, given.numbers.shape[1]))
        x, (texts, alive) = given.numbers, given.by_row()
        z = np.empty((len(x), lib.surety_preparation_features(prepared)), np.float32)
        rows = ffi.new("surety_raw_rows *", {"m": len(x), "values": floats(x), "texts": texts})
        call(lib.surety_preparation_apply, prepared, rows, floats(z), z.shape[1], ffi.NULL)
        return z

    def votes(self, X, progress: Progress = None, threads: int = 1) -> np.ndarray:
        """(m): the vote of each row in [-1, 1], above 0 for the second class; of K > 2 classes (m, K): their scores."""
        return self._votes(self.features(X), progress, threads)

    def _votes(self, z: np.ndarray, progress: Progress = None, threads: int = 1) -> np.ndarray:
        votes = np.empty((len(z), self.class_count) if self.class_count > 2 else len(z))
        with Run(progress, threads) as run:
            call(lib.surety_vote_predict, self._vote(), floats(z), z.shape[1], len(z), doubles(votes), run)
        return votes

    def shares(self, X, progress: Progress = None, threads: int = 1) -> np.ndarray:
        """(m, K): the share of the vote that each class has; rows sum to 1."""
        return self._shares(self.features(X), progress, threads)

    def _shares(self, z: np.ndarray, progress: Progress = None, threads: int = 1) -> np.ndarray:
        votes = self._votes(z, progress, threads)
        if votes.ndim == 1:  # a vote that is not 0 never looks like a tie
            second = (1 + votes) / 2
            second = np.where(votes > 0, np.maximum(second, np.nextafter(0.5, 1)), second)
            second = np.where(votes < 0, np.minimum(second, np.nextafter(0.5, 0)), second)
            return np.column_stack([1 - second, second])
        return votes / votes.sum(axis=1, keepdims=True)

    def answers(self, X, progress: Progress = None, threads: int = 1) -> np.ndarray:
        """(m): class numbers that the vote answers; -1 where it is tied, which every promise counts as a failure."""
        return self._answers(self.features(X), progress, threads)

    def _answers(self, z: np.ndarray, progress: Progress = None, threads: int = 1) -> np.ndarray:
        found = np.empty(len(z), np.uint8)
        with Run(progress, threads) as run:
            call(lib.surety_vote_classes, self._vote(), floats(z), z.shape[1], len(z),
                 ffi.cast("uint8_t *", ffi.from_buffer(found)), run)
        return np.where(found == lib.SURETY_TIED, -1, found.astype(np.int64))

    def scores(self, X) -> np.ndarray:
        """Raw scores of imported trees, bit for bit those of their maker: (m), or (m, C)."""
        with tempfile.TemporaryDirectory() as folder:
            points, out = os.path.join(folder, "x.npy"), os.path.join(folder, "scores.npy")
            np.save(points, _data.matrix(X))
            kept = [ffi.new("char[]", os.fsencode(path)) for path in (points, out)]
            files = ffi.new("surety_predict_files *", dict(input=kept[0], scores=kept[1]))
            result = ffi.new("surety_predict_result *")
            with Run() as run:
                call(lib.surety_model_predict, self._pointer, lib.SURETY_WEIGHTS_POSTERIOR, files, result, run)
            return np.load(out)

    def outputs(self, X, threads: int = 1) -> np.ndarray:
        """(m, H): the output of each voter in [-1, 1]; of K > 2 classes (m, H, K) scores. For surety.bound."""
        z = self.features(X)
        H, K = lib.surety_voters_count(self._voters), self.class_count
        found = np.empty((len(z), H, K) if K > 2 else (len(z), H), np.float32)
        with Run(None, threads) as run:
            call(lib.surety_voters_outputs, self._voters, floats(z), z.shape[1], len(z), floats(found), run)
        return found

    # ---- proofs ----

    def prove(self, X, threat: Optional[WorstCase] = None) -> np.ndarray:
        """(m) bool: no point of the ball around the row has another answer. False: that was not proved."""
        return self._proofs(self.features(X), threat)

    def _proofs(self, z: np.ndarray, threat: Optional[WorstCase]) -> np.ndarray:
        return np.array([bool(lib.surety_vote_prove(prover, row, ffi.NULL)) for prover, row in self._each(z, threat)], bool)

    def certified_radius(self, X, threat: Optional[WorstCase] = None) -> np.ndarray:
        """(m): the largest radius around each row within which the answer is proved to stay the same; -1: not even at
        the row itself. Norm and unit are those of the threat, or of the model."""
        return self._radii(self.features(X), threat)

    def _radii(self, z: np.ndarray, threat: Optional[WorstCase]) -> np.ndarray:
        return np.array([lib.surety_vote_radius(prover, row, ffi.NULL) for prover, row in self._each(z, threat, 1.0)], float)

    def _each(self, z: np.ndarray, threat: Optional[WorstCase], usual: Optional[float] = None):
        """A prover and one row after the other."""
        threat = WorstCase() if threat is None else threat
        if not isinstance(threat, WorstCase):
            raise UsageError("only a worst case can be proved", expected="surety.WorstCase(norm, eps)")
        c, own = threat_struct(threat), lib.surety_model_about(self._pointer).ball
        c.ball = own
        eps = usual if threat.eps is None and not own.radius > 0 and usual else own.radius
        ball_of(threat, c.ball, own.norm, eps)
        out, vote = ffi.new("surety_prover **"), self._vote()
        call(lib.surety_prover_new, vote, ffi.addressof(c, "ball"), c.budget, out)
        prover = ffi.gc(out[0], lib.surety_prover_free)
        for row in z:
            yield prover, floats(row)

    # ---- rows with labels ----

    @property
    def unit(self) -> Optional[str]:
        """The column whose values say which rows belong together; None: every row is its own."""
        prepared = text(lib.surety_model_text(self._pointer, b"data.preparation"))
        return json.loads(prepared)["unit"] if prepared else None

    def open(self, X, y, X_test=None, y_test=None, fresh: bool = False, copies: Optional[str] = None, box=None,
             groups: Optional[str] = None) -> Data:
        """The rows that trained the model, split as they were; or (fresh) rows that did not, all of them in S. groups: a
        column by whose values they are grouped."""
        s = ffi.new("surety_data_settings *", lib.surety_data_defaults())
        call(lib.surety_model_data_settings, self._pointer, s)
        s.label_column = ffi.NULL
        if fresh:
            s.fresh, s.test_size, s.test_share, s.task = 1, 0, 0.0, ffi.NULL
        if copies is not None:
            s.copies = parse(lib.surety_copies_parse, "surety_copies_rule", copies)
        if box is not None:
            s.boxed, (s.box_lo, s.box_hi) = lib.SURETY_BOX_GIVEN, box
        named = [name for name in (self.unit, groups) if name is not None]
        if groups is not None:
            group = ffi.new("char[]", str(groups).encode())
            s.group = group
        data = _data.open_arrays(s, X, y, X_test, y_test, exact=named)
        if fresh and data.info.m[lib.SURETY_SET_LEARN] + data.info.copies.dropped != len(X):
            raise UsageError("some of the labels are none of the model's classes", expected=", ".join(self.classes))
        return data

    def _threat(self, threat: Optional[Threat], data: Data, tolerance: Optional[Tolerance] = None, c=None):
        """surety_threat against this model, its ball settled for the data; and what must live as long."""
        own = lib.surety_model_about(self._pointer).ball
        given = tolerance_of(lib.surety_data_features(data.info), tolerance)
        if threat is not None:
            filled = threat_struct(threat)
            c = c or filled
            c[0] = filled[0]
        c.ball = own
        eps = 1.0 if given and (threat is None or threat.eps is None) else own.radius
        ball_of(threat or (Clean() if c.kind == lib.SURETY_ATTACK_NONE else WorstCase()), c.ball, own.norm, eps)
        brought = ffi.new("surety_tolerance **")
        if given or not own.tolerance:
            call(lib.surety_ball_settle, ffi.addressof(c, "ball"), given, data.info, brought)
        return c, (given, ffi.gc(brought[0], lib.surety_tolerance_free))

    def _vote(self):
        return ffi.new("surety_vote *", lib.surety_model_vote(self._pointer, lib.SURETY_WEIGHTS_POSTERIOR))

    def certify(self, X, y, looks: int, threat: Optional[Threat] = None, *, fresh: bool = True, X_test=None, y_test=None,
                tolerance: Optional[Tolerance] = None, copies: Optional[str] = None, box=None, groups: Optional[str] = None,
                **asked) -> Certificate:
        """A certificate from these rows, which (fresh) had no part in the training, or are the model's own.

        What else may be asked for: ``surety.certificates.certify``."""
        data = self.open(X, y, X_test, y_test, fresh, copies, box, groups)
        return certify(self, data, looks, threat, tolerance=tolerance, groups=groups, **asked)

    def evaluate(self, X, y, threats: Sequence[Threat] = (Clean(),), progress: Progress = None,
                 threads: int = 1):
        """How the vote fares on rows: a line per threat (a DataFrame if pandas is there, else a list of dicts).

        ``error`` is the share that fails: wrong or tied under the strongest attack; of a worst case, not proved right.
        A measurement on these rows: no promise about others, which ``certify`` gives."""
        data = self.open(X, y, fresh=True, copies="keep")
        rows = [self._evaluate(data, threat, progress, threads) for threat in threats]
        try:
            import pandas
        except ImportError:
            return rows
        return pandas.DataFrame(rows)

    def _evaluate(self, data: Data, threat: Threat, progress: Progress, threads: Optional[int]) -> dict:
        c, kept = self._threat(threat, data)
        rows = data.set(lib.SURETY_SET_LEARN)
        row = dict(attack=text(lib.surety_threat_name(c.kind)), norm=text(lib.surety_norm_name(c.ball.norm)),
                   eps=c.ball.radius, rows=rows.m)
        with Run(progress, threads) as run:
            if c.kind == lib.SURETY_WORST_CASE:
                risks = ffi.new("surety_risks *")
                call(lib.surety_evaluate_worst, self._pointer, rows, ffi.addressof(c, "ball"), risks, run)
                row.update(error=risks.averaged_max, found_by="proof")
                lib.surety_risks_free(risks)
            else:
                found = ffi.new("surety_attack_result *")
                call(lib.surety_evaluate_attacked, self._pointer, rows, c, found, run)
                row.update(error=found.fooled / (found.m * found.n), found_by=text(lib.surety_threat_name(found.found_by)))
        return row

    def curve(self, X, y, radii: Iterable[float], attacks: Sequence[str] = ("worst-case",), norm: Optional[str] = None,
              progress: Progress = None, threads: int = 1) -> Dict[str, np.ndarray]:
        """Risk against radius: {"eps": (r), attack: (r), ..}, of rows of these arrays. The true risk lies between that of
        the strongest attack and of "worst-case", the share that is not proved right."""
        data = self.open(X, y, fresh=True, copies="keep")
        found: Dict[str, list] = {"eps": [], **{name: [] for name in attacks}}
        for eps in radii:
            found["eps"].append(float(eps))
            for name in attacks:
                kind = parse(lib.surety_threat_parse, "surety_threat_kind", name)
                threat: Threat = WorstCase(norm, eps) if kind == lib.SURETY_WORST_CASE else Attack(norm, eps, name=name)
                found[name].append(self._evaluate(data, threat, progress, threads)["error"])
        return {name: np.array(values) for name, values in found.items()}

    def attack(self, X, y, threat: Threat, progress: Progress = None, threads: int = 1) -> np.ndarray:
        """Perturbed rows as features in the user's units, float32 (m, d), or (m, n, d) for pgdu and ifgsmu."""
        data = self.open(X, y, fresh=True, copies="keep")
        c, kept = self._threat(threat, data)
        result = ffi.new("surety_attack_result *")
        with tempfile.TemporaryDirectory() as folder, Run(progress, threads) as run:
            out = os.path.join(folder, "x.npy")
            points = ffi.new("char[]", os.fsencode(out))
            files = ffi.new("surety_attack_files *", {"points": points, "preparation": lib.surety_data_preparation(data.pointer)})
            call(lib.surety_attack_write, c, self._vote(), data.set(lib.SURETY_SET_LEARN), files, result, run)
            return np.load(out)


def _columns_fit(x: np.ndarray, wanted: int) -> np.ndarray:
    if x.shape[1] != wanted:
        raise UsageError(f"X has {x.shape[1]} features, but the model is expecting {wanted} features as input")
    return x


def _find(wanted: List[str], have: Optional[List[str]], count: int) -> List[int]:
    """The places of the columns that a preparation takes, by name, or by number from 1."""
    have = have if have is not None else [str(j + 1) for j in range(count)]
    place = {name: j for j, name in enumerate(have)}
    missing = [name for name in wanted if name not in place]
    if missing and len(have) == len(wanted):  # names are known of the training only, or of these rows only
        return list(range(count))
    if missing:
        raise UsageError(f"X has no column '{missing[0]}'", expected=", ".join(wanted[:20]))
    return [place[name] for name in wanted]
