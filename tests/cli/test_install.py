"""The installed library: a ten-line program builds against it, and its symbols are its own."""
import math
import os
import subprocess
import tempfile

from tap import Skip, main

BUILD = os.environ["SURETY_BUILD"]
PROGRAM = r"""
#include <stdio.h>
#include <surety/bound.h>
int main(void) {
    surety_bound_input in = surety_bound_input_defaults();
    surety_bound_value value;
    in.m = 5000, in.H = 25, in.kl = 0.1, in.averaged.gibbs = 0.01, in.priors_compared = 20;
    if (surety_bound_compute(SURETY_BOUND_SEEGER, &in, &value, NULL)) return 1;
    printf("%s %.4f\n", surety_version(), value.vote);
    return 0;
}
"""
LISTS = """cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(surety REQUIRED)
add_executable(user user.c)
target_link_libraries(user PRIVATE surety::shared)
"""


def sh(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
    return done.stdout


def seeger(risk, kl, m, priors, delta):
    """Twice the p at which kl(risk||p) reaches (KL + ln(2 T_p sqrt(m) / delta)) / m, by bisection."""
    c = (kl + math.log(2 * priors * math.sqrt(m) / delta)) / m
    low, high = risk, 1 - 1e-12
    for _ in range(100):
        p = (low + high) / 2
        far = risk * math.log(risk / p) + (1 - risk) * math.log((1 - risk) / (1 - p)) > c
        low, high = (low, p) if far else (p, high)
    return 2 * low


def test_program_against_installed_library():
    if "asan" in os.path.basename(BUILD):
        raise Skip("the sanitizers' library is not what users install")
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "prefix")
        sh("cmake", "--install", BUILD, "--prefix", prefix)
        library = next(os.path.join(at, "") for at, _, files in os.walk(prefix) if "libsurety.so" in files)
        with open(os.path.join(folder, "user.c"), "w") as f:
            f.write(PROGRAM)
        with open(os.path.join(folder, "CMakeLists.txt"), "w") as f:
            f.write(LISTS)
        env = {**os.environ, "PKG_CONFIG_PATH": library + "pkgconfig", "LD_LIBRARY_PATH": library}
        flags = sh("pkg-config", "--define-variable=prefix=" + prefix, "--cflags", "--libs", "surety", env=env).split()
        sh("cc", "-std=c17", "-Wall", "-Werror", "-o", "by_pkgconfig", "user.c", *flags, cwd=folder)
        sh("cmake", "-G", "Ninja", "-S", ".", "-B", "b", "-DCMAKE_PREFIX_PATH=" + prefix, cwd=folder)
        sh("cmake", "--build", "b", cwd=folder)
        first = sh(os.path.join(folder, "by_pkgconfig"), env=env)
        assert first == sh(os.path.join(folder, "b", "user"), env=env)
        assert first.split()[1] == f"{seeger(0.01, 0.1, 5000, 20, 0.05):.4f}", first
        assert sh(os.path.join(prefix, "bin", "surety"), "--version").startswith("surety ")


def test_symbols_are_ours():
    for name, dynamic in (("libsurety.so", True), ("libsurety.a", False)):
        listed = sh("nm", "--defined-only", "--extern-only", *(["--dynamic"] if dynamic else []),
                    os.path.join(BUILD, name))
        symbols = [line.split()[-1] for line in listed.splitlines() if len(line.split()) == 3]
        foreign = [s for s in symbols if not s.startswith("surety_") and "asan" not in s]
        assert len(symbols) > 50 and not foreign, foreign[:10]


def test_public_headers_stand_alone():
    folder = os.path.join(os.environ["SURETY_SOURCE"], "include")
    for header in sorted(os.listdir(os.path.join(folder, "surety"))):
        for compiler in (["cc", "-std=c17", "-xc"], ["c++", "-std=c++17", "-xc++"]):
            try:
                sh(*compiler, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", folder, "-include",
                   f"surety/{header}", "/dev/null")
            except FileNotFoundError:
                if compiler[0] == "cc":
                    raise


if __name__ == "__main__":
    main()
