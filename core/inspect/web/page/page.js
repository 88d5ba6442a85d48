// What is on the page. All that is known of a file comes from the worker; bytes are read here only to
// show them.
"use strict";

const COLUMNS = 96; // cells in a row of a map
const ROWS = 16;
const HEX = 512; // bytes that are shown as such
const PAGE = 500; // rows of a table that are shown at once
const FIELDS = 100000; // fields of a file that are known by name

const byId = (id) => document.getElementById(id);
// The worker has integers that JavaScript would round as texts.
const number = (value) =>
  (typeof value === "string" ? BigInt(value) : Number(value)).toLocaleString("en-US").replaceAll(",", "\u2009");
const clamp = (value, least, most) => Math.max(least, Math.min(most, value));

// Text with the characters escaped that would change how others are shown, as the program prints it.
const visible = (text) => text.replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
  (character) => `\\u{${character.codePointAt(0).toString(16)}}`);

// An element with attributes (functions are listeners) and children.
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  const shown = children.flat().filter((child) => child !== null && child !== undefined);
  element.append(...shown.map((child) => (typeof child === "string" ? visible(child) : child)));
  return element;
}

// ---- the worker ----

let worker = null;
let waiting = new Map();
let asked = 0;
let chosen = []; // the files
let known = []; // what the worker says of each
let earlier = { reads: 0, bytes: 0 }; // what workers that were stopped had read for their answers

function start() {
  worker?.terminate();
  waiting.forEach(({ fail }) => fail(new Error("stopped")));
  waiting = new Map();
  worker = new Worker(URL.createObjectURL(new Blob([byId("worker").textContent], { type: "text/javascript" })));
  worker.onmessage = ({ data }) => {
    const { done } = waiting.get(data.id) ?? {};
    waiting.delete(data.id);
    const [reads, bytes] = [earlier.reads + data.stats.reads, earlier.bytes + data.stats.bytes];
    byId("stats").textContent = `${number(bytes)} bytes read in ${number(reads)} slice${reads === 1 ? "" : "s"}`;
    Object.assign(byId("stats").dataset, { reads, bytes });
    work();
    done?.(data);
  };
  worker.onerror = ({ message }) => {
    waiting.forEach(({ fail }) => fail(new Error(`the page's worker failed: ${message}`)));
    waiting = new Map();
    work();
  };
  const base64 = byId("wasm").textContent;
  const module = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  worker.postMessage({ module: module.buffer, files: chosen });
}

function work() {
  byId("busy").textContent = waiting.size > 0 ? "Reading\u2026" : "";
  byId("stop").hidden = waiting.size === 0;
}

// Asks the worker; the answer, with new files in `made`. An error is thrown.
async function ask(...words) {
  const id = ++asked;
  const answered = new Promise((done, fail) => waiting.set(id, { done, fail }));
  worker.postMessage({ id, words });
  setTimeout(() => waiting.has(id) && work(), 200);
  const { answer, made } = await answered;
  if (answer.error !== undefined) throw new Error(answer.error);
  if (made.length > 0) answer.answer.made = made;
  return answer.answer;
}

// ---- files and tabs ----

const TABS = { info: "Info", ls: "List", verify: "Verify", dump: "Dump", map: "Map", recover: "Recover" };
const shown = { file: 0, tab: "info", turn: 0 };
let legend = [];
let structures = [];
const spec = JSON.parse(byId("spec").textContent);

async function choose(files) {
  const these = [...files];
  byId("input").value = ""; // else a browser does not tell that the same files are chosen again
  chosen = these;
  known = [];
  earlier = { reads: 0, bytes: 0 };
  view = { ...view, file: -1 };
  fields = { ...fields, file: -1 };
  shown.turn += 1;
  // Nothing of the files that were chosen before, whose numbers are those of others now.
  for (const id of ["files", "panel", "wrong"]) byId(id).replaceChildren();
  byId("title").textContent = "";
  byId("tabs").hidden = true;
  byId("main").hidden = these.length === 0;
  start();
  const name = twice(these.map((file) => file.name));
  if (name !== undefined) {
    byId("main").hidden = true;
    byId("wrong").replaceChildren(make("span", { class: "error" },
      `Two files have the name ${name}. Files of a set are found by their names: choose one of the two.`));
    return;
  }
  try {
    legend = await ask("legend");
    structures = await ask("tables");
    known = await ask("files");
  } catch (error) {
    if (chosen !== these) return; // others were chosen meanwhile
    byId("main").hidden = true;
    byId("wrong").replaceChildren(make("span", { class: "error" }, `The files are not known: ${error.message}`));
    return;
  }
  const label = (file) => file.error ?? `${file.format}, ${number(file.bytes)} bytes`;
  byId("files").replaceChildren(
    ...known.map((file, index) =>
      make("li", {},
        make("button", { type: "button", "aria-pressed": "false", click: () => open(index) },
          file.name, " ",
          make("small", {}, file.error ? make("span", { class: "error" }, "not known") : label(file),
            file.set && file.set !== file.name ? `, of ${file.set}` : "")))),
  );
  byId("tabs").hidden = false;
  // Of a SIONlib set, its first file; the subfiles of a blob set have no such one.
  const isFirst = (file) => !file.error && (file.format !== "sion" || (file.set ?? file.name) === file.name);
  if (chosen.length > 0) await open(Math.max(0, known.findIndex(isFirst)));
}

// A name that is there twice.
function twice(names) {
  const seen = new Set();
  return names.find((name) => seen.size === seen.add(name).size);
}

async function open(index, tab = shown.tab, then = {}) {
  if (index !== shown.file) cancel();
  if (fields.stopped) fields = { ...fields, file: -1 }; // they are asked for again
  shown.file = index;
  [...byId("files").querySelectorAll("button")].forEach((button, number) =>
    button.setAttribute("aria-pressed", String(number === index)),
  );
  byId("title").textContent = visible(chosen[index].name);
  byId("panel").replaceChildren(); // nothing of another file stands under this name
  await show(tab, then);
}

async function show(tab, then = {}) {
  if (tab !== shown.tab) cancel();
  shown.tab = tab;
  const turn = ++shown.turn;
  for (const button of byId("tabs").children) {
    const is = button.dataset.tab === tab;
    button.setAttribute("aria-selected", String(is));
    button.tabIndex = is ? 0 : -1;
  }
  const panel = byId("panel");
  panel.setAttribute("aria-labelledby", `tab-${tab}`);
  panel.dataset.ready = "no";
  try {
    const content = await PANELS[tab](shown.file, then);
    if (turn !== shown.turn) return;
    panel.replaceChildren(...[content].flat());
    const again = then.turn && (panel.querySelector(`[data-turn="${then.turn}"]:enabled`) ?? panel);
    const isOnTabs = byId("tabs").contains(document.activeElement); // where it stays
    if (!isOnTabs) (panel.querySelector("[data-first]") ?? again)?.focus({ preventScroll: true });
  } catch (error) {
    if (turn !== shown.turn) return;
    panel.replaceChildren(make("p", { class: "error", role: "alert" }, error.message));
  }
  panel.dataset.ready = "yes";
}

for (const [tab, name] of Object.entries(TABS)) {
  byId("tabs").append(make("button", {
    type: "button", role: "tab", id: `tab-${tab}`, "data-tab": tab, "aria-controls": "panel", "aria-selected": "false",
    click: () => show(tab),
  }, name));
}
// Arrows only go to a tab, since what it shows may take long: Enter or a space shows it.
byId("tabs").addEventListener("keydown", (event) => {
  const tabs = [...byId("tabs").children];
  if (event.key === "ArrowDown") {
    event.preventDefault();
    (byId("panel").querySelector("[data-first]") ?? byId("panel")).focus({ preventScroll: true });
  }
  const at = tabs.indexOf(document.activeElement);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  tabs[(to + tabs.length) % tabs.length].focus();
});

// Ends all questions that have no answer yet.
function stop() {
  const { reads, bytes } = byId("stats").dataset;
  earlier = { reads: Number(reads ?? 0), bytes: Number(bytes ?? 0) };
  start();
  work();
}

// Ends questions to which nobody will see the answer.
function cancel() {
  if (waiting.size === 0) return;
  stop();
  fields = { ...fields, file: -1 }; // their names are asked for again
}

byId("stop").addEventListener("click", () => {
  stop();
  byId("panel").focus({ preventScroll: true }); // the button is gone
});

// ---- values and tables ----

const words = (name) => name.replaceAll("_", " ");
const isScalar = (value) => value === null || typeof value !== "object";
const UNKNOWN = ["chunks", "bytes"]; // of a set that was never closed; of others there is none
const textOf = (value, name) => {
  if (value === null || value === undefined) return UNKNOWN.includes(name) ? "unknown" : "none";
  if (typeof value === "number") return Number.isSafeInteger(value) ? number(value) : String(value);
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "object" && "hex" in value ? `0x${value.hex}` : String(value);
};

// A value: text, a list, or a table with a row for each name.
function valueOf(value, name) {
  if (isScalar(value) || "hex" in value) return textOf(value, name);
  if (!Array.isArray(value)) return facts(value);
  if (value.length === 0) return "none";
  if (value.every((one) => isScalar(one) || "hex" in one)) {
    const list = value.slice(0, PAGE).map((one) => textOf(one)).join(", ");
    return value.length > PAGE ? `${list}, and ${number(value.length - PAGE)} more` : list;
  }
  const rows = value.slice(0, PAGE);
  const more = value.length > PAGE ? make("p", { class: "dim" }, `and ${number(value.length - PAGE)} more`) : null;
  return make("div", {}, table(rows), more);
}

function facts(row) {
  return make("table", { class: "facts" }, make("tbody", {}, Object.entries(row).map(([name, value]) =>
    make("tr", {}, make("th", { scope: "row" }, words(name)), make("td", {}, valueOf(value, name))))));
}

// A table of rows; `cells` makes cells of some columns.
function table(rows, cells = {}) {
  const names = [...new Set(rows.flatMap(Object.keys))];
  const mono = ["bytes", "address"];
  return make("table", {},
    make("thead", {}, make("tr", {}, names.map((name) => make("th", { scope: "col" }, words(name))))),
    make("tbody", {}, rows.map((row) => make("tr", {}, names.map((name) => {
      const value = row[name];
      const kind = typeof value === "number" ? "number" : mono.includes(name) ? "mono" : null;
      const content = value === undefined ? "" : (cells[name]?.(row) ?? valueOf(value, name));
      return make("td", { class: kind }, content);
    })))));
}

// Which rows are shown, with buttons for those before and after them.
function turns(tab, rows, from, more) {
  const turn = (label, to, is) =>
    make("button", { type: "button", disabled: !is, "data-turn": label, click: () => show(tab, { from: to, turn: label }) }, label);
  return make("div", { class: "bar" }, make("strong", {}, `${rows} from ${number(from)} on`),
    turn("Before", Math.max(0, from - PAGE), from > 0), turn("Next", from + PAGE, more));
}

// A place in the file that can be looked at in the map.
const toMap = (offset, text = number(offset), file = shown.file) =>
  make("button", { type: "button", title: "show in the map", click: () => file === shown.file
    ? show("map", { at: Number(offset) }) : open(file, "map", { at: Number(offset) }) }, text);

function download(name, blob) {
  const link = make("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

// ---- panels ----

const LISTS = ["tasks", "chunks", "rows", "variables"];

async function info(file) {
  const { remark, ...rest } = await ask("info", file);
  delete rest.path; // which is the title
  return [remark ? make("p", { class: "error", role: "alert" }, remark) : null, facts(rest)].filter(Boolean);
}

async function ls(file, { from = 0 }) {
  const { remark, ...rest } = await ask("ls", file, from, PAGE);
  const list = LISTS.find((name) => Array.isArray(rest[name]));
  const rows = list ? rest[list] : [];
  const others = { ...rest };
  delete others[list];
  delete others.path;
  const save = (row) => row.address === undefined ? null : make("span", {},
    make("button", { type: "button", click: () => saveTo(file, row.address) }, "Save"), " ", row.address);
  const cells = { address: save, offset: (row) => toMap(row.offset), begin: (row) => toMap(row.begin) };
  if (known[file].format === "blob") delete cells.begin;
  return [
    remark ? make("p", { class: "error", role: "alert" }, remark) : null,
    list ? turns("ls", words(list), from, rows.length === PAGE) : null,
    list ? make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": list },
      rows.length > 0 ? table(rows, cells) : make("p", { class: "dim" }, "none")) : null,
    make("p", { id: "saved", role: "status" }),
    make("details", { open: !list }, make("summary", {}, "All else in the list"), facts(others)),
  ].filter(Boolean);
}

// Saves the bytes of an address: the browser copies them, none is read here.
async function saveTo(file, address) {
  const saved = byId("saved");
  try {
    const { file: from, spans, damage } = await ask("places", file, address);
    const blob = new Blob(spans.map(([offset, len]) => chosen[from].slice(offset, offset + len)));
    const bytes = spans.reduce((sum, [, len]) => sum + len, 0);
    if (blob.size !== bytes) throw new Error(`${address}: has ${number(bytes)} bytes, and the file only ${number(blob.size)} of them`);
    await blob.slice(0, 1).arrayBuffer(); // fails if the file has changed
    saved.replaceChildren(visible(`${address}: ${number(blob.size)} bytes saved, as they are in the file`),
      damage ? make("p", { class: "error", role: "alert" }, damage) : "");
    saved.dataset.bytes = blob.size;
    download(`${chosen[file].name}-${address.replaceAll("/", "-")}`, blob);
  } catch (error) {
    saved.replaceChildren(make("span", { class: "error" }, error.message));
  }
}

async function verify(file) {
  const { findings, verdict, sound, path, ...rest } = await ask("verify", file, 2000);
  const more = rest.damage + rest.notes - findings.length;
  const cells = {
    severity: (row) => make("span", { class: row.severity === "damage" ? "error" : "note" }, row.severity),
    // Of a set, findings may be about other files than the one that is shown, chosen or not.
    offset: (row) => {
      const at = row.file === known[file].name ? file : known.findIndex(({ name }) => name === row.file);
      return at < 0 ? number(row.offset) : toMap(row.offset, number(row.offset), at);
    },
  };
  const rows = findings.map(({ severity, finding, offset, kind, file, ...values }) =>
    ({ severity, finding, ...(offset === undefined ? {} : { offset }), kind, file, ...values }));
  return [
    make("p", { class: sound ? "sound" : "error", id: "verdict", role: "status" }, verdict),
    facts(rest),
    findings.length > 0 ? make("h3", {}, "Findings") : null,
    findings.length > 0 ? make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "findings" },
      table(rows, cells)) : null,
    more > 0 ? make("p", { class: "dim" }, `and ${number(more)} more`) : null,
  ].filter(Boolean);
}

async function dump(file, { from = 0 }) {
  const { lines, whole, error } = await ask("dump", file, from, PAGE);
  const rows = lines.map(({ offset = "", name, value, bytes = "" }) =>
    ({ offset, field: name, value, bytes: bytes.length > 16 ? `${bytes.slice(0, 16)}\u2026` : bytes }));
  return [
    error ? make("p", { class: "error", role: "alert" }, error) : null,
    turns("dump", "fields", from, !whole),
    make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "fields" },
      table(rows, { offset: (row) => row.offset === "" ? "" : toMap(row.offset) })),
  ].filter(Boolean);
}

async function recover(file) {
  const panel = byId("panel");
  const go = make("button", { type: "button", "data-first": true, click: async () => {
    go.disabled = true;
    try {
      const { made = [], ...rest } = await ask("recover", file);
      const links = made.map(({ name, blob }) =>
        make("li", {}, make("button", { type: "button", click: () => download(name, blob) },
          `Save ${name}, ${number(blob.size)} bytes`)));
      result.replaceChildren(
        make("p", { class: rest.sound ? "sound" : "error", id: "word" }, rest.word),
        make("ul", { id: "made" }, links), facts(rest));
    } catch (error) {
      result.replaceChildren(make("p", { class: "error", role: "alert" }, error.message));
    }
    go.disabled = false;
    panel.dataset.recovered = String(Number(panel.dataset.recovered ?? 0) + 1);
  } }, "Recover");
  const result = make("div", { role: "status" });
  return [
    make("p", {}, "Makes a new file of all that can be read of this one, and says how certain it is. The file that ",
      "was chosen stays as it is. The new one is in memory until it is saved: at most 1 GiB."),
    go, result,
  ];
}

// ---- the map ----

let view = { file: -1, start: 0, end: 0, here: 0, cells: null, regions: [], hex: null };
let fields = { file: -1, list: [], whole: true, stopped: false };

// Ends when the names of a file's fields are known. They are read once; if that is stopped, when the
// file is opened again.
function fieldsOf(file) {
  if (fields.file !== file) {
    fields = { file, list: [], whole: true, stopped: false };
    fields.read = readInto(fields);
  }
  return fields.read;
}

async function readInto(names) {
  try {
    const { lines, whole, error } = await ask("dump", names.file, 0, FIELDS);
    names.list = lines.filter((line) => line.offset !== undefined).sort((a, b) => a.offset - b.offset);
    names.whole = whole;
    names.error = error;
  } catch {
    names.stopped = true;
  }
}

// Whether a byte is of a field that starts before it. The header of a record may continue in the
// next chunk of the task, but not in what is directly after it in the file.
function isOf(field, offset) {
  const region = field.position === undefined ? undefined : regionAt(offset);
  return field.offset <= offset && offset < field.offset + field.len && (region?.offset ?? 0) <= field.offset;
}

// The field that has this byte, and its place in the list; the last one that starts before it.
function fieldAt(offset) {
  let [low, high] = [0, fields.list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (fields.list[middle].offset <= offset) low = middle + 1;
    else high = middle;
  }
  for (let at = low - 1; at >= Math.max(0, low - 8); at -= 1) {
    const field = fields.list[at];
    if (isOf(field, offset)) return { field, next: low };
  }
  return { field: null, next: low };
}

// What the specification says of a field: `part.field[index]`, or `part[index].field`, or a field of
// the header in an image of it: `shadow[index].old.field`.
function sentence(name) {
  const [part, ...path] = name.replace(/\[\d+\]/g, "").split(".");
  const field = meaningOf([part], path[0]);
  if (path.length < 2) return field;
  const inner = meaningOf(["header", "commit"], path[1]);
  return field && inner && `${field}: ${inner}`;
}

// What the tables say of a field of one of these parts, or the text of one that no table has.
function meaningOf(parts, field) {
  for (const table of structures) {
    const meaning = spec[table.format]?.[table.structure]?.[field];
    if (parts.includes(table.part) && meaning && isFormat(table.format)) return meaning;
  }
  const formats = Object.keys(spec).filter(isFormat);
  return formats.map((format) => spec[format][""][`${parts[0]}.${field}`]).find(Boolean) ?? "";
}

function isFormat(format) {
  const own = known[shown.file].format;
  // Text maps are in the specification of blob sets, and headers in CDF-5 in that of netCDF.
  return format === own || (own === "map" && format === "blob") || (format === "cdf" && (own === "blob" || own === "map"));
}

const kindOf = (name) => legend.find((kind) => kind.kind === name) ?? { letter: "?", colour: "#ffffff", odd: "#ffffff" };
const isOdd = (owner) => owner !== undefined && owner % 2 === 1;
const colourOf = ({ kind, mark, owner }) => (mark === undefined && isOdd(owner) ? kindOf(kind).odd : kindOf(mark ?? kind).colour);
const letterOf = ({ kind, mark, owner }) => {
  const { letter, is_data: isData } = kindOf(mark ?? kind);
  return mark === undefined && isData && isOdd(owner) ? letter.toLowerCase() : letter;
};

// Whether white is easier to read than black on a colour.
function isDark(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return red * 3 + green * 6 + blue <= 1200;
}

const isHex = () => view.end - view.start <= HEX;

async function map(file, { at, start, end, here }) {
  const size = chosen[file].size;
  if (at !== undefined) {
    // Whole rows of bytes around the place.
    start = Math.max(0, Math.min(Math.floor(at / 16) * 16 - HEX / 4, Math.ceil((size - HEX) / 16) * 16));
    end = Math.min(size, start + HEX);
  }
  let next = { ...view };
  if (view.file !== file || start !== undefined) {
    next = { file, start: start ?? 0, end: end ?? size, here: here ?? at ?? start ?? 0 };
  }
  next.here = clamp(next.here, next.start, Math.max(next.start, next.end - 1));
  const turn = shown.turn;
  Object.assign(next, await ask("map", file, next.start, next.end, COLUMNS * ROWS), { regions: [], hex: null });
  if (next.end - next.start <= HEX) {
    next.regions = (await ask("regions", file, next.start, next.end, HEX)).regions;
    next.hex = new Uint8Array(await chosen[file].slice(next.start, next.end).arrayBuffer());
  }
  if (shown.turn !== turn) return []; // something else is shown by now
  view = next;
  // There may be many fields: they get their names when the picture is there.
  fieldsOf(file).then(() => shown.turn === turn && detail());
  const picture = isHex() ? hexOf() : make("canvas", {
    id: "map", tabindex: 0, "data-first": true, role: "application", "aria-describedby": "detail",
    "aria-label": "map of the file: arrow keys move, plus and minus zoom",
    keydown: onKey, mousemove: onMouse, click: onMouse, dblclick: () => zoom(1),
  });
  if (!isHex()) new ResizeObserver(draw).observe(picture);
  const bar = make("div", { class: "bar" },
    make("button", { type: "button", click: () => zoom(1), disabled: isHex() }, "Zoom in"),
    make("button", { type: "button", click: () => zoom(-1), disabled: view.start === 0 && view.end === size }, "Zoom out"),
    make("button", { type: "button", click: () => show("map", { start: 0, end: size }) }, "Whole file"),
    make("button", { type: "button", click: () => shift(-1), disabled: view.start === 0 }, "Earlier"),
    make("button", { type: "button", click: () => shift(1), disabled: view.end >= size }, "Later"),
    make("span", { class: "dim" }, `bytes ${number(view.start)} to ${number(Math.max(view.start, view.end - 1))} of ${number(size)}; `,
      isHex() ? "each byte" : `a cell is ${number(view.cell_bytes)} bytes`));
  setTimeout(detail); // when all of it is on the page
  return [
    view.damage ? make("p", { class: "error", role: "alert" }, view.damage) : null,
    bar,
    make("div", { class: isHex() ? "beside" : null }, picture, make("div", { id: "detail", "aria-live": "polite" })),
    make("p", { class: "dim" }, keys("Arrows"), " move, ", keys("+"), " ", keys("-"), " zoom, ", keys("Page Up"), " ", keys("Page Down"),
      " earlier and later, ", keys("n"), " ", keys("p"), " next and previous field, ", keys("Home"), " whole file"),
    legendOf(), tablesOf(),
  ].filter(Boolean);
}

const keys = (text) => make("kbd", {}, text);

function legendOf() {
  const all = view.kinds.reduce((sum, { bytes }) => sum + bytes, 0);
  return make("div", {}, make("h3", {}, "Legend"), make("div", { class: "legend" }, view.kinds.flatMap(({ kind, bytes }) => {
    const look = kindOf(kind);
    const letters = look.is_data ? look.letter + look.letter.toLowerCase() : look.letter;
    const swatch = make("span", { class: "swatch" }, letters);
    swatch.style.background = look.is_data ? `linear-gradient(90deg, ${look.colour} 50%, ${look.odd} 50%)` : look.colour;
    swatch.style.color = isDark(look.colour) ? "#fff" : "#000";
    const about = view.sampled && !look.is_exact ? "about " : "";
    return [swatch, make("span", {}, kind), make("span", {}, `${about}${number(bytes)} bytes, ${percent(bytes, all)}`),
      make("span", { class: "about" }, look.description)];
  })), make("p", { class: "dim" }, `Small letters and lighter colours: of a ${view.owner} with an odd number.`));
}

function percent(bytes, all) {
  const parts = Math.floor((bytes * 10000) / all);
  return parts === 0 ? "<0.01 %" : `${(parts / 100).toFixed(2)} %`;
}

function tablesOf() {
  const rows = view.tables.map(({ name, kind, offset, bytes }) => ({ table: name, kind, offset, bytes }));
  const zoomTo = (row) => make("button", { type: "button", click: () => row.bytes > HEX
    ? show("map", { start: row.offset, end: row.offset + row.bytes }) : show("map", { at: row.offset }) }, row.table);
  return make("details", { open: true }, make("summary", {}, "Tables"),
    make("div", { class: "scroll" }, table(rows, { table: zoomTo, offset: (row) => toMap(row.offset) })));
}

// The width of a cell and the height of a row, in pixels of the page.
function cellSize(canvas) {
  const width = canvas.clientWidth / COLUMNS;
  return [width, Math.max(14, Math.min(22, width * 1.6))];
}

function draw() {
  const canvas = byId("map");
  if (!canvas || !view.cells) return;
  const [width, height] = cellSize(canvas);
  const rows = Math.max(1, Math.ceil(view.cells.length / COLUMNS));
  const scale = window.devicePixelRatio || 1;
  canvas.style.height = `${Math.ceil(rows * height) + 2}px`;
  canvas.width = Math.round(canvas.clientWidth * scale);
  canvas.height = Math.round(rows * height * scale);
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.font = `${Math.min(12, height * 0.72)}px ui-monospace, monospace`;
  context.textBaseline = "middle";
  const look = (cell) => `${letterOf(cell)} ${cell.owner ?? ""}`;
  for (let at = 0; at < view.cells.length; ) {
    const cell = view.cells[at];
    const stop = (Math.floor(at / COLUMNS) + 1) * COLUMNS;
    let to = at + 1;
    while (to < Math.min(stop, view.cells.length) && look(view.cells[to]) === look(cell)) to += 1;
    const [x, y, run] = [(at % COLUMNS) * width, Math.floor(at / COLUMNS) * height, (to - at) * width];
    const colour = colourOf(cell);
    context.fillStyle = colour;
    context.fillRect(x, y, run + 0.5, height + 0.5);
    context.fillStyle = isDark(colour) ? "#fff" : "#000";
    const name = cell.mark === undefined && cell.owner !== undefined ? `${letterOf(cell)} ${view.owner} ${cell.owner}` : letterOf(cell);
    const text = context.measureText(name).width + 4 < run ? name : letterOf(cell);
    if (context.measureText(text).width <= run + 1) context.fillText(text, x + Math.min(2, width / 8), y + height / 2);
    at = to;
  }
  const here = Math.floor((view.here - view.start) / view.cell_bytes);
  const [x, y] = [(here % COLUMNS) * width, Math.floor(here / COLUMNS) * height];
  context.lineWidth = 4;
  context.strokeStyle = "#fff";
  context.strokeRect(x, y, width, height);
  context.lineWidth = 2;
  context.strokeStyle = "#000";
  context.strokeRect(x, y, width, height);
}

function hexOf() {
  const grid = make("div", {
    class: "hex", id: "hex", tabindex: 0, "data-first": true, role: "application", "aria-describedby": "detail",
    "aria-label": "bytes of the file: arrow keys move", keydown: onKey,
    mousemove: (event) => isMoved(event) && event.target.dataset.at && moveTo(Number(event.target.dataset.at)),
    click: (event) => event.target.dataset.at && moveTo(Number(event.target.dataset.at)),
  });
  for (let row = 0; row < view.hex.length; row += 16) {
    grid.append(make("span", { class: "at" }, String(view.start + row)));
    const bytes = [...view.hex.subarray(row, row + 16)];
    bytes.forEach((byte, column) => {
      const at = view.start + row + column;
      const cell = make("span", { class: "byte", "data-at": at }, byte.toString(16).padStart(2, "0"));
      const region = regionAt(at);
      if (region) {
        cell.style.background = colourOf(region);
        if (isDark(colourOf(region))) cell.classList.add("ink");
      }
      grid.append(cell);
    });
    for (let column = bytes.length; column < 16; column += 1) grid.append(make("span"));
    const text = bytes.map((byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : "\u00b7")).join("");
    grid.append(make("span"), make("span", { class: "text" }, text));
  }
  return grid;
}

const regionAt = (at) => view.regions.find(({ offset, bytes }) => offset <= at && at < offset + bytes);

// Says what is at the cursor.
function detail() {
  const panel = byId("detail");
  if (!panel || !view.cells) return;
  if (chosen[view.file].size === 0) {
    panel.replaceChildren(make("p", {}, "The file is empty."));
    return;
  }
  const owned = ({ owner }) => (owner === undefined ? "" : ` of ${view.owner} ${number(owner)}`);
  const lines = [];
  if (isHex()) {
    const byte = view.hex[view.here - view.start];
    const region = regionAt(view.here);
    lines.push(`Byte ${number(view.here)}: 0x${byte.toString(16).padStart(2, "0")}, ${byte}`
      + (byte > 31 && byte < 127 ? `, "${String.fromCharCode(byte)}"` : ""));
    if (region) lines.push(`${region.name ?? region.kind}${owned(region)}: ${kindOf(region.kind).description}`);
  } else {
    const cell = view.cells[Math.floor((view.here - view.start) / view.cell_bytes)];
    lines.push(`Bytes ${number(cell.offset)} to ${number(cell.offset + cell.bytes - 1)}: ${cell.kind}${owned(cell)}: ${kindOf(cell.kind).description}`);
    if (cell.mark !== undefined) lines.push(`There is a table in it: ${cell.mark}, ${kindOf(cell.mark).description}`);
  }
  const { field } = fieldAt(view.here);
  if (field) {
    const rest = isOf(field, field.offset + field.len - 1) ? "" : ", the rest in the next chunk of the task";
    lines.push(`${field.name} = ${field.value}: ${number(field.len)} bytes at ${number(field.offset)}${rest}`);
    const meaning = sentence(field.name);
    if (meaning) lines.push(`Specification: ${meaning}.`);
  } else if (fields.stopped) {
    lines.push("The names of fields were not read to the end.");
  } else if (!fields.whole) {
    lines.push(`Only the first ${number(FIELDS)} fields of a dump are known by name here.`);
  } else if (fields.error) {
    lines.push(`The names of fields end at an error: ${fields.error}`);
  }
  panel.replaceChildren(...lines.map((line) => make("p", {}, line)));
  panel.dataset.at = view.here;
  const hex = byId("hex");
  hex?.querySelectorAll(".here, .same").forEach((cell) => cell.classList.remove("here", "same"));
  hex?.querySelectorAll(".byte").forEach((cell) => {
    const at = Number(cell.dataset.at);
    if (at === view.here) cell.classList.add("here");
    if (field && isOf(field, at)) cell.classList.add("same");
  });
  hex?.querySelector(".here")?.scrollIntoView({ block: "nearest" });
  draw();
}

function moveTo(at) {
  const size = chosen[view.file].size;
  at = clamp(at, 0, Math.max(0, size - 1));
  if (at < view.start || at >= view.end) {
    if (isHex()) return show("map", { at });
    const len = view.end - view.start;
    const views = Math.floor((at - view.start) / len);
    const start = clamp(view.start + views * len, 0, Math.max(0, size - len));
    return show("map", { start, end: Math.min(size, start + len), here: at });
  }
  view.here = at;
  detail();
}

// Whether an answer is awaited: what is shown is not what will be there then.
const isAwaited = () => byId("panel").dataset.ready === "no";

function zoom(by) {
  if (isAwaited()) return;
  const size = chosen[view.file].size;
  const old = view.end - view.start;
  const len = by > 0 ? Math.ceil(old / 16) : old * 16;
  if (by > 0 && isHex()) return;
  if (len <= HEX) return show("map", { at: view.here });
  const start = clamp(Math.floor(view.here - len / 2), 0, Math.max(0, size - len));
  show("map", { start, end: Math.min(size, start + len), here: view.here });
}

function shift(by) {
  if (isAwaited()) return;
  const size = chosen[view.file].size;
  const len = view.end - view.start;
  const start = clamp(view.start + by * len, 0, Math.max(0, size - len));
  if (start !== view.start) show("map", { start, end: Math.min(size, start + len) });
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const [step, row] = isHex() ? [1, 16] : [view.cell_bytes, view.cell_bytes * COLUMNS];
  const { field, next } = fieldAt(view.here);
  const before = fields.list.findLast(({ offset }) => offset < (field?.offset ?? view.here));
  const actions = {
    ArrowRight: () => moveTo(view.here + step),
    ArrowLeft: () => moveTo(view.here - step),
    ArrowDown: () => moveTo(view.here + row),
    ArrowUp: () => moveTo(view.here - row),
    PageDown: () => shift(1),
    PageUp: () => shift(-1),
    Home: () => show("map", { start: 0, end: chosen[view.file].size }),
    Enter: () => zoom(1),
    "+": () => zoom(1),
    "-": () => zoom(-1),
    Backspace: () => zoom(-1),
    n: () => fields.list[next] && moveTo(fields.list[next].offset),
    p: () => before && moveTo(before.offset),
  };
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  if (!isAwaited()) action();
}

// Whether the mouse has moved, and not what is under it.
const isMoved = ({ movementX, movementY }) => movementX !== 0 || movementY !== 0;

function onMouse(event) {
  if (event.type === "mousemove" && !isMoved(event)) return;
  const [width, height] = cellSize(event.target);
  const [column, row] = [Math.floor(event.offsetX / width), Math.floor(event.offsetY / height)];
  const at = row * COLUMNS + clamp(column, 0, COLUMNS - 1);
  if (at >= 0 && at < view.cells.length && view.cells[at].offset !== view.here) moveTo(view.cells[at].offset);
}

const PANELS = { info, ls, verify, dump, map, recover };

// ---- choosing files ----

byId("input").addEventListener("change", (event) => choose(event.target.files));
const drop = byId("drop");
for (const type of ["dragenter", "dragover"]) {
  document.addEventListener(type, (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
}
document.addEventListener("dragleave", (event) => event.relatedTarget === null && drop.classList.remove("over"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  if (event.dataTransfer.files.length > 0) choose(event.dataTransfer.files);
});
