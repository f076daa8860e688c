"""surety reproduce: a study by the theory has the numbers of train and evaluate; a study survives kills, full disks and
damage, and its results depend on nothing but its settings. (That print's recipe is right: tests/study/test_print.c.)"""
import csv
import json
import math
import os
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import time

from tap import FULL, SOURCE, SURETY, Skip, answer, error, main, run

TASK = "fashion-sandal-v-boot"
SMALL = ["--epochs", 1, "--samples", 3, "--steps", 2]
THEORY = ["--theory", *SMALL]
SANITIZED = "asan" in os.environ.get("SURETY_BUILD", "")  # ten times slower: one cell, and nothing computed twice
DEFENSES = ["pgd"] if SANITIZED else ["none", "pgdu", "pgd"] if FULL else ["none", "pgd"]
VALUES = sum({"none": 24, "pgdu": 21, "pgd": 3}[defense] for defense in DEFENSES)
CELLS = ["--tasks", TASK, "--norms", "l2", "--voters", "signed", "--defenses", ",".join(DEFENSES)]
HEADER = ["task", "norm", "algorithm", "defense", "attack", "voters", "quantity", "value", "seed", "published",
          "difference"]

folder = tempfile.TemporaryDirectory()


def path(*names):
    return os.path.join(folder.name, *names)


def read(*names):
    with open(path(*names), "rb") as file:
        return file.read()


def lines(name):
    with open(path(name, "results.csv"), newline="") as file:
        return list(csv.DictReader(file))


def key(line):
    return tuple(line[name] for name in HEADER[:7])


def whole():
    """A small study without interruption, on one thread."""
    if not os.path.exists(path("whole", "results.csv")):
        run("reproduce", "--out", path("whole"), *CELLS, *SMALL, "--threads", 1)
    return "whole"


def theory():
    """The same by the theory."""
    if not os.path.exists(path("theory", "results.csv")):
        run("reproduce", "--out", path("theory"), *CELLS, *THEORY, "--threads", 1)
    return "theory"


def slow():
    if SANITIZED:
        raise Skip("too slow with sanitizers; tests/study computes cells with them")


def copy(name):
    shutil.copytree(path(whole()), path(name))
    return name


def cell(name, defense=DEFENSES[-1]):
    return path(name, "cells", f"{TASK}-l2-signed-{defense}-0.json")


def test_dry_run_lists_the_whole_grid_without_data():
    plan = answer("reproduce", "--dry-run", "--data-dir", "/nonexistent")
    assert len(plan["cells"]) == 144 and plan["values"] == 2304 and plan["seconds_left"] > 0
    assert len({c["name"] for c in plan["cells"]}) == 144 and not any(c["done"] for c in plan["cells"])
    few = answer("reproduce", "--dry-run", *CELLS[:-1], "none,pgdu,pgd", "--seeds", 2)
    assert [c["name"] for c in few["cells"]] == [f"{TASK}-l2-signed-{d}-{s}" for d in ("none", "pgdu", "pgd")
                                                 for s in (0, 1)]
    assert few["values"] == 2 * (24 + 21 + 3)
    text = run("reproduce", "--dry-run", *CELLS[:-1], "none,pgdu,pgd").stdout
    assert "3 cells, 0 of them finished, 48 printed values; about 0:" in text


def test_every_value_stands_beside_its_printed_one():
    name = whole()
    with open(os.path.join(SOURCE, "data", "published.csv"), newline="") as file:
        printed = {key(line): float(line["value"]) for line in csv.DictReader(file)}
    assert len(printed) == 2304
    found = lines(name)
    assert list(found[0]) == HEADER
    expected = [k for k in printed if k[0] == TASK and k[1] == "l2" and k[5] == "signed" and
                k[3] in DEFENSES and (k[2] != "baseline" or k[3] != "pgdu")]
    assert [key(line) for line in found] == expected and len(expected) == VALUES
    for line in found:
        assert float(line["published"]) == printed[key(line)]
        assert abs(float(line["value"]) - printed[key(line)] - float(line["difference"])) < 2e-6
        assert line["seed"] == "0" and -0.001 < float(line["value"]) < 3


def test_numbers_are_those_of_train_and_evaluate():
    slow()
    found = {key(line): float(line["value"]) for line in lines(theory())}
    quantities = {"chromatic": ("averaged_risk", {"bound_seeger": "chromatic_seeger"}),
                  "average-max": ("averaged_max_risk", {"bound_max": "average_max", "bound_tv": "average_max_tv"}),
                  "baseline": (None, {})}
    cases = [("none", "chromatic", ("pgdu", "none")), ("none", "average-max", ("ifgsmu",)), ("pgd", "baseline", ("pgd",))]
    if FULL:
        cases += [("pgdu", "chromatic", ("pgdu", "none")), ("pgdu", "average-max", ("ifgsmu",)),
                  ("none", "average-max", ("none", "pgdu")), ("none", "baseline", ("none", "ifgsm"))]
    for defense, objective, attacks in cases:
        model = path("model.safetensors")
        run("train", "--task", TASK, "--norm", "l2", "--defense", defense, "--objective",
            objective, "--epochs", 1, "--steps", 2, "--voters", "signed", "--out", model)
        assert read("model.safetensors") == read(
            "theory", "models", f"{TASK}-l2-signed-{defense}-0-{objective}.safetensors"), (defense, objective)
        rows = answer("evaluate", model, "--attacks", ",".join(attacks), "--samples", 3, "--steps", 2)["attacks"]
        for row in rows:
            risk, bounds = quantities[objective]
            mine = {"adversarial_risk": row["adversarial_risk"]}
            if risk:
                mine[risk] = row[risk]
            for column, bound in bounds.items():
                mine[column] = row["bounds"][bound]["vote"]
            for quantity, value in mine.items():
                k = (TASK, "l2", objective, defense, row["attack"], "signed", quantity)
                assert abs(found[k] - value) <= 0.5000001e-6, (k, found[k], value)


def test_certified_cells_are_those_of_train_and_evaluate_and_not_compared():
    slow()
    certified = [*CELLS[:-1], "certified", *THEORY]
    plan = answer("reproduce", "--dry-run", *certified)
    assert [c["name"] for c in plan["cells"]] == [f"{TASK}-l2-signed-certified-0"] and plan["values"] == 0
    found = answer("reproduce", "--out", path("certified"), *certified, "--threads", 1)
    assert (found["cells"], found["computed"], found["compared"]) == (1, 1, 0), found
    assert lines("certified") == [] and answer("reproduce", "--out", path("certified"), *certified)["computed"] == 0
    run("reproduce", "--out", path("certified2"), *certified, "--threads", 2)
    for name in ("results.json", "report.html"):
        assert read("certified", name) == read("certified2", name), name

    model = path("model.safetensors")
    run("train", "--task", TASK, "--norm", "l2", "--defense", "certified", "--voters", "signed", "--epochs", 1, "--steps", 2,
        "--out", model)
    assert read("model.safetensors") == read("certified", "models", f"{TASK}-l2-signed-certified-0-baseline.safetensors")
    clean, pgd, worst = answer("evaluate", model, "--attacks", "none,pgd,worst-case", "--steps", 2)["attacks"]
    with open(cell("certified", "certified")) as file:
        rows = json.load(file)["rows"]
    assert [r["attack"] for r in rows] == ["none", "pgd", "worst-case"]
    assert [r["adversarial_risk"] for r in rows[:2]] == [clean["adversarial_risk"], pgd["adversarial_risk"]]
    assert rows[2]["not_proved"] == worst["not_proved"] >= pgd["adversarial_risk"]
    assert rows[2]["bounds"] == {name: bound["vote"] for name, bound in worst["bounds"].items()}
    assert {"worst_case_frozen", "worst_case", "worst_case_anchored"} <= set(rows[2]["bounds"])

    with open(os.path.join(SOURCE, "data", "published.csv"), newline="") as file:
        printed = {key(line): float(line["value"]) for line in csv.DictReader(file)}
    limits = [rows[2]["not_proved"], rows[2]["bounds"]["worst_case_frozen"], rows[2]["bounds"]["worst_case_anchored"]]
    shown = [rows[0]["adversarial_risk"], rows[1]["adversarial_risk"], *(math.ceil(1000 * v) / 1000 for v in limits),
             printed[(TASK, "l2", "chromatic", "pgdu", "pgdu", "signed", "bound_seeger")],
             printed[(TASK, "l2", "average-max", "pgdu", "pgdu", "signed", "bound_tv")]]
    page = read("certified", "report.html").decode()
    line = f"<th scope=\"row\">{TASK}</th><td>l2</td><td>soft-forest</td><td>signed</td><td>1</td>" + \
        "".join(f"<td>{f'{v:.3f}'.removeprefix('0')}</td>" for v in shown) + "</tr>"
    assert page.count(line) == 1 and page.count("Against every attack") == 1, line


def test_certified_cells_of_other_kinds_are_those_of_train():
    slow()
    kinds = [*CELLS[:2], "--defenses", "certified", "--kinds", "trees,lipschitz", *SMALL]
    names = [f"{TASK}-l2-signed-certified-lipschitz-0", f"{TASK}-linf-signed-certified-lipschitz-0",
             f"{TASK}-linf-real-certified-trees-0"]
    assert [c["name"] for c in answer("reproduce", "--dry-run", *kinds)["cells"]] == names
    both = answer("reproduce", "--dry-run", *CELLS[:-1], "certified", "--kinds", "soft-forest,lipschitz")["cells"]
    assert [c["name"] for c in both] == [f"{TASK}-l2-signed-certified-0", names[0]]
    norms = "linf" if FULL else "l2"  # 400 trees take seconds
    run("reproduce", "--out", path("kinds"), *kinds, "--norms", norms)
    assert answer("reproduce", "--out", path("kinds"), *kinds, "--norms", norms)["computed"] == 0
    for name in names[1:] if FULL else names[:1]:
        run("train", "--task", TASK, "--norm", norms, "--defense", "certified", "--kind", name.split("-")[-2], "--steps", 2,
            *([] if "trees" in name else ["--epochs", 1]), "--out", path("kind.model"))
        saved = read("kinds", "models", name + "-baseline.safetensors")
        if "trees" not in name:  # study's epochs of a step 2 that is not there
            assert read("kind.model") == saved
        clean, strong, worst = answer("evaluate", path("kind.model"), "--attacks", "none," + (
            "search" if "trees" in name else "pgd") + ",worst-case", "--steps", 2)["attacks"]
        with open(path("kinds", "cells", name + ".json")) as file:
            found = json.load(file)
        assert found["cell"]["kind"] == name.split("-")[-2]
        assert [r["attack"] for r in found["rows"]] == [r["attack"] for r in (clean, strong, worst)]
        assert [r["adversarial_risk"] for r in found["rows"][:2]] == [r["adversarial_risk"] for r in (clean, strong)]
        assert found["rows"][2]["not_proved"] == worst["not_proved"]
    for words in (["--kinds", "trees"], ["--kinds", "tress", "--defenses", "certified"]):
        assert "kind" in error("reproduce", "--dry-run", *CELLS[:2], *words, code=2)["what"]


def test_seed_0_decides_and_the_band_has_nothing_added():
    slow()
    run("reproduce", "--out", path("seeds"), *CELLS[:-1], "none", *SMALL, "--seeds", 3)
    of = {}
    for line in lines("seeds"):
        of.setdefault(key(line), []).append((int(line["seed"]), float(line["value"]), float(line["published"])))
    with open(path("seeds", "results.json")) as file:
        results = json.load(file)
    assert len(of) == 24 == len(results["values"]) == results["agreement"]["compared"]
    counts = dict.fromkeys(("near", "agrees", "in_band", "either"), 0)
    for value in results["values"]:
        mine = of[tuple(value[name] for name in HEADER[:7])]
        numbers, printed = [v for _, v, _ in mine], mine[0][2]
        assert [s for s, _, _ in mine] == [0, 1, 2] and value["seeds"] == 3
        for name, number in (("value", numbers[0]), ("min", min(numbers)), ("max", max(numbers))):
            assert abs(value[name] - number) < 1e-6
        room = 0.02 if value["quantity"].startswith("bound") else 0.01
        assert value["near"] == (abs(numbers[0] - printed) <= 0.0015) and value["agrees"] == (abs(numbers[0] - printed) <= room)
        assert value["in_band"] == (min(numbers) <= printed <= max(numbers)), value
        for name in ("near", "agrees", "in_band"):
            counts[name] += value[name]
        counts["either"] += value["agrees"] or value["in_band"]
        assert max(numbers) - min(numbers) < 0.01, value  # a jitter of 1e-7 moves little in one epoch
    agreement = results["agreement"]
    assert [agreement[name] for name in ("near", "agree", "in_band", "agree_or_in_band")] == list(counts.values())
    cells = [json.loads(read("seeds", "cells", f"{TASK}-l2-signed-none-{seed}.json"))["models"] for seed in range(3)]
    assert cells[0] != cells[1] != cells[2]  # but it moves something


def test_same_results_after_kills_with_other_threads():
    slow()
    whole()
    random.seed(7)
    kills = 0
    first = {}  # a finished cell's file must never be touched again
    for attempt in range(400 if FULL else 40):
        if kills >= (30 if FULL else 5):
            break
        process = subprocess.Popen([SURETY, "reproduce", "--out", path("killed"), *map(str, CELLS + SMALL), "--threads",
                                    str(1 + attempt % 3)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=random.uniform(0.05, 1.5 if FULL else 0.9))
            shutil.rmtree(path("killed"))  # it got through: once more from the beginning
            first = {}
            continue
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
        for name in os.listdir(path("killed", "cells")) if os.path.exists(path("killed", "cells")) else []:
            if name.endswith(".json") and not name.startswith("."):
                info = os.stat(path("killed", "cells", name))
                assert first.setdefault(name, (info.st_ino, info.st_mtime_ns)) == (info.st_ino, info.st_mtime_ns)
    assert kills >= 5
    run("reproduce", "--out", path("killed"), *CELLS, *SMALL)
    for name in ("results.csv", "results.json"):
        assert read("killed", name) == read("whole", name), name
    for name in sorted(os.listdir(path("whole", "models"))):
        assert read("killed", "models", name) == read("whole", "models", name), name


def begin(name, *more):
    return subprocess.Popen([SURETY, "reproduce", "--out", path(name), *map(str, [*CELLS, *SMALL, "--threads", 1, *more])],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


def locks(name):
    cells = path(name, "cells")
    return [each for each in os.listdir(cells) if each.endswith(".lock")] if os.path.exists(cells) else []


def test_two_processes_take_different_cells_and_a_killed_one_holds_none():
    slow()
    whole()
    both = [begin("both", "--json") for _ in range(2)]
    computed = [json.loads(each.communicate(timeout=300)[0])["computed"] for each in both]
    assert sum(computed) == len(DEFENSES) and [each.returncode for each in both] == [0, 0], computed
    assert read("both", "results.csv") == read("whole", "results.csv") and not locks("both")
    first = begin("left")
    while not locks("left") and first.poll() is None:
        time.sleep(0.005)
    first.kill()  # -9, with a lock
    first.wait()
    run("reproduce", "--out", path("left"), *CELLS, *SMALL, timeout=120)
    assert read("left", "results.csv") == read("whole", "results.csv") and not locks("left")


def test_parts_are_cells_and_the_whole_makes_the_tables():
    slow()
    whole()
    cells = 0
    for k in (3, 1, 2):
        part = answer("reproduce", "--out", path("parts"), *CELLS, *SMALL, "--part", f"{k}/3")
        assert part["part"] == k and part["of"] == 3 and part["computed"] == part["cells"]
        cells += part["cells"]
        assert not os.path.exists(path("parts", "results.csv"))
    assert cells == len(DEFENSES)
    assert answer("reproduce", "--out", path("parts"), *CELLS, *SMALL)["computed"] == 0
    assert read("parts", "results.csv") == read("whole", "results.csv")
    run("reproduce", "--out", path("parts"), "--part", "4/3", code=2)


def test_finished_cells_are_not_computed_again_and_a_folder_can_be_widened():
    slow()
    run("reproduce", "--out", path("wide"), *CELLS[:-1], "pgd", *SMALL)
    assert len(lines("wide")) == 3
    before = os.stat(path("wide", "cells", f"{TASK}-l2-signed-pgd-0.json"))
    done = run("reproduce", "--out", path("wide"), *CELLS, *SMALL)
    more = len(DEFENSES) - 1
    assert f"{more + 1} cells, {more} computed now" in done.stdout
    assert done.stderr.count("cell ") == more and f"cell {more} of {more}" in done.stderr
    after = os.stat(path("wide", "cells", f"{TASK}-l2-signed-pgd-0.json"))
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert read("wide", "results.csv") == read(whole(), "results.csv")
    assert read("wide", "results.json") == read("whole", "results.json")
    again = answer("reproduce", "--out", path("wide"), *CELLS, *SMALL)
    assert again["computed"] == 0 and again["cells"] == len(DEFENSES) and again["compared"] == VALUES
    plan = answer("reproduce", "--dry-run", "--out", path("wide"), *CELLS, *SMALL)
    assert all(c["done"] for c in plan["cells"]) and plan["seconds_left"] == 0


def test_a_signal_ends_it_cleanly():
    slow()
    process = subprocess.Popen([SURETY, "reproduce", "--out", path("stopped"), *map(str, CELLS + SMALL)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    _, messages = process.communicate(timeout=120)
    if process.returncode == 0:
        raise Skip("it was faster than the signal")
    assert process.returncode == 4 and "goes on" in messages, messages
    run("reproduce", "--out", path("stopped"), *CELLS, *SMALL)
    assert read("stopped", "results.csv") == read(whole(), "results.csv")


def test_other_settings_and_versions_are_refused():
    name = copy("other")
    for options, named in (([*SMALL, "--epochs", 2], "epochs"), ([*SMALL, "--samples", 4], "samples"),
                           ([*SMALL, "--steps", 3], "steps"), (THEORY, "recipe")):
        e = error("reproduce", "--out", path(name), *CELLS, *options, code=3)
        assert f"another {named}" in e["what"] and e["file"].endswith("study.json"), e
    with open(path(name, "study.json")) as file:
        facts = json.load(file)
    facts["version"] = "0.0.9"
    with open(path(name, "study.json"), "w") as file:
        json.dump(facts, file)
    e = error("reproduce", "--out", path(name), *CELLS, *SMALL, code=3)
    assert "another version" in e["what"] and "0.0.9" in e["what"], e
    with open(path(name, "study.json"), "w") as file:
        file.write("{\"version\": ")
    e = error("reproduce", "--out", path(name), *CELLS, *SMALL, code=3)
    assert e["file"].endswith("study.json") and "line 1" in e["place"], e
    assert read(name, "results.csv") == read("whole", "results.csv")


def test_a_damaged_cell_is_named():
    name = copy("damaged")
    with open(cell(name)) as file:
        text = file.read()
    for bad in (text.replace("0.0", "0.1", 1), text[:1000], "", "[]", text.replace("\"seed\": 0", "\"seed\": 1")):
        assert bad != text
        with open(cell(name), "w") as file:
            file.write(bad)
        e = error("reproduce", "--out", path(name), *CELLS, *SMALL, code=3)
        assert e["file"] == cell(name), e
    if SANITIZED:
        return
    shutil.copy(cell(name, "none"), cell(name))
    assert "another cell" in error("reproduce", "--out", path(name), *CELLS, *SMALL, code=3)["what"]
    os.remove(cell(name))
    run("reproduce", "--out", path(name), *CELLS, *SMALL)
    assert read(name, "results.csv") == read("whole", "results.csv")


def test_a_file_size_limit_is_a_clean_end():
    for limit in (100,) if SANITIZED else (100, 5000, 200000):  # study.json, a cell, a model do not fit
        name = path(f"limit{limit}")
        done = subprocess.run([SURETY, "reproduce", "--out", name, *map(str, CELLS + THEORY)], capture_output=True,
                              text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        assert done.returncode == 4, (limit, done.stderr)
        assert "cannot write" in done.stderr and "goes on" in done.stderr, done.stderr
        assert not os.path.exists(os.path.join(name, "results.csv"))
    slow()
    run("reproduce", "--out", name, *CELLS, *THEORY)
    assert read("limit200000", "results.csv") == read(theory(), "results.csv")


def test_a_full_disk_is_a_clean_end():
    slow()
    place = path("disk")
    os.mkdir(place)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=800k", "tmpfs", place], capture_output=True).returncode:
        raise Skip("this user may not mount a small disk")
    try:
        done = run("reproduce", "--out", os.path.join(place, "study"), *CELLS, *THEORY, code=4)
        assert "full" in done.stderr and "goes on" in done.stderr, done.stderr
        if subprocess.run(["mount", "-o", "remount,size=20m", place], capture_output=True).returncode:
            raise Skip("this user may not grow a small disk")
        run("reproduce", "--out", os.path.join(place, "study"), *CELLS, *THEORY)
        assert read("disk", "study", "results.csv") == read(theory(), "results.csv")
    finally:
        subprocess.run(["umount", place], check=True)


def test_what_cannot_be_looked_at_is_not_absent():
    name = copy("untold")
    os.remove(cell(name))
    os.symlink(cell(name), cell(name))  # a loop: the system cannot tell whether the cell is there
    e = error("reproduce", "--out", path(name), *CELLS, *SMALL, code=4)
    assert e["file"] == cell(name) and "look for" in e["what"], e
    os.remove(cell(name))
    shutil.rmtree(path(name, "cells"))
    os.symlink("cells", path(name, "cells"))
    error("reproduce", "--out", path(name), *CELLS, *SMALL, code=4)


def test_no_data_says_how_to_fetch():
    e = error("reproduce", "--out", path("nodata"), *CELLS, *SMALL, "--data-dir", "/nonexistent", code=3)
    assert "fetch" in e["what"] + e["expected"], e
    e = error("reproduce", "--out", path("nodata2"), "--quick", "--data-dir", "/nonexistent", code=3)
    assert "fetch" in e["what"] + e["expected"], e


def test_wrong_usage():
    assert "--out" in error("reproduce", code=2)["what"]
    assert "did you mean" in error("reproduce", "--out", path("x"), "--tasks", "mnist-1v8", code=2)["what"]
    assert "l2 and linf" in error("reproduce", "--out", path("x"), "--norms", "l1", code=2)["what"]
    assert "none, unif" in error("reproduce", "--out", path("x"), "--defenses", "fgsm", code=2)["what"]
    assert "seeds" in error("reproduce", "--out", path("x"), "--seeds", 0, code=2)["what"]
    assert "epochs" in error("reproduce", "--out", path("x"), "--epochs", 0, code=2)["what"]
    error("reproduce", "--out", path("x"), "--voters", "signed,", code=2)
    assert not os.path.exists(path("x"))
    with open(path("file"), "w"):
        pass
    assert "file" in error("reproduce", "--out", path("file"), *CELLS, *SMALL, code=4)["file"]


def test_quick_grid():
    slow()
    if not FULL:
        raise Skip("only in the full run")
    began = time.monotonic()
    run("reproduce", "--out", path("quick"), "--quick", "--theory")
    spent = time.monotonic() - began
    print(f"# the quick grid took {spent:.0f} s")  # a fact for the log: a busy machine is no failure
    assert len(lines("quick")) == 192


if __name__ == "__main__":
    main()
