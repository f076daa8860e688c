"""--stream: data in files without a name instead of memory: the same bytes, little memory of its own, nothing left behind; whoever
shortens the file under a run changes nothing."""
import os
import subprocess
import tempfile
import time

from tap import SANITIZED, SURETY, Skip, main

FOLDER = tempfile.mkdtemp(prefix="surety-stream-")
SPILL = os.path.join(FOLDER, "spill")
ENVIRONMENT = {**os.environ, "XDG_STATE_HOME": FOLDER, "TMPDIR": SPILL}
ROWS, FEATURES = (4000, 64) if SANITIZED else (60000, 256)
TRAIN = ["train", "--train", "x.npy", "--train-labels", "y.npy", "--norm", "linf", "--eps", "0.01", "--kind", "linear", "--trees", "4", "--epochs", "1",
         "--threads", "1", "--quiet"]


def path(name):
    return os.path.join(FOLDER, name)


def write_npy(name, shape, values):
    header = str({"descr": "|u1", "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    with open(path(name), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + values)


def make(m=ROWS, d=FEATURES):
    os.makedirs(SPILL, exist_ok=True)
    labels = bytes(i * 7919 % 2 for i in range(m))
    rows = bytearray(os.urandom(m * d))
    rows[::d] = bytes(100 + 80 * y for y in labels)
    write_npy("x.npy", (m, d), rows)
    write_npy("y.npy", (m,), labels)


def start(*words, environment=None):
    return subprocess.Popen([SURETY, *map(str, words)], cwd=FOLDER, env=environment or ENVIRONMENT, stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True)


def begin(*more, environment=None):
    return start(*TRAIN, *more, environment=environment)


def most_memory(process):
    """The most memory of its own that the process had, in kB."""
    most = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status") as file:
                most = max([most, *(int(line.split()[1]) for line in file if line.startswith("RssAnon"))])
        except (FileNotFoundError, ProcessLookupError):
            pass
        time.sleep(0.005)
    assert process.returncode == 0, process.stderr.read()
    return most


def read(name):
    with open(path(name), "rb") as file:
        return file.read()


def test_same_bytes_little_memory():
    make()
    plain = most_memory(begin("--out", "plain.model"))
    streamed = most_memory(begin("--out", "streamed.model", "--stream"))
    assert read("plain.model") == read("streamed.model") and not os.listdir(SPILL)
    if not SANITIZED:
        rows = ROWS * FEATURES * 4 // 1024
        assert plain > rows and streamed < rows // 2, (plain, streamed, rows)


def test_memory_does_not_grow_with_the_rows():
    if SANITIZED:
        raise Skip("sanitizers have memory of their own")
    most = {"train": [], "evaluate": [], "certify": []}
    for m in (100000, 400000):
        make(m, 16)
        files = ("--train", "x.npy", "--train-labels", "y.npy", "--threads", 1, "--quiet", "--stream")
        most["train"].append(most_memory(begin("--out", "tall.model", "--stream", "--batch", 1024)))
        most["evaluate"].append(most_memory(start("evaluate", "tall.model", *files, "--attacks", "none,pgd", "--samples", 1, "--steps", 1)))
        most["certify"].append(most_memory(start("certify", "tall.model", *files, "--looks", 1, "--out", "tall.json")))
    assert all(few + 2048 > many for few, many in most.values()), most


def test_a_file_that_is_shortened_changes_nothing():
    make()
    long = ["--epochs", 3 if SANITIZED else 12]
    process = begin("--out", "whole.model", *long)
    assert process.wait() == 0
    process = begin("--out", "short.model", "--stream", *long)
    while process.poll() is None and not os.path.exists(path("short.model.checkpoint")):
        time.sleep(0.005)
    os.truncate(path("x.npy"), 100)
    assert process.wait() == 0, process.stderr.read()
    assert read("whole.model") == read("short.model")


def test_no_room():
    make()
    process = begin("--out", "none.model", "--stream", environment={**ENVIRONMENT, "TMPDIR": path("not-there")})
    assert process.wait() == (4 if ROWS * FEATURES >= 1 << 20 else 0)
    said = process.stderr.read()
    assert "not-there" in said and "TMPDIR" in said or ROWS * FEATURES < 1 << 20, said


if __name__ == "__main__":
    main()
