"""A second opinion on a certificate that shares no code with the library: data, model, random numbers, voters, attack or
worst case, risks and bound from their definitions (docs/theory.md 2 to 4, 8, 9, 11), in float64 with mpmath for the bound.

    second_opinion.py C.json MODEL DATA     DATA: the folder of a task's IDX files, gzipped, or a CSV file, labels last

Three questions. Does the certificate hold together: checksums, classes, rows of S, delta, risks and value from its own
counts? Are the counts those that come out here? Does the bound from the counts here have that value?

The library computes in float32. What that takes from a proof is known, and taken here too. In attacks a vote that is
nearly tied may fall on the other side here: up to 1 + m/5000 of the m examples may be counted otherwise (none was, on
the hundred certificates tried), and the value may differ by eight times that share, which is more than so many examples
can move it. A single voter and the total variation get four times that share: where the voters' gradients cancel,
rounding decides the sign of a linf step, which moves voters but not the vote, and which of a voter's worst columns are
equal.
Exit 0 if it agrees, 1 if not, 2 if it has no opinion: attacks in an l1 ball, bounds from held-out rows.
"""
import csv
import functools
import gzip
import hashlib
import json
import os
import sys
from math import lgamma

import numpy as np
from mpmath import log, mp, mpf, sqrt

LEARN, SPLIT, START, RADIUS, NOISE, COIN = 1, 1, 16, 32, 48, 80  # the set S, and the purposes of random numbers
UNIT = 2.0**32  # of losses in a certificate's counts
mp.dps = 25


class NoOpinion(Exception):
    pass


# ---- files ----

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
    about["sha256"] = hashlib.sha256(raw).hexdigest()
    kinds = {"F64": np.float64, "F32": np.float32, "U8": np.uint8, "U64": np.uint64}
    return about, {name: np.frombuffer(raw[start:][slice(*t["data_offsets"])], kinds[t["dtype"]])
                   .reshape(t["shape"]).astype(float) for name, t in header.items()}


def read_csv(path):
    """Features (m, d) as float32, and the labels as texts."""
    with open(path, encoding="utf-8", newline="") as f:
        lines = [line for line in csv.reader(f) if line]
    return np.array([line[:-1] for line in lines], np.float32), np.array([line[-1].strip() for line in lines])


def shuffled(count, seed):
    """Fisher-Yates from the end; word i - 1 chooses among i, drawn again where it would favour small numbers."""
    order, drawn = list(range(count)), words(seed, SPLIT, [0], 0, count)[0]
    for i in range(count, 1, -1):
        word, again = int(drawn[i - 1]), 0
        while word < 2**32 % i:
            again += 1
            word = int(words(seed, SPLIT, [0], 0, i, again)[0, i - 1])
        order[i - 1], order[word % i] = order[word % i], order[i - 1]
    return np.array(order)


def learning_set(data, where):
    """S: x (m, d), class numbers y, row numbers, as the certificate's `data` describes it."""
    if os.path.isdir(where):
        images, labels = (read_idx(f"{where}/train-{n}-ubyte.gz") for n in ("images-idx3", "labels-idx1"))
        features, labels = images.reshape(len(images), -1), labels.astype(str)
    else:
        features, labels = read_csv(where)
    rows = np.flatnonzero(np.isin(labels, data["classes"]))
    if data["shuffled"]:
        rows = rows[shuffled(len(rows), data["seed"])]
    rows = rows[:data["learn_size"]]
    x = features[rows].astype(np.float32) / np.float32(255 if features.dtype == np.uint8 else 1)
    return x, np.array([data["classes"].index(label) for label in labels[rows]]), rows


def set_digest(x, y, rows):
    """SHA-256 of a set (docs/certificates.md, "Digests of rows")."""
    digest = hashlib.sha256(np.array(x.shape[::-1], "<u8").tobytes())
    for row, k, features in zip(rows, y, (x + np.float32(0)).astype("<f4")):
        digest.update(np.array([row, k], "<u4").tobytes() + hashlib.sha256(features.tobytes()).digest())
    return digest.hexdigest()


def plain(value):
    """JSON with sorted keys, no spaces, numbers with 17 digits: what the checksums of a certificate are of."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{plain(k)}:{plain(value[k])}" for k in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(plain, value)) + "]"
    if not isinstance(value, float):
        return json.dumps(value, ensure_ascii=False)
    digits, _, exponent = f"{value:.17g}".partition("e")
    return digits + (f"e{int(exponent)}" if exponent else "" if "." in digits else ".0")


def sha256(value):
    return hashlib.sha256(plain(value).encode()).hexdigest()


# ---- random numbers ----

def words(seed, purpose, rows, sample, count, restart=0):
    """Philox-4x32-10 by address: (rows, count) words of 32 bits, epoch 0."""
    cells = (count + 3) // 4
    c = [np.broadcast_to(np.arange(cells, dtype=np.uint64), (len(rows), cells)),
         np.broadcast_to(np.asarray(rows, np.uint64)[:, None], (len(rows), cells)),
         np.uint64(restart), np.uint64(sample << 8 | purpose)]
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


def normal(seed, purpose, rows, sample, count, restart):
    """(rows, count) of Box and Muller, from the halves of a word each: of 16 words first the cosines, then the sines."""
    w = words(seed, purpose, rows, sample, (count + 31) // 32 * 16, restart).reshape(len(rows), -1, 16)
    u, v = ((k + 0.5) / 2**16 for k in (w >> np.uint64(16), w & np.uint64(0xFFFF)))
    g = np.sqrt(-2 * np.log(u)) * np.exp(-2j * np.pi * v)
    return np.concatenate([g.real, g.imag], 2).reshape(len(rows), -1)[:, :count]


# ---- voters: scores (m, H, K) in [0,1], or of two classes (m, H, 1) in [-1,1], which stands for h_1 - h_0 ----

def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def columns(h, y):
    """h_y - h_k for the other classes k, ascending: (m, .., K - 1)."""
    if h.shape[-1] == 1:
        return h * np.where(y == 1, 1.0, -1.0).reshape(-1, *[1] * (h.ndim - 1))
    y = np.broadcast_to(y.reshape(-1, *[1] * (h.ndim - 1)), (*h.shape[:-1], 1))
    others = np.arange(h.shape[-1] - 1)
    return np.take_along_axis(h, y, -1) - np.take_along_axis(h, others + (others >= y), -1)


def named(h):
    """The scores of signed voters: the only largest one is 1; in a tie nobody is named."""
    if h.shape[-1] == 1:
        return np.sign(h)
    top = h == h.max(-1, keepdims=True)
    return 1.0 * (top & (top.sum(-1, keepdims=True) == 1))


def vote(Q, v):
    """sum_h Q_h v (m, H, .. ) in the order of the voters."""
    total = np.zeros((len(v), *v.shape[2:]))
    for t, q in enumerate(Q):
        total = total + q * v[:, t]
    return total


class Forest:
    def __init__(self, t):
        self.w, self.c, u = t["splits.weight"], t["splits.bias"], t["leaves"]
        self.s = np.tanh(u)[..., None] if u.ndim == 2 else softmax(u)
        self.I = self.c.shape[1]

    def arguments(self):
        return self.w.reshape(-1, self.w.shape[2]), self.c.ravel()

    def probabilities(self, z):
        return (1 / (1 + np.exp(-z))).reshape(len(z), *self.c.shape)

    def nodes(self, leaves, *ends):
        """Values (m, H, nodes, ..) from those of the leaves (m, H, J, ..): the smaller mixture of the ends p (m, H, I)."""
        f = np.concatenate([np.zeros((*leaves.shape[:2], self.I, *leaves.shape[3:])), leaves], 2)
        for i in reversed(range(self.I)):
            p = [e[:, :, i, None] for e in ends]
            f[:, :, i] = functools.reduce(np.minimum, [q * f[:, :, 2 * i + 1] + (1 - q) * f[:, :, 2 * i + 2] for q in p])
        return f

    def leaves(self, m):
        return np.broadcast_to(self.s, (m, *self.s.shape))

    def scores(self, z):
        return self.nodes(self.leaves(len(z)), self.probabilities(z))[:, :, 0]

    def slopes(self, z, a):
        """Derivatives of sum_k a_hk h_k, a (m, H, K), in the arguments."""
        p = self.probabilities(z)
        f = self.nodes((self.leaves(len(z)) * a[:, :, None]).sum(-1, keepdims=True), p)[..., 0]
        reach, dz = np.ones_like(f), np.empty_like(p)
        for i in range(self.I):
            left, right = 2 * i + 1, 2 * i + 2
            reach[..., left], reach[..., right] = reach[..., i] * p[..., i], reach[..., i] * (1 - p[..., i])
            dz[..., i] = reach[..., i] * (f[..., left] - f[..., right]) * p[..., i] * (1 - p[..., i])
        return dz.reshape(len(z), -1)

    def units(self):
        """Of 2^-24, what the roundings behind the arguments may take from a limit (8.1, 9.2)."""
        each, K = 40 * self.I.bit_length() + 16, self.s.shape[2]
        return each if K == 1 else 2 * each + 2 * (K + 16)

    def limits(self, low, high, y):
        """Lower limits of h_y - h_k (m, H, K - 1) where the arguments lie between low and high."""
        return self.nodes(columns(self.leaves(len(y)), y), self.probabilities(low), self.probabilities(high))[:, :, 0]


class Linear:
    def __init__(self, t):
        self.w, self.c = t["linear.weight"], t["linear.bias"]
        self.H, self.width = len(self.c), self.c[0].size

    def arguments(self):
        return self.w.reshape(-1, self.w.shape[-1]), self.c.ravel()

    def scores(self, z):
        z = z.reshape(len(z), self.H, self.width)
        return np.tanh(z) if self.width == 1 else softmax(z)

    def slopes(self, z, a):
        h = self.scores(z)
        dz = (1 - h * h) * a if self.width == 1 else h * (a - (a * h).sum(-1, keepdims=True))
        return dz.reshape(len(z), -1)

    def units(self):
        return 8 if self.width == 1 else 8 * (self.width + 8)

    def limits(self, low, high, y):
        low, high = (z.reshape(len(y), self.H, self.width) for z in (low, high))
        if self.width == 1:
            return np.where((y == 1)[:, None, None], np.tanh(low), -np.tanh(high))
        out = []
        for k in range(self.width - 1):
            k = np.broadcast_to((k + (k >= y))[:, None, None], (*low.shape[:2], 1))
            own = np.broadcast_to(y[:, None, None], k.shape)
            a, b = np.take_along_axis(low, own, 2), np.take_along_axis(high, k, 2)
            z = np.where(a > b, high, low)  # the others: where they make the difference smallest
            np.put_along_axis(z, own, a, 2), np.put_along_axis(z, k, b, 2)
            h = softmax(z)
            out.append(np.take_along_axis(h, own, 2) - np.take_along_axis(h, k, 2))
        return np.concatenate(out, 2)


class Networks:
    """Chains of layers with MaxMin units between them (docs/theory.md 11). The arguments are those of the first layer."""

    def __init__(self, t):
        layers = range(sum(name.endswith(".bias") for name in t))
        self.W, self.c = ([t[f"layers.{l}.{part}"] for l in layers] for part in ("weight", "bias"))  # (H, w, inputs), (H, w)
        self.s, self.H = t["scale"], len(t["scale"])

    def arguments(self):
        return self.W[0].reshape(-1, self.W[0].shape[2]), self.c[0].ravel()

    def layers(self, z):
        """The inputs of every layer but the first, (m, H, inputs) each, which of their pairs were swapped, and f (m, H, K)."""
        z, inputs, swaps = z.reshape(len(z), self.H, -1), [], []
        for W, c in zip(self.W[1:], self.c[1:]):
            half = z.shape[2] // 2
            p, q, rest = np.split(z, [half, 2 * half], 2)
            inputs.append(np.concatenate([np.maximum(p, q), np.minimum(p, q), rest], 2))
            swaps.append(p <= q)
            z = np.einsum("mhj,hij->mhi", inputs[-1], W) + c
        return inputs, swaps, z

    def scores(self, z):
        f = self.layers(z)[2] / self.s[:, None]
        return np.clip(f, -1, 1) if f.shape[2] == 1 else softmax(f)

    def slopes(self, z, a):
        """Through the cut at -1 and 1."""
        _, swaps, f = self.layers(z)
        h = softmax(f / self.s[:, None])
        dz = (a if f.shape[2] == 1 else h * (a - (a * h).sum(-1, keepdims=True))) / self.s[:, None]
        for W, swapped in zip(self.W[:0:-1], swaps[::-1]):
            half = swapped.shape[2]
            p, q, rest = np.split(np.einsum("mhi,hij->mhj", dz, W), [half, 2 * half], 2)
            dz = np.concatenate([np.where(swapped, q, p), np.where(swapped, p, q), rest], 2)
        return dz.reshape(len(z), -1)

    @staticmethod
    def stretch(W):
        """(H) of W (H, w, inputs), by Gershgorin: the largest sum of |G_ij| over a row, G of the shorter side."""
        G = np.einsum("hij,hkj->hik", W, W) if W.shape[1] <= W.shape[2] else np.einsum("hji,hjk->hik", W, W)
        return np.sqrt(np.abs(G).sum(2).max(1))

    def drift(self, x, inputs, length, unit):
        """How far f moves where ||e / unit|| <= length (m): the constants of all layers, and of all but the last, (H) each,
        and what roundings take from an answer (m, H)."""
        u, lip, inner, error = 2.0**-24, np.ones(self.H), np.ones(self.H), np.zeros((len(x), self.H))
        for l, (W, c) in enumerate(zip(self.W, self.c)):
            a, V = (inputs[l - 1], W) if l else (np.repeat(x[:, None], self.H, 1), W * unit)
            n = W.shape[2]
            k = n - np.arange(n) + 2
            sizes = np.linalg.norm(np.einsum("mhj,hij->mhi", np.abs(a), k * np.abs(W)), axis=2)
            moved = np.sqrt(((k * V) ** 2).sum((1, 2))) * (lip * length[:, None] + 2 * error)
            error = self.stretch(V) * error + u / (1 - (n + 2) * u) * (sizes + moved + (n + 2) * np.linalg.norm(c, axis=1))
            inner, lip = lip, lip * self.stretch(V)
        return lip, inner, error

    def lowest(self, x, y, ball, a):
        """Lower limits of h_y - h_k (m, H, K - 1) over the ball."""
        inputs, _, f = self.layers(x @ self.arguments()[0].T + self.arguments()[1])
        length = ball.length(x, a["norm"], a["eps"])
        lip, inner, error = self.drift(x, inputs, length, ball.unit)
        if f.shape[2] == 1:
            margin = columns(f, y)[..., 0] - lip * length[:, None] - 2 * error
            return np.clip(margin / self.s, -1, 1)[..., None]
        pairs = np.linalg.norm(self.W[-1][:, :, None] - self.W[-1][:, None], axis=3)  # (H, K, K)
        others = np.arange(f.shape[2] - 1) + (np.arange(f.shape[2] - 1) >= y[:, None])
        far = pairs.transpose(1, 2, 0)[y[:, None], others].transpose(0, 2, 1)  # (m, H, K - 1)
        D = columns(f, y) - inner[:, None] * far * length[:, None, None] - 2 * np.sqrt(2) * error[..., None]
        D /= self.s[:, None]
        total = 1 + np.exp(-D).sum(2, keepdims=True)
        return np.where(D >= 0, (1 - np.exp(-D)) / total, np.tanh(D / 2)) - 8 * (f.shape[2] + 8) * 2.0**-24


class Model:
    """What is asked of a model: voters, P, Q, and which votes count."""

    def __init__(self, about, tensors):
        self.voters = next(kind for key, kind in (("leaves", Forest), ("linear.weight", Linear), ("layers.0.weight", Networks))
                           if key in tensors)(tensors)
        self.w, self.c = self.voters.arguments()
        self.P, self.Q, self.signed = tensors["prior"], tensors["posterior"], about["voters"] == "signed"

    def real(self, x):
        """Scores, which are floats: several of them may be equal."""
        return self.voters.scores(x @ self.w.T + self.c).astype(np.float32).astype(float)

    def chosen(self, h):
        return named(h) if self.signed else h

    def uphill(self, x, y, rival):
        """The gradient of -sum_h P_h (h_y - h_rival)."""
        width = self.real(x[:1]).shape[-1]
        a = np.where(y == 1, -1.0, 1.0)[:, None] if width == 1 else (
            np.eye(width)[rival + (rival >= y)] - np.eye(width)[y])
        return self.voters.slopes(x @ self.w.T + self.c, self.P[:, None] * a[:, None]) @ self.w


# ---- attacks ----

class Ball:
    """Units, moving features and ends of every feature (docs/tolerances.md); without a tolerance all units are 1."""

    def __init__(self, c, d):
        a, t = c["attack"], c["tolerance"]
        if c["tolerance"]["features"] and c["attack"]["slack"]:
            raise NoOpinion("no second opinion on tolerances of scaled features")
        self.unit = np.array(t["radius"] or [1.0] * d)
        self.moves = np.flatnonzero(self.unit)
        ends = lambda key, none: np.array([none if v is None else np.float32(v) for v in t[key]] or [none] * d, float)
        self.lo, self.hi = ends("lo", -np.inf), ends("hi", np.inf)
        self.box = (-np.inf, np.inf) if a["box_lo"] is None else (a["box_lo"], a["box_hi"])

    def ends(self, x0):
        """Of the box, and of the ranges, stretched to the input."""
        return np.maximum(self.box[0], np.minimum(self.lo, x0)), np.minimum(self.box[1], np.maximum(self.hi, x0))

    def clip(self, x, x0):
        return np.clip(x, *self.ends(x0))

    def length(self, x0, norm, b):
        """Not below ||e / unit||_2 for any e of the ball (m): l1 by sum e^2 <= max |e| sum |e|."""
        lo, hi = self.ends(x0)
        room = np.minimum(b, np.maximum(hi - x0, x0 - lo) / np.maximum(self.unit, 1e-300)) * (self.unit > 0)
        return {"l2": np.full(len(x0), b), "l1": np.sqrt(b * room.max(1)), "linf": np.linalg.norm(room, axis=1)}[norm]

    def spread(self, u, x0):
        """x0 moved by u (m, moving features) in their units."""
        x = x0.copy()
        x[:, self.moves] += u * self.unit[self.moves]
        return x


def project(x, x0, a):
    ball = a["ball"]
    u = (x - x0)[:, ball.moves] / ball.unit[ball.moves]
    if a["norm"] == "linf":
        u = np.clip(u, -a["eps"], a["eps"])
    else:
        u = u * np.minimum(1, a["eps"] / np.maximum(np.linalg.norm(u, axis=-1, keepdims=True), 1e-300))
    return ball.clip(ball.spread(u, x0), x0)


def random_start(x0, rows, a, restart):
    d = len(a["ball"].moves)
    if a["norm"] == "linf":
        u = 2 * uniform(a["seed"], START + LEARN, rows, 0, d, restart) - 1
    else:
        g = normal(a["seed"], START + LEARN, rows, 0, d, restart)
        g /= np.linalg.norm(g, axis=1, keepdims=True)
        u = uniform(a["seed"], RADIUS + LEARN, rows, 0, 1, restart) ** (1 / d) * g
    return project(a["ball"].spread(a["eps"] * u, x0), x0, a)


def passes(a):
    """(start, steps, first step, whether it adapts) of each pass; a start is x, the best point, or the number of a random one."""
    k, step, times = a["steps"] or 0, a["step_size"], range(a["restarts"] or 1)
    if a["name"] == "apgd":  # docs/theory.md 3
        return [("x", k, step, False), (0, k, step, False)] + [
            (start, 2 * k, a["eps"] / 4, True) for i in times for start in ("best", i + 1)]
    if a["name"] in ("unif", "pgd", "pgdu"):
        return [(i, k, step, False) for i in times]
    return [("x", 1, a["eps"], False)] if a["name"] == "fgsm" else [("x", k, step, False)]


class Adapting:
    """Step lengths of an adaptive pass: halved after a window of steps of which less than three quarters raised the loss,
    or in which the largest loss of the pass did not grow. Then a pass from the best point goes on from there."""

    def __init__(self, m, steps):
        self.window = -(-steps // 8)
        self.last, self.most, self.mark, self.rises = np.full(m, np.inf), np.full(m, -1.0), np.full(m, -1.0), np.zeros(m)

    def slow(self, live, loss, taken):
        """Which of the live rows, now at these losses, slow down."""
        self.rises[live] += loss > self.last[live]
        self.last[live], self.most[live] = loss, np.maximum(self.most[live], loss)
        if taken == 0 or taken % self.window:
            return np.zeros(len(live), bool)
        slow = (4 * self.rises[live] < 3 * self.window) | ~(self.most[live] > self.mark[live])
        self.mark[live], self.rises[live] = self.most[live], 0
        return slow

    def back(self, live, loss):
        """These rows go on from a point of this loss: a rise, if it is one."""
        self.rises[live] += loss > self.last[live]
        self.last[live] = loss


def attacked(x0, y, rows, model, a):
    """The attack without noise, against the vote of P: the wrong point, or the one of largest loss, that it met."""
    best, best_loss, fooled = x0.copy(), np.full(len(x0), -1.0), np.zeros(len(x0), bool)
    for start, steps, step, adapts in passes(a):
        live = np.flatnonzero(~fooled)
        x = {"x": x0, "best": best}[start].copy() if isinstance(start, str) else random_start(x0, rows, a, start)
        length, adapting = np.full(len(x0), step if steps else 0.0), Adapting(len(x0), steps)
        for taken in range(steps + 1):
            h = model.real(x[live])
            real = vote(model.P, columns(h, y[live]))
            loss = (1 - real.min(1)) / 2
            wrong = vote(model.P, columns(model.chosen(h), y[live])).min(1) <= 0
            better = wrong | (loss > best_loss[live])
            best[live[better]], best_loss[live[better]] = x[live[better]], loss[better]
            fooled[live[wrong]] = True
            rival, better, loss, live = real.argmin(1)[~wrong], better[~wrong], loss[~wrong], live[~wrong]
            if taken == steps or not len(live):
                break
            if adapts:
                slow = adapting.slow(live, loss, taken)
                length[live[slow]] /= 2
                back = live[slow & ~better] if start == "best" else live[:0]
                if len(back):
                    x[back] = best[back]
                    adapting.back(back, best_loss[back])
                    rival = vote(model.P, columns(model.real(x[live]), y[live])).argmin(1)
            g = model.uphill(x[live], y[live], rival) * a["ball"].unit
            g = np.sign(g) if a["norm"] == "linf" else g / np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-300)
            x[live] = project(x[live] + length[live, None] * g * a["ball"].unit, x0[live], a)
    return best


def perturbed(x0, y, rows, model, a):
    """v (m, n, H, K - 1) on all perturbations."""
    found = attacked(x0, y, rows, model, a)
    out = []
    for j in range(a["samples"] or 1):
        at = found
        if a["noise"] is not None:
            e = a["noise"] * noise(a["seed"], NOISE + LEARN, rows, j, len(a["ball"].moves))
            at = project(a["ball"].clip(a["ball"].spread(e, found), x0), x0, a)
        out.append(columns(model.chosen(model.real(at)), y))
    return np.stack(out, 1)


# ---- the worst case ----

def most_gain(w, room, norm, b):
    """The largest <w, e>, w (N, d) >= 0, 0 <= e <= room (d), ||e|| <= b: all of room, or (docs/theory.md 8.1) l1: b spent
    on the largest w; l2: e = min(w / lambda, room), lambda by bisection."""
    room = np.minimum(room, b)
    if norm == "linf":
        return w @ room
    if norm == "l1":
        order = np.argsort(-w, 1)
        given = np.minimum(np.cumsum(room[order], 1), b)
        return (np.take_along_axis(w, order, 1) * np.diff(given, axis=1, prepend=0)).sum(1)
    if room @ room <= b * b:
        return w @ room
    low, high = np.full((len(w), 1), -40.0), np.full((len(w), 1), 40.0)  # of ln lambda
    for _ in range(50):
        middle = (low + high) / 2
        e = np.minimum(w * np.exp(-middle), room)
        far = (e * e).sum(1, keepdims=True) > b * b
        low, high = np.where(far, middle, low), np.where(far, high, middle)
    return (w * np.minimum(w * np.exp(-high), room)).sum(1)


def rounding(x, model, a):
    """How far an argument in float32 may be from the real one anywhere in the ball (docs/theory.md 8.1): (m, N)."""
    u, d = 2.0**-24, x.shape[1]
    k = np.abs(model.w) * (d - np.arange(d) + 2)
    r = k * a["ball"].unit
    dual = {"linf": r.sum(1), "l2": np.linalg.norm(r, axis=1), "l1": r.max(1)}[a["norm"]]
    return u / (1 - (d + 2) * u) * ((d + 2) * np.abs(model.c) + np.abs(x) @ k.T + a["eps"] * dual)


def lowest(x, y, model, a):
    """Lower limits of h_y - h_k over the ball (m, H, K - 1), from the ranges of arguments."""
    ball, z = a["ball"], x @ model.w.T + model.c
    w = model.w * ball.unit
    plus, minus = np.maximum(w, 0), np.maximum(-w, 0)
    low, high = np.empty_like(z), np.empty_like(z)
    off = rounding(x, model, a)
    both = np.concatenate([plus, minus], 1)
    for i, point in enumerate(x):
        lo, hi = ball.ends(point)
        unit = np.maximum(ball.unit, 1e-300)
        up, down = np.minimum((hi - point) / unit, a["eps"]), np.minimum((point - lo) / unit, a["eps"])
        high[i] = z[i] + most_gain(both, np.concatenate([up, down]), a["norm"], a["eps"])
        low[i] = z[i] - most_gain(both, np.concatenate([down, up]), a["norm"], a["eps"])
    return model.voters.limits(low - off, high + off, y) - model.voters.units() * 2.0**-24


def proved(x, y, model, a):
    """Lower limits of v over the ball, (m, 1, H, K - 1), of the scores as they are computed."""
    network = isinstance(model.voters, Networks)
    v = np.maximum(-1, model.voters.lowest(x, y, a["ball"], a) if network else lowest(x, y, model, a))
    if model.signed:
        v = np.where((v > 0).all(2, keepdims=True), 1.0, np.where(v > 0, 0.0, -1.0))
    return v[:, None]


# ---- counts, risks, bounds ----

def count(v, P, Q, coin):
    """What these examples add to the counts of a certificate, losses as they are: v (m, n, H, K - 1), a coin in [0, 1) for each."""
    m, n, H = v.shape[:3]
    of_Q, of_P = (vote(w, v.reshape(m * n, H, -1)).min(1).reshape(m, n) for w in (Q, P))
    wide = np.moveaxis(v, 2, 1).reshape(m, H, -1)                     # over columns (j, k)
    loss, most = (1 - v.min(3)) / 2, (1 - wide.min(2)) / 2            # (m, n, H), (m, H)
    right, kept, error = of_P > 0, (of_P > 0).all(1), wide.min(2) <= 0
    heard = np.einsum("h,mhc->mc", Q, 1.0 * (wide == wide.min(2, keepdims=True))).max(1)
    return {"wrong": (of_Q < 0).sum(), "tied": (of_Q == 0).sum(), "max_wrong": (of_Q < 0).any(1).sum(),
            "max_tied": ((of_Q == 0).any(1) & ~(of_Q < 0).any(1)).sum(), "prior_wrong": (~right).sum(),
            "prior_max_wrong": (~kept).sum(), "abar_sum": ((1 - np.einsum("h,mhc->mc", Q, wide).min(1)) / 2).sum(),
            "tv_sum": (1 - heard).sum(), "tandem_sum": (np.einsum("h,mnh->mn", Q, loss) ** 2).sum(),
            "loss": loss.sum((0, 1)), "max_loss": most.sum(0), "errors": error.sum(0),
            "anchored_loss": (loss * right[:, :, None]).sum((0, 1)), "anchored_max": most[kept].sum(0),
            "anchored_errors": error[kept].sum(0), "prior_coins": (coin < (~right).mean(1)).sum(),
            "coins": (coin[:, None] < loss.mean(1)).sum(0), "max_coins": (coin[:, None] < most).sum(0)}


OVER_VOTES = "wrong", "tied", "prior_wrong", "tandem_sum", "loss", "anchored_loss"  # sums over i and j


def shares(counts, m, n):
    return {k: np.asarray(v, float) / (m * n if k in OVER_VOTES else m) for k, v in counts.items()}


def stated(counts):
    """The counts of a certificate with losses as they are."""
    return {k: np.asarray(v) / (UNIT if "loss" in k or k.endswith("_sum") or k == "anchored_max" else 1)
            for k, v in counts.items()}


def risks(s, Q):
    return {"averaged": s["wrong"] + s["tied"], "averaged_max": s["max_wrong"] + s["max_tied"], "rbar": s["loss"] @ Q,
            "abar": s["abar_sum"], "gmax": s["max_loss"] @ Q, "tv": s["tv_sum"], "tandem": s["tandem_sum"]}


def kl_inv(q, c):
    """The largest p with kl(q||p) <= c."""
    q = min(mpf(float(q)), mpf(1))
    lo, hi = q, mpf(1)
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


# What a bound is, and whether it limits the averaged risk.
BOUNDS = {"seeger": ("kl", True), "average_max_seeger": ("kl", False), "worst_case": ("kl", False),
          "chromatic_seeger": ("chromatic kl", True), "chromatic_mcallester": ("chromatic root", True),
          "average_max": ("root", False), "average_max_tv": ("tv", False), "tandem": ("tandem", True),
          "voters_union": ("union", True), "average_max_voters_union": ("union", False), "worst_case_union": ("union", False),
          "vote_frozen_averaged": ("frozen", True), "vote_frozen_max": ("frozen", False), "worst_case_frozen": ("frozen", False),
          "vote_anchored_averaged": ("anchored", True), "vote_anchored_max": ("anchored", False),
          "worst_case_anchored": ("anchored", False), "voters_coins": ("coins", True),
          "average_max_voters_coins": ("coins", False), "worst_case_coins": ("coins", False),
          "vote_frozen_coins": ("frozen coins", True), "average_max_dictator": ("dictator", False),
          "worst_case_dictator": ("dictator", False)}


def bound(name, s, Q, P, KL, m, n, T, delta, signed):
    """Of the shares s."""
    shape, averaged = BOUNDS.get(name, (None, False))
    if shape is None or ("frozen" in shape and (P != Q).any()):
        raise NoOpinion(f"no second opinion on {name} of this model")
    exact = not averaged or n == 1  # an example is right or wrong, for the vote and for a signed voter

    def C(factor):
        return log(factor * T / mpf(delta))

    def limit(share, mistakes, c, binary):
        return binomial_limit(int(round(float(mistakes) * m)), m, float(mp.e ** -c)) if binary else kl_inv(share, c / m)

    def union(loss, errors, c):
        return min(1, sum(q * limit(share, e, c, signed and exact) for q, share, e in zip(Q, loss, errors)))

    def prior(c):
        return limit(s["prior_wrong" if averaged else "prior_max_wrong"], s["prior_max_wrong"], c, exact)

    loss, kept = (s["loss"], s["anchored_loss"]) if averaged else (s["max_loss"], s["anchored_max"])
    factor = m + 1 if "chromatic" in shape else 2 * sqrt(m)
    copies, root = (KL + C(factor)) / m, sqrt((KL + C(factor)) / (2 * m))
    return {"kl": lambda: 2 * kl_inv(loss @ Q, copies), "chromatic kl": lambda: 2 * kl_inv(loss @ Q, copies),
            "root": lambda: 2 * (loss @ Q + root), "chromatic root": lambda: 2 * (loss @ Q + root),
            "tv": lambda: 2 * (min(s["abar_sum"], loss @ Q) + s["tv_sum"] + root),
            "tandem": lambda: 4 * kl_inv(s["tandem_sum"], copies + KL / m),
            "coins": lambda: 2 * min(1, sum(q * limit(None, k, C(len(Q)), True)
                                            for q, k in zip(Q, s["coins" if averaged else "max_coins"]))),
            "frozen coins": lambda: limit(None, s["prior_coins"], C(1), True),
            "dictator": lambda: limit(None, s["errors"][Q.argmax()], C(len(Q)), True),
            "union": lambda: 2 * union(loss, s["errors"], C(len(Q))), "frozen": lambda: prior(C(1)),
            "anchored": lambda: prior(C(2)) + 2 * union(kept, s["anchored_errors"], C(2 * len(Q)))}[shape]()


# ---- a certificate ----

def facts(c, about, x, y, rows):
    """(what, in the certificate, here) of all that must be equal."""
    labels = about["data.classes"]
    labels = json.loads(labels) if labels.startswith("[") else labels.split(",")
    task, shown = c["data"]["task"] or "", {k: v for k, v in c.items() if k != "digest"}
    table = {k: v for k, v in c["tolerance"].items() if k != "sha256"}
    return [("tolerance", c["tolerance"]["sha256"], sha256(table) if table["features"] else None),
            ("digest", c["digest"], sha256(shown)), ("counts_sha256", c["counts_sha256"], sha256(c["counts"])),
            ("model", c["model"]["sha256"], about["sha256"]), ("classes", c["data"]["classes"], labels),
            ("task", task, about["data.task"]), ("S", c["data"]["sha256_learn"], set_digest(x, y, rows)),
            ("S of the model", about["data.learn"], set_digest(x, y, rows)), ("m", c["inputs"]["m"], len(y)),
            ("T_p", c["inputs"]["priors_compared"], int(about["priors_compared"])), ("seed", c["attack"]["seed"], int(about["seed"])),
            ("shares of delta", round(c["inputs"]["delta_share"] * len(c["ledger"]) / c["delta"], 12), 1.0)]


def recount(x, y, rows, model, a):
    """The counts of S, a few examples at a time."""
    n, others = a["samples"] or 1, columns(model.real(x[:1]), y[:1]).shape[-1]
    each = int(max(1, min(500, 1e7 // (n * len(model.Q) * others))))  # so that memory stays small
    total = None
    for i in range(0, len(y), each):
        part = slice(i, i + each)
        v = (proved(x[part], y[part], model, a) if a["name"] == "worst-case" else
             perturbed(x[part], y[part], rows[part], model, a))
        more = count(v, model.P, model.Q, words(a["seed"], COIN + LEARN, rows[part], 0, 4)[:, 0] / 2**32)
        total = more if total is None else {k: total[k] + more[k] for k in more}
    return total


def at_radius(c, eps, d):
    """The attack of a certificate at another radius."""
    a = {**c["attack"], "eps": eps}
    return {**a, "ball": Ball({**c, "attack": a}, d)}


def statements(c, m, T, not_proved, flips):
    """Lines about what the certificate states beside one limit; not_proved(eps) examples of S are not proved right here."""
    share = c["inputs"]["delta_share"] / T
    limit = lambda k: binomial_limit(int(k), m, share)
    lines = [(f"{name}[{i}] of its counts", p["value"], binomial_limit(p["failed"], p["m"], share) if p["m"] else 1, 1e-9)
             for name in ("classes", "groups") for i, p in enumerate(c.get(name, []))]
    if lines:
        lines += [("value", c["value"], max(p["value"] for p in c["classes"] + c.get("groups", [])), None)]
    for i, p in enumerate(c["curve"]):
        least = min(limit(q["failed"]) for q in c["curve"][i:])
        lines += [(f"curve[{i}] of its counts", p["value"], least, 1e-9), (f"curve[{i}].failed / m", p["failed"] / m, not_proved(p["radius"]) / m, flips)]
    for i, p in enumerate(c["promises"]):
        tested = all(q["kept"] for q in c["promises"][:i])
        lines += [(f"promises[{i}] tested", p["failed"] is not None, tested, None)]
        if tested:
            lines += [(f"promises[{i}] kept", p["kept"], limit(p["failed"]) <= p["limit"], None),
                      (f"promises[{i}].failed / m", p["failed"] / m, not_proved(p["radius"]) / m, flips)]
    if c["statement"] == "promises":
        kept = [p["limit"] for p in c["promises"] if p["kept"]]
        lines += [("value", c["value"], kept[-1] if kept else 1, None)]
    if c["statement"] == "curve":
        lines += [("value", c["value"], c["curve"][-1]["value"], None)]
    if c["statement"] == "radius":
        none = c["radius"] is None
        lines += [("value", c["value"], 1 if none else c["promised_risk"], None)]
        if not none:
            k = c["below_radius"]
            lines += [("radius is allowed", True, limit(k) <= c["promised_risk"], None), ("radius", c["radius"], c["attack"]["eps"], None),
                      ("below the radius / m", k / m, not_proved(c["radius"]) / m, flips),
                      ("a wider one is not allowed", True, limit(not_proved(c["radius"] * 1.02) + flips * m) > c["promised_risk"], None)]
    return lines


def opinion(certificate, model_file, where):
    """Lines (what, in the certificate, here, allowed difference)."""
    c = json.load(open(certificate, encoding="utf-8"))
    about, tensors = read_model(model_file)
    a, model = dict(c["attack"]), Model(about, tensors)
    if a["name"] != "worst-case" and a["norm"] not in ("l2", "linf"):
        raise NoOpinion(f"no second opinion on attacks in the {a['norm']} ball")
    if a["epoch"] != 0:
        raise NoOpinion("no second opinion on another epoch than 0")
    x, y, rows = learning_set(c["data"], where)
    a["ball"] = Ball(c, x.shape[1])
    P, Q, m, n = model.P, model.Q, len(y), a["samples"] or 1
    KL = sum(mpf(q) * log(mpf(q) / mpf(p)) for q, p in zip(Q, P)) if (P != Q).any() else mpf(0)
    T = int(about["priors_compared"]) * c["inputs"]["looks"]
    value = lambda s: float(bound(c["bound"], s, Q, P, KL, m, n, T, c["inputs"]["delta_share"], model.signed))
    theirs, mine = (shares(k, m, n) for k in (stated(c["counts"]), recount(x.astype(float), y, rows, model, a)))
    flips = 1 / m + 1 / 5000
    lines = [(*fact, None) for fact in facts(c, about, x, y, rows)]
    lines += [(k + " of its counts", c["risks"][k], v, 2e-9) for k, v in risks(theirs, Q).items()]
    if c["statement"] == "limit":
        lines += [("value of its counts", c["value"], value(theirs), 2e-9 + 1e-6 * c["value"])]
    elif c["statement"] in ("classes", "groups", "radius", "curve", "promises"):
        wrong = lambda eps: recount(x.astype(float), y, rows, model, at_radius(c, eps, x.shape[1]))["prior_max_wrong"]
        lines += statements(c, m, T, wrong, flips)
    else:
        raise NoOpinion(f"no second opinion on a statement about {c['statement']}")
    lines += [(k, c["risks"][k], v, flips * (4 if k == "tv" else 1)) for k, v in risks(mine, Q).items()]
    for k in mine:  # of arrays the voter that differs most
        far, wide = np.argmax(np.abs(theirs[k] - mine[k])), theirs[k].ndim or k == "tv_sum"
        lines.append(("count " + k, theirs[k].flat[far], mine[k].flat[far], flips * (4 if wide else 1)))
    lines += [("kl", c["inputs"]["kl"], float(KL), 1e-12)]
    return lines + ([("value", c["value"], value(mine), 8 * flips)] if c["statement"] == "limit" else [])


def compare(certificate, model, where):
    """Lines that show both opinions, and whether they agree."""
    shown, agrees = [], True
    for what, theirs, mine, allowed in opinion(certificate, model, where):
        same = theirs == mine if allowed is None else abs(mine - theirs) <= allowed
        agrees &= bool(same)
        if same and (allowed is None or what.startswith("count ") or what.endswith("its counts")):
            continue  # of these only what differs is shown
        a, b = (str(v) if allowed is None else f"{v:.9f}" for v in (theirs, mine))
        shown.append(f"{what:27} {a} in the certificate, {b} here{'' if same else ' DIFFERS'}")
    return shown, agrees


if __name__ == "__main__":
    try:
        shown, agrees = compare(*sys.argv[1:])
    except NoOpinion as why:
        print(why)
        sys.exit(2)
    print(*shown, sep="\n")
    sys.exit(not agrees)
