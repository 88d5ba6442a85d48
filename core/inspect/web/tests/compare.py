"""What a page and the program say, and where they differ."""

import json
import subprocess

# What the page leaves out: it would need the lists of all elements of all subfiles.
LEFT_OUT = {"covered", "overlaps"}


class Failed(Exception):
    pass


def check(is_so, *what):
    if not is_so:
        raise Failed(" ".join(str(one) for one in what)[:2000])


def program(striae, folder, *words):
    """What the program prints: the values of its JSON, if any, and its complaints."""
    run = subprocess.run([striae, *words], cwd=folder, capture_output=True, text=True)
    told = json.loads(run.stdout) if run.stdout.strip() else None
    complaints = [line.removeprefix("striae: ") for line in run.stderr.splitlines()]
    return told, complaints, run.returncode


def is_large(number):
    """Whether it is an integer that JavaScript would round: the page has it as a text."""
    return isinstance(number, int) and len(str(abs(number))) > 15


def differs(told, shown, where=""):
    """Where the page says something else than the program; `None` if nowhere."""
    if isinstance(told, dict) and isinstance(shown, dict):
        for name in told.keys() - shown.keys() - LEFT_OUT:
            return f"{where}.{name}: the page does not say {told[name]}"
        for name in shown.keys() - told.keys() - {"remark"}:
            return f"{where}.{name}: only the page says {shown[name]}"
        pairs = [(name, told[name], shown[name]) for name in told.keys() & shown.keys()]
    elif isinstance(told, list) and isinstance(shown, list):
        if len(told) != len(shown):
            return f"{where}: {len(told)} and {len(shown)} values"
        pairs = [(f"[{index}]", *pair) for index, pair in enumerate(zip(told, shown))]
    else:
        same = told == shown or (is_large(told) and str(told) == shown)
        # JavaScript prints a large number as an integer, and Python compares all of its digits.
        if isinstance(told, float) and isinstance(shown, (int, float)):
            same = told == float(shown)
        return None if same else f"{where}: {told!r} and {shown!r}"
    found = (differs(*pair, f"{where}.{name}") for name, *pair in pairs)
    return next((one for one in found if one), None)
