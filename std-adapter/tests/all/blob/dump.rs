//! `dump` of sealed subfiles: what it lists of each copy of the seal is what the specification says
//! of the bytes of the file, computed here from these bytes.

use super::golden_dir;
use super::verify::sealed;
use crate::run::{output, refused};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use striae::cdf::File;

const MAGIC: &[u8] = b"striae blob seal";
/// Name, offset and size of the fields of a head, and of a tie.
const HEAD: [(&str, usize, usize); 10] = [
    ("magic", 0, 16),
    ("version", 16, 4),
    ("nblobs", 20, 4),
    ("nvars", 24, 4),
    ("header_crc", 28, 4),
    ("header_len", 32, 8),
    ("values_begin", 40, 8),
    ("numrecs", 48, 8),
    ("table_crc", 56, 4),
    ("head_crc", 60, 4),
];
const TIE: [(&str, usize, usize); 3] = [("set", 0, 16), ("number", 16, 4), ("nsubfiles", 20, 4)];

/// CRC-32C, bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &byte in bytes {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    !crc
}

/// What a dump lists of a seal: name, offset, bytes and value; without a place, what follows.
#[derive(Debug, Clone, PartialEq)]
struct Line {
    name: String,
    place: Option<(usize, Vec<u8>)>,
    value: String,
}

fn lines(json: &[u8]) -> Vec<Line> {
    let rows: Vec<Value> = serde_json::from_slice(json).unwrap();
    let byte = |hex: &str, at: usize| {
        u8::from_str_radix(hex.get(2 * at..2 * at + 2).unwrap(), 16).unwrap()
    };
    let line = |row: &Value| {
        let place = row.get("offset").map(|offset| {
            let (len, hex) = (row["len"].as_u64().unwrap(), row["bytes"].as_str().unwrap());
            let bytes = (0..len as usize).map(|at| byte(hex, at)).collect();
            (offset.as_u64().unwrap() as usize, bytes)
        });
        let text = |key: &str| row[key].as_str().unwrap().to_owned();
        Line { name: text("name"), place, value: text("value") }
    };
    rows.iter().map(line).filter(|line| line.name.contains("seal")).collect()
}

fn dump(path: &Path) -> Vec<Line> {
    lines(&output(&["dump", "--json", path.to_str().unwrap()]))
}

/// A sealed subfile: five blobs, the only one of its set.
struct Sealed {
    path: PathBuf,
    bytes: Vec<u8>,
    /// The header of the subfile.
    header: Vec<u8>,
    /// The names of its variables in order, with the bytes of those that are not decomposed.
    variables: Vec<(String, Option<Vec<u8>>)>,
    numrecs: u64,
}

/// What each variable of a CDF-5 file has that is no map and not decomposed, in all records.
fn variables(file: &File, bytes: &[u8]) -> Vec<(String, Option<Vec<u8>>)> {
    let one = |variable: striae::cdf::Variable<'_>| {
        let is_whole = !variable.name().contains('.');
        let is_whole = is_whole && variable.attribute("decomposition_ID").is_none();
        let records = if variable.is_record() { file.numrecs() } else { 1 };
        let record = |record| {
            let layout = variable.layout();
            let span = layout.record(record).unwrap_or(layout.first);
            bytes[span.offset() as usize..span.end() as usize].to_vec()
        };
        let whole = is_whole.then(|| (0..records).flat_map(record).collect());
        (variable.name().to_owned(), whole)
    };
    file.header().variables().map(one).collect()
}

impl Sealed {
    fn new(dir: &Path, ending: &str) -> Self {
        let path = sealed(dir, ending).with_extension(format!("{ending}.0000"));
        let bytes = fs::read(&path).unwrap();
        // HDF5 subfiles have the same variables, in the same order.
        let twin = dir.join("twin");
        fs::create_dir(&twin).unwrap();
        let cdf = sealed(&twin, "nc").with_extension("nc.0000");
        let (file, twin) = (File::open(&cdf).unwrap(), fs::read(&cdf).unwrap());
        let header = match ending {
            "nc" => twin[..file.header().head().header_len as usize].to_vec(),
            _ => {
                let at = bytes.windows(4).position(|four| four == b"CDF\x05").unwrap();
                // It ends before the sector of the first copy; its length is what it says of
                // itself.
                let len = dump_of_header(&path);
                bytes[at..at + len].to_vec()
            }
        };
        let (variables, numrecs) = (variables(&file, &twin), file.numrecs());
        Self { path, bytes, header, variables, numrecs }
    }

    /// Where the heads of both copies are.
    fn heads(&self) -> [usize; 2] {
        let all = self.bytes.windows(MAGIC.len()).enumerate();
        let found: Vec<_> = all.filter(|(_, bytes)| *bytes == MAGIC).map(|(at, _)| at).collect();
        let [first, second] = found[..] else { panic!("{found:?}") };
        let before = self.bytes[..first].windows(self.header.len());
        let header = before.rev().position(|bytes| bytes == self.header).unwrap();
        assert!(first.is_multiple_of(512) && header < 512, "the next sector after the header");
        [first, second]
    }

    fn number(&self, at: usize, size: usize) -> u64 {
        self.bytes[at..at + size].iter().fold(0, |all, byte| all << 8 | u64::from(*byte))
    }

    /// The bytes of the table.
    fn table_len(&self) -> usize {
        4 * 5 * self.variables.len()
    }

    /// Where the tie and the table of a copy are: after the head of copy 0, before that of copy 1.
    fn places(&self, copy: usize) -> [usize; 2] {
        let tie = match copy {
            0 => self.heads()[0] + 64,
            _ => self.heads()[1] - self.table_len() - 24,
        };
        [tie, tie + 24]
    }

    /// What a dump has to list of a copy, by the specification.
    fn expected(&self, copy: usize) -> Vec<Line> {
        let (head, [tie, table]) = (self.heads()[copy], self.places(copy));
        let bytes = |at: usize, len: usize| self.bytes[at..at + len].to_vec();
        let line = |name: String, at: usize, size: usize, value: String| {
            let place = Some((at, bytes(at, size)));
            Line { name, place, value }
        };
        let tie_and_table = bytes(tie, 24 + self.table_len());
        let mut lines = Vec::new();
        for (name, offset, size) in HEAD {
            let hex = |number: u32| format!("{number:#010x}");
            let value = match name {
                "magic" => "\"striae blob seal\"".to_owned(),
                "version" => "2".to_owned(),
                "nblobs" => "5".to_owned(),
                "nvars" => self.variables.len().to_string(),
                "header_crc" => hex(crc(&self.header[12..])),
                "header_len" => self.header.len().to_string(),
                "values_begin" => (self.heads()[1] + 64).to_string(),
                "numrecs" => self.numrecs.to_string(),
                "table_crc" => hex(crc(&tie_and_table)),
                _ => hex(crc(&bytes(head, 60))),
            };
            lines.push(line(format!("seal.{name}[{copy}]"), head + offset, size, value));
        }
        for (name, offset, size) in TIE {
            let value = match name {
                "set" => {
                    let digits = bytes(tie, 16).into_iter().map(|byte| format!("{byte:02x}"));
                    format!("0x{}", digits.collect::<String>())
                }
                "number" => "0".to_owned(),
                _ => "1".to_owned(),
            };
            lines.push(line(format!("seal_tie.{name}[{copy}]"), tie + offset, size, value));
        }
        for row in 0..5 * self.variables.len() {
            let (at, index) = (table + 4 * row, format!("[{copy}][{}][{}]", row / 5, row % 5));
            let value = format!("{:#010x}", self.number(at, 4));
            lines.push(line(format!("seal_row.crc{index}"), at, 4, value));
        }
        lines
    }

    /// Writes the subfile with other bytes at these places.
    fn with(&self, changes: &[(usize, &[u8])]) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for (at, new) in changes {
            bytes[*at..*at + new.len()].copy_from_slice(new);
        }
        fs::write(&self.path, &bytes).unwrap();
        bytes
    }

    /// These lines as they are in a file of other bytes; the values of changed fields are not
    /// compared.
    fn changed(&self, lines: Vec<Line>, bytes: &[u8]) -> Vec<Line> {
        let change = |mut line: Line| {
            if let Some((at, own)) = &mut line.place
                && bytes[*at..*at + own.len()] != own[..]
            {
                *own = bytes[*at..*at + own.len()].to_vec();
                line.value.clear();
            }
            line
        };
        lines.into_iter().map(change).collect()
    }

    /// Compares a dump with what the file has, and gives the lines without a place.
    fn check(&self, dumped: Vec<Line>, bytes: &[u8]) -> Vec<String> {
        let expected = self.changed([self.expected(0), self.expected(1)].concat(), bytes);
        let (fields, derived): (Vec<_>, Vec<_>) =
            dumped.into_iter().partition(|line| line.place.is_some());
        assert_eq!(fields.len(), expected.len());
        for (mut field, expected) in fields.into_iter().zip(expected) {
            if expected.value.is_empty() {
                field.value.clear();
            }
            assert_eq!(field, expected);
        }
        derived.into_iter().map(|line| format!("{}: {}", line.name, line.value)).collect()
    }
}

/// The length of a header, as its dump says.
fn dump_of_header(path: &Path) -> usize {
    let json = output(&["dump", "--json", path.to_str().unwrap()]);
    let rows: Vec<Value> = serde_json::from_slice(&json).unwrap();
    let row = rows.iter().find(|row| row["name"] == "bytes of the header").unwrap();
    row["value"].as_str().unwrap().parse().unwrap()
}

#[test]
fn both_copies_of_a_seal_are_listed_as_they_are_in_the_file() {
    for ending in ["nc", "h5"] {
        let dir = crate::in_memory();
        let sealed = Sealed::new(dir.path(), ending);
        let dumped = dump(&sealed.path);
        assert_eq!(sealed.check(dumped.clone(), &sealed.bytes), [""; 0], "no copy is damaged");

        // A row is of the variable and the blob that its name says.
        let rows = |variable: usize, blob: usize| {
            let name = format!("seal_row.crc[1][{variable}][{blob}]");
            dumped.iter().find(|line| line.name == name).unwrap().value.clone()
        };
        let mut compared = 0;
        for (number, (name, bytes)) in sealed.variables.iter().enumerate() {
            let Some(bytes) = bytes.as_ref().filter(|_| ending == "nc") else { continue };
            assert_eq!(rows(number, 0), format!("{:#010x}", crc(bytes)), "{name}");
            assert!((1..5).all(|blob| rows(number, blob) == "0x00000000"), "{name}");
            compared += 1;
        }
        assert!(compared > 1 || ending == "h5");
    }
}

#[test]
fn a_damaged_copy_is_listed_as_it_is_stored_and_the_other_one_too() {
    for ending in ["nc", "h5"] {
        let dir = crate::in_memory();
        let sealed = Sealed::new(dir.path(), ending);
        let [first, second] = sealed.heads();
        for (copy, head) in [first, second].into_iter().enumerate() {
            let [tie, table] = sealed.places(copy);
            let (in_head, in_table) = ("seal.head_crc at offset", "seal.table_crc at offset");
            for (at, says) in [
                (head + 21, in_head),         // nblobs: its own numbers say where no table is
                (head + 31, in_head),         // header_crc
                (head + 63, in_head),         // head_crc
                (tie + 3, in_table),          // set
                (table + 9, in_table),        // a row
                (head, "not have the magic"), // the other copy has it
            ] {
                let bytes = sealed.with(&[(at, &[!sealed.bytes[at]])]);
                let [damage] = &sealed.check(dump(&sealed.path), &bytes)[..] else {
                    panic!("{at}")
                };
                assert!(damage.starts_with(&format!("damaged seal: copy {copy}: ")), "{damage}");
                assert!(damage.contains(says), "{damage}");
            }
        }
    }
}

#[test]
fn a_seal_that_no_reader_believes_is_listed_before_the_error() {
    for ending in ["nc", "h5"] {
        let dir = crate::in_memory();
        let sealed = Sealed::new(dir.path(), ending);
        let [first, second] = sealed.heads();
        // Then the header of the subfile says where ties and tables are.
        let bytes = sealed.with(&[(first + 20, &[9]), (second + 32, &[0xff; 8])]);
        let offset = format!("seal.head_crc at offset {}", first + 60);
        let args = ["dump", "--json", sealed.path.to_str().unwrap()];
        let derived = sealed.check(lines(&refused(&args, 1, &offset)), &bytes);
        assert_eq!(derived.len(), 2);

        // Cut in the first table: what is there is listed.
        let [_, table] = sealed.places(0);
        fs::write(&sealed.path, &sealed.bytes[..table + 4 * 7 + 3]).unwrap();
        let dumped = dump(&sealed.path);
        let (fields, derived): (Vec<_>, Vec<_>) =
            dumped.into_iter().partition(|line| line.place.is_some());
        assert_eq!(fields, sealed.expected(0)[..HEAD.len() + TIE.len() + 7]);
        assert!(derived.iter().all(|line| line.value.ends_with("the file is cut")), "{derived:?}");
        assert!(!derived.is_empty());
    }
}

/// A header that says where its first value is by mistake leads to the seal all the same.
#[test]
fn a_seal_is_listed_if_the_header_has_a_wrong_offset() {
    let dir = crate::in_memory();
    let sealed = Sealed::new(dir.path(), "nc");
    let right = (sealed.heads()[1] as u64 + 64).to_be_bytes();
    let places = sealed.header.windows(8).enumerate().filter(|(_, bytes)| *bytes == right);
    let places: Vec<_> = places.map(|(at, _)| at).collect();
    let [begin] = places[..] else { panic!("{places:?}") };
    // Before the head of copy 1, inside of copy 0, and after the end of the file.
    let [first, second] = sealed.heads().map(|head| head as u64);
    for wrong in [second - 4, first + 200, 1_u64 << 40] {
        let bytes = sealed.with(&[(begin, &wrong.to_be_bytes())]);
        assert_eq!(sealed.check(dump(&sealed.path), &bytes), [""; 0], "{wrong}");
    }
}

/// Seals of version 1 have no tie; of another version only the head is known.
#[test]
fn a_seal_of_another_version_is_listed_as_that_version_has_it() {
    let dir = crate::in_memory();
    let sealed = Sealed::new(dir.path(), "nc");
    let head = |version: u8, table: &[u8]| {
        let mut head = sealed.bytes[sealed.heads()[0]..][..64].to_vec();
        head[19] = version;
        head[56..60].copy_from_slice(&crc(table).to_be_bytes());
        let own = crc(&head[..60]);
        head[60..].copy_from_slice(&own.to_be_bytes());
        head
    };
    let ([first, second], [_, at]) = (sealed.heads(), sealed.places(0));
    let table = &sealed.bytes[at..at + sealed.table_len()];
    let one = head(1, table);
    let (after, before) = (first + 64, second - table.len());
    sealed.with(&[(first, &one), (after, table), (before, table), (second, &one)]);
    let dumped = dump(&sealed.path);
    assert!(dumped.iter().all(|line| line.place.is_some() && !line.name.contains("tie")));
    for (copy, start) in [after, before].into_iter().enumerate() {
        let rows = dumped.iter().filter(|line| line.name.contains(&format!("crc[{copy}][")));
        let places: Vec<_> = rows.map(|line| line.place.clone().unwrap()).collect();
        let expected = (0..table.len()).step_by(4);
        let expected = expected.map(|at| (start + at, table[at..at + 4].to_vec()));
        assert!(places.into_iter().eq(expected), "copy {copy}");
    }

    let three = head(3, table);
    sealed.with(&[(first, &three), (second, &three)]);
    let args = ["dump", "--json", sealed.path.to_str().unwrap()];
    let dumped = lines(&refused(&args, 1, "seal.version at offset"));
    let fields = dumped.iter().filter(|line| line.place.is_some());
    assert_eq!(fields.count(), 2 * HEAD.len());
}

#[test]
fn a_subfile_without_a_seal_has_no_field_of_one() {
    let path = golden_dir().join("f5h_n5_s1/blob_h1.nc.0000");
    assert_eq!(dump(&path), []);
}
