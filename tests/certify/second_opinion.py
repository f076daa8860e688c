"""A second opinion on a certificate that shares no code with the library: data, model, random numbers, soft trees,
attack, risks and bound from their definitions (docs/theory.md 2 to 4), in float64 with mpmath for the bound.

    second_opinion.py C.json MODEL FOLDER     FOLDER holds the task's four IDX files, gzipped

The library computes in float32, so a vote that is nearly tied may fall on the other side here: up to 1 + m/5000 of the
m examples may be counted otherwise (none was, on the dozen certificates tried), and the value may differ by eight times
that share, which is more than so many examples can move it. Exit 0 if it agrees.
"""
import functools
import gzip
import json
import sys
from math import lgamma

import numpy as np
from mpmath import log, mp, mpf, sqrt

LEARN, START, RADIUS, NOISE = 1, 16, 32, 48  # the set S, and the purposes of random numbers
mp.dps = 25


@functools.cache
def read_idx(path):
    raw = gzip.open(path).read()
    shape = [int.from_bytes(raw[4 + 4 * i:8 + 4 * i], "big") for i in range(raw[3])]
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def read_model(path):
    raw = open(path, "rb").read()
    start = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:start])
    about = header.pop("__metadata__")
    kinds = {"F64": np.float64, "F32": np.float32, "U8": np.uint8, "U64": np.uint64}
    return about, {name: np.frombuffer(raw[start:][slice(*t["data_offsets"])], kinds[t["dtype"]])
                   .reshape(t["shape"]).astype(float) for name, t in header.items()}


def words(seed, purpose, rows, sample, count):
    """Philox-4x32-10 by address: (rows, count) words of 32 bits, pass 0, restart 0."""
    cells = (count + 3) // 4
    c = [np.broadcast_to(np.arange(cells, dtype=np.uint64), (len(rows), cells)),
         np.broadcast_to(np.asarray(rows, np.uint64)[:, None], (len(rows), cells)),
         np.uint64(0), np.uint64(sample << 8 | purpose)]
    k0, k1, low = seed & 0xFFFFFFFF, seed >> 32, np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [b >> np.uint64(32) ^ c[1] ^ np.uint64(k0), b & low, a >> np.uint64(32) ^ c[3] ^ np.uint64(k1), a & low]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack(c, 2).reshape(len(rows), 4 * cells)[:, :count]


def uniform(*address):
    """(rows, count) numbers in (0,1)."""
    return ((words(*address) >> np.uint64(9)) + 0.5) / 2**23


def noise(seed, purpose, rows, sample, count):
    """(rows, count) numbers in (-1,1): half a word each, of 32 words first the low halves, then the high ones."""
    w = words(seed, purpose, rows, sample, (count + 63) // 64 * 32).reshape(len(rows), -1, 1, 32)
    k = np.concatenate([w & np.uint64(0xFFFF), w >> np.uint64(16)], 2)
    return (k.reshape(len(rows), -1)[:, :count] + 0.5) / 2**15 - 1


def normal(seed, purpose, rows, sample, count):
    """(rows, count) of Box and Muller, from the halves of a word each: of 16 words first the cosines, then the sines."""
    w = words(seed, purpose, rows, sample, (count + 31) // 32 * 16).reshape(len(rows), -1, 16)
    u, v = ((k + 0.5) / 2**16 for k in (w >> np.uint64(16), w & np.uint64(0xFFFF)))
    g = np.sqrt(-2 * np.log(u)) * np.exp(-2j * np.pi * v)
    return np.concatenate([g.real, g.imag], 2).reshape(len(rows), -1)[:, :count]


class Trees:
    def __init__(self, t):
        self.w, self.c, self.s = t["splits.weight"], t["splits.bias"], np.tanh(t["leaves"])
        self.splits = self.c.shape[1]

    def values(self, x):
        """p (.., H, splits) and f (.., H, nodes)."""
        z = x @ self.w.reshape(-1, self.w.shape[2]).T + self.c.ravel()
        p = (1 / (1 + np.exp(-z))).reshape(*x.shape[:-1], *self.c.shape)
        f = np.concatenate([np.zeros_like(p), np.broadcast_to(self.s, (*x.shape[:-1], *self.s.shape))], -1)
        for i in reversed(range(self.splits)):
            f[..., i] = p[..., i] * f[..., 2 * i + 1] + (1 - p[..., i]) * f[..., 2 * i + 2]
        return p, f

    def votes(self, x):
        return np.clip(self.values(x)[1][..., 0], -1, 1)

    def gradient(self, x, weights):
        """of sum_h weights_h h(x) in x."""
        p, f = self.values(x)
        w = np.ones_like(f) * weights[:, None]
        dz = np.empty_like(p)
        for i in range(self.splits):
            w[..., 2 * i + 1], w[..., 2 * i + 2] = w[..., i] * p[..., i], w[..., i] * (1 - p[..., i])
            dz[..., i] = w[..., i] * (f[..., 2 * i + 1] - f[..., 2 * i + 2]) * p[..., i] * (1 - p[..., i])
        return dz.reshape(len(x), -1) @ self.w.reshape(-1, self.w.shape[2])


def project(x, x0, a):
    e = x - x0
    if a["norm"] == "linf":
        e = np.clip(e, -a["eps"], a["eps"])
    else:
        e = e * np.minimum(1, a["eps"] / np.maximum(np.linalg.norm(e, axis=-1, keepdims=True), 1e-300))
    return np.clip(x0 + e, a["box_lo"], a["box_hi"])


def attacked(x0, y, rows, trees, P, kind, a):
    """The attack without noise, against the vote of P: the wrong point, or the one of largest loss, that it met."""
    x, d = x0.copy(), x0.shape[1]
    if a["name"] in ("unif", "pgd", "pgdu") and a["norm"] == "linf":
        x = project(x0 + a["eps"] * (2 * uniform(a["seed"], START + LEARN, rows, 0, d) - 1), x0, a)
    elif a["name"] in ("unif", "pgd", "pgdu"):
        g = normal(a["seed"], START + LEARN, rows, 0, d)
        g /= np.linalg.norm(g, axis=1, keepdims=True)
        x = project(x0 + a["eps"] * uniform(a["seed"], RADIUS + LEARN, rows, 0, 1) ** (1 / d) * g, x0, a)
    best, best_loss, live = x.copy(), np.full(len(x0), -1.), np.arange(len(x0))
    steps = 1 if a["name"] == "fgsm" else a["steps"] or 0
    for step in range(steps + 1):
        h = trees.votes(x[live])
        wrong = y[live] * (kind(h) @ P) <= 0
        loss = (1 - y[live] * (h @ P)) / 2
        better = wrong | (loss > best_loss[live])
        best[live[better]], best_loss[live[better]] = x[live[better]], loss[better]
        live = live[~wrong]
        if step == steps or not len(live):
            return best
        g = -y[live, None] * trees.gradient(x[live], P)
        g = np.sign(g) if a["norm"] == "linf" else g / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-300)
        x[live] = project(x[live] + (a["eps"] if a["name"] == "fgsm" else a["step_size"]) * g, x0[live], a)


def kl_inv(q, c):
    """The largest p with kl(q||p) <= c."""
    q, lo, hi = mpf(q), mpf(q), mpf(1)
    for _ in range(60):
        p = (lo + hi) / 2
        kl = (q * log(q / p) if q else 0) + ((1 - q) * log((1 - q) / (1 - p)) if q < 1 else 0)
        lo, hi = (p, hi) if kl <= c else (lo, p)
    return hi


def binomial_limit(k, m, delta):
    """The p with P[Bin(m, p) <= k] = delta, the terms summed one by one."""
    i, lo, hi = np.arange(k + 1), k / m, 1.
    choose = np.array([lgamma(m + 1) - lgamma(j + 1) - lgamma(m - j + 1) for j in i])
    for _ in range(60 if k < m else 0):
        p = (lo + hi) / 2
        lo, hi = (p, hi) if np.exp(choose + i * np.log(p) + (m - i) * np.log1p(-p)).sum() > delta else (lo, p)
    return hi


def bound(name, Q, KL, L, errors, wrong_P, m, T, delta, signed):
    """L (m, H): averaged or largest loss of each voter on each example; wrong_P (m): the prior's vote is wrong."""
    C = lambda factor: log(factor * T / mpf(delta))
    limit = lambda k, q, c: binomial_limit(k, m, float(mp.e ** -c)) if signed else kl_inv(q, c / m)
    if name in ("seeger", "average_max_seeger"):
        return 2 * kl_inv(L.mean(0) @ Q, (KL + C(2 * sqrt(m))) / m)
    if name == "vote_frozen_max":
        return binomial_limit(int(wrong_P.sum()), m, float(mp.e ** -C(1)))
    if name == "average_max_voters_union":
        return 2 * sum(q * limit(int(e), l, C(len(Q))) for q, e, l in zip(Q, errors.sum(0), L.mean(0)))
    if name == "vote_anchored_max":
        right = ~wrong_P[:, None]
        return binomial_limit(int(wrong_P.sum()), m, float(mp.e ** -C(2))) + 2 * sum(
            q * limit(int(e), l, C(2 * len(Q))) for q, e, l in zip(Q, (errors & right).sum(0), (L * right).mean(0)))
    raise SystemExit(f"no second opinion on {name}")


def opinion(certificate, model, folder):
    c = json.load(open(certificate))
    about, tensors = read_model(model)
    a, trees, P, Q = c["attack"], Trees(tensors), tensors["prior"], tensors["posterior"]
    assert a["restarts"] in (1, None) and a["norm"] in ("l2", "linf") and int(about["seed"]) == a["seed"]
    images, labels = (read_idx(f"{folder}/train-{n}-ubyte.gz") for n in ("images-idx3", "labels-idx1"))
    classes = [int(label) for label in c["data"]["classes"]]
    rows = np.flatnonzero(np.isin(labels, classes))
    rows = rows[:c["data"]["learn_size"]]
    x = (images[rows].reshape(len(rows), -1) / np.float32(255)).astype(np.float32).astype(float)
    y = np.where(labels[rows] == classes[1], 1., -1.)
    signed, m, n = about["voters"] == "signed", len(rows), a["samples"] or 1
    kind = np.sign if signed else (lambda v: v)
    found = np.concatenate([attacked(x[i:i + 500], y[i:i + 500], rows[i:i + 500], trees, P, kind, a)
                            for i in range(0, m, 500)])
    wrong, wrong_P, most = np.zeros((n, m), bool), np.zeros(m, bool), np.zeros((m, len(Q)))
    mean, errors = np.zeros((m, len(Q))), np.zeros((m, len(Q)), bool)
    for j in range(n):
        at = found
        if a["noise"] is not None:
            e = a["noise"] * noise(a["seed"], NOISE + LEARN, rows, j, x.shape[1])
            at = project(np.clip(found + e, a["box_lo"], a["box_hi"]), x, a)
        v = kind(trees.votes(at))
        loss = (1 - y[:, None] * v) / 2
        wrong[j], wrong_P = y * (v @ Q) <= 0, wrong_P | (y * (v @ P) <= 0)
        most, mean, errors = np.maximum(most, loss), mean + loss / n, errors | (y[:, None] * v <= 0)
    KL = sum(mpf(q) * log(mpf(q) / mpf(p)) for q, p in zip(Q, P)) if (P != Q).any() else mpf(0)
    T = int(about["priors_compared"]) * c["inputs"]["looks"]
    L = mean if c["risk"] == "averaged" else most
    value = bound(c["bound"], Q, KL, L, errors, wrong_P, m, T, c["inputs"]["delta_share"], signed)
    return c, {"value": float(value), "averaged": wrong.mean(), "averaged_max": wrong.any(0).mean(),
               "rbar": float(mean.mean(0) @ Q), "gmax": float(most.mean(0) @ Q), "kl": float(KL)}


def compare(certificate, model, folder):
    """Lines that show both opinions, and whether they agree."""
    c, mine = opinion(certificate, model, folder)
    flips = 1 / c["inputs"]["m"] + 1 / 5000
    theirs, allowed = {**c["risks"], "value": c["value"], "kl": c["inputs"]["kl"]}, {"value": 8 * flips, "kl": 1e-12}
    bad = [k for k in mine if not abs(mine[k] - theirs[k]) <= allowed.get(k, flips)]
    return [f"{k:13} {theirs[k]:.9f} in the certificate, {mine[k]:.9f} here{' DIFFERS' if k in bad else ''}"
            for k in mine], not bad


if __name__ == "__main__":
    shown, agrees = compare(*sys.argv[1:])
    print(*shown, sep="\n")
    sys.exit(not agrees)
