#!/usr/bin/env python3
"""A second, naive hand for the recipe of the printed tables (docs/reproduction.md): NumPy alone, one formula after the other.

  print_twin.py                                                 writes print_reference.csv beside this file (small cases)
  print_twin.py TABLES TASK NORM VOTERS DEFENSE [DIRECTORY]     full size, beside the printed values in the file TABLES

Letters: B examples of a batch, m examples of S, n perturbations per example, d features, H trees, b radius, k steps.
Everything is float32; the random starts from stream N, the leaves at the start, kl_inv and the means over a set are double.
print_reference.csv: S, S', T are examples 0..499, 5000..5899 and test 0..299 of fashion-sandal-v-boot; 2 epochs, 5 steps, 7 samples.
Epochs count from 0. weight, bias, leaf, theta: after the first epoch of step 1, index into (25,3,d), (25,3), (25,4), (25). criterion1:
Rbar; criterion2: twice the bound; kl: in nats, of the chosen epoch; risks and bounds as printed (vote bounds, twice the value).
"""
import csv
import gzip
import math
import os
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # the last bits of products depend on the number of threads
import numpy as np

np.seterr(over="ignore")  # exp(-z) of a saturated split is infinite, its p 0
F = np.float32
H, BATCH, RATE, DELTA, NOISE = 25, 64, 0.01, 0.05, 0.01
RADIUS = {"l2": 1.0, "linf": 0.1}
TASKS = {"mnist-1v7": (1, 7), "mnist-4v9": (4, 9), "mnist-5v6": (5, 6), "fashion-coat-v-shirt": (4, 6),
         "fashion-sandal-v-boot": (5, 9), "fashion-top-v-pullover": (0, 2)}
OBJECTIVES = ("chromatic", "average-max")
NORMS, VOTERS = ("l2", "linf"), ("signed", "real")
DEFENSES = ("none", "unif", "pgdu", "ifgsmu", "pgd", "ifgsm")


# ---- random streams ---------------------------------------------------------------------------------------------

class Stream:
    """MT19937 with init_genrand(seed): tempered 32-bit words, whole states of 624 at a time."""

    def __init__(self, seed):
        word, state = seed, [seed]
        for i in range(1, 624):
            word = (1812433253 * (word ^ (word >> 30)) + i) & 0xFFFFFFFF
            state.append(word)
        self.state, self.rest = np.array(state, np.uint32), np.empty(0, np.uint32)

    def copy(self):
        other = Stream.__new__(Stream)
        other.state, other.rest = self.state, self.rest
        return other

    @staticmethod
    def twist(old, new):
        """new[i] = old or new[i + 397 mod 624] ^ (y >> 1) ^ (y odd ? 0x9908B0DF : 0), y = top bit of old[i], rest of old[i+1]."""
        y = (old[:-1] & np.uint32(0x80000000)) | (old[1:] & np.uint32(0x7FFFFFFF))
        x = (y >> np.uint32(1)) ^ ((y & np.uint32(1)) * np.uint32(0x9908B0DF))
        np.bitwise_xor(old[397:], x[:227], out=new[:227])
        np.bitwise_xor(new[:227], x[227:454], out=new[227:454])
        np.bitwise_xor(new[227:396], x[454:], out=new[454:623])
        y = (int(old[623]) & 0x80000000) | (int(new[0]) & 0x7FFFFFFF)
        new[623] = int(new[396]) ^ (y >> 1) ^ ((y & 1) * 0x9908B0DF)

    def words(self, count):
        blocks = max(0, -(-(count - len(self.rest)) // 624))
        if blocks:
            raw = np.empty((blocks, 624), np.uint32)
            for block in raw:
                self.twist(self.state, block)
                self.state = block
            self.state = self.state.copy()
            t = raw.reshape(-1)
            t ^= t >> np.uint32(11)
            t ^= (t << np.uint32(7)) & np.uint32(0x9D2C5680)
            t ^= (t << np.uint32(15)) & np.uint32(0xEFC60000)
            t ^= t >> np.uint32(18)
            self.rest = np.concatenate([self.rest, t]) if len(self.rest) else t
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def floats(self, *shape):
        """(word & 0xFFFFFF) 2^-24, float32."""
        return (self.words(math.prod(shape)) & np.uint32(0xFFFFFF)).astype(F).reshape(shape) * F(2.0**-24)

    def doubles(self, *shape):
        """((a >> 5) 2^26 + (b >> 6)) 2^-53 of two words a, b."""
        pair = self.words(2 * math.prod(shape)).reshape(-1, 2)
        high, low = (pair[:, 0] >> np.uint32(5)).astype(float), (pair[:, 1] >> np.uint32(6)).astype(float)
        return ((high * 2.0**26 + low) * 2.0**-53).reshape(shape)


class Streams:
    """N and C together. Step 1 starts at seed 0; its first forward pass makes the trees, which resets both."""

    def __init__(self, after_trees, first=False):
        self.N, self.C = (Stream(0), Stream(0)) if first else (Stream(24), after_trees.copy())
        self.after_trees, self.first = after_trees, first

    def begin_pass(self):
        self.C.words(2)

    def forward(self):
        if self.first:
            self.__init__(self.after_trees)


def start_weights(d):
    """W (H,3,d), bias (H,3), u (H,4) at the start, and the stream C as the last tree leaves it. 3 d is a multiple of 16."""
    W, u = np.empty((H, 3, d), F), np.empty((H, 4), F)
    for tree in range(H):
        stream = Stream(tree)
        stream.words(3 * d)
        v = stream.floats(3 * d // 16, 2, 8)  # blocks of 16: 8 radii, 8 angles
        r, angle = np.sqrt(F(-2) * np.log(F(1) - v[:, 0])), F(2 * math.pi) * v[:, 1]
        w = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1) * F(math.sqrt(2 / (d + 3)))
        W[tree] = w.reshape(3, d)
        for pair in range(2):
            a, b, e, f = (int(word) for word in stream.words(4))
            v1, v2 = (((high << 32 | low) & (2**53 - 1)) * 2.0**-53 for high, low in ((a, b), (e, f)))
            r = math.sqrt(-2 * math.log1p(-v2)) * math.sqrt(2 / 5)
            u[tree, 2 * pair:2 * pair + 2] = r * math.cos(2 * math.pi * v1), r * math.sin(2 * math.pi * v1)
    return W, np.zeros((H, 3), F), u, stream


def check():
    """The streams and the start weights are those of docs/reproduction.md."""
    W, _, u, after = start_weights(784)
    other = Stream(24)
    other.words(4712)
    assert (other.words(1000) == after.copy().words(1000)).all()
    assert np.allclose(Stream(24).doubles(3), [0.9600173, 0.6995120, 0.9998673], atol=6e-8)
    assert np.allclose(W[0, 0, [0, 1, 8]], [-0.06172932, -0.01387207, 0.05234763], atol=1e-7)
    assert np.allclose(u[0], [-0.09214434, 0.30408859, -0.28812853, 0.10473219], atol=1e-7)
    assert np.allclose(u[24], [-0.8671788, -0.6728594, -0.9482675, 0.4100871], atol=1e-7)


# ---- voters -----------------------------------------------------------------------------------------------------

def softmax(theta):
    e = np.exp(theta - theta.max())
    return e / e.sum()


class Vote:
    """25 soft trees of depth 2 and their weights Q = softmax(theta)."""

    def __init__(self, W, c, u, theta, signed):
        self.W, self.c, self.u, self.theta, self.signed = W, c, u, theta, signed

    def copy(self, theta=None):
        return Vote(self.W.copy(), self.c.copy(), self.u.copy(), (self.theta if theta is None else theta).copy(), self.signed)

    def flat(self):
        return self.W.reshape(3 * H, -1)

    def splits(self, X):
        """p = sigmoid(W x + c), (B,H,3)."""
        z = (X @ self.flat().T).reshape(-1, H, 3) + self.c
        return F(1) / (F(1) + np.exp(-z))

    def outputs(self, p):
        """h = p0 (p1 s0 + (1-p1) s1) + (1-p0) (p2 s2 + (1-p2) s3), (B,H), s = tanh(u); and the two sums in brackets."""
        s, one = np.tanh(self.u), F(1)
        left = p[..., 1] * s[:, 0] + (one - p[..., 1]) * s[:, 1]
        right = p[..., 2] * s[:, 2] + (one - p[..., 2]) * s[:, 3]
        return p[..., 0] * left + (one - p[..., 0]) * right, left, right

    def chosen(self, h):
        return np.sign(h) if self.signed else h

    def votes(self, X):
        return self.chosen(self.outputs(self.splits(X))[0])

    def slopes(self, p, left, right):
        """dh/dz of the three nodes, (B,H,3). sigmoid' = p (1 - p) from the rounded p: a saturated node has slope 0."""
        s, q = np.tanh(self.u), p * (F(1) - p)
        return np.stack([q[..., 0] * (left - right), p[..., 0] * q[..., 1] * (s[:, 0] - s[:, 1]),
                         (F(1) - p[..., 0]) * q[..., 2] * (s[:, 2] - s[:, 3])], axis=-1)

    def loss_gradients(self, X, y):
        """Of mean 1/2 (1 - y sum_h Q_h h), real outputs, by W, c, u, theta."""
        p, Q = self.splits(X), softmax(self.theta)
        h, left, right = self.outputs(p)
        dvote = F(-0.5) * y / F(len(y))  # (B): dloss/dvote
        dh = dvote[:, None] * Q
        dz = dh[..., None] * self.slopes(p, left, right)
        reach = np.stack([p[..., 0] * p[..., 1], p[..., 0] * (F(1) - p[..., 1]),
                          (F(1) - p[..., 0]) * p[..., 2], (F(1) - p[..., 0]) * (F(1) - p[..., 2])], axis=-1)
        du = (dh[..., None] * reach).sum(0) * (F(1) - np.tanh(self.u)**2)
        r = dvote @ h  # dloss/dQ_h
        return (dz.reshape(len(X), -1).T @ X).reshape(self.W.shape), dz.sum(0), du, Q * (r - Q @ r)


class Adam:
    """x -= rate m' / (sqrt(v') + 1e-8), m' = m / (1 - .9^t), v' = v / (1 - .999^t): the 1e-8 after the correction, which matters."""

    def __init__(self, *values):
        self.values, self.t = values, 0
        self.m, self.v = [np.zeros_like(x) for x in values], [np.zeros_like(x) for x in values]

    def step(self, *gradients):
        self.t += 1
        size, root = F(RATE / (1 - 0.9**self.t)), F(math.sqrt(1 - 0.999**self.t))
        for x, m, v, g in zip(self.values, self.m, self.v, gradients):
            m += F(0.1) * (g - m)
            v *= F(0.999)
            v += F(0.001) * g * g
            x -= size * m / (np.sqrt(v) / root + F(1e-8))


# ---- attacks ----------------------------------------------------------------------------------------------------

def unit(x):
    return np.clip(x, 0, 1)


def start_point(streams, x, norm):
    """A random start from N. linf: x - b + 2 b U; l2: x + (U - x) min(1, b / ||U - x||), U in [0,1]^d."""
    U, b, x = streams.N.doubles(*x.shape), RADIUS[norm], x.astype(float)
    if norm == "linf":
        return unit(x - b + 2 * b * U).astype(F)
    away = U - x
    length = np.sqrt((away**2).sum(1, keepdims=True))
    return unit(x + away * np.minimum(1, b / length)).astype(F)


def climb(vote, x, y, now, norm, k):
    """k steps from `now`, the batch in lockstep. Returns points and labels: first who survives, then the fooled as they fell.

    g = -y / (2 B) grad vote, B = all examples of this forward pass. linf: sign(g); l2: g / max(||g||, 1e-6).
    """
    b, step, Q = F(RADIUS[norm]), F(RADIUS[norm] / k), softmax(vote.theta)
    fallen, fallen_y = [], []
    for _ in range(k):
        if len(y) == 0:
            break
        p = vote.splits(now)
        h, left, right = vote.outputs(p)
        good = y * (vote.chosen(h) @ Q) > 0  # a tie is fooled
        scale = F(-0.5) * y / F(len(y))
        fallen.append(now[~good])
        fallen_y.append(y[~good])
        x, y, now = x[good], y[good], now[good]
        dz = (scale[:, None] * Q)[..., None] * vote.slopes(p, left, right)
        g = dz[good].reshape(len(y), 3 * H) @ vote.flat()
        if norm == "linf":
            move = np.sign(g)
        else:
            move = g / np.maximum(np.sqrt((g * g).sum(1, keepdims=True)), F(1e-6))
        now = unit(np.clip(now + step * move, x - b, x + b))
    return np.concatenate([now] + fallen), np.concatenate([y] + fallen_y)


def attack(vote, streams, x, y, name, norm, k):
    """One batch, one point per example; pgdu and ifgsmu add uniform noise in [-.01,.01], which is not projected."""
    if name == "none":
        streams.forward()
        return x, y
    if name == "unif":
        if norm == "linf":
            point = unit(x + F(RADIUS[norm]) * F(2) * (streams.C.floats(*x.shape) - F(0.5)))
        else:
            point = start_point(streams, x, norm)
        streams.forward()
        return point, y
    start = start_point(streams, x, norm) if name.startswith("pgd") else x
    streams.forward()
    x, y = climb(vote, x, y, start, norm, k)
    if name.endswith("u"):
        x = unit(x + F(NOISE) * F(2) * (streams.C.floats(*x.shape) - F(0.5)))
    return x, y


def batches(count):
    return [slice(i, min(i + BATCH, count)) for i in range(0, count, BATCH)]


def attacked(vote, streams, X, y, name, norm, k):
    """A whole set, batch by batch."""
    streams.begin_pass()
    parts = [attack(vote, streams, X[s], y[s], name, norm, k) for s in batches(len(X))]
    return np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])


# ---- bounds -----------------------------------------------------------------------------------------------------

def kl_inv(q, c):
    """max { p >= q : kl(q||p) <= c } by bisection, cut to [1e-9, 1 - 1e-4]."""
    low, high = q, 1 - 1e-4
    for _ in range(100):
        p = (low + high) / 2
        if q * math.log(q / p) + (1 - q) * math.log((1 - q) / (1 - p)) <= c:
            low = p
        else:
            high = p
    return min(max(low, 1e-9), 1 - 1e-4)


def kl(Q, P):
    return max(0.0, float((Q.astype(float) * np.log(Q.astype(float) / P.astype(float))).sum()))


def seeger(risk, KL, m, T):
    """Half the vote bound: p, and dp by risk and by KL: with a = (1-q)/(1-p) - q/p, dp/dq = ln((1-q) p / ((1-p) q)) / a, dp/dc = 1/a."""
    q = min(max(float(risk), 1e-9), 1 - 1e-4)
    p = kl_inv(q, (KL + math.log(T * (m + 1) / DELTA)) / m)
    a = (1 - q) / (1 - p) - q / p
    return (p, math.log((1 - q) * p / ((1 - p) * q)) / a, 1 / (a * m)) if a > 0 else (p, 0.0, 0.0)


def root(KL, m, T):
    return math.sqrt((KL + math.log(2 * T * math.sqrt(m) / DELTA)) / m)


def objective(name, risk, KL, m, T):
    """What step 2 lowers, twice the bound: its value, and its derivatives by the risk of the batch and by KL."""
    if name == "chromatic":
        return tuple(2 * x for x in seeger(risk, KL, m, T))
    r = root(KL, m, T)
    return 2 * (float(risk) + r), 2.0, 1 / (m * r)


# ---- the two steps ----------------------------------------------------------------------------------------------

def mean_loss(y, vote):
    return float((0.5 * (1 - (y * vote).astype(float))).mean())


def step1(Sp, yp, S, y, norm, voters, defense, epochs, k, see=None):
    """Voters and prior. The epoch with the smallest criterion wins; it multiplies reordered outputs by labels in file order."""
    W, c, u, after = start_weights(Sp.shape[1])
    vote, streams = Vote(W, c, u, np.zeros(H, F), voters == "signed"), Streams(after, first=True)
    adam, criteria, best = Adam(vote.W, vote.c, vote.u, vote.theta), [], None
    for epoch in range(epochs):
        streams.begin_pass()
        for s in batches(len(Sp)):
            x, label = attack(vote, streams, Sp[s], yp[s], defense, norm, k)
            adam.step(*vote.loss_gradients(x, label))
        if see and epoch == 0:
            see(vote)
        x, _ = attacked(vote, streams, S, y, defense, norm, k)
        criteria.append(mean_loss(y, vote.outputs(vote.splits(x))[0] @ softmax(vote.theta)))
        if criteria[-1] < min(criteria[:-1], default=math.inf):
            best = vote.copy()
    return best, criteria, after


def step2(prior, after, S, y, norm, defense, name, epochs, k):
    """The posterior: Q from P by Adam on theta alone. Returns the vote and the criterion (twice the bound) of each epoch."""
    P, vote, streams, m = softmax(prior.theta), prior.copy(), Streams(after), len(S)
    adam, criteria, best = Adam(vote.theta), [], None
    for _ in range(epochs):
        streams.begin_pass()
        for s in batches(m):
            x, label = attack(vote, streams, S[s], y[s], defense, norm, k)
            Q = softmax(vote.theta)
            r = (F(0.5) * (F(1) - label[:, None] * vote.votes(x))).mean(0)
            risk, KL = Q @ r, kl(Q, P)
            _, by_risk, by_kl = objective(name, risk, KL, m, epochs)
            adam.step(Q * (F(by_risk) * (r - risk) + F(by_kl) * (np.log(Q / P) - F(KL))))
        x, _ = attacked(vote, streams, S, y, defense, norm, k)
        Q = softmax(vote.theta)
        criteria.append(objective(name, mean_loss(y, vote.votes(x) @ Q), kl(Q, P), m, epochs)[0])
        if criteria[-1] < min(criteria[:-1], default=math.inf):
            best = vote.copy()
    return best, criteria


# ---- evaluation -------------------------------------------------------------------------------------------------

def error(y, vote):
    """1 wrong, 1/2 a tie."""
    return 0.5 * (1 - np.sign(y * vote).astype(float))


def adversarial_risk(vote, after, T, y, name, norm, k):
    x, label = attacked(vote, Streams(after), T, y, name.rstrip("u"), norm, k)
    return float(error(label, vote.votes(x) @ softmax(vote.theta)).mean())


def perturbed(prior, after, X, y, name, norm, k, n):
    """Votes (m,n,H) on n points per example, made against the prior, and the labels in the same order."""
    if name == "none":
        return prior.votes(X)[:, None, :], y
    streams = Streams(after)
    X, y = attacked(prior, streams, X, y, name.rstrip("u"), norm, k)
    streams.begin_pass()
    votes, W = np.empty((len(X), n, H), F), prior.flat()
    for s in batches(len(X)):
        x = X[s, :, None]
        noisy = unit(x + F(NOISE) * F(2) * (streams.C.floats(*X[s].shape, n) - F(0.5)))  # (B,d,n)
        z = np.matmul(W, noisy).transpose(0, 2, 1).reshape(-1, n, H, 3) + prior.c
        votes[s] = prior.chosen(prior.outputs(F(1) / (F(1) + np.exp(-z)))[0])
    return votes, y


def risks(votes, y, Q):
    """Averaged and averaged-max risk of the vote."""
    wrong = error(y[:, None], votes @ Q)
    return {"averaged_risk": float(wrong.mean()), "averaged_max_risk": float(wrong.max(1).mean())}


def bounds(votes, y, Q, P, T):
    """The vote bounds as printed: twice the value, the root over m. pi_i = mean over the voters of their first worst point."""
    m, KL, n = len(y), kl(Q, P), votes.shape[1]
    margin, signed = y[:, None] * (votes @ Q), y[:, None, None] * votes
    first = signed.argmin(1)  # (m,H): the first worst point of each voter
    share = (first[:, :, None] == np.arange(n)).mean(1)  # pi_i, (m,n)
    TV = float(((1 - np.take_along_axis(share, first, 1)) @ Q).mean())
    Gmax = float((0.5 * (1 - signed.min(1).astype(float)) @ Q).mean())
    Abar = float((0.5 * (1 - margin.min(1).astype(float))).mean())
    return {"bound_seeger": 2 * seeger((0.5 * (1 - margin.astype(float))).mean(), KL, m, T)[0],
            "bound_max": 2 * (Gmax + root(KL, m, T)), "bound_tv": 2 * (Abar + TV + root(KL, m, T))}


def run(data, norm, voters, defense, epochs, k, n, see=None):
    """One defense from start to end; yields (quantity, index, value)."""
    (Sp, yp), (S, y), (T, yt) = data
    prior, criteria, after = step1(Sp, yp, S, y, norm, voters, defense, epochs, k, see)
    yield from (("criterion1", i, x) for i, x in enumerate(criteria))
    yield "best1", 0, criteria.index(min(criteria))
    if defense not in ("pgdu", "ifgsmu"):
        for name in ("none", "pgd", "ifgsm"):
            yield f"adversarial_risk-baseline-{name}", 0, adversarial_risk(prior, after, T, yt, name, norm, k)
    if defense in ("pgd", "ifgsm"):
        return
    P, posterior = softmax(prior.theta), {}
    for name in OBJECTIVES:
        posterior[name], criteria = step2(prior, after, S, y, norm, defense, name, epochs, k)
        yield from ((f"criterion2-{name}", i, x) for i, x in enumerate(criteria))
        yield f"best2-{name}", 0, criteria.index(min(criteria))
        yield f"kl-{name}", 0, kl(softmax(posterior[name].theta), P)
    for row in ("none", "pgdu", "ifgsmu"):
        on_S, on_T = (perturbed(prior, after, X, label, row, norm, k, n) for X, label in ((S, y), (T, yt)))
        for name in OBJECTIVES:
            Q = softmax(posterior[name].theta)
            values = {"adversarial_risk": adversarial_risk(posterior[name], after, T, yt, row, norm, k),
                      **risks(*on_T, Q), **bounds(*on_S, Q, P, epochs)}
            yield from ((f"{quantity}-{name}-{row}", 0, x) for quantity, x in values.items())


# ---- data and the two modes -------------------------------------------------------------------------------------

def idx(directory, name):
    path = os.path.join(directory, name)
    with open(path, "rb") if os.path.exists(path) else gzip.open(path + ".gz", "rb") as file:
        raw = file.read()
    shape = np.frombuffer(raw, ">u4", raw[3], 4)
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3]).reshape(shape)


def read(task, directory=None):
    """Two classes in file order, pixel / 255, first class -1: (training X, y), (test X, y)."""
    directory = directory or ("/usr/share/datasets/fashion-mnist" if task.startswith("fashion")
                              else os.path.expanduser("~/.cache/surety/mnist"))
    sets = []
    for part in ("train", "t10k"):
        X, y = idx(directory, part + "-images-idx3-ubyte"), idx(directory, part + "-labels-idx1-ubyte")
        keep = np.isin(y, TASKS[task])
        sets.append(((X[keep].reshape(keep.sum(), -1).astype(F) / F(255)), np.where(y[keep] == TASKS[task][0], F(-1), F(1))))
    return sets


def cut(part, start, end):
    return part[0][start:end], part[1][start:end]


CASES = [(norm, voters, defense) for norm in NORMS for voters in VOTERS for defense in DEFENSES]


def rows(cases=CASES, directory=None):
    """The rows of print_reference.csv for these cases. Weights: per tree and node the place that the first epoch moves most."""
    train, test = read("fashion-sandal-v-boot", directory)
    data = cut(train, 5000, 5900), cut(train, 0, 500), cut(test, 0, 300)
    W0 = start_weights(train[0].shape[1])[0]
    for case in cases:
        seen = []

        def see(vote):
            d, trees = vote.W.shape[2], range(0, H, 4)
            for node in [3 * tree + i for tree in trees for i in range(3)]:
                place = node * d + int(np.abs(vote.W - W0).reshape(3 * H, d)[node].argmax())
                seen.append(("weight", place, vote.W.flat[place]))
                seen.append(("bias", node, vote.c.flat[node]))
            seen.extend(("leaf", i, vote.u.flat[i]) for tree in trees for i in (4 * tree, 4 * tree + 3))
            seen.extend(("theta", i, x) for i, x in enumerate(vote.theta))

        values = list(run(data, *case, epochs=2, k=5, n=7, see=see))
        for quantity, index, value in sorted(seen, key=lambda row: ("weight", "bias", "leaf", "theta").index(row[0])) + values:
            yield [*case, quantity, str(index), "%.9g" % value]


def path():
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "print_reference.csv")


def compare(tables, task, norm, voters, defense, directory=None):
    """Full size: every printed value of this defense beside ours."""
    with open(tables, newline="") as file:
        printed = {f"{r['quantity']}-{r['algorithm']}-{r['attack']}": float(r["value"]) for r in csv.DictReader(file)
                   if (r["task"], r["norm"], r["voters"], r["defense"]) == (task, norm, voters, defense)}
    train, test = read(task, directory)
    begin, off = time.time(), []
    for quantity, index, value in run((cut(train, 5000, None), cut(train, 0, 5000), test), norm, voters, defense, 20, 20, 100):
        if quantity in printed:
            off.append(abs(value - printed[quantity]))
            print(f"{quantity:45s} {value:.6f} {printed[quantity]:.3f} {value - printed[quantity]:+.5f}", flush=True)
        else:
            print(f"{quantity:45s} {index} {value:.9g}", flush=True)
    print(f"{task} {norm} {voters} {defense}: {len(off)} of {len(printed)} values, mean |difference| {np.mean(off):.5f}, "
          f"max {max(off):.5f}, {sum(x < 0.000501 for x in off)} to the printed digit, {time.time() - begin:.0f} s")


if __name__ == "__main__":
    check()
    if len(sys.argv) > 1:
        compare(*sys.argv[1:])
    else:
        with open(path(), "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["norm", "voters", "defense", "quantity", "index", "value"])
            writer.writerows(rows())
