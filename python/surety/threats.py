"""What a vote has to withstand."""
from dataclasses import dataclass
from typing import Optional, Tuple

import numpy as np

from surety._call import UsageError, ffi, lib, parse


@dataclass(frozen=True)
class Threat:
    """A ball: perturbations of at most ``eps`` in the norm "l2", "linf" or "l1"; None: the model's own."""

    norm: Optional[str] = None
    eps: Optional[float] = None

    def _fill(self, c) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class WorstCase(Threat):
    """Every point of the ball, whatever the attack: nothing is sampled, what holds is proved.

    budget: steps of the exact search for an example, of kinds that search (trees); 0: none.

    >>> WorstCase("linf", 0.1)
    WorstCase(norm='linf', eps=0.1, budget=None)
    """

    budget: Optional[int] = None

    def _fill(self, c) -> None:
        c.kind = lib.SURETY_WORST_CASE
        if self.budget is not None:
            c.budget = self.budget


@dataclass(frozen=True)
class Clean(Threat):
    """No perturbation at all."""

    def _fill(self, c) -> None:
        c.kind = lib.SURETY_ATTACK_NONE


@dataclass(frozen=True)
class Attack(Threat):
    """An attack by name: unif, fgsm, ifgsm, pgd, ifgsmu, pgdu, apgd, or search for kinds without gradients.

    >>> Attack("linf", 0.1, name="pgd", steps=40).name
    'pgd'
    """

    name: str = "apgd"
    steps: Optional[int] = None
    step_size: Optional[float] = None
    noise: Optional[float] = None
    samples: Optional[int] = None
    restarts: Optional[int] = None
    budget: Optional[int] = None

    def _fill(self, c) -> None:
        c.kind = parse(lib.surety_threat_parse, "surety_threat_kind", self.name)
        for key in ("steps", "step_size", "noise", "samples", "restarts", "budget"):
            if getattr(self, key) is not None:
                setattr(c, key, getattr(self, key))


@dataclass(frozen=True)
class Noise(Threat):
    """``samples`` points drawn uniformly from the ball around each input, by a seed that is fixed before.

    >>> Noise("linf", 0.5, samples=3).draw(np.zeros((2, 4))).shape
    (2, 3, 4)
    """

    samples: int = 1
    seed: int = 0
    box: Optional[Tuple[float, float]] = None

    def _fill(self, c) -> None:
        if self.samples != 1 or self.seed or self.box:
            raise UsageError("an own vote is asked about one random point, drawn by its own seed and in its own box",
                             expected='Noise(norm, eps), Attack(norm, eps, name="pgdu", samples=..), or surety.guarantee')
        c.kind = lib.SURETY_ATTACK_UNIF

    def draw(self, X) -> np.ndarray:
        """(m, samples, d): perturbed copies of each row, each from random numbers of its own."""
        x = np.asarray(X, np.float64)
        if self.norm is None or self.eps is None or not self.eps >= 0 or self.samples < 1:
            raise UsageError("noise needs a norm, a radius and at least one sample", expected='Noise("linf", 0.1, samples=20)')
        if x.ndim != 2:
            raise UsageError(f"rows of the shape {x.shape}", expected="(m, d)")
        norm = parse(lib.surety_norm_parse, "surety_norm", self.norm)
        random = np.random.Generator(np.random.Philox(self.seed))
        shape = (len(x), self.samples, x.shape[1])
        if norm == lib.SURETY_LINF:
            moved = random.uniform(-1, 1, shape)
        else:  # a direction, and a length whose d-th power is uniform
            order = 2 if norm == lib.SURETY_L2 else 1
            moved = random.standard_normal(shape) if order == 2 else random.laplace(size=shape)
            moved /= np.linalg.norm(moved, ord=order, axis=2, keepdims=True)
            moved *= random.uniform(size=(*shape[:2], 1)) ** (1 / x.shape[1])
        points = x[:, np.newaxis, :] + self.eps * moved
        return points if self.box is None else np.clip(points, *self.box)

    def words(self) -> str:
        """For the sentence of a guarantee."""
        box = "" if self.box is None else f", clipped to [{_shortest(self.box[0])}, {_shortest(self.box[1])}]"
        return (f"{'a point' if self.samples == 1 else f'{self.samples} points'} drawn uniformly from the {self.norm} ball of "
                f"radius {_shortest(self.eps)}{box}, NumPy's Philox with seed {self.seed}")


def _shortest(x) -> str:
    """With all its digits: a radius that is rounded up promises more than was drawn."""
    return repr(float(x)).removesuffix(".0")


def ball_of(threat: Threat, ball, own_norm: int, own_eps: float) -> None:
    """Norm and radius: the threat's, else the model's."""
    ball.norm = own_norm if threat.norm is None else parse(lib.surety_norm_parse, "surety_norm", threat.norm)
    ball.radius = own_eps if threat.eps is None else threat.eps
    moves = not isinstance(threat, Clean)
    if moves and not ball.radius > 0 and threat.eps is None:
        raise UsageError("the model has no radius of its own", expected='one, such as WorstCase("linf", 0.1): what is '
                         "harmless in your data, nobody else can know")


def threat_struct(threat: Threat):
    """surety_threat with the threat's settings; its ball is yet to be settled."""
    c = ffi.new("surety_threat *", lib.surety_threat_defaults())
    threat._fill(c)
    return c
