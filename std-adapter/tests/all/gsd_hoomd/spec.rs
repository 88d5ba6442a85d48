//! The tables of spec/gsd-hoomd.md are those of the code.

use std::path::Path;
use striae::gsd::hoomd::schema::{FIELDS, Field, Initial, Rows};

/// A row as the specification has it.
fn row(field: &Field) -> String {
    let types: Vec<_> = field.kind.types().iter().map(|kind| kind.name()).collect();
    let rows = match field.rows {
        Rows::Fixed(n) => n.to_string(),
        Rows::Each(_) => "N".into(),
        Rows::Types => "NT".into(),
        Rows::Sum => "sum of N".into(),
    };
    let columns = field.columns.map_or("M".into(), |columns| columns.to_string());
    let default = match field.default {
        Initial::Values(row) => row.iter().map(i8::to_string).collect::<Vec<_>>().join(", "),
        Initial::Texts(texts) => texts.iter().map(|text| format!("`{text}`")).collect(),
        Initial::None => "none".into(),
    };
    let default = if default.is_empty() { "no types".into() } else { default };
    let until = field.until.map_or(String::new(), |until| format!(" to {until}"));
    let (name, types) = (field.name, types.join(", "));
    format!("| {name} | {types} | {rows} x {columns} | {default} | {}{until} |", field.since)
}

#[test]
fn the_tables_of_the_specification_are_the_table_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spec/gsd-hoomd.md");
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let mut rows = Vec::new();
    while let Some(line) = lines.next() {
        if line == "| chunk | type | N x M | default | since |" {
            assert_eq!(lines.next(), Some("|---|---|---|---|---|"));
            rows.extend(lines.by_ref().take_while(|line| line.starts_with('|')));
        }
    }
    for (text, field) in rows.iter().zip(FIELDS) {
        assert_eq!(*text, row(field), "the specification on the left, the code on the right");
    }
    assert_eq!(rows.len(), FIELDS.len());
}
