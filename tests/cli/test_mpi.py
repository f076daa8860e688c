"""The command under mpirun: the same bytes for any number of processes; only the first one speaks; a lost process ends the run, and
the checkpoint goes on with another number of processes."""
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import time

from tap import FULL, SANITIZED, SURETY, Skip, main

FOLDER = tempfile.mkdtemp(prefix="surety-mpi-")
ENVIRONMENT = {**os.environ, "XDG_STATE_HOME": FOLDER, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_mpi_yield_when_idle": "1"}
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
    done = subprocess.run(words(maker, ranks, *rest), cwd=FOLDER, env=ENVIRONMENT, capture_output=True, text=True, timeout=1200 if FULL else 300)
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
TRAININGS = {  # batches attacked and cut over processes, worst cases with attacks mixed in, histograms; kinds and losses
    "attacked": ("--preset", "paper", "--defense", "pgd", "--epochs", 3, "--batch", 50, "--holdout", "0.2"),
    "certified": ("--defense", "certified", "--mix", "0.3", "--epochs", 3),
    "trees": ("--kind", "trees", "--defense", "certified", "--trees", 4, "--depth", 3),
    "grown": ("--kind", "trees", "--defense", "none", "--trees", 4, "--holdout", "0.3"),
    **({"linear": ("--preset", "paper", "--kind", "linear", "--defense", "pgdu", "--epochs", 3),
        "step2": ("--preset", "paper", "--defense", "certified", "--objective", "worst-case", "--epochs", 3),
        "lipschitz": ("--kind", "lipschitz", "--defense", "certified", "--epochs", 3),
        "small": ("--preset", "paper", "--defense", "ifgsm", "--epochs", 2, "--batch", 7)} if FULL else {}),
}
CERTIFY = ("certify", "attacked.model", "--train", "t.csv", "--looks", 1)
RADIUS = ("certify", "certified.model", "--train", "t.csv", "--promise-risk", "0.7", "--looks", 2)  # each process proves its rows
EVALUATE = ("evaluate", "attacked.model", "--train", "t.csv", "--attacks", "none,pgdu,worst-case", "--samples", 2, "--steps", 3, "--json")


def test_same_bytes():
    launcher("openmpi")
    table()
    for name, options in TRAININGS.items():
        ask("", 0, *TRAIN, *options, "--out", f"{name}.model")
    ask("", 0, *CERTIFY, "--out", "alone.json")
    ask("", 0, *RADIUS, "--out", "alone-radius.json")
    shown = ask("", 0, *EVALUATE)
    for maker in MAKERS:
        for ranks in (1, 2, 3, 4) if FULL else (1, 2, 3):
            for name, options in TRAININGS.items():
                ask(maker, ranks, *TRAIN, *options, "--out", "ranks.model")
                assert read(f"{name}.model") == read("ranks.model"), (maker, ranks, name)
                ask(maker, ranks, *TRAIN, *options, "--stream", "--out", "streamed.model")  # each has its own rows alone
                assert read(f"{name}.model") == read("streamed.model"), (maker, ranks, name)
            ask(maker, ranks, *CERTIFY, "--out", "ranks.json")
            assert read("alone.json") == read("ranks.json"), (maker, ranks)
            ask(maker, ranks, *RADIUS, "--out", "ranks-radius.json")
            assert read("alone-radius.json") == read("ranks-radius.json"), (maker, ranks)
            assert ask(maker, ranks, *EVALUATE) == shown, (maker, ranks)


def test_images():
    """Moved by a pixel; their copies are made of rows that are spread over the processes."""
    launcher("openmpi")
    random.seed(6)
    rows, height, width = 120, 5, 4
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {height}, {width}), }}".ljust(117) + "\n"
    with open(path("X.npy"), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        for i in range(rows):
            file.write(struct.pack(f"<{height * width}f", *(random.random() * (1 if i % 2 else .7) for _ in range(height * width))))
    head = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({rows},), }}".ljust(117) + "\n"
    with open(path("y.npy"), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + bytes(i % 2 for i in range(rows)))
    images = ("train", "--train", "X.npy", "--scale", "none", "--box", "0,1", "--norm", "linf", "--eps", "0.05", "--augment", "shift")
    for options in (("--epochs", 2, "--preset", "paper", "--defense", "pgd"), ("--kind", "trees", "--trees", 4, "--holdout", "0.2")):
        ask("", 0, *images, *options, "--out", "alone.model")
        for ranks in (1, 2, 3, 4) if FULL else (2, 3):
            for stream in ((), ("--stream",)):
                ask("openmpi", ranks, *images, *options, *stream, "--out", "ranks.model")
                assert read("alone.model") == read("ranks.model"), (ranks, options, stream)


def test_every_command():
    """Whatever the command makes of rows of its own alone, and what it does with all of them."""
    launcher("openmpi")
    data = ("attacked.model", "--train", "t.csv")
    few = ("--samples", 2, "--steps", 2)
    table()
    ask("", 0, *TRAIN, *TRAININGS["attacked"], "--out", "attacked.model")
    ask("", 0, *CERTIFY, "--out", "c.json")
    ask("", 0, "export", "attacked.model", "--format", "c", "--out", "m.c")
    with open(path("t.csv")) as file, open(path("wide.csv"), "w") as wide:
        rows = file.read().split("\n")
        wide.write("\n".join([*rows[:-2], "1,,3,class1", ""]))
    for words_of, out in ((("verify", "c.json", "--train", "t.csv", "--model", "attacked.model"), None),
                          (("verify", "c.json", "--train", "t.csv", "--model", "attacked.model", "--retrain"), None),
                          (("verify", "c.json", "--train", "t.csv", "--model", "attacked.model", "--export", "m.c"), None),
                          (("attack", *data, "--attack", "pgdu", *few, "--json"), None),
                          (("attack", *data, "--attack", "pgd", "--steps", 2), "points.npy"),
                          (("curve", *data, "--attacks", "pgd,worst-case", "--eps-grid", "0:0.1:0.1", "--steps", 2), "curve.csv"),
                          (("evaluate", *data, "--attacks", "pgdu", *few, "--json", "--per-example", "e.csv"), None),
                          (("certify", "attacked.model", "--fresh", "t2.csv", "--looks", 1), "fresh.json")):
        if "t2.csv" in words_of:
            random.seed(6)
            with open(path("t2.csv"), "w") as file:
                file.write(rows[0] + "\n" + "".join(",".join([*(f"{random.gauss(i % 3 * (k + 1) / 2, 1):.4f}" for k in range(3)), f"class{i % 3}"]) + "\n"
                                                    for i in range(50)))
        made = [*words_of, *(("--out", out) if out else ())]
        shown = ask("", 0, *made)
        files = [read(name) for name in (out, "e.csv") if name and os.path.exists(path(name))]
        for ranks in (2, 3):
            assert ask("openmpi", ranks, *made) == shown, (words_of, ranks)
            assert [read(name) for name in (out, "e.csv") if name and os.path.exists(path(name))] == files, (words_of, ranks)
    bad = ("evaluate", "attacked.model", "--train", "t.csv", "--test", "wide.csv", "--test-size", 0, "--json")
    said = [subprocess.run(words("openmpi" if ranks else "", ranks, *bad), cwd=FOLDER, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
            for ranks in (0, 3)]
    assert said[0].returncode == said[1].returncode != 0 and said[0].stdout == said[1].stdout, (said[0], said[1])


def test_cells_of_a_study():
    launcher("openmpi")
    study = ("reproduce", "--tasks", "fashion-sandal-v-boot", "--norms", "l2", "--voters", "signed", "--defenses", "ifgsm,pgd", "--epochs", 1,
             "--samples", 3, "--steps", 2)
    if subprocess.run([SURETY, "data", "show", "--task", "fashion-sandal-v-boot"], capture_output=True).returncode:
        raise Skip("the data of fashion-sandal-v-boot is not here")
    ask("", 0, *study, "--out", "study")
    for maker in MAKERS:
        for ranks in (2, 3) if FULL else (2,):
            name = f"study-{maker}-{ranks}"
            assert "2 cells, 2 computed now" in ask(maker, ranks, *study, "--out", name)
            assert read(f"{name}/results.csv") == read("study/results.csv")


def test_one_folder_for_all_cells():
    study = ("reproduce", "--quick", "--out", "one-study")
    places = path("here"), path("there")
    for place in places:
        os.makedirs(place, exist_ok=True)
    said = two(study, study, *places)
    assert "one-study: process 1 sees another folder than process 0" in said, said
    assert os.listdir(places[1]) == [] and os.listdir(os.path.join(places[0], "one-study")) == []


MACHINES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "machines.sh")


def across(maker, ranks, *rest):
    """A process on each of so many machines with addresses of their own; returns how many bytes the first one sent."""
    launch = words(maker, ranks, *rest)
    how = {"openmpi": ("--mca", "plm_rsh_agent", MACHINES, "--mca", "btl", "tcp,self", "--host"),
           "mpich": ("-localhost", "10.99.0.1", "-launcher", "rsh", "-launcher-exec", MACHINES, "-hosts")}[maker]
    hosts = ",".join(f"10.99.0.1{i + 1}" for i in range(ranks))
    done = subprocess.run([MACHINES, str(ranks), launch[0], *how, hosts, *launch[1:]], cwd=FOLDER, capture_output=True, text=True,
                          env={**ENVIRONMENT, "MACHINES": FOLDER, "UCX_TLS": "tcp,self"}, timeout=300)
    assert done.returncode == 0, (maker, ranks, rest, done.stderr)
    return int(done.stderr.split()[-1])


def test_machines_with_addresses_of_their_own():
    if not FULL:
        raise Skip("only with --full")
    launcher("openmpi")
    if subprocess.run([MACHINES, "1", "true"], env={**ENVIRONMENT, "MACHINES": FOLDER}, capture_output=True, timeout=300).returncode:
        raise Skip("this system makes no network namespaces (ip, unshare, nsenter; root)")
    table()
    ask("", 0, *TRAIN, *TRAININGS["attacked"], "--out", "attacked.model")
    ask("", 0, *CERTIFY, "--out", "alone.json")
    for maker in MAKERS:
        for ranks in (2, 3):
            sent = across(maker, ranks, *TRAIN, *TRAININGS["attacked"], "--out", "across.model")
            assert sent > 100000 and read("attacked.model") == read("across.model"), (maker, ranks, sent)
            across(maker, ranks, *CERTIFY, "--out", "across.json")
            assert read("alone.json") == read("across.json"), (maker, ranks)


def test_only_one_speaks():
    said = ask("openmpi", 3, "certify", "not-there", "--looks", 1, "--out", "x", code=3)
    assert said.count("surety: not-there") == 1, said
    ask("openmpi", 2, *CERTIFY, "--part", "1/2", "--part-file", "p", code=2)
    os.makedirs(path("empty"), exist_ok=True)
    certify = [SURETY, *map(str, CERTIFY), "--out", path("mixed"), "--json"]
    done = subprocess.run([launcher("openmpi"), "-n", "1", *certify, ":", "-n", "3", "--wdir", path("empty"), *certify], cwd=FOLDER, env=ENVIRONMENT,
                          capture_output=True, text=True, timeout=300)  # the first one waits, the others fail
    assert done.returncode == 3 and done.stderr.count("surety:") == 2 and "surety: process 1 failed" in done.stderr, done.stderr
    assert json.loads(done.stdout)["error"]["file"] == "attacked.model", done.stdout


def two(first, second, *places, other=SURETY):
    """Two processes, each with words, and perhaps a folder, of its own; the second may be another program."""
    words_of = [launcher("openmpi")]
    for place, program, rest in zip((*places, FOLDER, FOLDER), (SURETY, other), (first, second)):
        words_of += ["-n", "1", "--wdir", place, program, *map(str, rest), ":"]
    done = subprocess.run(words_of[:-1], cwd=FOLDER, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)
    assert done.returncode != 0 and not os.path.exists(path("mixed"))
    return done.stderr


def of_another_version():
    """The program, with another number in its bytes, and its module."""
    version = subprocess.run([SURETY, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1].encode()
    with open(SURETY, "rb") as file:
        program = file.read()
    assert version in program
    os.makedirs(path("newer"), exist_ok=True)
    with open(path("newer/surety"), "wb") as file:
        file.write(program.replace(version, version[:-1] + b"~"))
    os.chmod(path("newer/surety"), 0o755)
    shutil.copy(os.path.join(os.path.dirname(os.path.abspath(SURETY)), "surety-openmpi.so"), path("newer"))
    return path("newer/surety")


def test_what_differs_is_refused():
    launcher("openmpi")
    mixed = (*CERTIFY, "--out", path("mixed"))
    assert "process 1 has another version or settings than process 0" in two(mixed, (*mixed, "--delta", "0.1"))
    assert "process 1 has another version or settings than process 0" in two(mixed, mixed, other=of_another_version())
    other = path("other")
    os.makedirs(other, exist_ok=True)
    shutil.copy(path("t.csv"), other)
    said = two(mixed, mixed, FOLDER, other)
    assert "surety: process 1 failed" in said and "attacked.model: cannot read it" in said, said
    shutil.copy(path("certified.model"), os.path.join(other, "attacked.model"))
    assert "process 1 has another model than process 0" in two(mixed, mixed, FOLDER, other)
    shutil.copy(path("attacked.model"), other)
    for place, radius in ((FOLDER, "0.02"), (other, "0.03")):
        with open(os.path.join(place, "p.csv"), "w") as file:
            file.write(f"{radius},0.9\n")
    promises = ("certify", "attacked.model", "--train", "t.csv", "--attack", "worst-case", "--looks", 1, "--promises", "p.csv", "--out", path("mixed"))
    assert "process 1 has another list of promises than process 0" in two(promises, promises, FOLDER, other)
    for place, eps in ((FOLDER, "0.1"), (other, "0.05")):
        ask("", 0, *CERTIFY, "--eps", eps, "--out", os.path.join(place, "c.json"))
    verify = ("verify", "c.json", "--train", "t.csv", "--model", "attacked.model")
    assert "process 1 has another certificate than process 0" in two(verify, verify, FOLDER, other)
    with open(os.path.join(other, "t.csv"), "a") as file:
        file.write("1,2,3,class1\n")
    train = (*TRAIN, "--epochs", 2, "--out", path("mixed"))
    assert "process 1 has another data than process 0" in two(train, train, FOLDER, other)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(x) for x in file.read().split()]


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def end(run, ranks):
    """The exit code, when all ranks have ended. mpirun itself may then wait for a lock of its own for ever (seen with Open MPI 4.1.4 on a
    loaded machine: libpmix, while it ends); that is not ours."""
    for _ in range(1200):
        if run.poll() is not None:
            return run.returncode
        if ranks and not any(map(alive, ranks)):
            break
        time.sleep(0.1)
    assert not any(map(alive, ranks)), "a rank outlives the one that was killed"
    try:
        return run.wait(timeout=20)
    except subprocess.TimeoutExpired:
        run.kill()
        return run.wait()


def kill_and_go_on(long, rounds):
    for name in ("c", "killed.model"):
        if os.path.exists(path(name)):
            os.remove(path(name))
    ask("", 0, *long, "--out", "long.model")
    for round in range(rounds):
        count = 2 + round % 2
        run = subprocess.Popen(words("openmpi", count, *long, "--out", "killed.model", "--checkpoint", "c", "--resume"), cwd=FOLDER,
                               env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        began = time.time()
        while run.poll() is None and (len(children(run.pid)) < count or not os.path.exists(path("c"))) and time.time() - began < 60:
            time.sleep(0.01)
        time.sleep(random.random())
        ranks = children(run.pid) if run.poll() is None else []
        if ranks:
            os.kill(random.choice(ranks), signal.SIGKILL)
        code = end(run, ranks) if ranks else run.wait(timeout=1200)
        assert code != 0 or not ranks or os.path.exists(path("killed.model")), code
        if os.path.exists(path("killed.model")):
            break
    if not os.path.exists(path("killed.model")):
        ask("openmpi", 3, *long, "--out", "killed.model", "--checkpoint", "c", "--resume")
    assert read("long.model") == read("killed.model")


def test_a_killed_process():
    launcher("openmpi")
    table()
    kill_and_go_on((*TRAIN, "--batch", 256, "--epochs", 1000 if FULL else 150), 20 if FULL else 1)


def test_a_killed_process_that_grows_trees():
    """A checkpoint holds trees; what they say of the rows is found again, by each process for its own."""
    launcher("openmpi")
    table()
    kill_and_go_on((*TRAIN, "--kind", "trees", "--trees", 1500 if FULL else 300, "--depth", 5, "--holdout", "0.3", "--stream"), 20 if FULL else 1)


if __name__ == "__main__":
    main()
