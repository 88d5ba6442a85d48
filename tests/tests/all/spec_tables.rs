//! The tables of the specifications and those of the code are the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use striae_core::field::Table;
use striae_core::{blob, cdf, ffrecord, gsd, hdf5, sion};
use striae_inspect::finding::Kind;

/// Each specification and the tables of the code that it describes.
const SPECIFICATIONS: &[(&str, &[&[&Table]])] = &[
    ("spec/sion.md", &[sion::raw::TABLES]),
    ("spec/gsd.md", &[gsd::raw::TABLES]),
    ("spec/ffrecord.md", &[ffrecord::raw::TABLES]),
    ("spec/cdf.md", &[cdf::raw::TABLES]),
    ("spec/blob.md", &[hdf5::raw::TABLES, blob::raw::TABLES]),
];

/// The top folder of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// A table as one side has it: a line for its head and one for each row.
type Lines = Vec<String>;

fn head(name: &str, size: &str) -> String {
    format!("{name}, {size} bytes")
}

fn row(offset: &str, size: &str, field: &str, ty: &str) -> String {
    format!("{offset} | {size} | {field} | {ty}")
}

/// The tables behind the lines `<!-- table: NAME SIZE -->`, in order.
fn tables_of_text(text: &str) -> Vec<Lines> {
    let mut tables = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(mark) = line.strip_prefix("<!-- table: ") else { continue };
        let (name, size) = mark.strip_suffix(" -->").unwrap().split_once(' ').unwrap();
        let columns = lines.next().unwrap();
        assert_eq!(columns, "| offset | size | field | type | meaning |", "{name}");
        assert_eq!(lines.next().unwrap(), "|---|---|---|---|---|", "{name}");

        let mut table = vec![head(name, size)];
        for line in lines.by_ref().take_while(|line| line.starts_with('|')) {
            let cells: Vec<_> = line.split('|').map(str::trim).collect();
            let ["", offset, size, field, ty, meaning, ""] = cells[..] else {
                panic!("{name}: not five columns: {line}")
            };
            assert!(!meaning.is_empty(), "{name}: {line}");
            table.push(row(offset, size, field, ty));
        }
        tables.push(table);
    }
    tables
}

fn tables_of_code(tables: &[&Table]) -> Vec<Lines> {
    let lines = |table: &&Table| {
        let rows = table.fields.iter().map(|field| {
            row(&field.offset.to_string(), &field.size.to_string(), field.name, field.ty)
        });
        std::iter::once(head(table.name, &table.len.to_string())).chain(rows).collect()
    };
    tables.iter().map(lines).collect()
}

#[test]
fn every_table_of_a_specification_is_that_of_the_code_and_none_is_missing() {
    for (path, tables) in SPECIFICATIONS {
        let mut text = tables_of_text(&read(path));
        let mut code = tables_of_code(&tables.concat());
        text.sort();
        code.sort();
        for (text, code) in text.iter().zip(&code) {
            assert_eq!(text, code, "{path} on the left, the code on the right");
        }
        assert_eq!(text.len(), code.len(), "{path}");
    }
}

/// The list of the kinds of findings of a format, as the specification has it.
fn kinds_of(lists: &[&[Kind]]) -> Lines {
    let mut rows: BTreeMap<(&str, String), BTreeSet<String>> = BTreeMap::new();
    for kind in lists.iter().copied().flatten().filter(|kind| !kind.name.is_empty()) {
        let meaning = kind.meaning.concat();
        let row = rows.entry((kind.name, kind.severity.to_string())).or_default();
        row.insert(meaning.trim().to_owned());
    }
    let row = |((name, severity), meanings): ((&str, String), BTreeSet<String>)| {
        let meanings: Vec<_> = meanings.into_iter().collect();
        format!("| `{name}` | {severity} | {} |", meanings.join(" "))
    };
    rows.into_iter().map(row).collect()
}

#[test]
fn the_kinds_of_findings_are_listed() {
    let text = read("spec/findings.md");
    for (format, kinds) in [
        ("SIONlib files", striae_inspect::sion::FindingKind::KINDS),
        ("GSD files", striae_inspect::gsd::FindingKind::KINDS),
        ("ffrecord files", striae_inspect::ffrecord::FindingKind::KINDS),
        ("netCDF files", striae_inspect::cdf::FindingKind::KINDS),
        ("Blob sets", striae_inspect::blob::FindingKind::KINDS),
        ("Decomposition maps", striae_inspect::blob::map::FindingKind::KINDS),
    ] {
        let (_, list) = text.split_once(&format!("## {format}\n")).unwrap();
        let list = list.split("\n## ").next().unwrap();
        let rows: Lines =
            list.lines().filter(|line| line.starts_with("| `")).map(str::to_owned).collect();
        assert_eq!(rows.join("\n"), kinds_of(kinds).join("\n"), "spec/findings.md on the left");
    }
}

#[test]
fn the_errors_of_each_format_are_listed() {
    let text = read("spec/errors.md");
    for (format, errors) in [
        ("SIONlib files", sion::Error::ROWS),
        ("GSD files", gsd::Error::ROWS),
        ("ffrecord files", ffrecord::Error::ROWS),
        ("netCDF files", cdf::Error::ROWS),
        ("HDF5 files", hdf5::Error::ROWS),
        ("Blob files", blob::Error::ROWS),
        ("Decomposition maps", blob::map::Error::ROWS),
    ] {
        let (_, list) = text.split_once(&format!("## {format}\n")).unwrap();
        let list = list.split("\n## ").next().unwrap();
        let rows: Lines =
            list.lines().filter(|line| line.starts_with("| `")).map(str::to_owned).collect();
        let of_code = errors.iter().map(|error| {
            let meaning = error.meaning.concat();
            format!("| `{}` | {} | {} |", error.name, error.party, meaning.trim())
        });
        let of_code: Lines = of_code.collect();
        assert_eq!(rows.join("\n"), of_code.join("\n"), "spec/errors.md on the left");
    }
}

/// The reader of tables does not overlook what it should compare.
#[test]
fn a_changed_row_or_a_table_too_many_is_seen() {
    let text = read("spec/sion.md");
    let tables = tables_of_text(&text);
    for (from, to) in [
        ("| 24 | 4 | ntasks | I32 |", "| 24 | 4 | ntasks | I64 |"),
        ("| 36 | 8 | flag1 | I64 |", "| 36 | 4 | flag1 | I64 |"),
        ("| 4 | 4 | lrank | I32 |", "| 4 | 4 | local | I32 |"),
        ("<!-- table: Ident 20 -->", "<!-- table: Ident 24 -->"),
        ("<!-- table: MappingSize 4 -->", "<!-- not a table -->"),
    ] {
        assert!(text.contains(from), "{from}");
        assert_ne!(tables_of_text(&text.replace(from, to)), tables, "{from}");
    }
}

/// The sources of a test: a file, or those of a folder.
fn sources(path: &Path) -> String {
    let mut all = String::new();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).unwrap() {
            all.push_str(&sources(&entry.unwrap().path()));
        }
    } else {
        let file = if path.exists() { path.to_owned() } else { path.with_extension("rs") };
        all.push_str(&std::fs::read_to_string(file).unwrap_or_default());
    }
    all
}

/// The tests that a text cites between quotes: a place in the repository, and names of functions
/// that follow it before the next claim, whose title is bold.
fn cited_tests(text: &str) -> Vec<(String, String)> {
    let mut cited = Vec::new();
    let mut place = None;
    for (number, piece) in text.split('`').enumerate() {
        let is_quoted = number % 2 == 1;
        if !is_quoted {
            place = place.filter(|_| !piece.contains("**"));
        } else if piece.starts_with("core/tests/") || piece.starts_with("tests/") {
            place = Some(piece);
            cited.push((piece.to_owned(), String::new()));
        } else if let Some(place) = place {
            cited.push((place.to_owned(), format!("fn {piece}()")));
        }
    }
    cited
}

#[test]
fn every_test_that_a_specification_cites_is_there() {
    let text = read("spec/gsd.md");
    let (_, argument) = text.split_once("### What stock programs do to them").unwrap();
    let cited = cited_tests(argument);
    assert!(cited.len() > 30, "{cited:?}");
    for (place, name) in cited {
        let sources = sources(&root().join(&place));
        assert!(!sources.is_empty(), "no test {place}");
        assert!(sources.contains(&name), "{place}: no {name}");
    }
}
