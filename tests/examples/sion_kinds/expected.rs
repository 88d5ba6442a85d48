//! What must be read.

use super::shapes::Shape;
use serde_json::{Value, json};
use std::fmt::Write as _;
use striae_core::endian::ByteOrder::{self, Big};

/// A task as it should be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expected {
    pub(crate) chunksize: u64,
    chunks: Vec<u64>,
    stream: Vec<u8>,
    records: Vec<(u64, Vec<u8>)>,
}

impl Expected {
    pub(crate) fn new(chunksize: u64) -> Self {
        Self { chunksize, chunks: vec![0], ..Self::default() }
    }

    fn room(&self) -> u64 {
        self.chunksize - self.chunks.last().unwrap()
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.stream.extend(bytes);
        let mut left = u64::try_from(bytes.len()).unwrap();
        while left > 0 {
            if self.room() == 0 {
                self.chunks.push(0);
            }
            let now = left.min(self.room());
            *self.chunks.last_mut().unwrap() += now;
            left -= now;
        }
    }

    pub(crate) fn write_record(&mut self, bytes: &[u8]) {
        if u64::try_from(bytes.len()).unwrap() > self.room() {
            self.chunks.push(0);
        }
        self.write(bytes);
    }

    pub(crate) fn write_key(&mut self, order: ByteOrder, key: u64, value: &[u8]) {
        let integers = [key, u64::try_from(value.len()).unwrap()];
        let header = integers.map(|n| if order == Big { n.to_be_bytes() } else { n.to_le_bytes() });
        self.write(header.as_flattened());
        self.write(value);
        self.records.push((key, value.to_vec()));
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

pub(crate) fn description(
    name: &str,
    shape: &Shape,
    sealed: bool,
    is_closed: bool,
    tasks: Option<&[Expected]>,
) -> Value {
    let attributes = &shape.attributes;
    let order = |order| if order == Big { "big" } else { "little" };
    let places = shape.files.iter().enumerate();
    let places = places.flat_map(|(file, tasks)| (0..tasks.len()).map(move |local| (file, local)));
    let listed =
        shape.tasks().zip(places).enumerate().map(|(task, ((globalrank, size), place))| {
            let mut listed = json!({
                "globalrank": globalrank, "file": place.0, "local": place.1, "chunksize": size,
            });
            if let Some(expected) = tasks.map(|tasks| &tasks[task]) {
                let record =
                    |(key, value): &(u64, Vec<u8>)| json!({ "key": key, "value": hex(value) });
                listed["chunks"] = json!(expected.chunks);
                listed["stream"] = json!(hex(&expected.stream));
                listed["records"] = expected.records.iter().map(record).collect();
            }
            listed
        });
    json!({
        "name": name,
        "prefix": String::from_utf8(prefix(shape, name)).unwrap(),
        "state": match (tasks, is_closed) {
            (None, _) => "unclosed",
            (_, false) => "committed",
            (_, true) => "closed",
        },
        "sealed": sealed && tasks.is_some(),
        "meta_order": order(attributes.order),
        "data_order": order(attributes.data_order),
        "fsblksize": attributes.fsblksize,
        "nfiles": attributes.nfiles,
        "keyval": attributes.keyval,
        "serial": attributes.nfiles == 1 && attributes.filenumber == 1,
        "mapping": shape.mapping(),
        "tasks": listed.collect::<Value>(),
    })
}

pub(crate) fn prefix(shape: &Shape, name: &str) -> Vec<u8> {
    shape.prefix.clone().unwrap_or_else(|| format!("{name}.sion").into_bytes())
}
