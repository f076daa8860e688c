"""What tests written in Python share: running the command as a user would, and TAP on standard output.

A test is a function whose name starts with test_; it fails by raising, and skips by raising Skip.
"""
import ast
import json
import os
import subprocess
import sys
import tempfile
import traceback

SURETY = os.environ.get("SURETY", "build/surety")
SOURCE = os.environ.get("SURETY_SOURCE", os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# What the build has.
CURL, CAIRO, SANITIZED = (os.environ.get(f"SURETY_{name}", default) == "1"
                          for name, default in (("CURL", "1"), ("CAIRO", "1"), ("SANITIZED", "0")))
FULL = os.environ.get("SURETY_TEST_FULL") == "1"
STATE = tempfile.TemporaryDirectory()  # for the log of looks: never the user's own
os.environ["XDG_STATE_HOME"] = STATE.name


class Skip(Exception):
    pass


def run(*words, code=0, cwd=None, env=None, timeout=600):
    """Runs surety with these words; checks the exit code; returns the finished process (text)."""
    done = subprocess.run([SURETY, *map(str, words)], capture_output=True, text=True, cwd=cwd, timeout=timeout,
                          env={**os.environ, **(env or {})})
    assert done.returncode == code, (
        f"surety {' '.join(map(str, words))}: exit {done.returncode}, expected {code}\n{done.stdout}\n{done.stderr}")
    return done


def answer(*words, **options):
    """The JSON document that surety prints for these words."""
    return json.loads(run(*words, "--json", **options).stdout)


def error(*words, code, **options):
    """The error object of a call that must fail with this exit code; its message must be on stderr too."""
    done = run(*words, "--json", code=code, **options)
    record = json.loads(done.stdout)["error"]
    assert record["what"] and record["what"] in done.stderr, done.stderr
    return record


def values(error):
    """What a failed assertion spoke of: the names, attributes and items in it that are no calls, with their values."""
    if not isinstance(error, AssertionError):
        return ""
    said = ""
    for frame, line in traceback.walk_tb(error.__traceback__):
        try:
            with open(frame.f_code.co_filename) as f:
                tree = ast.parse(f.read())
        except (OSError, SyntaxError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Assert) and node.lineno <= line <= node.end_lineno:
                said = "".join(describe(part, frame) for part in parts(node.test))
    return said


def parts(node):
    """The largest sub-expressions without a call that have a value of their own."""
    if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and not any(
            isinstance(inner, (ast.Call, ast.NamedExpr)) for inner in ast.walk(node)):
        yield node
        return
    if not isinstance(node, (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.Lambda)):
        for inner in ast.iter_child_nodes(node):
            yield from parts(inner)


def describe(node, frame):
    text = ast.unparse(node)
    try:
        value = eval(text, frame.f_globals, frame.f_locals)
    except Exception:
        return ""
    return "" if callable(value) or isinstance(value, type(sys)) else f"{text} = {value!r:.500}\n"


def main():
    module = sys.modules["__main__"]
    tests = [(name, value) for name, value in vars(module).items() if name.startswith("test_")]
    failed = 0
    print(f"1..{len(tests)}", flush=True)
    for number, (name, test) in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} - {name}", flush=True)
        except Skip as why:
            print(f"ok {number} - {name} # SKIP {why}", flush=True)
        except Exception as why:
            failed += 1
            print(f"not ok {number} - {name}", flush=True)
            print("# " + (traceback.format_exc() + values(why)).replace("\n", "\n# "), flush=True)
    sys.exit(failed > 0)
