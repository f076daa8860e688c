"""How many examples a promise needs, and whether it still holds after deployment."""
import os
from typing import Iterable, Optional, Union

from surety._call import call, ffi, lib
from surety.certificates import Promise


def plan(promise: float, expected: float, chance: float = 0.9, delta: float = 0.05, classes: int = 1, curve: int = 1,
         looks: int = 1) -> int:
    """The examples that S needs so that a vote which in truth fails on a share ``expected`` of inputs can, with this chance,
    be promised to fail on at most ``promise``. classes, curve, looks: promises that share the confidence, of K equally
    frequent classes, G radii, N certificates.

    >>> plan(promise=0.05, expected=0.02)
    361
    >>> plan(promise=0.01, expected=0, chance=0.5)
    299
    """
    p = ffi.new("surety_plan *", lib.surety_plan_defaults())
    p.promise, p.expected, p.delta = promise, expected, delta / (classes * curve * looks)
    p.chance = 1 - (1 - chance) / classes  # all classes shall have it at once
    out = ffi.new("uint64_t *")
    call(lib.surety_plan_examples, p, out)
    return classes * out[0]


def reachable(examples: int, expected: float, chance: float = 0.9, delta: float = 0.05) -> float:
    """The smallest promise that so many examples give with this chance.

    >>> round(reachable(361, 0.02), 3)
    0.05
    """
    p = ffi.new("surety_plan *", lib.surety_plan_defaults())
    p.expected, p.chance, p.delta = expected, chance, delta
    out = ffi.new("double *")
    call(lib.surety_plan_promise, p, examples, out)
    return out[0]


class Monitor:
    """Watches a promise after deployment: outcomes are added in the order in which they arrive. While the promise is true,
    a false alarm is raised *ever* with probability alpha at most.

    >>> m = Monitor(0.05)
    >>> m.add([True] * 20)
    True
    >>> m.alarm, m.seen, m.failed
    (2, 20, 20)
    """

    def __init__(self, promise: Union[float, Promise], alpha: float = 0.05):
        self._pointer = ffi.new("surety_monitor *")
        self._certificate = promise if isinstance(promise, Promise) else None
        value = promise if isinstance(promise, (int, float)) else promise.value
        call(lib.surety_monitor_start, value, alpha, self._pointer)

    @classmethod
    def load(cls, certificate: Promise, path, alpha: float = 0.05) -> "Monitor":
        """The monitor whose state is in a file of ``surety monitor``; a new one if there is no such file."""
        made = cls(certificate, alpha)
        call(lib.surety_monitor_load, certificate._pointer.digest, os.fsencode(path), made._pointer)
        return made

    def save(self, path) -> None:
        if self._certificate is None:
            raise ValueError("only the monitor of a certificate has a file")
        call(lib.surety_monitor_save, self._pointer, self._certificate._pointer.digest, os.fsencode(path))

    def add(self, failed: Union[bool, Iterable[bool]]) -> bool:
        """One outcome or several, true where the vote failed as the promise means it: by a worst-case promise, or without an
        attack, where its answer was wrong. By groups, only inputs of the groups that the certificate lists. Returns whether
        the promise is refuted."""
        for one in failed if hasattr(failed, "__iter__") else (failed,):  # type: ignore[union-attr]
            lib.surety_monitor_add(self._pointer, bool(one))
        return self.alarm is not None

    @property
    def alarm(self) -> Optional[int]:
        """The outcome, from 1, at which the promise was refuted; None: it holds so far."""
        return self._pointer.alarm or None

    @property
    def seen(self) -> int:
        return self._pointer.seen

    @property
    def failed(self) -> int:
        return self._pointer.failed

    @property
    def limit(self) -> float:
        """What the outcomes alone say about the risk: right at every moment with probability 1 - alpha."""
        return lib.surety_monitor_limit(self._pointer)
