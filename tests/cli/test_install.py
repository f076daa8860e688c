"""The installed library: a ten-line program builds against it, and its symbols are its own."""
import math
import os
import re
import shutil
import subprocess
import tempfile

from tap import SANITIZED, Skip, main

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
find_package(surety REQUIRED COMPONENTS shared static)
foreach(kind shared static)
  add_executable(${kind} user.c)
  target_link_libraries(${kind} PRIVATE surety::${kind})
endforeach()
"""
# What a program with the library may load: libc and the loader, and what docs/architecture.md names.
NEEDED = {"linux-vdso", "ld-linux-x86-64", "libc", "libm", "libgomp", "libomp", "libz", "libcrypto", "libjansson",
          "libsleef"}


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


def loaded(path, env=None):
    """Names of the shared libraries that a program or library loads."""
    return {line.split()[0].split("/")[-1].split(".so")[0] for line in sh("ldd", path, env=env).splitlines()}


def install(prefix, folder):
    """cmake --install; its list of files goes into folder, and a list of an earlier installation stays where it was."""
    manifest, kept = os.path.join(BUILD, "install_manifest.txt"), os.path.join(folder, "kept")
    if os.path.exists(manifest):
        os.rename(manifest, kept)
    sh("cmake", "--install", BUILD, "--prefix", prefix)
    shutil.move(manifest, folder)
    if os.path.exists(kept):
        os.rename(kept, manifest)


def test_uninstall():
    """What an installation wrote is removed again, with folders of ours, and nothing else."""
    if SANITIZED:
        raise Skip("the sanitizers' library is not what users install")
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "prefix")
        own = os.path.join(prefix, "lib", "own")
        install(prefix, folder)
        for page in ("docs/index.md", "docs/notes/tables.md", "README.md", "LICENSE"):
            assert os.path.exists(os.path.join(prefix, "share", "doc", "surety", page)), page
        with open(own, "w"):
            pass
        script = os.path.join(os.environ["SURETY_SOURCE"], "packaging", "uninstall.sh")
        sh("sh", script, cwd=folder)
        left = [os.path.join(at, name) for at, _, files in os.walk(prefix) for name in files]
        assert left == [own], left
        assert not [at for at, _, _ in os.walk(prefix) if os.path.basename(at) == "surety"]
        again = subprocess.run(["sh", script], cwd=folder, capture_output=True, text=True)
        assert again.returncode == 1 and "nothing was installed" in again.stderr


def test_program_against_installed_library():
    """Four ways: shared and static, by pkg-config and by CMake."""
    if SANITIZED:
        raise Skip("the sanitizers' library is not what users install")
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "prefix")
        install(prefix, folder)
        library = next(os.path.join(at, "") for at, _, files in os.walk(prefix) if "libsurety.so" in files)
        with open(os.path.join(folder, "user.c"), "w") as f:
            f.write(PROGRAM)
        with open(os.path.join(folder, "CMakeLists.txt"), "w") as f:
            f.write(LISTS)
        env = {**os.environ, "PKG_CONFIG_PATH": library + "pkgconfig", "LD_LIBRARY_PATH": library}

        def flags(*options):
            return sh("pkg-config", *options, "surety", env=env).split()

        compile_user = [os.environ.get("CC", "cc"), "-std=c17", "-Wall", "-Werror", "user.c", *flags("--cflags")]
        sh(*compile_user, "-o", "pc_shared", *flags("--libs"), cwd=folder)
        static = [library + "libsurety.a" if word == "-lsurety" else word for word in flags("--static", "--libs")]
        sh(*compile_user, "-o", "pc_static", *static, cwd=folder)
        sh("cmake", "-G", "Ninja", "-S", ".", "-B", ".", "-DCMAKE_PREFIX_PATH=" + prefix, cwd=folder)
        sh("cmake", "--build", ".", cwd=folder)
        expected = f"{seeger(0.01, 0.1, 5000, 20, 0.05):.4f}"
        for program in ("pc_shared", "pc_static", "shared", "static"):
            path = os.path.join(folder, program)
            assert sh(path, env=env).split()[1] == expected, program
            assert ("libsurety" in loaded(path, env)) == ("shared" in program), program
        assert sorted(os.listdir(os.path.join(prefix, "include", "surety"))) == sorted(
            f"{room}.h" for room in "base bound risk data voters model attack evaluate train certify surety version".split())
        assert sh(os.path.join(prefix, "bin", "surety"), "--version").startswith("surety ")


def test_manual():
    """A page for every command with all of its options, and words that bash completes."""
    surety = os.path.join(BUILD, "surety")
    names = re.findall(r"^  ([a-z]+) ", sh(surety, "help"), re.M)
    assert len(names) > 15 and names[-1] == "help"
    for name in names[:-1]:
        page = sh(surety, "help", "--man", name)
        options = re.findall(r"^  (--[a-z-]+)", sh(surety, "help", name).split("Options:")[1].split("Example:")[0], re.M)
        shown = [word.replace("\\-", "-") for word in re.findall(r"^\.TP\n\.B (\S+)", page, re.M)]
        assert shown == options and page.startswith(f".TH SURETY-{name.upper()} 1"), name
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True, check=True)
            assert not done.stderr, done.stderr
    assert all(f"surety\\-{name} (1)" in sh(surety, "help", "--man") for name in names[:-1])
    script = sh(surety, "help", "--completion") + """
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _surety; echo "${COMPREPLY[*]}"; }
"""
    wanted = {
        "tra": "train", "dat": "data", "help certif": "certify", "inspect user.": "user.model", "data f": "fetch",
        "train --sca": "--scale", "train --scale ''": "none standard minmax", "train --norm = li": "linf", "train --eps ''": "",
        "train --train user.": "user.model", "train --stream user.": "user.model", "certify --fresh user.": "user.model",
        "train --kind l": "linear lipschitz", "evaluate m --attacks none,pgd": "none,pgd none,pgdu", "train --task mnist-4": "mnist-4v9",
        "certify m --attack w": "worst-case", "certify m --bound be": "best", "bound --objective see": "seeger"}
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "data"))
        with open(os.path.join(folder, "user.model"), "w"):
            pass
        script += "; ".join(f"try surety {words}" for words in wanted)
        said = dict(zip(wanted, sh("bash", "-euc", script, cwd=folder).split("\n")))
        assert said == wanted, said


def test_packages():
    """Packages unpacked into an empty folder: the command runs, the manual is there, a program finds the library."""
    if SANITIZED or os.environ.get("SURETY_TEST_FULL") != "1":
        raise Skip("packages are made by --full, in the release build")
    if not shutil.which("dpkg-shlibdeps"):
        raise Skip("dpkg-dev is not here")
    with tempfile.TemporaryDirectory() as folder:
        sh("cpack", "--config", os.path.join(BUILD, "CPackConfig.cmake"), "-B", folder, cwd=folder)
        packages = sorted(name for name in os.listdir(folder) if name.endswith(".deb"))
        assert {"surety", "libsurety-dev", "python3-surety"} <= {name.split("_")[0] for name in packages}, packages
        for name in packages:
            sh("dpkg-deb", "-x", name, "root", cwd=folder)
        usr = os.path.join(folder, "root", "usr")
        for name in packages:
            copyright = os.path.join(usr, "share", "doc", name.split("_")[0], "copyright")
            with open(copyright) as f:
                assert "License: MIT" in f.read(), copyright
        for place in (BUILD, os.environ["SURETY_SOURCE"]): # nothing tells where it was built
            found = subprocess.run(["grep", "-rlF", place, usr], capture_output=True, text=True)
            assert found.returncode == 1, f"{place}: {found.stdout}{found.stderr}"
        assert '"examples": 299' in sh(os.path.join(usr, "bin", "surety"), "plan", "--promise", "0.01", "--expected", "0", "--json")
        assert os.path.exists(os.path.join(usr, "share", "man", "man1", "surety-train.1"))
        modules = {**os.environ, "PYTHONPATH": os.path.join(usr, "lib", "python3", "dist-packages")}
        said = sh(os.environ["PYTHON"], "-c", "import surety; print(surety.__version__, surety.__file__)", env=modules)
        assert said.startswith(sh(os.path.join(usr, "bin", "surety"), "--version").split()[1]) and usr in said, said
        env = {**os.environ, "PKG_CONFIG_PATH": os.path.join(usr, "lib", "pkgconfig"), "LD_LIBRARY_PATH": os.path.join(usr, "lib")}
        with open(os.path.join(folder, "user.c"), "w") as f:
            f.write(PROGRAM)
        flags = sh("pkg-config", "--cflags", "--libs", "surety", env=env).split()
        sh(os.environ.get("CC", "cc"), "user.c", "-o", "user", *flags, cwd=folder)
        assert sh(os.path.join(folder, "user"), env=env).split()[1] == f"{seeger(0.01, 0.1, 5000, 20, 0.05):.4f}"


def test_a_light_library():
    if SANITIZED:
        raise Skip("sanitizers bring libraries of their own")
    assert loaded(os.path.join(BUILD, "libsurety.so")) <= NEEDED


def test_symbols_are_ours():
    for name, dynamic in (("libsurety.so", True), ("libsurety.a", False)):
        listed = sh("nm", "--defined-only", "--extern-only", *(["--dynamic"] if dynamic else []),
                    os.path.join(BUILD, name))
        symbols = [line.split()[-1] for line in listed.splitlines() if len(line.split()) == 3]
        foreign = [s for s in symbols if not re.match(r"(\.gomp_critical_user_)?surety_", s) and "asan" not in s]
        assert len(symbols) > 50 and not foreign, foreign[:10]


def test_public_headers_stand_alone():
    folder = os.path.join(os.environ["SURETY_SOURCE"], "include")
    for header in sorted(os.listdir(os.path.join(folder, "surety"))):
        for compiler in (["cc", "-std=c17", "-xc"], ["c++", "-std=c++17", "-xc++"]):
            try:
                sh(*compiler, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", folder,
                   "-I", os.path.join(BUILD, "include"), "-include", f"surety/{header}", "/dev/null")
            except FileNotFoundError:
                if compiler[0] == "cc":
                    raise


if __name__ == "__main__":
    main()
