"""The frame of the command: help, exit codes, errors as JSON, closed pipes."""
import gzip
import os
import re
import subprocess
import tempfile
import time

from tap import CURL, SURETY, Skip, answer, error, main, run


def test_version_and_help():
    assert run("--version").stdout.startswith("surety ")
    listed = run("help").stdout
    for line in listed.splitlines():
        assert len(line) <= 80, line
    commands = [line.split()[0] for line in listed.splitlines() if line.startswith("  ")]
    assert "data" in commands and "help" in commands and run("help", "help").stdout == listed
    for command in commands:
        if command == "help":
            continue
        text = run("help", command).stdout
        assert text == run(command, "--help").stdout
        assert "Example:" in text and "--json" in text
        for line in text.splitlines():
            assert len(line) <= 80, line


def defaults(command):
    """What help shows in brackets behind each option."""
    text = run("help", command).stdout.split("Options:")[1].split("Example:")[0]
    entries = re.split(r"\n  --", text)[1:]
    shown = {e.split()[0]: re.search(r"\[([^]]*)\]\s*$", " ".join(e.split())) for e in entries}
    return {name: match[1] if match else None for name, match in shown.items()}


def test_help_does_not_print_defaults_that_the_model_overrides():
    ball, data = {"norm", "eps", "seed"}, {"task", "classes", "learn-size", "test-size", "box"}
    for command, decided in (("evaluate", ball | data | {"delta"}), ("curve", ball | data), ("attack", ball | data),
                             ("certify", ball | {"delta"})):
        shown = defaults(command)
        assert {name: shown[name] for name in decided} == dict.fromkeys(decided, "the model's"), shown
        assert shown["steps"] == "20", shown
    assert defaults("train")["norm"] == "l2" and defaults("train")["delta"] == "0.05"


def test_wrong_usage():
    assert run(code=2).stderr.startswith("surety: no command")
    assert "did you mean 'data'" in run("dtaa", code=2).stderr
    assert "did you mean --data-dir" in run("data", "list", "--data-dri", "x", code=2).stderr
    assert "a share such as 40%" in error("data", "show", "--learn-size", "many", code=2)["what"]
    assert "needs a value" in run("data", "show", "--task", code=2).stderr
    assert error("data", "lst", code=2)["code"] == "wrong_usage"
    assert "did you mean" in error("data", "show", "--task", "mnist-1v8", code=2)["what"]
    run("data", code=2)
    run("data", "list", "list", code=2)
    run("data", "list", "-x", code=2)
    run("data", "list", "--threads", "-1", code=2)


def test_closed_pipe_ends_quietly():
    done = subprocess.run(f"'{SURETY}' help data | head -1", shell=True, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr


def test_full_output_device():
    with open("/dev/full", "w") as full:
        done = subprocess.run([SURETY, "help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 4 and "standard output" in done.stderr


def test_a_bomb_is_refused_and_can_be_stopped():
    """A small file that decompresses to much more than the machine should read."""
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "bomb.csv.gz")
        with open(name, "wb") as f:
            f.write(gzip.compress(bytes(64 << 20), 1) * 16)
        words = ["data", "show", "--train", name, "--test-size", "10"]
        e = error(*words, "--largest-file", "100M", code=3)
        assert "--largest-file" in e["expected"] and e["file"] == name, e
        for size in ("0", "1T", "x", "-1", "10Mb", "99999999999999999999"):
            error(*words, "--largest-file", size, code=2)
        process = subprocess.Popen([SURETY, *words], stderr=subprocess.PIPE, text=True)
        time.sleep(0.2)
        process.terminate()
        said = process.communicate(timeout=60)[1]
        assert process.returncode == 4 and "stopped" in said, (process.returncode, said)


def test_list_names_the_tasks():
    tasks = {t["name"]: t for t in answer("data", "list")["tasks"]}
    sizes = {"mnist-1v7": (13007, 2163), "mnist-4v9": (11791, 1991), "mnist-5v6": (11339, 1850),
             "fashion-coat-v-shirt": (12000, 2000), "fashion-sandal-v-boot": (12000, 2000),
             "fashion-top-v-pullover": (12000, 2000), "mnist": (60000, 10000), "fashion-mnist": (60000, 10000)}
    assert {name: (t["train"], t["test"]) for name, t in tasks.items()} == sizes
    assert tasks["fashion-sandal-v-boot"]["found"] is True
    for name, (train, test) in sizes.items():
        if tasks[name]["found"]:
            shown = answer("data", "show", "--task", name)
            assert (shown["train"], shown["test"]) == (train, test)
            assert (shown["learn"], shown["prior"]) == (5000, train - 5000)


def test_without_curl_fetch_says_so():
    if CURL:
        raise Skip("built with libcurl")
    with tempfile.TemporaryDirectory() as folder:
        e = error("data", "fetch", "mnist", "--data-dir", folder, code=4)
    assert "without libcurl" in e["what"] and "IDX files" in e["expected"], e


def test_no_data_says_what_to_do():
    e = error("data", "show", "--task", "mnist-1v7", "--data-dir", "/nonexistent", code=3)
    assert "fetch" in e["what"] + e["expected"]
    assert not any(t["found"] for t in answer("data", "list", "--data-dir", "/nonexistent")["tasks"])


if __name__ == "__main__":
    main()
