//! Does to GSD files what it reads from standard input, for programs that compare us with gsd.
//!
//! A line is an operation, its words separated by one space; names and bytes are in hexadecimal
//! digits, `-` stands for none. For each there is a line of answer: `ok`, or `error` and the text
//! of the error.
//!
//! ```text
//! create PATH LAYER ALIGN CHECKSUMS INDEX_SLOTS SHOWN_SLOTS NAMES_LEN MEMORY
//! open PATH MEMORY                     MEMORY is the writer's, in chunks
//! chunk NAME TYPE M BYTES
//! stream NAME TYPE M BYTES BYTES ...   a chunk that comes in pieces
//! end_frame, discard_frame, commit, close, upgrade, truncate
//! fail OPERATIONS                      one fails after so many of the store; `-` is none
//! drop                                 leaves the file without a commit
//! list PATH                            `ok` and all of the file as JSON
//! rewrite PATH                         the same names and frames in a file of ours, and behind
//!                                      them what is left of a writer that died
//! ```
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

use std::error::Error;
use std::io::{BufRead as _, Write as _, stdin, stdout};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use striae::posix::PosixFile;
use striae_core::gsd::{Attributes, ChunkType, Reader, Slot, Version, Writer};
use striae_core::store::{ReadAt, WriteAt};

type Failure = Box<dyn Error>;

fn main() {
    let mut driver = Driver { writer: None };
    let mut answers = stdout().lock();
    for line in stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<_> = line.split(' ').collect();
        let answer = match driver.run(&words) {
            Ok(text) => format!("ok {text}"),
            Err(error) => format!("error {error}"),
        };
        writeln!(answers, "{}", answer.trim_end()).unwrap();
        answers.flush().unwrap();
    }
}

struct Driver {
    writer: Option<Writer<Unsynced, Vec<Slot>>>,
}

impl Driver {
    fn run(&mut self, words: &[&str]) -> Result<String, Failure> {
        match *words {
            [
                "create",
                path,
                layer,
                align,
                checksums,
                index_slots,
                shown_slots,
                names_len,
                memory,
            ] => {
                let about = Attributes {
                    application: "gsd_ops",
                    schema: "none",
                    schema_version: Version { major: 1, minor: 2 },
                    layer: version(layer),
                    align: align.parse()?,
                    checksums: checksums == "1",
                    one_sync: memory.parse::<usize>()? % 2 == 1,
                    index_slots: index_slots.parse()?,
                    shown_slots: shown_slots.parse()?,
                    names_len: names_len.parse()?,
                };
                self.writer = Some(Writer::create(store(path, true)?, &about, slots(memory)?)?);
            }
            ["open", path, memory] => {
                self.writer = Some(Writer::open(store(path, false)?, slots(memory)?)?);
            }
            ["chunk", name, kind, m, bytes] => {
                let id = self.writer().name(&unhex(name))?;
                self.writer().write_chunk(id, kind_of(kind), m.parse()?, &unhex(bytes))?;
            }
            ["stream", name, kind, m, ref pieces @ ..] => {
                let id = self.writer().name(&unhex(name))?;
                let mut chunk = self.writer().begin_chunk(id, kind_of(kind), m.parse()?)?;
                for piece in pieces {
                    chunk.write(&unhex(piece))?;
                }
                chunk.finish()?;
            }
            ["end_frame"] => return Ok(self.writer().end_frame()?.to_string()),
            ["discard_frame"] => self.writer().discard_frame(),
            ["fail", operations] => {
                FUEL.store(operations.parse().unwrap_or(u64::MAX), Ordering::Relaxed);
            }
            ["commit"] => self.writer().commit()?,
            ["close"] => {
                self.writer().close()?;
                self.writer = None;
            }
            ["drop"] => self.writer = None,
            ["upgrade"] => self.writer().upgrade()?,
            ["truncate"] => self.writer().truncate()?,
            ["list", path] => return list(path),
            ["rewrite", path] => rewrite(path)?,
            _ => panic!("no operation: {words:?}"),
        }
        Ok(String::new())
    }

    fn writer(&mut self) -> &mut Writer<Unsynced, Vec<Slot>> {
        self.writer.as_mut().unwrap()
    }
}

/// All of a file: listed, and each chunk found once more by its frame and name.
fn list(path: &str) -> Result<String, Failure> {
    let bytes = std::fs::read(path)?;
    let mut window = [0; 4096];
    let file = Reader::open(bytes.as_slice(), &mut window)?;
    let mut names = Vec::new();
    let mut list = file.names(vec![0; 65536]);
    while let Some((_, name)) = list.next()? {
        names.push(hex(name));
    }
    let mut chunks = Vec::new();
    for chunk in file.chunks([0; 4096]) {
        let chunk = chunk?;
        let name = &names[usize::from(chunk.id)];
        let id = file.name_id(&unhex(name), &mut window)?;
        assert_eq!(id, Some(chunk.id), "{path}: {name} is found elsewhere");
        let found = file.find(chunk.frame, chunk.id, &mut window)?;
        assert_eq!(found, Some(chunk), "{path}: is found elsewhere");
        let mut data = vec![0; usize::try_from(chunk.span.len()).unwrap()];
        file.read(chunk.span, &mut data)?;
        chunks.push(serde_json::json!({
            "frame": chunk.frame, "name": name, "type": chunk.kind.name(),
            "N": chunk.n, "M": chunk.m, "bytes": hex(&data),
        }));
    }
    let head = file.head();
    let about = serde_json::json!({
        "frames": file.frames(), "names": names, "chunks": chunks,
        "gsd_version": head.header.version.to_string(),
        "state": format!("{:?}", head.state).split(['(', ' ']).next(),
    });
    Ok(about.to_string())
}

/// Writes a file anew, in several commits, and leaves a frame behind that was not committed.
fn rewrite(path: &str) -> Result<(), Failure> {
    let bytes = std::fs::read(path)?;
    let mut window = [0; 4096];
    let file = Reader::open(bytes.as_slice(), &mut window)?;
    let header = file.head().header;
    let about = Attributes {
        application: header.application.as_str().ok_or("application is no text")?,
        schema: header.schema.as_str().ok_or("schema is no text")?,
        schema_version: header.schema_version,
        layer: if header.version.is_sorted() { Version::LAYER } else { header.version },
        ..Attributes::default()
    };
    let mut writer = Writer::create(store(path, true)?, &about, vec![Slot::EMPTY; 1000])?;
    let mut list = file.names(vec![0; 65536]);
    while let Some((_, name)) = list.next()? {
        writer.add_name(name)?;
    }
    for chunk in file.chunks([0; 4096]) {
        let chunk = chunk?;
        while writer.frames() < chunk.frame {
            writer.end_frame()?;
            if writer.frames() % 3 == 0 {
                writer.commit()?;
            }
        }
        let mut data = vec![0; usize::try_from(chunk.span.len())?];
        file.read(chunk.span, &mut data)?;
        writer.write_chunk(chunk.id, chunk.kind, chunk.m, &data)?;
    }
    writer.end_frame()?;
    writer.close()?;
    drop(writer);
    if file.head().names > 0 {
        let mut writer = Writer::open(store(path, false)?, vec![Slot::EMPTY])?;
        writer.write_chunk(0, ChunkType::U8, 1, b"never committed")?;
        writer.end_frame()?; // with so little memory its entry is written
    }
    Ok(())
}

fn store(path: &str, create: bool) -> std::io::Result<Unsynced> {
    let path = Path::new(path);
    let file = if create { PosixFile::create(path, true) } else { PosixFile::open_rw(path) };
    Ok(Unsynced(file?))
}

fn slots(chunks: &str) -> Result<Vec<Slot>, Failure> {
    Ok(vec![Slot::EMPTY; chunks.parse()?])
}

fn version(text: &str) -> Version {
    let (major, minor) = text.split_once('.').unwrap();
    Version { major: major.parse().unwrap(), minor: minor.parse().unwrap() }
}

fn kind_of(name: &str) -> ChunkType {
    ChunkType::ALL.into_iter().find(|kind| kind.name() == name).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| u8::try_from(pair.iter().fold(0, |a, b| a * 16 + b)).unwrap())
        .collect()
}

/// Operations of the store until one fails.
static FUEL: AtomicU64 = AtomicU64::new(u64::MAX);

/// A file that nobody waits for: nothing here is ever cut.
#[derive(Debug)]
struct Unsynced(PosixFile);

impl Unsynced {
    fn spend() -> std::io::Result<()> {
        match FUEL.fetch_sub(1, Ordering::Relaxed) {
            0 => Err(std::io::Error::other("was told to fail")),
            _ => Ok(()),
        }
    }
}

impl ReadAt for Unsynced {
    type Error = std::io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> std::io::Result<usize> {
        self.0.read_at(offset, buf)
    }

    fn size(&self) -> std::io::Result<u64> {
        self.0.size()
    }
}

impl WriteAt for Unsynced {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> std::io::Result<()> {
        Self::spend()?;
        self.0.write_all_at(offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> std::io::Result<()> {
        Self::spend()?;
        self.0.set_size(len)
    }

    fn sync(&mut self) -> std::io::Result<()> {
        Self::spend()
    }
}
