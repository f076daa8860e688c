"""The pages for users are run as they stand, in order, in an empty folder: every command of docs/tables.md, docs/data.md and
docs/tolerances.md, and of docs/trees.md what needs no images. The sentence that docs/tables.md shows is the certificate's, the
template of docs/tolerances.md the command's."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tap import SOURCE, SURETY, Skip, main


def page(name):
    with open(os.path.join(SOURCE, "docs", name), encoding="utf-8") as f:
        return f.read()


def scripts(text):
    """Indented blocks that are commands, and lines behind '$ ' in console blocks, in the page's order."""
    for block in re.findall(r"(?:^    [^\n]*\n)+|^\$ [^\n]*\n", text, re.M):
        code = block[2:] if block.startswith("$") else re.sub(r"^    ", "", block, flags=re.M)
        if re.match(r"(surety|python3|cat|head) ", code):
            yield code


def walk(name, folder, without=None):
    """Runs a page, but for scripts in which a word occurs; what each of its commands of surety said, all together."""
    os.makedirs(os.path.join(folder, "bin"), exist_ok=True)
    for command, target in (("surety", os.path.abspath(SURETY)), ("python3", sys.executable)):
        os.symlink(target, os.path.join(folder, "bin", command))
    os.symlink(os.path.join(SOURCE, "examples"), os.path.join(folder, "examples"))
    said, ran = "", 0
    for code in scripts(page(name)):
        if without and without in code:
            continue
        done = subprocess.run(["bash", "-euc", code], cwd=folder, capture_output=True, text=True, timeout=600, env={
            **os.environ, "PATH": os.path.join(folder, "bin") + ":" + os.environ["PATH"], "XDG_STATE_HOME": folder})
        assert done.returncode == 0, (code, done.stderr)
        said += done.stdout
        ran += len(re.findall(r"^surety ", code, re.M))
    return said, ran


def words(text):
    return " ".join(text.split())


def test_links():
    """Every link between pages leads somewhere."""
    folder = os.path.join(SOURCE, "docs")
    pages = {os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".md")}
    notes = {os.path.join(folder, "notes", name) for name in os.listdir(os.path.join(folder, "notes"))}
    for file in [os.path.join(SOURCE, "README.md"), *pages, *notes]:
        with open(file, encoding="utf-8") as f:
            text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", f.read(), flags=re.M | re.S)
        targets = {link.split("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if not link.startswith(("http", "#"))}
        missing = [target for target in targets if not os.path.exists(os.path.join(os.path.dirname(file), target))]
        assert not missing, (file, missing)


def test_map():
    """Every page is on the map."""
    folder = os.path.join(SOURCE, "docs")
    pages = {os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names}
    links = set(re.findall(r"\]\(([^)\s]+)\)", page("index.md")))
    lost = {name for name in pages if name.endswith(".md")} - links - {"index.md"}
    assert not lost, lost


def test_options():
    """Commands in code, on every page: the command exists, and so do its options. (Pages with a test of their own are run.)"""
    folder, known, seen = os.path.join(SOURCE, "docs"), {}, 0
    names = [os.path.join(at, name) for at, _, names in os.walk(folder) for name in names if name.endswith(".md")]
    for name in names + [os.path.join(SOURCE, "README.md")]:
        with open(name, encoding="utf-8") as f:
            text = f.read().replace("\\\n", " ")
        code = re.findall(r"^(?:    |\$ )(?:\S*mpirun.* )?surety (.*)", text, re.M) + re.findall(r"`surety ([^`]+)`", text)
        for line in code:
            command = re.match(r"[a-z]+", line)
            if not command:  # "surety COMMAND", "surety --version"
                continue
            if command[0] not in known:
                known[command[0]] = subprocess.run([SURETY, "help", command[0]], capture_output=True, text=True).stdout
            assert known[command[0]], (name, line)
            for option in re.findall(r"(?<= )--[a-z-]+", line.split(" | ")[0]):
                assert re.search(rf"^  {option}\b", known[command[0]], re.M) or option in known[command[0]].split("Options:")[0], (
                    name, line, option)
                seen += 1
    assert seen > 200, seen


def test_release():
    """script/release --check, in a clone that says 9.8.7 everywhere, and again where one place says something else."""
    def check(code, words):
        done = subprocess.run(["script/release", "--check"], cwd=clone, capture_output=True, text=True, timeout=60)
        assert done.returncode == code and words in done.stdout + done.stderr, (done.stdout, done.stderr)

    def change(file, old, new):
        with open(os.path.join(clone, file), encoding="utf-8") as f:
            text = f.read()
        with open(os.path.join(clone, file), "w", encoding="utf-8") as f:
            f.write(re.sub(old, new, text, count=1, flags=re.M))
        git("-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "-qam", file)

    def git(*words):
        subprocess.run(["git", "-C", clone, *words], check=True, capture_output=True, timeout=60)

    with tempfile.TemporaryDirectory() as folder:
        clone = os.path.join(folder, "clone")
        try:
            subprocess.run(["git", "clone", "-q", SOURCE, clone], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            raise Skip("no git, or these sources are no repository") from None
        shutil.copy(os.path.join(SOURCE, "script", "release"), os.path.join(clone, "script"))
        change("CMakeLists.txt", r"(project\(surety VERSION )\S+", r"\g<1>9.8.7")
        change("CITATION.cff", r"^version: .*(\ndate-released: .*)?", "version: 9.8.7\ndate-released: 2020-02-29")
        check(1, "CHANGELOG.md: its first section is")
        change("CHANGELOG.md", r"^## ", "## 9.8.7, 2020-02-29\n\n- A change.\n\n## ")
        check(0, "everything says 9.8.7, 2020-02-29")
        for file, old, new, words in (
                ("CITATION.cff", "9.8.7", "9.8.6", "version is not 9.8.7"),
                ("CITATION.cff", "02-29", "02-28", "date-released is not 2020-02-29"),
                ("CHANGELOG.md", "2020-02-29", "9999-01-01", "is no date until today"),
                ("CHANGELOG.md", "2020-02-29", "unreleased", "is no date until today"),
                ("CHANGELOG.md", "- A change.", "", "nothing changed"),
                ("python/pyproject.toml", "dynamic.*", 'version = "9.8.7"', "has a version of its own")):
            change(file, old, new)
            check(1, words)
            git("reset", "-q", "--hard", "HEAD~1")
        with open(os.path.join(clone, "stray"), "w"):
            pass
        check(1, "the tree is not clean")
        os.remove(os.path.join(clone, "stray"))
        git("tag", "v9.8.7")
        check(1, "the tag v9.8.7 exists")


def test_versions():
    """What says a version says the same one."""
    version = subprocess.run([SURETY, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    for file in ("CITATION.cff", "CHANGELOG.md"):
        with open(os.path.join(SOURCE, file), encoding="utf-8") as f:
            assert re.search(rf"^(version: |## ){re.escape(version)}\b", f.read(), re.M), (file, version)


def test_data():
    with tempfile.TemporaryDirectory() as folder:
        said, ran = walk("data.md", folder)
        assert ran >= 9 and "a unit is all inputs with one value of 'patient'" in words(said) and "missing values filled in (flag)" in said, ran


def test_tolerances():
    with tempfile.TemporaryDirectory() as folder:
        said, ran = walk("tolerances.md", folder)
        with open(os.path.join(folder, "template.csv"), encoding="utf-8") as f:
            assert words(f.read()) in words(page("tolerances.md"))
        assert ran == 3 and "every feature within its own tolerance (table of 3 features, of which 1 cannot change)" in words(said)


def test_trees():
    try:
        import sklearn  # noqa: F401
        import xgboost  # noqa: F401
    except ImportError:
        raise Skip("python3-sklearn or python3-xgboost is not here") from None
    with tempfile.TemporaryDirectory() as folder:
        said, ran = walk("trees.md", folder, without="--task")
        assert ran == 4 and "replayed: the raw scores of 300 rows" in said and "agrees (bits)" in said, (ran, said)
        assert "always answering '1'" in words(said)  # the larger class of the rows: there is no S'


def test_tables():
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise Skip("python3-sklearn is not here") from None
    with tempfile.TemporaryDirectory() as folder:
        said, ran = walk("tables.md", folder)
        shown = re.search(r"^    (With confidence.*?); \.\.$", page("tables.md"), re.M | re.S)[1]
        pattern = re.escape(words(shown)).replace(r"\.\.\)", r"\w+\)")
        assert ran == 7 and re.search(pattern, words(said)), (shown, said)
        assert os.path.getsize(os.path.join(folder, "cells.html")) > 10000


if __name__ == "__main__":
    main()
