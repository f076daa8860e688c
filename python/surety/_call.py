"""How the library is called: errors become exceptions, long calls can be watched and stopped."""
import json
import sys
import threading
from typing import Any, Callable, Optional, Union

from surety._core import ffi, lib

Progress = Union[None, bool, Callable[[str, int, int, str], None]]


class Error(Exception):
    """What went wrong (``what``), in which ``file`` and ``place`` (or empty), and what was ``expected`` instead."""

    code = "failed"

    def __init__(self, what: str, file: str = "", place: str = "", expected: str = ""):
        self.what, self.file, self.place, self.expected = what, file, place, expected
        where = ", ".join(part for part in (file, place) if part)
        super().__init__((where + ": " if where else "") + what + (f" (expected: {expected})" if expected else ""))

    def __reduce__(self):
        return type(self), (self.what, self.file, self.place, self.expected)


class CheckFailed(Error):
    """A check said no: other data than the model's, copies, a look that is not paid for, a certificate that T refutes."""


class UsageError(Error, ValueError):
    """A setting or an argument is out of its range."""


class InputError(Error, ValueError):
    """A file or an array does not hold what it should."""


class MachineError(Error, OSError):
    """Disk, memory or operating system."""


class Stopped(Error, KeyboardInterrupt):
    """The call was stopped before it was done."""


_KINDS = {
    lib.SURETY_E_CHECK: CheckFailed,
    lib.SURETY_E_USAGE: UsageError,
    lib.SURETY_E_INPUT: InputError,
    lib.SURETY_E_STOPPED: Stopped,
}


def text(pointer) -> str:
    """A text of the library; "" for NULL."""
    return ffi.string(pointer).decode(errors="replace") if pointer else ""


def document(pointer) -> Any:
    """A JSON text that the library hands over."""
    if not pointer:
        raise MemoryError
    try:
        return json.loads(ffi.string(pointer))
    finally:
        lib.surety_text_free(pointer)


def call(function, *arguments):
    """Calls a function whose last parameter is the error record, and raises what it reports."""
    err = ffi.new("surety_error *")
    status = function(*arguments, err)
    if status == lib.SURETY_OK:
        return
    if status == lib.SURETY_E_MEMORY:
        raise MemoryError(text(err.what))
    raise _KINDS.get(status, MachineError)(text(err.what), text(err.file), text(err.place), text(err.expected))


class Bar:
    """A progress line on stderr, for terminals and notebooks."""

    def __init__(self):
        self.line = ""

    def __call__(self, phase: str, done: int, total: int, words: str) -> None:
        share = done / total if total else 1.0
        line = f"{phase} {'#' * int(20 * share):20} {100 * share:3.0f} % {words}"[:79]
        if line != self.line:  # a notebook keeps every print
            print("\r" + line.ljust(len(self.line)), end="", file=sys.stderr, flush=True)
        self.line = line

    def close(self) -> None:
        if self.line:
            print("\r" + " " * len(self.line), end="\r", file=sys.stderr, flush=True)


class Run:
    """How a long call runs: ``with Run(progress, threads) as run: call(.., run)``. threads: 0 is every core.

    progress: a function of (phase, done, total, text); True: a bar; None: silent. An exception that it raises, or Ctrl-C in
    the main thread, stops the call and goes on to the caller."""

    def __init__(self, progress: Progress = None, threads: int = 1):
        self.bar = Bar() if progress is True else None
        self.report = self.bar or progress or None
        self.raised: Optional[BaseException] = None
        self.stop = ffi.new("sig_atomic_t *")
        self.handle = ffi.new_handle(self)
        self.run = ffi.new("surety_run *", dict(threads=threads, stop=self.stop))
        if self.report:
            self.run.progress, self.run.progress_arg = lib.surety_on_progress, self.handle

    def __enter__(self):
        main = threading.current_thread() is threading.main_thread()
        self.listens = bool(main and lib.surety_listen(self.stop))
        return self.run

    def __exit__(self, kind, error, trace):
        if self.listens:
            lib.surety_listen_end()
        if self.bar:
            self.bar.close()
        if self.raised:
            raised, self.raised = self.raised, None
            raise raised
        return False


@ffi.def_extern()
def surety_on_progress(arg, progress):
    watched = ffi.from_handle(arg)
    try:
        if not watched.raised:
            watched.report(text(progress.phase), progress.done, progress.total, text(progress.text))
    except BaseException as raised:  # KeyboardInterrupt too: it has to wait until the call has returned
        watched.raised = raised
        watched.stop[0] = 1


def names(function) -> list:
    """The texts that function(0), function(1), .. give, up to NULL."""
    found: list = []
    while function(len(found)):
        found.append(text(function(len(found))))
    return found


def parse(function, kind: str, name: str):
    """The value of an enum by its name."""
    value = ffi.new(kind + " *")
    call(function, str(name).encode(), value)
    return value[0]


def strings(texts):
    """An array of C strings, and what keeps them alive."""
    kept = [ffi.new("char[]", str(part).encode()) for part in texts]
    return ffi.new("const char *[]", kept), kept
