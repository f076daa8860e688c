"""Every command with one call that fails: the k-th allocation, or the k-th open, read, write, fsync, rename, stat or close with an error
of the system or a short count (tests/faults/inject.c). Exit 0 means the same bytes as without the fault. Any other end is a sentence with
exit code 1 to 5, and every file is the old one or the new one. Or power is lost before the call: what was not synced is gone, and the same command goes on
from what is left. A few k of each by default, all of them with SURETY_TEST_FULL=1 (script/faults); "cell": a study that computes its cell."""
import errno
import os
import random
import re
import shutil
import subprocess
import sys

import tiny
from tap import FULL, SANITIZED, SURETY, Skip, main
from tiny import COMMANDS, FOLDER, ONE, START, WORK, contents

SOME = {"malloc": (7, 40, 150, 300, 450, 700, 1000, 1500, 2000, 3000)}  # numbers of calls that fail, two of them each time ..
FEW = (0, 1, 2, 3, 4, 5, 6, 8, 12)  # .. of file calls
CELL = [word if word != "study" else "computed" for word in COMMANDS["reproduce"]]  # computes a cell: a run takes half a second or more ..
OF_CELL = 60  # .. so that of each fault not more are tried, and by default one
MARK = os.path.join(FOLDER.name, "mark")
INJECT = os.path.join(FOLDER.name, "inject.so")
FAULTS = [("malloc", 0), ("open", errno.EMFILE), ("open", errno.EIO), ("read", errno.EIO), ("read", errno.EINTR), ("read", "short"),
          ("write", errno.ENOSPC), ("write", errno.EIO), ("write", errno.EINTR), ("write", "short"), ("fsync", errno.EIO), ("rename", errno.EIO),
          ("stat", errno.EIO), ("close", errno.EIO), ("write", "power"), ("fsync", "power"), ("rename", "power"), ("close", "power")]


def prepare():
    tiny.prepare()
    tiny.add_cell()
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "inject.c")
    subprocess.run([os.environ.get("CC", "cc"), "-std=gnu17", "-O1", "-Wall", "-shared", "-fPIC", "-o", INJECT, source, "-ldl"], check=True)


def run_once(words, fault=None):
    """(exit code, stdout, files, stderr, whether the fault happened)"""
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(START, WORK)
    if os.path.exists(MARK):
        os.unlink(MARK)
    env = {**os.environ, "XDG_STATE_HOME": os.path.join(FOLDER.name, "state"), "OMP_NUM_THREADS": "1"}
    if fault:
        env.update(LD_PRELOAD=INJECT, SURETY_FAULT="%s:%d:%s" % fault, SURETY_FAULT_MARK=MARK)
    done = subprocess.run([SURETY, *words, *ONE], cwd=WORK, env=env, capture_output=True, timeout=120)
    return done.returncode, re.sub(rb"[0-9.]+ s\b", b"", done.stdout), contents(), done.stderr.decode(errors="replace"), os.path.exists(MARK)


def judge(words, fault, good, start):
    code, out, files, said, happened = run_once(words, fault)
    told = f"{' '.join(words)} with {fault}: exit {code}\n{said}"
    if not happened:
        return False
    if fault[2] == "power":
        return survived(words, code, files, good, start, told)
    if code == 0:
        assert out == good[1] and files == good[2], f"{told}: {[n for n in {*files, *good[2]} if files.get(n) != good[2].get(n)]} {out}"
        return True
    assert 1 <= code <= 5, told
    assert said.strip(), told  # a sentence
    for name, sum_ in files.items():  # old or new, nothing else: no temporary, nothing half-written
        assert sum_ in (start.get(name), good[2].get(name)) or name.endswith(".checkpoint"), f"{told}: {name}"
    assert all(name in files for name in start), told
    return True


def survived(words, code, files, good, start, told):
    """Power was lost: files are old or new, temporaries may lie about; the same command (train: with --resume) then gives what it always gives."""
    assert code == 99, told
    for name, sum_ in files.items():
        left = re.search(r"\.part-[0-9a-f]{8}$|\.lock$|\.checkpoint$", name)
        assert left or sum_ in (start.get(name), good[2].get(name)), f"{told}: {name}"
    assert all(name in files for name in start), told
    again = subprocess.run([SURETY, *words, *(["--resume"] if words[0] == "train" else []), *ONE], cwd=WORK, capture_output=True)
    assert again.returncode == 0, f"{told}\nagain: {again.stderr}"
    files = {name: sum_ for name, sum_ in contents().items() if not name.endswith(".lock")}  # of a cell that was finished: empty, nobody asks for it again
    assert files == good[2] or words[0] == "monitor", f"{told}: {files.keys() ^ good[2].keys()}"  # which may have counted already
    return True


def count_calls(words, call, how):
    """How many such calls a run makes, by doubling and halving."""
    low, high = 0, 1
    while run_once(words, (call, high - 1, how))[4]:
        low, high = high, high * 4
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if run_once(words, (call, middle - 1, how))[4] else (low, middle)
    return low


def check(name):
    if SANITIZED:
        raise Skip("the sanitizers have an allocator of their own")
    words = CELL if name == "cell" else COMMANDS[name]
    good = run_once(words)
    assert good[0] == 0, good
    start = contents_of_start()
    calls, tried, happened = {}, 0, 0
    for call, how in FAULTS:
        if FULL and call not in calls:
            calls[call] = count_calls(words, call, how)
        rng, all_of = random.Random(f"{name} {call} {how}"), range(calls.get(call, 0))
        if name == "cell":
            ks = rng.sample(all_of, min(OF_CELL, len(all_of))) if FULL else rng.sample(SOME.get(call, FEW), 1)
        else:
            ks = all_of if FULL else rng.sample(SOME.get(call, FEW), 2)
        tried += len(ks)
        happened += sum(judge(words, (call, k, how), good, start) for k in ks)
    assert happened >= (tried if FULL else 3), (happened, calls)
    print(f"# {name}: {happened} faults {calls or ''}", flush=True)


def contents_of_start():
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(START, WORK)
    return contents()


def make(name):
    def test():
        check(name)
    test.__name__ = "test_" + name
    return test


def test_a_missing_sync_is_noticed():
    """A mutant: a program whose syncs do nothing does not survive."""
    if SANITIZED:
        raise Skip("the sanitizers have an allocator of their own")
    words, noticed = COMMANDS["train"], 0
    good, start = run_once(words), contents_of_start()
    os.environ["SURETY_FAULT_NO_SYNC"] = "1"
    for k in range(2):
        try:
            judge(words, ("write", k, "power"), good, start)
        except AssertionError:
            noticed += 1
    del os.environ["SURETY_FAULT_NO_SYNC"]
    assert noticed


if not SANITIZED:
    prepare()
for _name in sys.argv[1:] or [*COMMANDS, "cell"]:
    globals()["test_" + _name] = make(_name)

if __name__ == "__main__":
    main()
