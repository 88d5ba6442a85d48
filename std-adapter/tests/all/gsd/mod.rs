//! GSD files through the library and the program: files that gsd wrote, and damaged ones.

mod bounds;
mod damaged;
mod dump;
mod extract;
mod find;
mod golden;
mod library;
mod live;
mod log;
mod program;
mod replace;
mod schema;
mod select;
mod shared;

use crate::run::{hex_sha256, output, refused, striae};
use golden::{Golden, golden, name_of, valid_files};
use predicates::prelude::*;
use serde_json::{Value, json};
use std::fs;

fn text(args: &[&str]) -> String {
    String::from_utf8(output(args)).unwrap()
}

fn parsed(args: &[&str]) -> Value {
    serde_json::from_slice(&output(args)).unwrap()
}
