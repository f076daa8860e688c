"""The command under mpirun: the same bytes for any number of processes; only the first one speaks; a lost process ends the run, and
the checkpoint goes on with another number of processes."""
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

from tap import FULL, SANITIZED, SURETY, Skip, main

FOLDER = tempfile.mkdtemp(prefix="surety-mpi-")
ENVIRONMENT = {**os.environ, "XDG_STATE_HOME": FOLDER, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
MAKERS = ["openmpi"] + (["mpich"] if FULL else [])


def path(name):
    return os.path.join(FOLDER, name)


def launcher(maker):
    command = f"mpirun.{maker}"
    module = os.path.join(os.path.dirname(os.path.abspath(SURETY)), f"surety-{maker}.so")
    if SANITIZED:
        raise Skip("modules are not built with sanitizers")
    if not shutil.which(command) or not os.path.exists(module):
        raise Skip(f"{maker} is not here (script/setup mpi), or the command was built before it was")
    return command


def words(maker, ranks, *rest):
    return [launcher(maker), "-n", str(ranks), SURETY, *map(str, rest), "--threads", "1", "--quiet"] if ranks else \
        [SURETY, *map(str, rest), "--quiet"]


def ask(maker, ranks, *rest, code=0):
    done = subprocess.run(words(maker, ranks, *rest), cwd=FOLDER, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, (rest, done.returncode, done.stderr)
    return done.stdout if code == 0 else done.stderr


def read(name):
    with open(path(name), "rb") as file:
        return file.read()


def table():
    random.seed(5)
    with open(path("t.csv"), "w") as file:
        file.write("a,b,c,y\n")
        for i in range(400):
            file.write(",".join([*(f"{random.gauss(i % 3 * (k + 1) / 2, 1):.4f}" for k in range(3)), f"class{i % 3}"]) + "\n")


TRAIN = ("train", "--train", "t.csv", "--norm", "linf", "--eps", "0.1")
CERTIFY = ("certify", "alone.model", "--train", "t.csv", "--looks", 1)
EVALUATE = ("evaluate", "alone.model", "--train", "t.csv", "--attacks", "none,pgdu,worst-case", "--samples", 2, "--steps", 3, "--json")


def test_same_bytes():
    launcher("openmpi")
    table()
    ask("", 0, *TRAIN, "--epochs", 5, "--holdout", "0.2", "--preset", "paper", "--defense", "pgd", "--out", "chosen.model")
    ask("", 0, *TRAIN, "--epochs", 5, "--out", "alone.model")
    ask("", 0, *CERTIFY, "--out", "alone.json")
    shown = ask("", 0, *EVALUATE)
    for maker in MAKERS:
        for ranks in (1, 2, 3, 4) if FULL else (1, 2, 3):
            ask(maker, ranks, *TRAIN, "--epochs", 5, "--out", "ranks.model")
            assert read("alone.model") == read("ranks.model"), (maker, ranks)
            ask(maker, ranks, *TRAIN, "--epochs", 5, "--holdout", "0.2", "--preset", "paper", "--defense", "pgd", "--out", "ranks.model")
            assert read("chosen.model") == read("ranks.model"), (maker, ranks)
            ask(maker, ranks, *CERTIFY, "--out", "ranks.json")
            assert read("alone.json") == read("ranks.json"), (maker, ranks)
            assert ask(maker, ranks, *EVALUATE) == shown, (maker, ranks)


def test_only_one_speaks():
    said = ask("openmpi", 3, "certify", "not-there", "--looks", 1, "--out", "x", code=3)
    assert said.count("surety: not-there") == 1, said
    ask("openmpi", 2, *CERTIFY, "--part", "1/2", "--part-file", "p", code=2)


def test_other_settings_are_refused():
    mixed = [launcher("openmpi"), "-n", "1", SURETY, *map(str, CERTIFY), "--out", "mixed", ":", "-n", "1", SURETY, *map(str, CERTIFY), "--delta", "0.1",
             "--out", "mixed"]
    done = subprocess.run(mixed, cwd=FOLDER, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 1 and "process 1 has another version or settings" in done.stderr, done.stderr
    assert not os.path.exists(path("mixed"))


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(x) for x in file.read().split()]


def test_a_killed_process():
    launcher("openmpi")
    table()
    long = (*TRAIN, "--epochs", 4000)
    ask("", 0, *long, "--out", "long.model")
    for round in range(20 if FULL else 2):
        run = subprocess.Popen(words("openmpi", 2, *long, "--out", "killed.model", "--checkpoint", "c", "--resume"), cwd=FOLDER, env=ENVIRONMENT,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        began = time.time()
        while run.poll() is None and (len(children(run.pid)) < 2 or not os.path.exists(path("c"))) and time.time() - began < 60:
            time.sleep(0.01)
        time.sleep(random.random() * 0.3)
        ranks = children(run.pid) if run.poll() is None else []
        if ranks:
            os.kill(random.choice(ranks), signal.SIGKILL)
        code = run.wait(timeout=120)
        assert code != 0 or not ranks or os.path.exists(path("killed.model")), code
        if os.path.exists(path("killed.model")):
            break
    if not os.path.exists(path("killed.model")):
        ask("openmpi", 3, *long, "--out", "killed.model", "--checkpoint", "c", "--resume")
    assert read("long.model") == read("killed.model")


if __name__ == "__main__":
    main()
