"""Every command where something is odd: a locale with a decimal comma, a small stack, a file system without locks, little address space. The same bytes, or a
sentence."""
import os
import resource
import shutil
import subprocess

import tiny
from tap import SANITIZED, SURETY, Skip, main
from tiny import COMMANDS, FOLDER, ONE, START, WORK, contents

BUILD = os.environ.get("SURETY_BUILD", os.path.dirname(SURETY))
GOOD = {}


def once(words, env=None, limit=None):
    """(exit code, files, stderr); limit: (which, bytes)"""
    if SANITIZED:
        raise Skip("the sanitizers need much of everything")
    if not os.path.exists(START):
        tiny.prepare()
        tiny.add_cell()
    shutil.rmtree(WORK, ignore_errors=True)
    shutil.copytree(START, WORK)
    done = subprocess.run([SURETY, *words, *ONE], cwd=WORK, capture_output=True, text=True, timeout=120,
                          env={**os.environ, "XDG_STATE_HOME": os.path.join(FOLDER.name, "state"), **(env or {})},
                          preexec_fn=limit and (lambda: resource.setrlimit(limit[0], (limit[1], limit[1]))))
    return done.returncode, contents(), done.stderr


def same_everywhere(**odd):
    for name, words in COMMANDS.items():
        if name not in GOOD:
            GOOD[name] = once(words)
            assert GOOD[name][0] == 0, GOOD[name]
        found = once(words, **odd)
        assert found[:2] == GOOD[name][:2], (name, found[0], found[2])


def test_a_decimal_comma():
    locales = os.path.join(BUILD, "locales")
    if not os.path.exists(os.path.join(locales, "de_DE.UTF-8")):
        raise Skip("no locale with a decimal comma (package locales)")
    same_everywhere(env={"LC_ALL": "de_DE.UTF-8", "LOCPATH": locales})


def test_the_stack_that_is_asked_for():
    """surety/base.h: 512 kB."""
    same_everywhere(limit=(resource.RLIMIT_STACK, 512 << 10))


def test_a_smaller_stack_is_refused():
    for size in (64, 511):
        code, files, said = once(COMMANDS["certify"], limit=(resource.RLIMIT_STACK, size << 10))
        assert code == 4 and f"limited to {size} kB" in said and "512 kB" in said, (code, said)
        assert files == contents(START)


def test_no_locks():
    library = os.path.join(FOLDER.name, "unlocked.so")
    source = "#include <errno.h>\nint flock(int fd, int how) { (void)fd, (void)how; errno = ENOLCK; return -1; }\n"
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-x", "c", "-o", library, "-"], input=source, text=True, check=True)
    same_everywhere(env={"LD_PRELOAD": library})


def test_little_address_space():
    same_everywhere(limit=(resource.RLIMIT_AS, 100 << 20))


def test_too_little_address_space():
    """A table that does not fit: a sentence."""
    code, _, _ = once(COMMANDS["data"])
    assert code == 0
    with open(os.path.join(WORK, "big.csv"), "w") as f:
        f.writelines(f"{i % 97},{i % 89},{'ab'[i % 2]}\n" for i in range(400000))
    done = subprocess.run([SURETY, "data", "show", "--train", "big.csv", *ONE], cwd=WORK, capture_output=True, text=True,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (60 << 20, 60 << 20)))
    assert done.returncode == 4 and "memory" in done.stderr, (done.returncode, done.stderr)


if __name__ == "__main__":
    main()
