"""surety plan beside a plain scan over every m, and beside known figures."""
import math

from tap import FULL, answer, error, main, run


def cdf(k, m, p):
    """P[Bin(m,p) <= k], term by term."""
    if p == 0:
        return 1.0
    term = m * math.log1p(-p)
    total = math.exp(term)
    for j in range(k):
        term += math.log((m - j) / (j + 1) * p / (1 - p))
        total += math.exp(term)
    return total


def chance(m, promise, expected, delta):
    k = -1
    while k + 1 < m and cdf(k + 1, m, promise) <= delta:
        k += 1
    return cdf(k, m, expected) if k >= 0 else 0.0


def examples(promise, expected, chance=0.9, *more):
    return answer("plan", "--promise", promise, "--expected", expected, "--chance", chance, *more)["examples"]


def test_known_figures():
    for promise, expected, wanted, m in ((.015, .01, .5, 1776), (.015, .01, .9, 4584), (.11, .1, .5, 2758),
                                         (.11, .1, .9, 8237), (.01, 0, .9, 299)):
        assert examples(promise, expected, wanted) == m, (promise, expected, wanted)


def test_every_larger_m_and_not_the_one_before():
    cases = [(.2, .05, .9, .05), (.1, .02, .5, .05), (.5, .3, .99, .01), (.9, .2, .75, .2), (.3, .0, .9, .001)]
    cases += [(.05, .02, .9, .05), (.04, .01, .95, .1)] if FULL else []
    for promise, expected, wanted, delta in cases:
        m = examples(promise, expected, wanted, "--delta", delta)
        assert chance(m - 1, promise, expected, delta) < wanted, (promise, expected)
        for n in range(m, 2 * m + 40):
            assert chance(n, promise, expected, delta) >= wanted - 1e-12, (promise, expected, n)


def test_shared_confidence():
    assert examples(.1, .05, .9, "--curve", 5) == examples(.1, .05, .9, "--delta", .01)
    assert examples(.1, .05, .9, "--looks", 5) == examples(.1, .05, .9, "--delta", .01)
    # each of two classes misses its promise with a chance of .05 at most
    assert examples(.1, .05, .9, "--classes", 2) == 2 * examples(.1, .05, .95, "--delta", .025)


def test_rows():
    plan = ["plan", "--promise", .05, "--expected", .02, "--rows"]
    many, few = answer(*plan, 3000), answer(*plan, 300)
    assert many["enough"] and many["learn_size"] == many["examples"] and many["reachable"] <= .05
    assert not few["enough"] and few["learn_size"] == 180 and few["reachable"] > .05
    assert abs(few["without_failure"] - (1 - .05 ** (1 / 180))) < 1e-12
    assert "too few" in run(*plan, 300).stdout


def test_bad_input():
    for words in (("--promise", 0), ("--promise", 1), ("--expected", -.1), ("--expected", .06), ("--chance", 1),
                  ("--delta", 0), ("--classes", 0), ("--looks", 0), ("--rows", 1), ("--expected", .04999)):
        e = error("plan", *words, code=2)
        assert e["what"], words


main()
