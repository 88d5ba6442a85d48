//! Speed of reading, converting and writing blob sets, as ratios to a named baseline measured in
//! the same run.
//!
//! `cargo bench -p striae --bench blob`, or with `-- converting`, `-- writing` or `-- reading` a
//! part of it; files go to `STRIAE_BENCH_DIR`, or else to the folder for temporary files. Ours and
//! the baseline take turns; a row shows the median of the ratios of their times: below 1 is faster
//! than the baseline. Rows of bytes and of memory show what they name.
#![allow(
    missing_docs,
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark: it runs by hand, on files of its own"
)]

mod made;
#[path = "../table/mod.rs"]
mod table;

use made::{CLOUD, Case, NCOL, NLEV, RANKS, bytes, remove};
use rustix::process::{Resource, Rlimit, setrlimit};
use std::fs;
use std::hint::black_box;
use std::io::{Read, Write};
use std::num::NonZeroUsize;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use striae::Output;
use striae::blob::{Container, Convert, OpenOptions, Set};
use striae::cdf::{self, Region};
use striae::striae_core::cdf::{Cursor, Item};
use striae::striae_core::endian::ByteOrder;
use striae::striae_core::source::Window;
use table::{ROUNDS, row, row_prepared};

/// Subfiles of the largest set.
const MANY: u32 = 4096;

fn main() {
    let (dir, args) = table::begin();
    let (dir, args) = (dir.path(), args.iter().map(String::as_str).collect::<Vec<_>>());
    if let ["memory", what, path] = args[..] {
        return memory_of(what, Path::new(path));
    }
    table::head();
    let wanted = |part| args.is_empty() || args.contains(&part);
    if wanted("converting") {
        for records in [1, 10] {
            for kind in [Container::Cdf, Container::Hdf5] {
                converting(dir, kind, 1, records);
                converting(dir, kind, 4, records);
            }
        }
        many(dir);
    }
    if wanted("writing") {
        for kind in [Container::Cdf, Container::Hdf5] {
            for threads in [1, 2] {
                writing(dir, kind, threads, Turn::Variable);
                writing(dir, kind, threads, Turn::Rank);
            }
        }
        pieces(dir, Turn::Variable);
        pieces(dir, Turn::Rank);
    }
    if wanted("reading") {
        opening(dir);
        column(dir);
        streaming(dir);
    }
}

/// Reads files and writes their bytes to another one, from start to end.
fn copy(files: &[PathBuf], to: &Path) {
    let (mut to, mut buffer) = (fs::File::create(to).unwrap(), vec![0; 1 << 18]);
    for file in files {
        let mut file = fs::File::open(file).unwrap();
        loop {
            match file.read(&mut buffer).unwrap() {
                0 => break,
                len => to.write_all(&buffer[..len]).unwrap(),
            }
        }
    }
}

/// Makes the canonical file with one thread.
fn convert(set: &Path, out: &Path) {
    let output = Output::new().threads(NonZeroUsize::MIN);
    Convert::new().output(output).run(&Set::open(set).unwrap(), out, &|_| ()).unwrap();
}

fn converting(dir: &Path, container: Container, subfiles: u32, records: u64) {
    let (path, out, copied) = (dir.join("in"), dir.join("out.nc"), dir.join("copy"));
    let files = Case::f().write(&path, (container, subfiles), records);
    let clean = || {
        let _ = fs::remove_file(&out);
        let _ = fs::remove_file(&copied);
    };
    let (name, size) = (container.name(), bytes(&files) >> 20);
    let what = format!("convert {size} MiB in {subfiles} subfiles, {name}, {records} records");
    let rounds = if records == 1 { 3 * ROUNDS } else { ROUNDS };
    let baseline = "read of the subfiles, write of as many bytes";
    row_prepared(&what, baseline, rounds, clean, || convert(&path, &out), || copy(&files, &copied));
    clean();
    remove(&files);
}

/// A set of many subfiles, with at most 64 open descriptors.
fn many(dir: &Path) {
    for container in [Container::Cdf, Container::Hdf5] {
        let path = dir.join("many");
        let files = Case::of_many(MANY).write(&path, (container, MANY), 2);
        let what = format!("convert {MANY} subfiles, {}, with 64 descriptors", container.name());
        table::memory("peak memory", &what, "many", &path);
        remove(&files);
    }
}

/// What runs in a process of its own, also in one whose instructions are counted.
fn memory_of(what: &str, path: &Path) {
    match what {
        "make" => return drop(Case::f().write(path, (Container::Cdf, 1), 1)),
        "make hdf5" => return drop(Case::f().write(path, (Container::Hdf5, 1), 10)),
        "write" => {
            let (case, values) = (Case::f(), vec![1.5; (NCOL * NLEV) as usize]);
            let writer = case.create(path, (Container::Cdf, 1), 1);
            (0..RANKS).for_each(|rank| case.fill(&writer, &[rank], 1, &values));
            return writer.close().unwrap();
        }
        "open" => return drop(black_box(Set::open(path).unwrap())),
        "convert" => return convert(path, &path.with_extension("nc")),
        _ => {}
    }
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), maximum: Some(64) }).unwrap();
    let out = path.with_extension("out");
    convert(path, &out);
    fs::remove_file(out).unwrap();
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("{}", peak.trim());
}

/// What a thread with several ranks does first.
#[derive(Clone, Copy)]
enum Turn {
    /// One variable of all its ranks, as a model writes them.
    Variable,
    /// All variables of one rank.
    Rank,
}

impl Turn {
    const fn first(self) -> &'static str {
        match self {
            Self::Variable => "variable by variable",
            Self::Rank => "rank by rank",
        }
    }
}

/// Writes as many bytes to a new file, each thread its share from start to end.
fn plain(path: &Path, size: u64, threads: u32) {
    let file = fs::File::create(path).unwrap();
    let share = size / u64::from(threads);
    std::thread::scope(|scope| {
        for thread in 0..u64::from(threads) {
            let file = &file;
            scope.spawn(move || {
                let piece = vec![7; 1 << 18];
                for at in (0..share).step_by(piece.len()) {
                    let len = (share - at).min(piece.len() as u64) as usize;
                    file.write_all_at(&piece[..len], thread * share + at).unwrap();
                }
            });
        }
    });
}

/// The limit of `writing`: the pieces of 64 variables that the ranks have, each by one `pwrite` at
/// its place. A piece is as long as those of the large variables of the set.
fn pieces(dir: &Path, turn: Turn) {
    let raw = dir.join("raw");
    let (variables, ranks, piece) = (64, u64::from(RANKS), vec![7; 33_000]);
    let len = piece.len() as u64;
    let write = || {
        let file = fs::File::create(&raw).unwrap();
        let write = |variable, rank| {
            file.write_all_at(&piece, (variable * ranks + rank) * len).unwrap();
        };
        match turn {
            Turn::Variable => {
                (0..variables).for_each(|v| (0..ranks).for_each(|rank| write(v, rank)));
            }
            Turn::Rank => (0..ranks).for_each(|rank| (0..variables).for_each(|v| write(v, rank))),
        }
    };
    let size = variables * ranks * len;
    let clean = || drop(fs::remove_file(&raw));
    let what = format!("the same by pwrite of each piece, {}", turn.first());
    row_prepared(&what, "pwrite of as many bytes", 3 * ROUNDS, clean, write, || {
        plain(&raw, size, 1);
    });
    clean();
}

/// Ranks hand over their values, many threads at once.
fn writing(dir: &Path, container: Container, threads: u32, turn: Turn) {
    let (path, raw) = (dir.join("out"), dir.join("raw"));
    let (case, values) = (Case::f(), vec![1.5; (NCOL * NLEV) as usize]);
    let size = bytes(&case.write(&path, (container, 1), 1));
    let per_thread = RANKS / threads;
    let clean = || {
        let _ = fs::remove_file(dir.join("out.0000"));
        let _ = fs::remove_file(&raw);
    };
    let ours = || {
        let writer = case.create(&path, (container, 1), 1);
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (case, writer, values) = (&case, &writer, &values);
                let ranks: Vec<_> = (thread * per_thread..(thread + 1) * per_thread).collect();
                let at_once = match turn {
                    Turn::Variable => ranks.len(),
                    Turn::Rank => 1,
                };
                scope.spawn(move || {
                    ranks.chunks(at_once).for_each(|ranks| case.fill(writer, ranks, 1, values));
                });
            }
        });
        writer.close().unwrap();
    };
    let plain = || plain(&raw, size, threads);
    let (name, size) = (container.name(), size >> 20);
    let what = format!("write {size} MiB by {threads} threads, {name}, {}", turn.first());
    row_prepared(&what, "pwrite of as many bytes", 3 * ROUNDS, clean, ours, plain);
    clean();
}

/// Opens the set and the canonical file, against reading the header and going over its items.
fn opening(dir: &Path) {
    let (path, canonical) = (dir.join("in"), dir.join("out.nc"));
    let files = Case::f().write(&path, (Container::Cdf, 1), 1);
    convert(&path, &canonical);
    let scan = |path: &Path| {
        let file = fs::File::open(path).unwrap();
        let mut bytes = vec![0; 1 << 18];
        file.read_exact_at(&mut bytes, 0).unwrap();
        let window = Window::new(0, &bytes, file.metadata().unwrap().len());
        let mut cursor = Cursor::new(ByteOrder::Big);
        loop {
            match cursor.next(&window).unwrap() {
                (Item::End { header_len }, _) => return header_len,
                (_, next) => cursor = next,
            }
        }
    };
    let len = scan(&files[0]);
    let open = || drop(black_box(Set::open(&path).unwrap()));
    let baseline = "read of it and a scan of its items";
    let what = format!("open a set with a header of {len} bytes");
    row(&what, baseline, 9 * ROUNDS, open, || _ = black_box(scan(&files[0])));
    let what = format!("open its canonical file with a header of {} bytes", scan(&canonical));
    let open = || drop(black_box(cdf::File::open(&canonical).unwrap()));
    row(&what, baseline, 9 * ROUNDS, open, || _ = black_box(scan(&canonical)));
    fs::remove_file(canonical).unwrap();
    remove(&files);
}

/// One column on all levels and in all records of one variable: how many bytes are read.
fn column(dir: &Path) {
    const RECORDS: u64 = 30;
    for container in [Container::Cdf, Container::Hdf5] {
        let path = dir.join("column");
        let files = Case::f().write(&path, (container, 4), RECORDS);
        let read = || -> u64 {
            let counts = fs::read_to_string("/proc/self/io").unwrap();
            counts.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
        };
        let before = read();
        let set = Set::open(&path).unwrap();
        let region = Region { start: &[0, 0, 433], count: &[RECORDS, NLEV, 1], stride: None };
        let values = set.read_region::<f64>(set.variable(CLOUD).unwrap(), region).unwrap();
        let percent = (read() - before) as f64 * 100.0 / bytes(&files) as f64;
        assert_eq!(values.len() as u64, RECORDS * NLEV);
        let what = format!("bytes read for one column of {CLOUD} in {RECORDS} records");
        println!("| {what}, {} | bytes of the set | {percent:.2} % |", container.name());
        remove(&files);
    }
}

/// Reads a long variable, against reading its bytes, copying them and turning each value round.
fn streaming(dir: &Path) {
    const RECORDS: u64 = 100;
    let (path, canonical) = (dir.join("in"), dir.join("out.nc"));
    let case = Case::one();
    let files = case.write(&path, (Container::Cdf, 1), RECORDS);
    convert(&path, &canonical);
    let len = NCOL * NLEV * RECORDS * 8;
    let plain = |path: &Path| {
        let file = fs::File::open(path).unwrap();
        let (mut piece, mut at) = (vec![0; 1 << 18], fs::metadata(path).unwrap().len() - len);
        let mut values: Vec<f64> = Vec::with_capacity((len / 8) as usize);
        while values.len() < values.capacity() {
            let part = piece.len().min((values.capacity() - values.len()) * 8);
            file.read_exact_at(&mut piece[..part], at).unwrap();
            let of = |bytes: &[u8]| f64::from_be_bytes(bytes.try_into().unwrap());
            values.extend(piece[..part].chunks_exact(8).map(of));
            at += part as u64;
        }
        drop(black_box(values));
    };
    let baseline = "read, copy and swap of as many bytes";
    let of_file = || {
        let file = cdf::File::open(&canonical).unwrap();
        drop(black_box(file.read::<f64>(file.variable(CLOUD).unwrap()).unwrap()));
    };
    row("read 48 MiB of a variable", baseline, ROUNDS, of_file, || plain(&canonical));
    let of_set = || {
        let set = OpenOptions::new().threads(NonZeroUsize::MIN).open(&path).unwrap();
        drop(black_box(set.read::<f64>(set.variable(CLOUD).unwrap()).unwrap()));
    };
    row("the same from a set of 16 ranks", baseline, ROUNDS, of_set, || plain(&canonical));
    fs::remove_file(canonical).unwrap();
    remove(&files);
}
