"""Training as a user runs it: same seed, same bytes; kills and resumes; signals; divergence; every defense."""
import hashlib
import math
import os
import random
import signal
import struct
import subprocess
import tempfile
import time

import small
from tap import FULL, SURETY, answer, error, main, run

FOLDER = tempfile.TemporaryDirectory()
DATA = small.write(FOLDER.name)
BASE = ["train", "--preset", "paper", *DATA, "--learn-size", 200, "--steps", 5, "--quiet"]


def path(name):
    return os.path.join(FOLDER.name, name)


def content(name):
    with open(path(name), "rb") as f:
        return f.read()


def test_same_bytes_for_any_threads_and_levels():
    for options in (["--defense", "pgdu"], ["--defense", "ifgsmu", "--norm", "linf", "--objective", "average-max"],
                    ["--defense", "unif", "--voters", "real"],
                    ["--defense", "pgd", "--norm", "l1", "--objective", "baseline", "--kind", "linear", "--trees", 7],
                    ["--defense", "certified"], ["--defense", "certified", "--norm", "linf", "--mix", 0.5, "--mask", 0.3],
                    ["--defense", "certified", "--norm", "l1", "--objective", "worst-case", "--keep", "best"]):
        for threads in (1, 2, 3):
            run(*BASE, *options, "--epochs", 2, "--threads", threads, "--out", path(f"t{threads}"))
        assert content("t1") == content("t2") == content("t3"), options
        run(*BASE, *options, "--epochs", 2, "--out", path("avx2"), env={"SURETY_CPU": "avx2"})
        assert content("t1") == content("avx2"), options  # without AVX-512 both are the same level
    run(*BASE, "--epochs", 2, "--seed", 1, "--out", path("other"))
    run(*BASE, "--epochs", 2, "--seed", 0, "--out", path("seed0"))
    assert content("other") != content("seed0")


def test_same_bytes_of_three_classes():
    folder = path("three")
    os.mkdir(folder)
    base = ["train", "--preset", "paper", *small.write(folder, train=420, test=90, classes=(2, 4, 6)), "--learn-size", 150, "--steps", 4,
            "--trees", 7, "--epochs", 2, "--quiet"]
    for options in (["--defense", "none"], ["--defense", "unif", "--voters", "real", "--objective", "average-max"],
                    ["--defense", "fgsm", "--loss", "linear"], ["--defense", "ifgsm", "--norm", "linf", "--kind", "linear"],
                    ["--defense", "pgd", "--norm", "l1"], ["--defense", "ifgsmu", "--loss", "linear", "--voters", "real"],
                    ["--defense", "pgdu", "--norm", "linf"], ["--defense", "certified", "--depth", 2],
                    ["--defense", "certified", "--norm", "linf", "--mix", 0.5, "--kind", "linear"],
                    ["--defense", "certified", "--norm", "l1", "--loss", "linear", "--objective", "worst-case"]):
        for threads in (1, 2, 3):
            run(*base, *options, "--threads", threads, "--out", path(f"t{threads}"))
        assert content("t1") == content("t2") == content("t3"), options
        run(*base, *options, "--out", path("avx2"), env={"SURETY_CPU": "avx2"})
        assert content("t1") == content("avx2"), options


def test_json_and_choices():
    result = answer(*BASE, "--epochs", 3, "--out", path("m"), "--timing")
    assert set(result["timing"]) == {"attack", "update", "choose", "busy", "forward_rows", "backward_rows"}
    assert len(result["step1"]["risk"]) == len(result["step2"]["objective"]) == 3
    best = result["step1"]["best_epoch"]
    assert min(result["step1"]["risk"]) == result["step1"]["risk"][best - 1]
    assert result["priors_compared"] == 3 and result["kl"] >= 0 and result["seconds"] > 0
    assert min(result["step2"]["objective"]) == result["step2"]["objective"][result["step2"]["best_epoch"] - 1]
    assert answer(*BASE, "--epochs", 3, "--holdout", 0.25, "--out", path("m"))["priors_compared"] == 1
    baseline = answer(*BASE, "--epochs", 2, "--objective", "baseline", "--out", path("m"))
    assert baseline["kl"] == 0 and baseline["step2"]["objective"] == []


def test_every_defense_and_objective():
    for defense in ("none", "unif", "fgsm", "ifgsm", "pgd", "ifgsmu", "pgdu"):
        for norm in ("l2", "linf", "l1"):
            answer(*BASE, "--epochs", 1, "--defense", defense, "--norm", norm, "--out", path("m"))
    values = [answer(*BASE, "--epochs", 2, "--objective", o, "--out", path("m"))["step2"]["objective"][0]
              for o in ("chromatic", "seeger", "average-max", "average-max-seeger")]
    assert values[1] <= values[0] and values[3] <= values[2] and abs(values[1] - values[3]) < 1e-6


def test_risk_falls():
    risk = answer(*BASE, "--epochs", 30, "--defense", "none", "--mask", 0, "--out", path("m"))["step1"]["risk"]
    assert risk[-1] < 0.1 and risk[-1] < risk[0], risk


def test_certified_needs_no_choice():
    result = answer(*BASE, "--epochs", 4, "--defense", "certified", "--out", path("m"))
    assert result["priors_compared"] == 1 and result["step1"]["best_epoch"] == 4 and result["kl"] == 0
    result = answer(*BASE, "--epochs", 4, "--defense", "certified", "--keep", "best", "--out", path("m"))
    assert result["priors_compared"] == 4
    risk = answer(*BASE, "--epochs", 40, "--defense", "certified", "--norm", "linf", "--eps", 0.02, "--out", path("m"))
    assert risk["step1"]["risk"][-1] < 0.2, risk


def test_certified_resumes():
    options = [*BASE, "--epochs", 4, "--defense", "certified", "--mix", 0.3, "--objective", "worst-case"]
    run(*options, "--out", path("whole"))
    process = subprocess.Popen([SURETY, *map(str, options), "--out", path("cut"), "--checkpoint", path("c-cut")])
    while not os.path.exists(path("c-cut")) and process.poll() is None:
        time.sleep(0.005)
    process.kill()
    process.wait()
    run(*options, "--out", path("cut"), "--checkpoint", path("c-cut"), "--resume")
    assert content("cut") == content("whole")


def test_kill_and_resume():
    options = [*BASE, "--epochs", 6, "--threads", 2]
    run(*options, "--out", path("whole"))
    began = time.time()
    run(*options, "--out", path("whole"), "--checkpoint", path("c0"))
    lasts = time.time() - began
    rng = random.Random(1)
    for attempt in range(20 if FULL else 3):
        checkpoint, out = path(f"c-{attempt}"), path(f"resumed-{attempt}")
        words = [SURETY, *map(str, options), "--out", out, "--checkpoint", checkpoint, "--resume"]
        kills = 0
        while not os.path.exists(out):
            process = subprocess.Popen(words, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
            try:
                process.wait(rng.uniform(0.1, 0.9) * lasts if kills < 4 else None)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                kills += 1
            process.wait()
        with open(out, "rb") as f:
            assert f.read() == content("whole"), attempt
        leftovers = [n for n in os.listdir(FOLDER.name) if ".part-" in n and f"resumed-{attempt}" in n]
        assert len(leftovers) <= 1, leftovers


def test_resume_refuses_other_settings_and_damage():
    run(*BASE, "--epochs", 2, "--out", path("m"), "--checkpoint", path("c"))
    for option, value, name in (("--lr", 0.02, "lr"), ("--seed", 5, "seed"), ("--eps", 0.7, "eps"),
                                ("--depth", 3, "depth"), ("--learn-size", 150, "learn_size")):
        words = [w for w in BASE if w not in ("--learn-size", 200)] if option == "--learn-size" else BASE
        e = error(*words, option, value, "--epochs", 2, "--out", path("m"), "--checkpoint", path("c"), "--resume", code=2)
        assert name in e["what"], e
    damaged = bytearray(content("c"))
    damaged[len(damaged) // 2] ^= 1
    with open(path("damaged"), "wb") as f:
        f.write(damaged)
    assert "damaged" in error(*BASE, "--epochs", 2, "--out", path("m"), "--checkpoint", path("damaged"), "--resume",
                              code=3)["what"]
    with open(path("short"), "wb") as f:
        f.write(content("c")[:100])
    error(*BASE, "--epochs", 2, "--out", path("m"), "--checkpoint", path("short"), "--resume", code=3)


def test_resume_refuses_another_version():
    run(*BASE, "--epochs", 2, "--out", path("m"), "--checkpoint", path("version"))
    for head in b"surety training, 0.2.17\n".ljust(32, b"\0"), b"surety training\n":  # the latter as until 0.3
        body = head + content("version")[len(head):-64]
        with open(path("older"), "wb") as f:
            f.write(body + hashlib.sha256(body).hexdigest().encode())
        e = error(*BASE, "--epochs", 2, "--out", path("m"), "--checkpoint", path("older"), "--resume", code=3)
        assert "another version" in e["what"] and "the version that began it" in e["expected"], e


def forged(name, offset, value):
    """The checkpoint c with 8 other bytes at an offset of its state, and the right SHA-256."""
    body = bytearray(content("c")[:-64])
    at = 40 + int.from_bytes(body[32:40], "little") + offset
    body[at:at + 8] = value
    with open(path(name), "wb") as f:
        f.write(bytes(body) + hashlib.sha256(body).hexdigest().encode())


def test_a_forged_checkpoint_is_refused():
    """phase, epoch, steps, best[2], then doubles."""
    words = [*BASE, "--epochs", 2, "--trees", 5, "--out", path("forged-model"), "--checkpoint"]
    os.remove(path("c")) if os.path.exists(path("c")) else None
    run(*words, path("c"))
    os.remove(path("forged-model"))
    counts = [struct.pack("<Q", v) for v in (0, 3, 1 << 20, 1 << 60, (1 << 64) - 1)]
    numbers = [struct.pack("<d", v) for v in (math.nan, math.inf, -math.inf)]
    for offset, values in ((0, counts[1:]), (8, counts), (16, counts[-1:]), (24, counts), (32, counts), (40, numbers)):
        for value in values:
            forged("forged", offset, value)
            e = error(*words, path("forged"), "--resume", code=3)
            assert "numbers that no training has" in e["what"] and e["file"] == path("forged"), (offset, value, e)
    state = len(content("c")) - 64 - 40 - int.from_bytes(content("c")[32:40], "little")
    for value in (math.nan, math.inf):  # the last chunk holds the last parameters of the best epoch
        forged("forged", state - 8, struct.pack("<2f", 0, value))
        assert "numbers that no training has" in error(*words, path("forged"), "--resume", code=3)["what"]
    forged("forged", state - 8, struct.pack("<2f", 0, 0))  # a number, so it is taken
    run(*words, path("forged"), "--resume")
    os.remove(path("forged-model"))
    assert not os.path.exists(path("forged-model"))


def test_signal_checkpoints_and_says_how_to_go_on():
    words = [SURETY, *map(str, BASE), "--epochs", "2000", "--out", path("never"), "--checkpoint", path("c-signal")]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    while not os.path.exists(path("c-signal")):
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 4 and "--resume" in said, said
    assert not os.path.exists(path("never"))


def test_ctrl_c_loses_little_without_a_checkpoint_of_ones_own():
    """A checkpoint beside the model: there after a signal, named, gone at the end; the model has the same bytes."""
    words = [*BASE, "--epochs", 30, "--threads", 2]
    run(*words, "--out", path("beside-whole"))
    assert not [n for n in os.listdir(FOLDER.name) if n.startswith("beside-whole.")]
    process = subprocess.Popen([SURETY, *map(str, words), "--out", path("beside")], stderr=subprocess.PIPE, text=True)
    while not os.path.exists(path("beside.checkpoint")) and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 4 and "--resume" in said, said
    assert os.path.exists(path("beside.checkpoint")) and not os.path.exists(path("beside"))
    e = error(*words, "--out", path("beside"), code=2)  # not by accident
    assert e["file"] == path("beside.checkpoint") and "--resume" in e["expected"], e
    error(*words, "--lr", 0.5, "--out", path("beside"), "--resume", code=2)  # another training
    run(*words, "--out", path("beside"), "--resume")
    assert content("beside") == content("beside-whole")
    assert not [n for n in os.listdir(FOLDER.name) if n.startswith("beside.")]
    error(*BASE, "--epochs", 3, "--lr", "1e38", "--defense", "none", "--out", path("diverges"), code=1)
    assert not [n for n in os.listdir(FOLDER.name) if n.startswith("diverges")]


def test_one_training_at_a_time_uses_a_checkpoint():
    words = [SURETY, *map(str, BASE), "--epochs", "2000", "--out", path("never"), "--checkpoint", path("c-two")]
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    while not os.path.exists(path("c-two")) and process.poll() is None:
        time.sleep(0.02)
    for more in (["--resume"], []):
        e = error(*words[1:-3], path("other"), "--checkpoint", path("c-two"), *more, code=4)
        assert e["file"] == path("c-two") and "another process" in e["what"], e
    process.terminate()
    process.wait()
    assert not os.path.exists(path("c-two.lock"))


def test_divergence_is_an_error():
    e = error(*BASE, "--epochs", 3, "--lr", "1e38", "--defense", "none", "--out", path("diverged"), "--checkpoint",
              path("c-diverged"), code=1)
    assert "not a number" in e["what"] and not os.path.exists(path("diverged")), e


def test_wrong_settings():
    for words in (["--epochs", 0], ["--batch", 0], ["--lr", 0], ["--delta", 1], ["--depth", 9], ["--mask", 1],
                  ["--trees", 0], ["--eps", -1], ["--steps", 0], ["--holdout", 1], ["--objective", "seger"],
                  ["--defense", "pgdd"], ["--voters", "some"], ["--norm", "l3"]):
        error(*BASE[:-2], *(["--quiet"] if "--steps" in words else ["--steps", 5, "--quiet"]), *words, "--out", path("x"),
              code=2)
    error("train", "--preset", "paper", "--out", path("x"), code=2)
    error(*BASE, code=2)
    error(*BASE, "--out", path("no/such/folder/x"), "--epochs", 1, code=4)
    assert not os.path.exists(path("x"))


def test_a_checkpoint_that_cannot_be_looked_at_is_not_absent():
    os.symlink(path("loop"), path("loop"))
    e = error(*BASE, "--checkpoint", path("loop"), "--resume", "--out", path("never"), code=4)
    assert "look for" in e["what"] and not os.path.exists(path("never")), e


if __name__ == "__main__":
    main()
