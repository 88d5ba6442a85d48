"""Writes the public API of a package as text, one line for each item, from rustdoc's JSON.

usage: api.py FILE.json >FILE.txt

A module is a heading, an item a line, what belongs to a type or trait an indented one. Types are named by their
last word. What the standard library implements for every type is left out; what derives give is one line for
each type. Exit status 1: a public item breaks a rule; what, and which, is on the standard error.
"""

import json
import sys

FORMATS = range(56, 61)  # of rustdoc's JSON; the shapes used here are the same in all of them
STANDARD = {"core", "alloc", "std"}
# Packages whose types may be in a signature. Each is re-exported, by the package or by core.
SHOWN = {"zerocopy", "embedded_io", "embedded_io_async", "defmt"}
# What a package re-exports for those that depend on it alone.
BELOW = {"striae": {"striae_core", "striae_inspect", "striae_hoomd"} | SHOWN, "striae_core": SHOWN, "mpi": {"mpi_sys"}}
ADAPTED = {"striae_sdmmc": {"embedded_sdmmc_types"}, "striae_mpi": {"mpi", "mpi_sys"}}  # what a package is for
OPEN = "Other crates may implement it; a method of a later version has a default."
SEALED = "Other crates cannot implement it."
ADDED = "A later version may add fields: end a literal with `..Default::default()`."
# Structures with a default that are values: the numbers of a place, a run, a row; counts of calls.
VALUES = {"Tally", "Traffic", "Place", "Request", "Take", "Fixed", "Records", "Held", "Share", "Run", "Found"}


class Api:
    def __init__(self, text):
        self.index, self.paths = text["index"], text["paths"]
        self.crates = {int(number): crate["name"] for number, crate in text["external_crates"].items()}
        self.root = str(text["root"])
        self.places = {}  # the path by which an item is listed
        self.lines, self.foreign, self.faults = set(), {}, []
        self.derived = {}

    def add(self, path, text, owner=None):
        """A line about an item, which a member's owner is printed before."""
        top = owner or path
        self.lines.add((top.rpartition("::")[0], top.rpartition("::")[2], owner is not None, text))

    def print(self):
        last = None
        for module, _, is_member, text in sorted(self.lines):
            if module != last:
                print(f"{'' if last is None else chr(10)}mod {module or 'crate'}")
                last = module
            print("    " * (1 + is_member) + text)

    # ---- where items are ----

    def walk(self):
        """Each item has one place: that of its definition if it is public, else the first re-export."""
        later = self.module(self.root, "")
        while later:
            path, use = min(later, key=lambda one: (one[0].count("::"), one[0]))
            later.remove((path, use))
            target = str(use["id"])
            if target not in self.index:
                self.add(path, f"use {name(path)} = {use['source']}")
            elif target in self.places:
                if self.places[target] != path:
                    self.add(path, f"use {name(path)} = {self.places[target]}")
            elif use["is_glob"]:
                later += self.module(target, path.rpartition("::")[0])
            else:
                later += self.place(target, path)

    def place(self, number, path):
        self.places[number] = path
        if "module" in self.index[number]["inner"]:
            return self.module(number, path)
        return []

    def module(self, number, path):
        inner, later = self.index[number]["inner"], []
        items = inner["module"]["items"] if "module" in inner else inner["enum"]["variants"]
        for child in map(str, items):
            if child not in self.index:
                continue
            item = self.index[child]
            if "use" in item["inner"]:
                use = item["inner"]["use"]
                later.append((join(path, use["name"]), use))
            elif "impl" not in item["inner"]:
                later += self.place(child, join(path, item["name"]))
        return later

    # ---- text of types ----

    def path(self, number, shown):
        number = str(number)
        if number in self.places:
            return name(self.places[number])
        known = self.paths.get(number)
        if known is None:
            return shown
        crate = self.crates.get(known["crate_id"]) if known["crate_id"] else None
        if crate is None or crate in STANDARD:
            return known["path"][-1]
        self.foreign.setdefault(crate, set()).add(self.within)
        return "::".join(known["path"])

    def type(self, one):
        if one is None:
            return "()"
        if isinstance(one, str):
            return one  # `infer`
        (kind, of), = one.items()
        return getattr(self, f"type_{kind}")(of)

    def type_resolved_path(self, of):
        return self.path(of["id"], of["path"]) + self.arguments(of["args"])

    def type_dyn_trait(self, of):
        traits = [self.bound({"trait_bound": one | {"modifier": "none"}}) for one in of["traits"]]
        return "dyn " + " + ".join(traits + ([of["lifetime"]] if of["lifetime"] else []))

    def type_generic(self, of):
        return of

    def type_primitive(self, of):
        return {"never": "!"}.get(of, of)

    def type_function_pointer(self, of):
        return "fn" + self.signature(of["sig"], named=False)

    def type_tuple(self, of):
        return "(" + ", ".join(map(self.type, of)) + ("," if len(of) == 1 else "") + ")"

    def type_slice(self, of):
        return f"[{self.type(of)}]"

    def type_array(self, of):
        return f"[{self.type(of['type'])}; {of['len']}]"

    def type_impl_trait(self, of):
        return "impl " + self.bounds(of)

    def type_raw_pointer(self, of):
        return f"*{'mut' if of['is_mutable'] else 'const'} {self.type(of['type'])}"

    def type_borrowed_ref(self, of):
        lifetime = f"{of['lifetime']} " if of["lifetime"] else ""
        return f"&{lifetime}{'mut ' if of['is_mutable'] else ''}{self.type(of['type'])}"

    def type_qualified_path(self, of):
        own = self.type(of["self_type"])
        if own == "Self" or of["trait"] is None or not of["trait"]["path"]:
            return f"{own}::{of['name']}"
        return f"<{own} as {self.type_resolved_path(of['trait'])}>::{of['name']}{self.arguments(of['args'])}"

    def arguments(self, args):
        if not args:
            return ""
        if "parenthesized" in args:
            of = args["parenthesized"]
            output = f" -> {self.type(of['output'])}" if of["output"] else ""
            return f"({', '.join(map(self.type, of['inputs']))}){output}"
        of = args["angle_bracketed"]
        shown = []
        for one in of["args"]:
            (kind, value), = one.items() if isinstance(one, dict) else (("infer", "_"),)
            shown.append({"type": self.type, "const": lambda value: value["expr"]}.get(kind, str)(value))
        for one in of["constraints"]:
            (kind, value), = one["binding"].items()
            shown.append(one["name"] + (f" = {self.term(value)}" if kind == "equality" else ": " + self.bounds(value)))
        return f"<{', '.join(shown)}>" if shown else ""

    def term(self, of):
        (kind, value), = of.items()
        return self.type(value) if kind == "type" else value["expr"]

    def bound(self, one):
        (kind, of), = one.items()
        if kind == "outlives":
            return of
        if kind == "use":
            return "use<..>"
        sign = {"maybe": "?", "maybe_const": "~const "}.get(of["modifier"], "")
        lifetimes = [param["name"] for param in of["generic_params"]]
        binder = f"for<{', '.join(lifetimes)}> " if lifetimes else ""
        return binder + sign + self.type_resolved_path(of["trait"])

    def bounds(self, all):
        return " + ".join(map(self.bound, all))

    def generics(self, of):
        """Parameters, and the clause of conditions."""
        shown = []
        for param in of["params"]:
            (kind, value), = param["kind"].items()
            if kind == "lifetime":
                shown.append(param["name"])
            elif kind == "const":
                shown.append(f"const {param['name']}: {self.type(value['type'])}")
            elif not value["is_synthetic"]:
                shown.append(param["name"] + (f": {self.bounds(value['bounds'])}" if value["bounds"] else ""))
        clauses = []
        for one in of["where_predicates"]:
            (kind, value), = one.items()
            if kind == "bound_predicate":
                clauses.append(f"{self.type(value['type'])}: {self.bounds(value['bounds'])}")
            elif kind == "lifetime_predicate":
                clauses.append(f"{value['lifetime']}: {' + '.join(value['outlives'])}")
            else:
                clauses.append(f"{self.type(value['lhs'])} == {self.term(value['rhs'])}")
        return (f"<{', '.join(shown)}>" if shown else "", f" where {', '.join(clauses)}" if clauses else "")

    def signature(self, of, named=True):
        inputs = []
        for name, kind in of["inputs"]:
            text = self.type(kind)
            if name == "self" and named:
                short = {"Self": "self", "&Self": "&self", "&mut Self": "&mut self"}.get(text)
                inputs.append(short or f"self: {text}")
            else:
                inputs.append(f"{name}: {text}" if named and name != "_" else text)
        output = f" -> {self.type(of['output'])}" if of["output"] else ""
        return f"({', '.join(inputs)}){output}"

    # ---- lines ----

    def say(self):
        for number, path in self.places.items():
            item = self.index[number]
            self.within = path
            (kind, of), = item["inner"].items()
            if kind in ("module", "use"):
                continue
            say = getattr(self, f"say_{kind}", None)
            if say is None:
                self.add(path, f"{kind} {name(path)}")
            else:
                say(path, item, of)
        for path, traits in self.derived.items():
            self.add(None, f"derive {', '.join(sorted(traits))}", path)

    def say_function(self, path, item, of, condition="", owner=None):
        head = of["header"]
        words = [word for word in ("const", "async", "unsafe") if head[f"is_{word}"]]
        if head["abi"] != "Rust":
            words.append(f"extern {head['abi']}")
        params, clause = self.generics(of["generics"])
        text = f"{name(path)}{params}{self.signature(of['sig'])}{clause}{condition}"
        self.add(path, " ".join([*words, "fn", text]), owner)

    def say_struct(self, path, item, of):
        params, clause = self.generics(of["generics"])
        (kind, value), = of["kind"].items() if isinstance(of["kind"], dict) else (("unit", None),)
        open_ended = self.attributes(item)
        if kind == "tuple":
            fields = [self.type(self.index[str(one)]["inner"]["struct_field"])
                      if one is not None and str(one) in self.index else "_" for one in value]
            self.add(path, f"struct {name(path)}{params}({', '.join(fields)}){clause}{open_ended}")
        else:
            hidden = kind == "plain" and value["has_stripped_fields"]
            if kind == "plain" and not hidden and not open_ended:
                self.check_options(path, item, of)
            self.add(path, f"struct {name(path)}{params}{clause}{open_ended}{', private fields' if hidden else ''}")
            for one in map(str, value["fields"] if kind == "plain" else []):
                if one in self.index:
                    field = self.index[one]
                    self.add(None, f"field {field['name']}: {self.type(field['inner']['struct_field'])}", path)
        self.impls(path, item, of["impls"], params)

    def check_options(self, path, item, of):
        """What has a default is made by literals, of which a new field would break those that have all."""
        impls = [self.index[str(one)]["inner"]["impl"] for one in of["impls"] if str(one) in self.index]
        traits = {one["trait"]["path"] for one in impls if one["trait"]}
        docs = " ".join((item["docs"] or "").split())
        if "Default" in traits and "FromBytes" not in traits and name(path) not in VALUES and ADDED not in docs:
            self.faults.append(f"{path}: it is neither non_exhaustive, nor does it say that fields may be added")

    def say_union(self, path, item, of):
        self.add(path, f"union {name(path)}{self.generics(of['generics'])[0]}")
        self.impls(path, item, of["impls"], "")

    def say_enum(self, path, item, of):
        params, clause = self.generics(of["generics"])
        self.add(path, f"enum {name(path)}{params}{clause}{self.attributes(item)}")
        for one in map(str, of["variants"]):
            if one in self.index:
                self.variant(path, self.index[one])
        self.impls(path, item, of["impls"], params)

    def variant(self, path, item):
        kind = item["inner"]["variant"]["kind"]
        fields = ""
        if isinstance(kind, dict):
            (shape, value), = kind.items()
            numbers = value["fields"] if shape == "struct" else value
            found = [self.index.get(str(one)) for one in numbers]
            types = [self.type(one["inner"]["struct_field"]) if one else "_" for one in found]
            if shape == "struct":
                fields = " { " + ", ".join(f"{one['name']}: {kind}" for one, kind in zip(found, types) if one) + " }"
            else:
                fields = f"({', '.join(types)})"
        self.add(None, f"variant {item['name']}{fields}{self.attributes(item)}", path)

    def say_trait(self, path, item, of):
        docs = " ".join((item["docs"] or "").split())
        if OPEN not in docs and not (SEALED in docs and "Sealed" in str(of["bounds"])):
            self.faults.append(f"{path}: the documentation does not say whether other crates may implement it")
        params, clause = self.generics(of["generics"])
        above = f": {self.bounds(of['bounds'])}" if of["bounds"] else ""
        self.add(path, f"trait {name(path)}{params}{above}{clause}")
        for one in map(str, of["items"]):
            if one in self.index:
                child = self.index[one]
                (kind, inner), = child["inner"].items()
                given = kind == "function" and inner["has_body"]
                self.member(path, child, ", provided" if given else ", required")

    def member(self, owner, item, condition=""):
        (kind, of), = item["inner"].items()
        path = f"{owner}::{item['name']}"
        if kind == "function":
            self.say_function(path, item, of, condition, owner)
        elif kind == "assoc_const":
            self.add(path, f"const {item['name']}: {self.type(of['type'])}", owner)
        elif kind == "assoc_type":
            bounds = f": {self.bounds(of['bounds'])}" if of["bounds"] else ""
            given = f" = {self.type(of['type'])}" if of["type"] else ""
            self.add(path, f"type {item['name']}{bounds}{given}", owner)

    def say_type_alias(self, path, item, of):
        params, clause = self.generics(of["generics"])
        self.add(path, f"type {name(path)}{params}{clause} = {self.type(of['type'])}")

    def say_constant(self, path, item, of):
        self.add(path, f"const {name(path)}: {self.type(of['type'])}")

    def say_static(self, path, item, of):
        self.add(path, f"static {name(path)}: {self.type(of['type'])}")

    def attributes(self, item):
        return ", non_exhaustive" if "non_exhaustive" in str(item["attrs"]) else ""

    def impls(self, path, item, numbers, params):
        for number in map(str, numbers):
            one = self.index.get(number)
            if one is None:
                continue
            of = one["inner"]["impl"]
            if of["is_synthetic"] or of["blanket_impl"] is not None:
                continue
            self.within = path
            head, clause = self.generics(of["generics"])
            if of["trait"] is None:
                own = self.type(of["for"])[len(name(path)):]
                for child in map(str, of["items"]):
                    if child in self.index:
                        where = f", of {name(path)}{own}" if own and own != params_of(params) else ""
                        self.member(path, self.index[child], clause + where)
            elif "automatically_derived" in str(one["attrs"]):
                self.derived.setdefault(path, set()).add(self.type_resolved_path(of["trait"]))
            else:
                trait = self.type_resolved_path(of["trait"])
                if trait.split("<")[0] != "StructuralPartialEq":
                    self.add(None, f"impl{head} {trait} for {self.type(of['for'])}{clause}", path)


def join(path, name):
    return f"{path}::{name}" if path else name


def name(path):
    return path.rpartition("::")[2]


def params_of(params):
    """The names of parameters as arguments: `<S, N>` of `<S: ReadAt, const N: usize>`."""
    depth, names, one = 0, [], ""
    for letter in params[1:-1] + ",":
        depth += {"<": 1, "(": 1, "[": 1, ">": -1, ")": -1, "]": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            names.append(one.split(":")[0].removeprefix("const ").strip())
            one = ""
        else:
            one += letter
    return f"<{', '.join(names)}>" if params else ""


def main():
    text = json.load(open(sys.argv[1]))
    if text["format_version"] not in FORMATS:
        sys.exit(f"api.py: rustdoc's JSON has the format {text['format_version']}, known are {FORMATS}")
    api = Api(text)
    api.walk()
    api.say()
    api.print()
    own = api.index[api.root]["name"]
    shown = {text.split(" = ")[1].removeprefix("::") for module, _, _, text in api.lines if not module and text.startswith("use ")}
    shown |= {crate for above in shown for crate in BELOW.get(above, ())}
    for crate, places in sorted(api.foreign.items()):
        allowed = SHOWN | ADAPTED.get(own, set())
        if crate not in allowed and not crate.startswith("striae"):
            api.faults += [f"{place}: a type of {crate}" for place in sorted(places)]
        elif crate not in shown:
            api.faults.append(f"{own}: {crate} is not re-exported; used by {min(places)}")
    sys.exit("\n".join(api.faults) or None)


main()
