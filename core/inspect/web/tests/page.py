"""Tests of the page in headless Chromium: it says what the program says, reads slices, is worked by
keyboard, and makes no request.

usage: page.py CHROMIUM PAGE.html STRIAE GOLDEN SHOTS
"""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

from browser import Browser
from compare import Failed, check, differs, program

ALL = 1 << 40  # rows
MAP_CELLS = 80 * 16  # of the program's JSON, at most
GIB = 1 << 30
MOST_READ = 1 << 20  # bytes of a file of 6 GiB


class Tests:
    def __init__(self, chromium, page, striae, golden, shots):
        self.browser = Browser(chromium)
        self.striae = os.path.abspath(striae)
        self.golden = pathlib.Path(golden).resolve()
        self.shots = pathlib.Path(shots)
        self.url = pathlib.Path(page).resolve().as_uri()
        self.compared = 0
        self.open_page()

    def open_page(self):
        self.browser.call("Page.navigate", url=self.url)
        self.browser.until("document.readyState === 'complete' && typeof choose === 'function'")

    def ready(self, condition="true"):
        self.browser.until(f"document.getElementById('panel').dataset.ready === 'yes' && ({condition})")

    def choose(self, paths):
        self.browser.run("document.getElementById('panel').dataset.ready = 'no'")
        self.browser.choose([str(path) for path in paths])
        self.ready()

    def ask(self, *words):
        """The page's answer to a question, or `{"error": ..}`."""
        question = json.dumps(words)
        answer = f"ask(...{question}).then(answer => ({{ answer }}), error => ({{ error: error.message }}))"
        # As text: numbers of 64 bits stay whole where Python compares them.
        return json.loads(self.browser.run(f"{answer}.then(JSON.stringify)"))

    def text(self, selector="#panel"):
        return self.browser.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    # ---- the tests ----

    def compare(self, folder, names, number):
        """All that is said of a file by the page and by the program."""
        name = names[number]
        for verb, words, question in [
            ("info", ["info", "--json"], ["info", number]),
            ("ls", ["ls", "--json"], ["ls", number, 0, ALL]),
            ("verify", ["verify", "--json", "--limit", "500"], ["verify", number, 500]),
            ("dump", ["dump", "--json"], ["dump", number, 0, ALL]),
        ]:
            told, complaints, _ = program(self.striae, folder, *words, name)
            shown = self.ask(*question)
            self.compared += 1
            where = f"{verb} {folder.name}/{name}"
            error = shown.get("error")
            answer = shown.get("answer")
            if verb == "dump" and answer is not None:
                # The program prints what it has read before an error.
                error = answer.get("error")
                check(bool(error) == bool(complaints), where, error, complaints)
                check(not error or any(line.startswith(error) for line in complaints), where, error, complaints)
                told, answer = told or [], answer["lines"]
            elif error is not None:
                unverified = verb == "verify" and told is not None and told["sound"] is None
                check(told is None or unverified, where, "only the page refuses it:", error)
                # The program may add advice, about verbs and options.
                check(any(line == error or line.startswith(f"{error}; ") for line in complaints)
                      or self.is_same_refusal(error, complaints), where, [error], complaints)
                continue
            check(told is not None, where, "only the program refuses it:", complaints)
            different = differs(told, answer)
            check(different is None, where, different)
        self.compare_map(folder, name, number)

    def compare_map(self, folder, name, number):
        """What is where in a file, in cells as large as the program's."""
        where = f"map {folder.name}/{name}"
        # Of a set, the page shows one file at a time.
        alone = self.format_of(number) == "sion"
        words = ["map", "--json", *["--alone"] * alone, name]
        told, complaints, _ = program(self.striae, folder, *words)
        if told and '"hole"' in json.dumps(told["files"]):
            # A browser does not say what is stored on the disk: the program gets a copy that is stored as a whole.
            with tempfile.TemporaryDirectory() as whole:
                (pathlib.Path(whole) / name).write_bytes((folder / name).read_bytes())
                told, complaints, _ = program(self.striae, whole, *words)
        size = (folder / name).stat().st_size
        pictures = [one for one in told["files"] if one["file"] == name] if told else []
        most = -(-size // pictures[0]["cell_bytes"]) if pictures else MAP_CELLS
        shown = self.ask("map", number, 0, ALL, most)
        self.compared += 1
        if error := shown.get("error"):
            check(told is None, where, "only the page refuses it:", error)
            check(any(line == error or line.startswith(f"{error}; ") for line in complaints), where, [error], complaints)
            return
        check(len(pictures) == 1, where, "only the program refuses it:", complaints)
        answer = shown["answer"]
        damage = answer.pop("damage")
        check(len(pictures[0]["cells"]) <= MAP_CELLS, where, len(pictures[0]["cells"]))
        different = differs(pictures[0], answer | {"file": answer.pop("path"), "format": self.format_of(number)})
        check(different is None, where, different)
        # What the program says of it is the page's reason, or that there is no reason for what is unknown.
        is_unknown = any(kind["kind"] == "unknown" for kind in answer["kinds"])
        said = [line for line in complaints if line.startswith(f"{name}: ")]
        check(bool(said) == bool(damage or is_unknown), where, damage, complaints)
        check(not damage or any(line == damage or line.startswith(f"{damage}; ") for line in said), where, damage, said)
        legend = [{key: one[key] for key in ("kind", "letter", "description")} for one in self.ask("legend")["answer"]]
        check(told["legend"] == legend, where, legend)

    def format_of(self, number):
        return self.browser.run(f"known[{number}].format")

    def compare_all(self, folder, names):
        found = []
        for number in range(len(names)):
            try:
                self.compare(folder, names, number)
            except Failed as different:
                found.append(str(different)[:300])
        check(not found, f"{len(found)} differ:", "\n".join(found[:10]))

    def is_same_refusal(self, error, complaints):
        """A verb that a format does not have: the program names the verb, and the page what there is."""
        return "is text, and has no" in error and any("does not support" in line for line in complaints)

    def test_says_what_the_program_says(self):
        folders = sorted({path.parent for path in self.golden.rglob("*") if path.is_file()})
        for folder in folders:
            names = [path.name for path in sorted(folder.iterdir())
                     if path.is_file() and path.suffix not in (".json", ".md", ".txt")]
            if not names:
                continue
            self.choose([folder / name for name in names])
            self.compare_all(folder, names)

    def test_refuses_damaged_files_as_the_program_does(self):
        wanted = ["sion/s03_eight_mixed.sion", "gsd/v21_hoomd_full_single.gsd", "ffrecord/folder.ffr",
                  "cdf/cdf5_alltypes.nc", "cdf/cdf1_pn_default.nc", "map/z3.dat", "map/map_f_tiny_4p.nc",
                  "blob/f5h_n5_s1/blob_h1.nc.0000", "blob/f5h_n5_s1/blob_h1.h5.0000"]
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for path in wanted:
                bytes = (self.golden / path).read_bytes()
                name = pathlib.Path(path).name
                for cut in (0, 3, 7, 20, len(bytes) // 3, len(bytes) - 1):
                    (folder / f"{cut}-{name}").write_bytes(bytes[:cut])
                for at in range(0, min(len(bytes), 300), 37):
                    wrong = bytes[:at] + b"\xff" * 8 + bytes[at + 8:]
                    (folder / f"at{at}-{name}").write_bytes(wrong)
            (folder / "text.txt").write_bytes(b"root:x:0:0\n")
            (folder / "empty").write_bytes(b"")
            names = sorted(path.name for path in folder.iterdir())
            self.choose([folder / name for name in names])
            self.compare_all(folder, names)

    def test_shows_it(self):
        self.choose([self.golden / "gsd/bad_torn_last_frame.gsd"])
        self.browser.run("show('info')")
        self.ready()
        told, _, _ = program(self.striae, self.golden / "gsd", "info", "--json", "bad_torn_last_frame.gsd")
        check(told["application"] in self.text() and "gsd" in self.text("#files"), self.text())
        self.browser.run("show('verify')")
        self.ready("document.getElementById('verdict')")
        told, _, _ = program(self.striae, self.golden / "gsd", "verify", "--json", "bad_torn_last_frame.gsd")
        check(self.text("#verdict") == told["verdict"], self.text())
        check(all(finding["finding"] in self.text() for finding in told["findings"]), self.text())
        # What a file is named cannot become a part of the page.
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "<img src=x onerror=choose=null>.gsd"
            path.write_bytes((self.golden / "gsd/bad_magic_byteswapped.gsd").read_bytes())
            self.choose([path])
            check("<img src=x" in self.text("#title") and not self.browser.run("document.querySelector('img')"))
            check("is neither a SIONlib file nor a GSD" in self.text(), self.text())

    def test_takes_the_files_of_a_set_that_are_dropped(self):
        self.browser.run("document.getElementById('panel').dataset.ready = 'no'")
        names = ["m05_np8_3files.sion.000001", "m05_np8_3files.sion", "m05_np8_3files.sion.000002"]
        self.browser.drop([self.golden / "sion" / name for name in names])
        self.ready("document.querySelectorAll('#files button').length === 3")
        # The set is shown, whichever of its files comes first.
        check(self.text("#title") == "m05_np8_3files.sion", self.text("#title"))
        check(not self.browser.run("document.getElementById('drop').classList.contains('over')"))
        told, _, _ = program(self.striae, self.golden / "sion", "ls", "--json", names[1])
        different = differs(told, self.ask("ls", 1, 0, ALL).get("answer"))
        check(different is None, different)

    def test_a_finding_opens_the_file_that_it_is_about(self):
        names = ["m05_np8_3files.sion", "m05_np8_3files.sion.000001", "m05_np8_3files.sion.000002"]
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name in names:
                (folder / name).write_bytes((self.golden / "sion" / name).read_bytes())
            with open(folder / names[2], "r+b") as later:
                later.seek(5664 + 7)  # META2.blocksize[0], in little-endian order
                later.write(b"\x7f")
            told, _, _ = program(self.striae, folder, "verify", "--json", names[0])
            found = [row for row in told["findings"] if row["file"] == names[2] and "offset" in row]
            check(found, told["findings"])
            self.choose([folder / names[2], folder / names[0], folder / names[1]])
            button = f"[...document.querySelectorAll('#panel tbody tr')].find(row => " \
                     f"row.innerText.includes('{names[2]}'))?.querySelector('button')"
            self.browser.run("open(1, 'verify')")
            self.ready(f"{button}")
            self.browser.run(f"{button}.click()")
            self.ready("document.getElementById('detail')?.dataset.at")
            check(self.text("#title") == names[2], self.text("#title"))
            at = self.browser.run("view.here")
            check(at == found[0]["offset"] == 5664, at, found[0])
            # A file that was not chosen cannot be opened.
            self.browser.run("known = known.map(file => ({ ...file, name: file.name.replace('000002', 'x') }))")
            self.browser.run("open(1, 'verify')")
            self.ready(f"shown.tab === 'verify' && document.getElementById('verdict')")
            check(not self.browser.run(f"Boolean({button})"))

    def test_says_why_files_are_not_known(self):
        buttons = "document.querySelectorAll('#files button').length"
        self.choose([self.golden / "gsd/v21_empty.gsd"])
        # Stopped while files are recognized: no button of those before is left.
        left = self.browser.run(f"choose(chosen), document.getElementById('stop').click(), {buttons}")
        check(left == 0, left)
        self.browser.until("document.getElementById('wrong').innerText.includes('stopped')")
        check(self.browser.run(f"document.getElementById('main').hidden && {buttons} === 0"))
        # Files that are chosen meanwhile are not stopped.
        self.browser.run("document.getElementById('panel').dataset.ready = 'no'")
        self.browser.run("choose(chosen), choose(chosen), 0")
        self.ready(f"{buttons} === 1")
        check(self.text("#wrong") == "" and not self.browser.run("document.getElementById('tabs').hidden"))

    def test_two_files_of_one_name_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder) / part / "run.gsd" for part in ("one", "two")]
            for path in paths:
                path.parent.mkdir()
                path.write_bytes((self.golden / "gsd/v21_empty.gsd").read_bytes())
            self.browser.choose([str(path) for path in paths])
            self.browser.until("document.getElementById('wrong').innerText.includes('Two files have the name run.gsd')")
            check(self.browser.run("document.getElementById('main').hidden"))

    def test_a_byte_has_a_field_and_a_sentence(self):
        self.choose([self.golden / "sion/m05_np8_3files.sion"])
        self.browser.run("show('map', { at: 24 })")
        self.ready("document.getElementById('detail').dataset.at === '24' && fields.list.length > 0")
        detail = self.text("#detail")
        # ntasks of the first of three files, at offset 24 by the specification.
        check("Byte 24" in detail and "META1.ntasks = " in detail and "Specification: " in detail, detail)
        # By mouse: the first byte.
        box = self.browser.run("(({x, y, width, height}) => [x + width / 2, y + height / 2])"
                               "(document.querySelector('[data-at=\"0\"]').getBoundingClientRect())")
        for step in (40, 0):
            self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0] + step, y=box[1])
        self.browser.until("document.getElementById('detail').dataset.at === '0'")
        check('0x73, 115, "s"' in self.text("#detail"), self.text("#detail"))

    def with_all_fields(self, folder):
        """Files that have each field that the program writes, with a table that must be listed."""
        def make(*words):
            subprocess.run([self.striae, *map(str, words)], cwd=folder, check=True, capture_output=True)
        golden = self.golden
        make("convert", "--seal", "--nfiles", 2, golden / "sion/s16_keyval_simple.sion", "records.sion")
        make("convert", "--seal", golden / "gsd/v21_hoomd_full_single.gsd", "frames.gsd")
        run = golden / "blob/f8_n8_s3rr"
        blobs = {"cdf": "set.nc", "hdf5": "set.h5"}
        for container, name in blobs.items():
            make("pack", "--format", "blob", "--seal", "--container", container, "--subfiles", 3,
                 "--grouping", "round-robin", "--map", golden / "map/map_f_tiny_8p.nc",
                 "--like", run / "blob_h1.nc", name, run / "can_h1.nc")
        sion = {"META1.ntasks", "META2.blocksize", "mapping.lrank", "record.key", "seal.crc", "seal.magic"}
        blob = {"name.bytes", "attr.values", "seal.head_crc", "seal_tie.set", "seal_row.crc"}
        yield [folder / f"records.sion{end}" for end in ("", ".000001")], sion
        yield [folder / "frames.gsd"], {"commit.shadow", "shadow.crc", "shadow.old.names", "shadow.new.entries"}
        yield [golden / "ffrecord/folder.ffr"], {"header.n", "checksums.checksum", "offsets.offset"}
        for name in blobs.values():
            yield [folder / f"{name}.{number:04}" for number in range(3)], blob
        # Other versions of the formats.
        yield [golden / "gsd/v10_unsorted_ids.gsd"], {"namelist.name"}
        for name in ("cdf1_pn_default.nc", "cdf5_alltypes.nc"):
            yield [golden / "cdf" / name], {"header.magic", "name.bytes"}
        yield [golden / "map/z1.dat"], {f"map.{field}" for field in (
            "word", "version", "npes", "ndims", "dim", "rank", "count", "element")}

    def test_each_field_of_a_dump_has_a_sentence(self):
        index = re.compile(r"\[\d+\]")
        with tempfile.TemporaryDirectory() as folder:
            for files, wanted in self.with_all_fields(pathlib.Path(folder)):
                self.choose(files)
                listed = set()
                for number, file in enumerate(files):
                    lines = self.ask("dump", number, 0, ALL)["answer"]["lines"]
                    names = [line["name"] for line in lines if "offset" in line]
                    texts = json.loads(self.browser.run(f"JSON.stringify({json.dumps(names)}.map(sentence))"))
                    without = {index.sub("", name) for name, text in zip(names, texts) if not text}
                    check(not without, file.name, "fields without a sentence:", sorted(without))
                    listed |= {index.sub("", name) for name in names}
                check(wanted <= listed, files[0].name, "not listed:", sorted(wanted - listed))
                check(self.browser.run("sentence('header.none') || sentence('none.magic')") == "")

    def test_a_sentence_is_that_of_the_field(self):
        before, blob = "header image before the commit", "blob/f8_n8_s3rr/blob_h1.nc.0000"
        sentences = {
            "gsd/v21_empty.gsd": {
                "shadow[1].crc": "checksum of the 252 bytes before it",
                "shadow[0].old.index_location": f"{before}: offset of the index block",
                "shadow[0].old.align": f"{before}: chunks start at multiples of 2 to the power of this",
            },
            blob: {
                "seal.nblobs[1]": "Number of blobs of the subfile",
                "seal_tie.number[0]": "Number of the subfile, from 0",
                "seal_row.crc[0][17][3]": "CRC-32C of the bytes of a blob of a variable, in all records",
                "name.bytes[2][0]": "The bytes of the name follow, in UTF-8",
            },
            "sion/s03_eight_mixed.sion": {"META1.ntasks": "N, the tasks in this", "seal_row.crc[0][17][3]": "",
                                          "map.rank[3]": ""},
            "map/z1.dat": {"map.rank[3]": "The number of a rank, from 0",
                           "map.element[3][0]": "An element of the rank: its offset in the flattened array plus 1"},
        }
        for path, wanted in sentences.items():
            self.choose([self.golden / path])
            for name, text in wanted.items():
                found = self.browser.run(f"sentence({json.dumps(name)})")
                check(found.startswith(text) and bool(found) == bool(text), name, [found])

    def test_works_by_keyboard(self):
        browser = self.browser
        self.choose([self.golden / "gsd/v21_realloc_500_flush.gsd"])
        browser.run("show('info')")
        self.ready()
        # From the field for files to the first button, to the tabs.
        browser.run("document.getElementById('input').focus()")
        browser.press("Tab")
        check(browser.run("document.activeElement.closest('#files') !== null"))
        browser.press("Tab")
        check(browser.run("document.activeElement.dataset.tab") == "info")
        # Arrows go to tabs, and show nothing of them: each can be reached past the others.
        for tab in ["ls", "verify", "dump", "map", "recover", "info", "ls", "verify", "dump", "map"]:
            browser.press("ArrowRight")
            check(browser.run("document.activeElement.dataset.tab") == tab, tab)
        check(browser.run("shown.tab") == "info")
        browser.press("Enter")
        self.ready("shown.tab === 'map'")
        check(browser.run("document.activeElement.dataset.tab") == "map")
        browser.press("ArrowDown")
        browser.until("document.activeElement.id === 'map'")
        cell = browser.run("view.cell_bytes")
        check(cell > 1, cell)
        browser.press("ArrowRight")
        browser.press("ArrowDown")
        here = browser.run("view.here")
        check(here == 97 * cell, here, cell)
        while browser.run("view.end - view.start") > 512:
            before = browser.run("view.end - view.start")
            browser.press("+")
            self.ready(f"view.end - view.start < {before}")
            check(browser.run("view.here") == here, before, browser.run("view"))
        browser.until("document.activeElement.id === 'hex' && document.querySelector('.here')")
        check(browser.run("view.start <= view.here && view.here < view.end"))
        browser.press("-")
        self.ready("document.activeElement.id === 'map'")
        check(browser.run("view.here") == here, browser.run("view"))
        browser.press("Home")
        self.ready("document.activeElement.id === 'map' && view.start === 0")
        browser.press("n")
        browser.until("view.here === 8")  # index_location, after the magic
        check("header.index_location" in self.text("#detail"), self.text("#detail"))
        browser.press("p")
        browser.until("view.here === 0")

    def test_keys_go_to_places_outside_the_view(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "sparse.gsd"
            path.write_bytes((self.golden / "gsd/v21_realloc_500_flush.gsd").read_bytes())
            os.truncate(path, 200000)
            self.choose([path])
            self.browser.run("show('map')")
            self.ready("fields.list.length > 0")
            far = self.browser.run("fields.list.find(field => field.offset > 3 * 4096 + 100).offset")
            # Only fields that are at the start, and far from each other.
            self.browser.run(f"fields.list = [...fields.list.filter(({{ offset }}) => offset <= 8),"
                             f"{{ offset: {far}, len: 8, name: 'x', value: '' }},"
                             "{ offset: 199990, len: 8, name: 'y', value: '' }], 0")

            def press(start, key, here, view):
                self.browser.run(f"show('map', {{ start: {start}, end: {start} + 4096 }})")
                self.ready(f"view.start === {start} && document.activeElement.id === 'map'")
                self.browser.press(key)
                self.ready(f"view.start !== {start}")
                found = self.browser.run("[view.here, view.start, view.end]")
                check(found == [here, *view], start, key, here, view, found)
            self.browser.run("show('map', { start: 0, end: 4096 })")
            cell = self.browser.run("view.cell_bytes")
            press(4096, "ArrowLeft", 4096 - cell, [0, 4096])
            press(4096, "ArrowUp", 4096 - 96 * cell, [0, 4096])
            press(1000, "ArrowLeft", 1000 - cell, [0, 4096])
            press(8192, "p", 8, [0, 4096])
            press(4096, "n", far, [far - far % 4096, far - far % 4096 + 4096])
            press(100000, "n", 199990, [200000 - 4096, 200000])
            first = far - (far - 100000) % 4096  # of a view: whole views before 100000
            press(100000, "p", far, [first, first + 4096])

    def test_a_file_that_is_chosen_again_is_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "again.gsd"
            path.write_bytes((self.golden / "gsd/v21_empty.gsd").read_bytes())
            self.choose([path])
            check("gsd, 5" in self.text("#files"), self.text("#files"))
            path.write_bytes(b"root:x:0:0\n")
            self.choose([path])
            check("not known" in self.text("#files"), self.text("#files"))

    def test_nothing_of_one_file_stands_under_the_name_of_another(self):
        self.choose([self.golden / "gsd/v21_empty.gsd", self.golden / "gsd/bad_torn_last_frame.gsd"])
        for tab in ("verify", "map"):
            self.browser.run(f"open(0, '{tab}')")
            self.ready(f"shown.tab === '{tab}'")
            check(self.text(), tab)
            # At once, before the worker has answered.
            left = self.browser.run("open(1), [document.getElementById('title').innerText,"
                                    " document.getElementById('panel').innerText]")
            check(left == ["bad_torn_last_frame.gsd", ""], tab, left)
            self.ready("document.getElementById('panel').innerText")

    def test_the_picture_is_there_before_names_of_fields(self):
        browser = self.browser
        browser.run("window.whole = ask, 0")
        try:
            for at, element in [("{}", "map"), ("{ at: 8 }", "hex")]:
                # No answer about fields comes.
                browser.run("window.order = [], ask = (...words) => (order.push(words[0]),"
                            " words[0] === 'dump' ? new Promise(() => {}) : whole(...words)), 0")
                browser.run("show('info')")
                self.choose([self.golden / "gsd/v21_realloc_500_flush.gsd"])
                browser.run(f"show('map', {at})")
                self.ready(f"document.getElementById('{element}') && fields.file === 0")
                order = browser.run("order")
                check(order[-1] == "dump" and "map" in order, order)
                # It is stopped: a map of the file does not ask again, unless the file is opened again.
                browser.run("ask = (...words) => { const answer = whole(...words);"
                            " if (words[0] === 'dump') document.getElementById('stop').click(); return answer; }, 0")
                browser.run("fields = { ...fields, file: -1 }, show('map')")
                self.ready(f"document.getElementById('{element}') && fields.stopped")
                asked = browser.run(f"show('map', {at}).then(() => asked)")
                self.ready(f"document.getElementById('detail')?.innerText.includes('were not read')")
                check(browser.run("asked") == asked, asked)
                browser.run("ask = whole, open(0, 'map')")
                self.ready(f"document.getElementById('{element}') && fields.list.length > 0")
                browser.run("show('map', { at: 8 })")
                self.ready("document.getElementById('detail')?.innerText.includes('header.index_location')")
        finally:
            browser.run("ask = whole, 0")

    def test_long_tables_are_shown_in_parts(self):
        self.choose([self.golden / "gsd/v21_realloc_500_flush.gsd"])
        first = "document.querySelector('#panel .scroll tbody')?.innerText"
        # A button that was pressed has the focus, or the panel if it is off now.
        focused = ("(at => { const button = document.querySelectorAll('#panel .bar button')[at];"
                   " return document.activeElement === (button.disabled ? byId('panel') : button); })")
        is_off = "[...document.querySelectorAll('#panel .bar button')].map(button => button.disabled)"
        for tab in ("ls", "dump"):
            self.browser.run(f"show('{tab}')")
            self.ready(f"{first}")
            rows, off = self.browser.run(first), self.browser.run(is_off)
            check(off == [True, False], tab, off)
            self.browser.run("document.querySelectorAll('#panel .bar button')[1].click()")
            self.ready(f"document.querySelector('#panel strong').innerText.includes(' from 500 on')")
            check(self.browser.run(first) != rows and not self.browser.run(is_off)[0], tab)
            check(self.browser.run(f"{focused}(1)"), tab)  # to press it again
            self.browser.run("document.querySelectorAll('#panel .bar button')[0].click()")
            self.ready(f"document.querySelector('#panel strong').innerText.includes(' from 0 on')")
            check(self.browser.run(first) == rows, tab)
            check(self.browser.run(f"{focused}(0)"), tab)

    def saved(self, folder, name):
        """The bytes of a download, when all are there."""
        path = pathlib.Path(folder) / name
        self.browser.run("new Promise(done => setTimeout(done, 50))")
        for _ in range(200):
            if path.exists() and not list(pathlib.Path(folder).glob("*.crdownload")):
                return path
            self.browser.run("new Promise(done => setTimeout(done, 50))")
        raise Failed(f"no download {name}: {list(pathlib.Path(folder).iterdir())}")

    def test_saves_what_cat_prints(self):
        for path, address in [
            ("sion/s03_eight_mixed.sion", "task/3"),
            ("sion/m05_np8_3files.sion", "task/7"),
            ("gsd/v21_hoomd_full_single.gsd", "frame/1/particles/position"),
            ("gsd/v21_utf8_names.gsd", None),
            ("ffrecord/folder.ffr", "sample/1"),
            ("cdf/cdf1_onerec_short.nc", "variable/fix"),
            ("cdf/cdf2_norec_utf8.nc", "variable/w"),
            ("cdf/cdf1_onerec_short.nc", "variable/r"),
            ("cdf/cdf5_alltypes.nc", "variable/rec_i2"),
        ]:
            path = self.golden / path
            siblings = sorted(path.parent.glob(f"{path.name}*"))
            siblings = [one for one in siblings if one.suffix not in (".json", ".txt")]
            self.choose(siblings)
            number = self.browser.run(f"chosen.findIndex(file => file.name === {json.dumps(path.name)})")
            if address is None:
                address = self.ask("ls", number, 0, 1)["answer"]["chunks"][0]["address"]
            cat = subprocess.run([self.striae, "cat", path.name, address], cwd=path.parent, capture_output=True)
            check(cat.returncode == 0, cat.stderr)
            with tempfile.TemporaryDirectory() as folder:
                self.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
                self.browser.run(f"open({number}, 'ls')")
                self.ready("document.getElementById('saved')")
                self.browser.run(f"saveTo({number}, {json.dumps(address)})")
                name = f"{path.name}-{address.replace('/', '-')}".replace("%", "%")
                found = self.saved(folder, name).read_bytes()
                check(found == cat.stdout, path.name, address, len(found), len(cat.stdout))

    def test_saves_nothing_of_what_is_not_all_there(self):
        with tempfile.TemporaryDirectory() as folder:
            cut = pathlib.Path(folder) / "cut.nc"
            cut.write_bytes((self.golden / "cdf/cdf1_onerec_short.nc").read_bytes()[:150])
            self.choose([cut])
            self.browser.run("window.whole = [ask, download], 0")
            self.browser.run("download = () => { throw new Error('a part is saved') }, 0")
            self.browser.run("open(0, 'ls')")
            self.ready("document.getElementById('saved')")
            self.browser.run("saveTo(0, 'variable/fix')")
            check("the file ends at 150" in self.text("#saved .error"), self.text("#saved"))
            # Also if the file is shorter than its places say.
            self.browser.run("ask = async () => ({ file: 0, spans: [[140, 5], [145, 6]] }), 0")
            self.browser.run("saveTo(0, 'variable/fix')")
            check("has 11 bytes, and the file only 10" in self.text("#saved .error"), self.text("#saved"))
        self.browser.run("[ask, download] = window.whole, 0")

    def test_shows_numbers_as_they_are(self):
        for value, text in [("0.0001", "0.0001"), ("-1234.56789", "-1234.56789"), ("1e300", "1e+300"),
                            ("1234567", "1\u2009234\u2009567"), ("-1234", "-1\u2009234"), ("0", "0")]:
            found = self.browser.run(f"textOf({value})")
            check(found == text, value, [found])
        # Integers that JavaScript would round are texts.
        for value, text in [("'9007199254740993'", "9\u2009007\u2009199\u2009254\u2009740\u2009993"), ("24", "24")]:
            found = self.browser.run(f"toMap({value}).textContent")
            check(found == text, value, [found])

    def test_recovers_to_a_download(self):
        for path in ["gsd/bad_trunc_relocated_index.gsd", "sion/s21_unclosed_keyval.sion",
                     "cdf_damaged/zeroed_var_list.nc", "cdf/cdf5_alltypes.nc", "map/z3.dat",
                     # A file of a set without the others, and a map that would be as damaged as it is.
                     "sion/m05_np8_3files.sion.000001", "map/oob.nc"]:
            path = self.golden / path
            self.choose([path])
            shown = self.ask("recover", 0)
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                by_program = f"by-program{path.suffix}"
                told, complaints, code = program(self.striae, path.parent, "recover", "--json", path.name,
                                                 str(folder / by_program))
                if told is None:
                    check(complaints[0].startswith(shown.get("error", "no error")), path.name, shown, complaints)
                    continue
                check("answer" in shown, path.name, shown)
                shown["answer"].pop("made")
                different = differs(told, shown["answer"])
                check(different is None, path.name, different)
                self.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
                self.browser.run("show('recover')")
                self.ready()
                self.browser.run("document.querySelector('#panel [data-first]').click()")
                self.browser.until("document.querySelector('#made button')")
                check(self.text("#word") == told["word"], self.text())
                self.browser.run("document.querySelector('#made button').click()")
                by_page = self.saved(folder, f"recovered-{path.name}")
                for verb in (["verify"], ["ls"]):
                    seen = [program(self.striae, folder, *verb, "--json", name)[0]
                            for name in (by_program, by_page.name)]
                    for one in seen:
                        one.pop("path", None)
                        one.get("part_of_set", {}).pop("set", None)
                        for file in one["files"] if isinstance(one.get("files"), list) else []:
                            file.pop("path")
                        # Index and names of a new GSD file have room for other numbers of them.
                        one.pop("findings", None)
                    check(seen[0].get("sound", True) and seen[0] == seen[1], path.name, verb, seen)

    def test_recovers_a_set_as_the_program_does(self):
        names = [f"set.sion{end}" for end in ("", ".000001")]
        for damage in ("none", "one file is of an older set", "huge"):
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)

                def make(*words):
                    subprocess.run([self.striae, "convert", "--force", "--seal", "--nfiles", "2", *words, "set.sion"],
                                   cwd=folder, check=True, capture_output=True)
                make(self.golden / "sion/s03_eight_mixed.sion")
                if damage == "one file is of an older set":
                    old = (folder / names[1]).read_bytes()
                    make(self.golden / "sion/s02_three_unequal_noncontig.sion")
                    make(self.golden / "sion/s03_eight_mixed.sion")
                    (folder / names[1]).write_bytes(old)
                elif damage == "huge":
                    (folder / "task").write_bytes(b"a few bytes")
                    subprocess.run([self.striae, "pack", "--force", "--chunksize", str(1 << 40), "--nfiles", "2",
                                    "set.sion", "task", "task"], cwd=folder, check=True, capture_output=True)
                    for name in names:
                        os.truncate(folder / name, 8192)  # what is not there need not be looked through
                self.choose([folder / name for name in names])
                shown = self.ask("recover", 0)
                told, complaints, _ = program(self.striae, folder, "recover", "--json", names[0], "new.sion")
                check(told is not None and "answer" in shown, damage, complaints, shown)
                shown["answer"].pop("made")
                different = differs(told, shown["answer"])
                check(different is None, damage, different)
                key = {"none": None, "huge": "placed_anew"}.get(damage, "set_commit")
                check(key is None or key in told, damage, sorted(told))

    def test_a_file_that_changes_is_not_called_damaged(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.sion"
            subprocess.run([self.striae, "convert", "--seal", self.golden / "sion/s03_eight_mixed.sion", path],
                           check=True, capture_output=True)
            self.choose([path])
            check(self.ask("verify", 0, 10)["answer"]["sound"] is True)
            os.utime(path, (1, 1))
            gone = "a.sion: cannot be read; was it moved, or changed since it was chosen?"
            for question in (["info", 0], ["verify", 0, 10], ["recover", 0], ["map", 0, 0, 100, 10]):
                found = self.ask(*question)
                check(found == {"error": gone}, question, found)
            check("answer" in self.ask("files"))
            # Chosen again, it is what it is now.
            self.choose([path])
            check(self.ask("verify", 0, 10)["answer"]["sound"] is True)

    def test_says_that_a_saved_sample_is_damaged(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "folder.ffr"
            bytes = bytearray((self.golden / "ffrecord/folder.ffr").read_bytes())
            bytes[-1] ^= 1
            path.write_bytes(bytes)
            last = program(self.striae, path.parent, "info", "--json", path.name)[0]["samples"] - 1
            cat = subprocess.run([self.striae, "cat", path.name, f"sample/{last}"], cwd=folder, capture_output=True)
            check(cat.returncode == 1, cat.stderr)
            self.choose([path])
            self.browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=folder)
            self.browser.run("open(0, 'ls')")
            self.ready("document.getElementById('saved')")
            self.browser.run(f"saveTo(0, 'sample/{last}')")
            check(self.saved(folder, f"folder.ffr-sample-{last}").read_bytes() == cat.stdout)
            complaint = cat.stderr.decode().strip().removeprefix("striae: ")
            check(self.text("#saved .error") == complaint, self.text("#saved"), complaint)

    def test_a_name_does_not_turn_what_is_beside_it(self):
        shown = self.browser.run("make('p', {}, 'a\\u202eb\\nc', make('b', {}, '\\u2066')).textContent")
        check(shown == "a\\u{202e}b\\u{a}c\\u{2066}", [shown])

    def test_a_header_in_two_chunks_is_not_in_what_is_between_them(self):
        path = self.golden / "sion/s17_keyval_straddle.sion"
        told, _, _ = program(self.striae, path.parent, "dump", "--json", path.name)
        split = [line for line in told if line.get("position") is not None and line["offset"] == 2042]
        check(len(split) == 1 and split[0]["len"] == 8, split)
        self.choose([path])
        for at, is_of_it in ((2042, True), (2047, True), (2048, False), (2049, False)):
            self.browser.run(f"show('map', {{ at: {at} }})")
            self.ready(f"document.getElementById('detail').dataset.at === '{at}' && fields.list.length > 0")
            check((f"{split[0]['name']} = " in self.text("#detail")) == is_of_it, at, self.text("#detail"))
        check("the rest in the next chunk" not in self.text("#detail"))

    def bytes_of_processes(self):
        """Bytes that the browser and all of its processes have read."""
        parents = {}
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                parents[int(folder.name)] = int((folder / "stat").read_text().rsplit(") ", 1)[1].split()[1])
            except OSError:
                continue
        own = {self.browser.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in own} - own:
            own |= more
        read = 0
        for pid in own:
            try:
                lines = (pathlib.Path("/proc") / str(pid) / "io").read_text().splitlines()
                read += int(lines[0].removeprefix("rchar: "))
            except OSError:
                continue
        return read

    def test_a_large_file_is_read_in_slices(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "task").write_bytes(b"a few bytes")
            subprocess.run([self.striae, "pack", "--chunksize", str(3 * GIB), "large.sion", "task", "task"],
                           cwd=folder, check=True)
            gsd = folder / "large.gsd"
            gsd.write_bytes((self.golden / "gsd/v21_hoomd_full_single.gsd").read_bytes())
            os.truncate(gsd, 6 * GIB)
            for name in ("large.sion", "large.gsd"):
                path = folder / name
                check(path.stat().st_size >= 6 * GIB, path.stat())
                before = self.bytes_of_processes()
                self.choose([path])
                for verb, question in [("info", ["info", 0]), ("ls", ["ls", 0, 0, ALL])]:
                    told, _, _ = program(self.striae, folder, verb, "--json", name)
                    different = differs(told, self.ask(*question).get("answer"))
                    check(different is None, name, verb, different)
                end = path.stat().st_size
                for then in ["{}", f"{{ at: {end - 20} }}", f"{{ start: {2 * GIB}, end: {3 * GIB} }}"]:
                    self.browser.run(f"show('map', {then})")
                    self.ready("document.getElementById('detail')?.innerText")
                if name == "large.sion":
                    self.browser.run("show('verify')")
                    self.ready("document.getElementById('verdict')")
                    check("sound" in self.text("#verdict"), self.text())
                counted = int(self.browser.run("document.getElementById('stats').dataset.bytes"))
                read = self.bytes_of_processes() - before
                print(f"{name}: {counted} bytes read by the page, {read} by all processes of the browser")
                check(0 < counted < MOST_READ and read < 8 * MOST_READ, name, counted, read)

    def test_no_request_leaves(self):
        # The page's own text, and its worker, which is a part of it.
        requests = [url for url in self.browser.requests if not url.startswith("blob:null/")]
        check(requests == [self.url], requests)
        # Somebody listens at the address: without the policy, the request would get there.
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}/"
            tried = self.browser.run(
                "new Promise(done => { document.addEventListener('securitypolicyviolation', event => "
                f"done(event.blockedURI)); fetch('{url}', {{ mode: 'no-cors' }}).then(() => done('left'), () => 0); }})")
            check(tried.startswith(url[:-1]), tried)
            server.settimeout(0)
            try:
                server.accept()
            except BlockingIOError:
                pass
            else:
                raise Failed("a request left")
        policy = self.browser.run("document.querySelector('meta[http-equiv]').content")
        check("default-src 'none'" in policy and "connect-src" not in policy, policy)
        html = self.browser.run("document.documentElement.innerHTML.replace(/<script type.*?<.script>/gs, '')")
        check("http://" not in html and "https://" not in html and "//cdn" not in html)

    def test_is_light_and_dark(self):
        self.choose([self.golden / "sion/s03_eight_mixed.sion"])
        seen = set()
        for scheme in ("light", "dark"):
            self.browser.call("Emulation.setEmulatedMedia",
                              features=[{"name": "prefers-color-scheme", "value": scheme}])
            for tab, then in [("info", "{}"), ("ls", "{}"), ("verify", "{}"), ("dump", "{}"), ("map", "{ start: 0, end: chosen[0].size }"),
                              ("map", "{ at: 24 }")]:
                self.browser.run(f"show('{tab}', {then})")
                self.ready("shown.tab !== 'map' || document.getElementById('detail')?.innerText.includes(' = ')")
                kind = f"{tab}-bytes" if "at" in then else tab
                self.browser.screenshot(self.shots / f"{kind}-{scheme}.png")
            colours = "(({ backgroundColor, color }) => [backgroundColor, color].join())(getComputedStyle(document.body))"
            seen.add(self.browser.run(colours))
        check(len(seen) == 2, seen)


def main(*arguments):
    tests = Tests(*arguments)
    names = [name for name in dir(tests) if name.startswith("test_")]
    names.sort(key=lambda name: name == "test_no_request_leaves")  # after all others
    failed = 0
    try:
        for name in names:
            try:
                getattr(tests, name)()
                print(f"{name}: ok")
            except (Failed, RuntimeError, TimeoutError) as error:
                failed += 1
                print(f"{name}: FAILED: {error}")
        thrown = [params for method, params in tests.browser.events if method == "Runtime.exceptionThrown"]
        print(f"{tests.compared} answers compared, {len(names) - failed} tests passed, {failed} failed")
        if thrown:
            print(f"the page threw: {json.dumps(thrown)[:2000]}")
        return 1 if failed or thrown or tests.compared == 0 else 0
    finally:
        tests.browser.close()


sys.exit(main(*sys.argv[1:]))
