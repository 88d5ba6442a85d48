//! The tables of the specifications and those of the code are the same.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

use std::path::Path;
use striae_core::field::Table;
use striae_core::sion;

/// Each specification and the tables of the code that it describes.
const SPECIFICATIONS: &[(&str, &[&Table])] = &[("spec/sion.md", sion::raw::TABLES)];

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
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
        let mut text = tables_of_text(&std::fs::read_to_string(file).unwrap());
        let mut code = tables_of_code(tables);
        text.sort();
        code.sort();
        for (text, code) in text.iter().zip(&code) {
            assert_eq!(text, code, "{path} on the left, the code on the right");
        }
        assert_eq!(text.len(), code.len(), "{path}");
    }
}

/// The reader of tables does not overlook what it should compare.
#[test]
fn a_changed_row_or_a_table_too_many_is_seen() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spec/sion.md");
    let text = std::fs::read_to_string(file).unwrap();
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
