"""The log of looks at S: what is written, counted and said; and that nothing depends on it."""
import json
import os
import random
import subprocess
import tempfile

import small
from tap import SURETY, answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
DATA = small.write(FOLDER.name, train=300, test=40, pool=4)
QUICK = ["--quiet", "--threads", "1"]
TRAIN = ["train", "--preset", "paper", *DATA, "--learn-size", 150, "--trees", 3, "--epochs", 1, "--defense", "none", *QUICK]
NOBODY = "0" * 64


def path(name):
    return os.path.join(FOLDER.name, name)


def state(name):
    return {"XDG_STATE_HOME": path(name)}


def model():
    if not os.path.exists(path("m")):
        run(*TRAIN, "--out", path("m"), env=state("elsewhere"))
    return path("m")


def certify(out, *words, env, **options):
    return run("certify", model(), *DATA, "--attack", "none", "--out", path(out), *words, *QUICK, env=env, **options)


def test_every_look_is_one_line():
    log = state("lines")
    run(*TRAIN, "--out", path("own"), env=log)
    said = run("evaluate", path("own"), *DATA, "--attacks", "none", "--threads", 1, env=log)
    assert "This was a look at S" in said.stdout
    said = run("evaluate", path("own"), *DATA, "--attacks", "none", "--json", "--threads", 1, env=log)
    assert "this was a look" in said.stderr and json.loads(said.stdout)
    run("attack", path("own"), *DATA, "--attack", "pgd", "--split", "test", *QUICK, env=log)  # T is free
    run("attack", path("own"), *DATA, "--attack", "pgd", "--split", "learn", *QUICK, env=log)
    run("certify", path("own"), *DATA, "--looks", 1, "--attack", "none", "--out", path("o.json"), *QUICK, env=log)
    run("verify", path("o.json"), *DATA, "--model", path("own"), *QUICK, env=log)  # derives, does not choose
    with open(path("lines/surety/looks"), encoding="utf-8") as f:
        lines = f.read().splitlines()
    assert [line.split()[1] for line in lines] == ["train", "evaluate", "evaluate", "attack", "certify"]
    shown = answer("looks", env=log)["sets"]
    assert len(shown) == 1 and (shown[0]["certificates"], shown[0]["evaluations"], shown[0]["trainings"]) == (1, 3, 1)
    assert shown == answer("looks", path("own"), env=log)["sets"] == answer("looks", path("o.json"), env=log)["sets"]
    certificate = json.load(open(path("o.json"), encoding="utf-8"))
    event = shown[0]["events"][-1]
    assert shown[0]["sha256_learn"] == certificate["data"]["sha256_learn"]
    assert event["model"] == certificate["model"]["sha256"] and certificate["digest"][:16] in event["what"]
    table = run("looks", env=log).stdout
    assert all(len(line) <= 80 for line in table.splitlines()) and "1 certificate, 3 evaluations" in table


def test_a_training_that_leaves_s_alone_is_no_look():
    log = state("alone")
    run(*TRAIN, "--objective", "baseline", "--keep", "last", "--out", path("a"), env=log)
    run(*TRAIN, "--objective", "baseline", "--holdout", 0.3, "--out", path("a"), env=log)
    assert answer("looks", env=log)["sets"] == [] and "no look" in run("looks", env=log).stdout
    run(*TRAIN, "--objective", "baseline", "--out", path("a"), env=log)
    assert answer("looks", env=log)["sets"][0]["trainings"] == 1


def test_fewer_looks_than_certificates():
    log = state("fewer")
    assert certify("1.json", "--looks", 1, env=log).stderr == ""
    assert certify("1.json", "--looks", 1, env=log).stderr == ""  # the same certificate again is no other
    said = certify("2.json", "--looks", 1, "--delta", 0.01, env=log).stderr
    assert "2 certificates" in said and "--looks says 1" in said, said
    assert certify("3.json", "--looks", 3, "--delta", 0.02, env=log).stderr == ""


def test_other_splits_of_one_file():
    """Labels are coin tosses; the best limit of two dozen splits was 46.5 %. Each split is another S, of the same file."""
    log, rng = state("splits"), random.Random(4)
    with open(path("coin.csv"), "w", encoding="utf-8") as f:
        f.write("a,b,kind\n" + "".join(f"{rng.random():.6f},{rng.random():.6f},{rng.choice('xy')}\n" for _ in range(300)))
    own = ["--train", path("coin.csv")]
    for seed in (1, 2):
        run("train", *own, "--kind", "linear", "--seed", seed, *QUICK, "--out", path(f"s{seed}"), env=log)

    def split(seed, looks, *words):
        return run("certify", path(f"s{seed}"), *own, "--attack", "none", "--looks", looks, *words, *QUICK, "--out", path("s.json"), env=log).stderr

    assert split(1, 1) == "" and split(1, 1) == ""  # the same one again
    assert "1 certificate from another split of the same file" in split(2, 1)
    assert split(2, 3, "--delta", 0.01) == ""  # this one, the one before, and that of the other split
    said = split(2, 1, "--delta", 0.02)
    assert "1 certificate from another split" in said and "3 certificates from this S" in said, said
    assert split(1, 1, "--delta", 0.02) and "3 certificates from another split" in split(1, 1)


def test_looks_are_mandatory():
    e = error("certify", model(), *DATA, "--attack", "none", "--out", path("no.json"), code=2, env=state("none"))
    assert "might have issued after seeing S" in e["what"] and "The usual answer is --looks 1" in e["what"]
    assert not os.path.exists(path("no.json"))


def test_certificates_do_not_depend_on_the_log():
    certify("with.json", "--looks", 1, env=state("with"))
    open(path("file"), "w").close()
    said = run("certify", model(), *DATA, "--attack", "none", "--looks", 1, "--out", path("without.json"), "--threads", 1,
               env=state("file"))  # a file where the folder should be
    assert "not in the log" in said.stderr
    certify("homeless.json", "--looks", 1, env={"XDG_STATE_HOME": "", "HOME": ""})
    texts = {open(path(name), "rb").read() for name in ("with.json", "without.json", "homeless.json")}
    assert len(texts) == 1


def test_lines_of_many_processes_stay_whole():
    log = {**os.environ, **state("many")}
    words = [SURETY, "attack", model(), *DATA, "--attack", "none", "--split", "learn", *QUICK]
    for _ in range(4):
        for process in [subprocess.Popen(words, env=log, stdout=subprocess.DEVNULL) for _ in range(4)]:
            assert process.wait() == 0
    assert answer("looks", env=state("many"))["sets"][0]["evaluations"] == 16


def test_damaged_lines_are_left_out():
    os.makedirs(path("bad/surety"))
    good = f"2026-01-31T23:59:59Z certify {NOBODY} {NOBODY} something\n"
    with open(path("bad/surety/looks"), "wb") as f:
        f.write(b"\n  \nnonsense\n\xff\xfe\n" + good.encode() + good.encode()[:90] + b"\n" + good.encode()[:-1])
    shown = answer("looks", env=state("bad"))["sets"]
    assert [s["certificates"] for s in shown] == [1] and len(shown[0]["events"]) == 1


if __name__ == "__main__":
    main()
