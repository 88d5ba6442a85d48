"""Makes the page: one HTML file with the WebAssembly module, the styles, the scripts and the
sentences of the specification in it. It needs no server and makes no request.

usage: assemble.py MODULE.wasm OUT.html
"""

import base64
import hashlib
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
SPEC = HERE.parents[2] / "spec"
TABLE = re.compile(r"^<!-- table: (\w+) \d+ -->$")
FIELD = re.compile(r"^<!-- field: ([\w.]+) -->$")
FORMATS = ["sion", "gsd", "ffrecord", "cdf", "blob"]


def plain(markdown):
    """The text of a cell of a table or of a sentence, without links and other signs."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown)
    return text.replace("`", "").replace("\\|", "|").strip()


def tables(lines):
    """The structures of a specification: for each field, what it means."""
    found, structure, columns = {}, None, None
    for line in lines:
        begin = TABLE.match(line)
        if begin:
            structure, columns = begin.group(1), None
        elif structure and line.startswith("|"):
            cells = [plain(cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            if columns is None:
                columns = cells
            elif "meaning" in columns and not set(cells[0]) <= set("-: "):
                row = dict(zip(columns, cells))
                found.setdefault(structure, {})[row["field"]] = row["meaning"]
        else:
            structure = None
    return found


def fields(text):
    """The fields of any length, which no table has: the sentence after the mark of each."""
    found = {}
    for mark, sentence in re.findall(r"^(<!-- field: .*? -->)\n(.*?)\.(?=\s)", text, re.M | re.S):
        found[FIELD.match(mark).group(1)] = plain(" ".join(sentence.split()))
    assert len(found) == text.count("<!-- field: "), "a mark without a sentence"
    return found


def digest(text):
    """A text as the browser's policy names it."""
    sha = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{sha}'"


def main(module, out):
    read = lambda name: (HERE / "page" / name).read_text(encoding="utf-8")
    css, script = read("page.css"), read("page.js")
    spec = {}
    for name in FORMATS:
        text = (SPEC / f"{name}.md").read_text(encoding="utf-8")
        spec[name] = tables(text.splitlines())
        assert spec[name], f"spec/{name}.md has no table"
        spec[name][""] = fields(text)
    # The browser itself refuses whatever else would be asked for.
    policy = "; ".join([
        "default-src 'none'",
        f"script-src {digest(script)} 'wasm-unsafe-eval' blob:",
        f"style-src {digest(css)}",
        "worker-src blob:",
        "base-uri 'none'",
        "form-action 'none'",
    ])
    parts = {
        "csp": policy,
        "css": css,
        "worker": read("worker.js"),
        "wasm": base64.b64encode(pathlib.Path(module).read_bytes()).decode(),
        "spec": json.dumps(spec, ensure_ascii=False).replace("</", "<\\/"),
        "script": script,
    }
    for name in ("css", "worker", "script"):
        assert "</" not in parts[name], f"{name} would end its own element"
    html = re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark.group(1)], read("page.html"))
    pathlib.Path(out).write_text(html, encoding="utf-8")


main(*sys.argv[1:])
