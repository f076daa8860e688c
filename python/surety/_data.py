"""Arrays and DataFrames as the library's data: rows in S', S and T, columns as features."""
from typing import Any, Optional, Sequence, Tuple

import numpy as np

from surety._call import UsageError, call, document, ffi, lib, parse, strings, text


def column_names(X) -> Optional[list]:
    """The names of the columns, if all of them are texts."""
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return list(columns)


def has_texts(X) -> bool:
    """Whether X is a DataFrame with columns that are no numbers."""
    return hasattr(X, "dtypes") and any(kind.kind not in "biuf" for kind in X.dtypes)


def matrix(X, what: str = "X") -> np.ndarray:
    """(m, d) float32, rows one after the other; NaN: missing. The array itself where it is one."""
    if has_texts(X):
        texts = [str(name) for name, kind in zip(X.columns, X.dtypes) if kind.kind not in "biuf"]
        raise UsageError(f"{what} has columns that are no numbers: {', '.join(texts[:5])}", expected="numbers")
    x = np.ascontiguousarray(X, np.float32)
    if x.ndim != 2:
        raise UsageError(f"{what} has the shape {x.shape}", expected="(rows, columns)")
    return x


class Columns:
    """Rows as the library takes them: numbers (m, d) float32 and, by place of the column, texts: of a DataFrame's columns
    that are no numbers, and of those that ``names`` (by name or number from 1), whose numbers float32 would round."""

    def __init__(self, X, what: str = "X", names: Sequence = ()):
        if not has_texts(X):
            self.numbers, self.texts = matrix(X, what), {}
        else:
            other = [j for j, kind in enumerate(X.dtypes) if kind.kind not in "biuf"]
            self.numbers = np.zeros(X.shape, np.float32)
            for j in set(range(X.shape[1])) - set(other):
                self.numbers[:, j] = X.iloc[:, j].to_numpy(np.float32, na_value=np.nan)
            self.texts = {j: _texts(X.iloc[:, j].astype(object), X.iloc[:, j].isna()) for j in other}
        for name in names:
            self._keep_exact(X, str(name))

    def _keep_exact(self, X, name: str) -> None:
        j = _place(name, column_names(X), self.numbers.shape[1])
        if j is None or j in self.texts:
            return
        values = X.iloc[:, j].to_numpy() if hasattr(X, "iloc") else np.asarray(X)[:, j]
        gone = np.isnan(self.numbers[:, j])
        if not np.array_equal(values[~gone], self.numbers[~gone, j]):
            self.texts[j] = _texts(values, gone)

    def pick(self, places: Sequence[int]) -> "Columns":
        """These columns, in this order."""
        made = Columns.__new__(Columns)
        made.numbers = np.ascontiguousarray(self.numbers[:, places])
        made.texts = {k: self.texts[j] for k, j in enumerate(places) if j in self.texts}
        return made

    def by_column(self):
        """const char *[d][m], NULL where a column is of numbers or a value is missing; and what must live as long."""
        if not self.texts:
            return ffi.NULL, None
        kept: list = []
        out = ffi.new("const char *const *[]", self.numbers.shape[1])
        for j, texts in self.texts.items():
            one, alive = _pointers(texts)
            kept += [one, alive]
            out[j] = one
        return out, kept

    def by_row(self):
        """const char *[m * d], as by_column."""
        if not self.texts:
            return ffi.NULL, None
        table = np.full(self.numbers.shape, None, object)
        for j, texts in self.texts.items():
            table[:, j] = texts
        return _pointers(table.ravel())


def _texts(values, missing) -> list:
    return [None if gone else str(value) for value, gone in zip(values, missing)]


def _place(name: str, names: Optional[Sequence[str]], count: int) -> Optional[int]:
    """The column that is meant by its name, or number from 1 (-1: last); None: there is none."""
    if names is not None and name in names:
        return list(names).index(name)
    number = int(name) if name.lstrip("-").isdigit() else 0
    return number - 1 if 0 < number <= count else count + number if -count <= number < 0 else None


def _pointers(texts):
    """const char *[], NULL for None; each different text is kept once."""
    kept = {value: ffi.new("char[]", value.encode()) for value in set(texts) if value is not None}
    return ffi.new("const char *[]", [ffi.NULL if value is None else kept[value] for value in texts]), kept


class Labels:
    """Labels as the library takes them: whole numbers, or numbers into a list of texts."""

    def __init__(self, y):
        y = np.asarray(y)
        if y.ndim != 1:
            raise UsageError(f"the labels have the shape {y.shape}", expected="one label per row")
        self.texts: Optional[list] = None
        if y.dtype.kind in "biu" or (y.dtype.kind == "f" and np.all(y == np.floor(y))):
            self.values = np.ascontiguousarray(y, np.int64)
        else:
            found, numbers = np.unique(y.astype(str), return_inverse=True)
            self.texts, self.values = [str(label) for label in found], np.ascontiguousarray(numbers, np.int64)


class Data:
    """Rows in three sets. Owns the library's copy of them."""

    def __init__(self, pointer):
        self.pointer = ffi.gc(pointer, lib.surety_data_free)
        self.info = lib.surety_data_describe(self.pointer)

    def set(self, which: int):
        return lib.surety_data_set(self.pointer, which)

    @property
    def labels(self) -> list:
        """Texts of the labels, by class number."""
        return [text(self.info.labels[k]) for k in range(self.info.classes)]

    def describe(self) -> dict:
        return document(lib.surety_data_info_json(self.info))


def settings(learn_size=0.4, test_size=0, scale=None, box=None, missing="error", categorical=(), drop=(), unit=None,
             copies="refuse", seed=0) -> Tuple[Any, list]:
    """surety_data_settings of own rows, and what must live as long."""
    kept: list = []
    s = ffi.new("surety_data_settings *", lib.surety_data_defaults())
    s.learn_size, s.learn_share = _size(learn_size, "learn_size")
    s.test_size, s.test_share = _size(test_size, "test_size") if test_size else (0, 0.0)
    s.scaling = parse(lib.surety_scaling_parse, "surety_scaling", scale or "auto")
    s.missing = parse(lib.surety_missing_parse, "surety_missing", missing)
    s.copies = parse(lib.surety_copies_parse, "surety_copies_rule", copies)
    for key, columns in (("drop", drop), ("categorical", categorical)):
        if columns is not None and len(columns):
            listed = strings(columns)
            kept.append(listed)
            setattr(s, key, listed[0])
            setattr(s, key + "_count", len(columns))
    if unit is not None:
        kept.append(ffi.new("char[]", str(unit).encode()))
        s.unit = kept[-1]
    if box is not None:
        s.boxed, (s.box_lo, s.box_hi) = lib.SURETY_BOX_GIVEN, box
    s.seed = seed
    return s, kept


def _size(value, name: str) -> Tuple[int, float]:
    """Examples, or a share of the rows."""
    if isinstance(value, float) and 0 < value < 1:
        return 0, value
    if float(value) == int(value) and int(value) >= 1:
        return int(value), 0.0
    raise UsageError(f"{name} is {value}", expected="a number of rows, or a share of them above 0 and below 1")


def open_arrays(s, X, y, X_test=None, y_test=None, names: Optional[Sequence[str]] = None, exact: Sequence = ()) -> Data:
    """Rows in memory as data, by surety_data_settings. exact: columns that must not be rounded (units, groups)."""
    both = _labels(y, y_test)
    rows, labels = Columns(X, "X", exact), both.values[:len(X)]
    x, (texts, alive) = rows.numbers, rows.by_column()
    if len(labels) != len(x):
        raise UsageError(f"{len(x)} rows and {len(labels)} labels", expected="one label per row")
    arrays = ffi.new("surety_arrays *", dict(m=x.shape[0], d=x.shape[1], features=floats(x), texts=texts,
                                               labels=integers(labels)))
    kept: list = [x, texts, alive, labels, both]
    if names is None:
        names = column_names(X)
    if names is not None:
        listed = strings(names)
        kept.append(listed)
        arrays.names = listed[0]
    if both.texts is not None:
        listed = strings(both.texts)
        kept.append(listed)
        arrays.label_names, arrays.label_count = listed[0], len(both.texts)
    if X_test is not None:
        test, test_labels = Columns(X_test, "X_test", exact), np.ascontiguousarray(both.values[len(X):])
        t, (texts, alive) = test.numbers, test.by_column()
        if t.shape[1] != x.shape[1] or len(t) != len(test_labels):
            raise UsageError(f"X_test has the shape {t.shape}, y_test {test_labels.shape}",
                             expected=f"rows of {x.shape[1]} columns, and as many labels")
        kept += [t, texts, alive, test_labels]
        arrays.test_texts = texts
        arrays.test_m, arrays.test_features, arrays.test_labels = len(t), floats(t), integers(test_labels)
    out = ffi.new("surety_data **")
    call(lib.surety_data_from_arrays, arrays, s, out)
    return Data(out[0])


def _labels(y, y_test) -> Labels:
    return Labels(y if y_test is None else np.concatenate([np.asarray(y), np.asarray(y_test)]))


def floats(array: np.ndarray):
    return ffi.cast("float *", ffi.from_buffer(array))


def doubles(array: np.ndarray):
    return ffi.cast("double *", ffi.from_buffer(array))


def integers(array: np.ndarray):
    return ffi.cast("int64_t *", ffi.from_buffer(array))
