#!/usr/bin/env python3
"""Reference values of every bound, made outside the library with mpmath at 60 digits.

Writes reference.csv: one row per scenario, inputs exact (floats in hexadecimal), then the vote value of each bound to 30
digits (empty: the scenario does not have that bound). The formulas are those of docs/theory.md 4.3, 4.5 and 8.2, written down once more; kl is inverted by bisection on the textbook
form, binomial tails are plain sums of exact terms. Run it without arguments to write the file again.
"""
import csv
import os
import random

from mpmath import mp, mpf, log, sqrt, binomial, nstr

mp.dps = 60

INPUTS = ["m", "H", "delta", "priors_compared", "looks", "kl", "frozen", "posterior", "gibbs", "loss",
           "loss_sum", "prior_risk", "prior_wrong", "kept", "kept_sum", "held_out_m", "held_out_wrong", "abar", "tv", "tandem_loss",
          "coin_sum", "prior_coins"]
BOUNDS = ["chromatic_seeger", "chromatic_mcallester", "average_max", "average_max_tv", "seeger", "average_max_seeger",
          "voters_union", "average_max_voters_union", "tandem", "vote_frozen_averaged", "vote_frozen_max",
          "vote_anchored_averaged", "vote_anchored_max", "vote_holdout", "worst_case", "worst_case_union",
          "worst_case_frozen", "worst_case_anchored", "worst_case_holdout", "voters_coins", "average_max_voters_coins",
          "worst_case_coins", "vote_frozen_coins", "average_max_dictator", "worst_case_dictator"]
COLUMNS = INPUTS + BOUNDS


def kl(a, b):
    total = mpf(0)
    if a > 0:
        total += a * log(a / b)
    if a < 1:
        total += (1 - a) * log((1 - a) / (1 - b)) if b < 1 else mp.inf
    return total


def kl_inv(q, c):
    """max { p in [q,1] : kl(q||p) <= c } by bisection."""
    if q == 1 or c == 0:
        return q
    lo, hi = q, mpf(1)
    for _ in range(400):
        middle = (lo + hi) / 2
        if kl(q, middle) <= c:
            lo = middle
        else:
            hi = middle
    return hi


def tail(k, m, p):
    """P[Bin(m,p) <= k] as a sum of k+1 terms."""
    term = binomial(m, k) * p**k * (1 - p)**(m - k)
    total = term
    for j in range(k, 0, -1):
        term = term * j / (m - j + 1) * (1 - p) / p
        total += term
    return total


def binomial_limit(k, m, delta):
    """The smallest p with tail(k, m, p) <= delta."""
    if k == m:
        return mpf(1)
    if k == 0:
        return 1 - delta**(mpf(1) / m)
    lo, hi = mpf(0), mpf(1)
    for _ in range(130):
        middle = (lo + hi) / 2
        if tail(k, m, middle) <= delta:
            hi = middle
        else:
            lo = middle
    return hi


class Scenario:
    def __init__(self, numbers):
        self.row = numbers
        for key in ("m", "H", "priors_compared", "looks", "frozen", "prior_wrong", "held_out_m", "held_out_wrong", "coin_sum",
                    "prior_coins"):
            setattr(self, key, numbers[key])
        for key in ("delta", "kl", "gibbs", "prior_risk", "abar", "tv", "tandem_loss"):
            setattr(self, key, mpf(numbers[key]))
        for key in ("posterior", "loss", "kept"):
            setattr(self, key, [mpf(x) for x in numbers[key]])
        self.loss_sum, self.kept_sum = numbers["loss_sum"], numbers["kept_sum"]
        total = sum(self.posterior)
        self.Q = [x / total for x in self.posterior]

    def limit(self, mean, count, delta):
        if count is not None:
            return binomial_limit(count, self.m, delta)
        return kl_inv(mean, log(1 / delta) / self.m)

    def union(self, means, counts, delta):
        each = delta / self.H
        return sum(q * self.limit(mean, None if counts is None else counts[h], each)
                   for h, (q, mean) in enumerate(zip(self.Q, means)))

    def vote(self, bound):
        """The limit on the risk of the vote, or None where the scenario does not have the bound."""
        m = self.m
        delta = self.delta / (self.priors_compared * self.looks)
        chromatic = (self.kl + log((m + 1) / delta)) / m
        usual = (self.kl + log(2 * sqrt(mpf(m)) / delta)) / m
        root = sqrt(usual / 2)
        if bound == "chromatic_seeger":
            return 2 * kl_inv(self.gibbs, chromatic)
        if bound == "chromatic_mcallester":
            return 2 * (self.gibbs + sqrt(chromatic / 2))
        if bound == "average_max":
            return 2 * (self.gibbs + root)
        if bound == "average_max_tv":
            return 2 * (self.abar + self.tv + root)
        if bound in ("seeger", "average_max_seeger", "worst_case"):
            return 2 * kl_inv(self.gibbs, usual)
        if bound in ("voters_union", "average_max_voters_union", "worst_case_union"):
            return 2 * self.union(self.loss, self.loss_sum, delta)
        if bound == "tandem":
            return 4 * kl_inv(self.tandem_loss, (2 * self.kl + log(2 * sqrt(mpf(m)) / delta)) / m)
        if bound in ("vote_frozen_averaged", "vote_frozen_max", "worst_case_frozen"):
            return self.limit(self.prior_risk, self.prior_wrong, delta) if self.frozen else None
        if bound in ("vote_anchored_averaged", "vote_anchored_max", "worst_case_anchored"):
            first = self.limit(self.prior_risk, self.prior_wrong, delta / 2)
            return first + 2 * self.union(self.kept, self.kept_sum, delta / 2)
        if bound in ("voters_coins", "average_max_voters_coins", "worst_case_coins"):
            return 2 * self.union(self.loss, self.coin_sum, delta)
        if bound == "vote_frozen_coins":
            return binomial_limit(self.prior_coins, m, delta) if self.frozen else None
        if bound in ("average_max_dictator", "worst_case_dictator"):
            most = max(range(self.H), key=lambda h: self.Q[h])
            crowned = self.loss_sum is not None and self.Q[most] > sum(self.Q) - self.Q[most]
            return binomial_limit(self.loss_sum[most], m, delta / self.H) if crowned else None
        return binomial_limit(self.held_out_wrong, self.held_out_m, self.delta / self.looks)


def draw(rng, index):
    m = rng.choice([1, 2, 10, 100, 2500, 5000, 5000, 5000, 1000000])
    H = rng.choice([1, 2, 5])
    delta = rng.choice([0.05, 0.05, 0.01, 0.5, 1e-6, 1e-300, 1 - 2**-53])
    T = rng.choice([1, 20, 20, 1000, 10**9])
    looks = rng.choice([1, 1, 3])
    weights = [rng.expovariate(1) + 1e-3 for _ in range(H)]
    posterior = [w / sum(weights) for w in weights]
    counted = index % 2 == 0
    most = min(m, 300)  # keeps the sums of the reference short
    counts = [rng.randint(0, most) for _ in range(H)]
    risk = rng.choice([0.0, 0.005, 0.02, 0.1, 0.3, 1.0, rng.random() ** 3])
    losses = [c / m for c in counts] if counted else [min(1.0, risk * 2 * rng.random()) for _ in range(H)]
    kept = [rng.randint(0, c) for c in counts]
    frozen = index % 3 == 0
    wrong = rng.randint(0, most)
    tossed = random.Random(index)  # beside rng, which the other columns come from
    return Scenario({
        "m": m, "H": H, "delta": delta, "priors_compared": T, "looks": looks,
        "kl": 0.0 if frozen else rng.choice([0.0, 0.1, 1.7, 40.0, 1e-12]), "frozen": int(frozen),
        "posterior": posterior, "gibbs": risk, "loss": losses, "loss_sum": counts if counted else None,
        "prior_risk": wrong / m if counted else risk, "prior_wrong": wrong if counted else None,
        "kept": [c / m for c in kept] if counted else [x * rng.random() for x in losses],
        "kept_sum": kept if counted else None, "held_out_m": max(1, m // 2), "held_out_wrong": min(wrong, max(1, m // 2)),
        "coin_sum": [tossed.randint(0, most) for _ in range(H)], "prior_coins": tossed.randint(0, most),
        "abar": risk * rng.random(), "tv": rng.choice([0.0, 1.0, rng.random()]), "tandem_loss": risk * risk})


def rows(count=60):
    """The first rows of the file."""
    rng = random.Random(4)
    for index in range(count):
        scenario = draw(rng, index)
        out = {key: encode(scenario.row[key]) for key in INPUTS}
        for bound in BOUNDS:
            vote = scenario.vote(bound)
            out[bound] = "" if vote is None else nstr(vote, 30)
        yield out


def encode(x):
    if x is None:
        return ""
    if isinstance(x, list):
        return ";".join(encode(v) for v in x)
    return x.hex() if isinstance(x, float) else str(x)


def path():
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference.csv")


if __name__ == "__main__":
    with open(path(), "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows())
