"""surety._core: cffi's module over the public headers, with libsurety's core inside.

The declarations are the headers themselves, as the compiler's preprocessor sees them, and the compiler checks them against the
headers again: a struct that changes cannot be read wrongly.

CMake builds the core (without libcurl and cairo) into build-python/; SURETY_BUILD names a folder where it is built already."""
import os
import re
import shlex
import subprocess
from pathlib import Path

import cffi

ROOT = Path(__file__).resolve().parent.parent
HEADERS = "".join(f'#include "surety/{path.name}"\n' for path in sorted((ROOT / "include/surety").glob("*.h")))
CC = shlex.split(os.environ.get("CC", "cc"))

# Ctrl-C: Python's own handler runs when the call has returned, so it has to return soon. Only the main thread listens.
SIGNALS = """
static volatile sig_atomic_t *surety_listening;
static struct sigaction surety_before;

static void surety_interrupted(int number, siginfo_t *info, void *context) {
    *surety_listening = 1;
    if (surety_before.sa_flags & SA_SIGINFO)
        surety_before.sa_sigaction(number, info, context);
    else
        surety_before.sa_handler(number);
}

static int surety_listen(volatile sig_atomic_t *stop) {
    struct sigaction mine = {.sa_sigaction = surety_interrupted, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (sigaction(SIGINT, NULL, &surety_before)) return 0;
    if (surety_before.sa_handler == SIG_IGN || surety_before.sa_handler == SIG_DFL) return 0;
    surety_listening = stop;
    return !sigaction(SIGINT, &mine, NULL);
}

static void surety_listen_end(void) {
    sigaction(SIGINT, &surety_before, NULL);
}
"""


def build_core():
    """The folder with libsurety.a and surety.pc."""
    if os.environ.get("SURETY_BUILD"):
        return Path(os.environ["SURETY_BUILD"])
    folder = ROOT / "build-python"
    options = [f"-DSURETY_{part}=OFF" for part in ("CURL", "CAIRO", "MPI", "TESTS", "BENCH")]
    subprocess.run(["cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", *options], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder, "--target", "surety_static", "--", "--quiet"], check=True)
    return folder


def declarations(folder):
    """What the public headers declare."""
    text = subprocess.run([*CC, "-E", "-I", ROOT / "include", "-I", folder / "include", "-"], input=HEADERS, capture_output=True, text=True,
                          check=True).stdout
    lines, ours = [], False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            ours = "/include/surety/" in marker[1]
        elif ours:
            lines.append(line)
    return re.sub(r"static inline [^{]*\{[^}]*\}", "", "\n".join(lines))


def links(folder):
    """Options that link the core statically, and all else as the system has it."""
    asked = ["pkg-config", "--static", "--libs", "surety"]
    place = {**os.environ, "PKG_CONFIG_PATH": f"{folder}:{os.environ.get('PKG_CONFIG_PATH', '')}"}
    words = subprocess.run(asked, env=place, capture_output=True, text=True, check=True).stdout.split()
    return [str(folder / "libsurety.a"), *(word for word in words if word != "-lsurety")]


folder = build_core()
ffi = cffi.FFI()
ffi.cdef("typedef int... sig_atomic_t;\n" + declarations(folder) + """
    #define SURETY_ABSENT ...
    int surety_listen(volatile sig_atomic_t *stop);
    void surety_listen_end(void);
    extern "Python" void surety_on_progress(void *arg, const surety_progress *progress);
""")
ffi.set_source("surety._core", "#include <signal.h>\n" + HEADERS + SIGNALS, include_dirs=[str(ROOT / "include"), str(folder / "include")],
               extra_link_args=links(folder), depends=[str(folder / "libsurety.a")])
