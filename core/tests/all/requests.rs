//! How many requests a reader makes of a store far away ([`Far`]).
//!
//! `cargo test -p striae-core --test all requests:: -- --nocapture` prints the figures.

use embedded_io::ReadExactError;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use striae_core::sion::{Opened, Physical, Reader, Records};
use striae_core::span::{Span, Stride};
use striae_core::store::{FixedSize, ReadAhead, ReadAt};
use striae_core::{cdf, ffrecord, gsd, hdf5};
use striae_kit::far::Far;
use striae_kit::golden_sets::golden_sets;
use striae_kit::gsd_files::{Entry, Made};
use striae_kit::sion_file::{SionFile, SionTask};

/// What was done and what came of it, and the requests and bytes that it took.
type Log = Vec<(&'static str, String, (u64, u64))>;

/// Notes the work since the last note.
struct Notes<'f> {
    far: &'f Far<'f>,
    before: (u64, u64),
    log: Log,
}

impl<'f> Notes<'f> {
    fn new(far: &'f Far<'f>) -> Self {
        Self { far, before: (0, 0), log: Vec::new() }
    }

    fn note(&mut self, what: &'static str, found: impl std::fmt::Debug) {
        let now = self.far.asked();
        let spent = (now.0 - self.before.0, now.1 - self.before.1);
        self.log.push((what, format!("{found:?}"), spent));
        self.before = now;
    }
}

/// The window of each call.
pub(crate) const WINDOW: usize = 4096;

fn read_sion<S: ReadAt>(store: &S, notes: &mut Notes<'_>) {
    let mut window = [0; WINDOW];
    let opened = Physical::open(store, &mut window);
    notes.note("open", opened.as_ref().map(Opened::head).map_err(drop));
    let Ok(opened) = opened else { return };
    let list = opened.tasks(window).map(|tasks| tasks.map(|task| task.map_err(drop)).collect());
    let list: Result<Vec<_>, _> = list.map_err(drop);
    notes.note("list", &list);
    let Opened::Closed(file) = opened else { return };
    let last = file.meta1().ntasks() - 1;
    let task = file.task(last, &mut window).map_err(drop);
    notes.note("find", task);
    let Ok(task) = task else { return };
    let lens: Vec<_> = file.chunk_lens(task, window).map(|len| len.map_err(drop)).collect();
    notes.note("lengths", lens);
    let mut stream = file.stream(task);
    notes.note("lengths", stream.total().map_err(drop));
    let first = stream.chunk(0).map_or(0, |stretch| stretch.len);
    let mut bytes = vec![0; first as usize];
    let read = stream.read_all(&mut bytes).map(|()| bytes).map_err(drop);
    notes.note("read", read);
    notes.note("seal", file.seal().map_err(drop));
    notes.note("rank", Reader::alone(file).find_globalrank(task.globalrank, &mut window).ok());
    if file.meta1().keyval() != striae_core::sion::KeyvalMode::None {
        let records = Records::new(&mut stream, file.meta1().order()).unwrap();
        let records: Vec<_> = records.map(|record| record.map_err(drop)).collect();
        notes.note("records", records);
    }
}

fn read_gsd<S: ReadAt>(store: &S, notes: &mut Notes<'_>) {
    let mut window = [0; WINDOW];
    let opened = gsd::Reader::open(store, &mut window);
    notes.note("open", opened.as_ref().map(gsd::Reader::head).map_err(|error| error.to_string()));
    let Ok(file) = opened else { return };
    let mut names = file.names(window);
    let mut all = Vec::new();
    while let Ok(Some((_, name))) = names.next() {
        all.push(name.to_vec());
    }
    let last = all.last().cloned().unwrap_or_default();
    notes.note("list", all);
    notes.note("name", file.name_id(&last, &mut window).map_err(drop));
    let chunks: Vec<_> = file.chunks(window).map(|chunk| chunk.map_err(drop)).collect();
    notes.note("list", &chunks);
    let Some(&Ok(chunk)) = chunks.get(chunks.len() / 2) else { return };
    notes.note("search", file.find(chunk.frame, chunk.id, &mut window).map_err(drop));
    let mut bytes = vec![0; chunk.span.len() as usize];
    notes.note("read", file.read(chunk.span, &mut bytes).map(|_| bytes).map_err(drop));
}

fn read_cdf<S: ReadAt>(store: &S, notes: &mut Notes<'_>) {
    let (mut window, mut lengths) = ([0; WINDOW], vec![0; 5000]);
    let opened = cdf::Reader::open(store, &mut lengths, &mut window);
    notes.note("open", opened.as_ref().map(cdf::Reader::head).map_err(|error| error.to_string()));
    let Ok(file) = opened else { return };
    let dims: Vec<_> = file.dims(window).map(|dim| dim.map_err(drop)).collect();
    notes.note("list", dims);
    let attrs: Vec<_> = file.attrs(None, window).map(|attr| attr.map_err(drop)).collect();
    notes.note("list", attrs);
    let variables: Vec<_> = file.variables(window).map(|var| var.map_err(drop)).collect();
    notes.note("list", &variables);
    let Some(&Ok(variable)) = variables.last() else { return };
    let mut name = [0; 256];
    let name = file.name(variable.var.name, &mut name).unwrap().unwrap();
    notes.note("name", name);
    notes.note("find", file.variable(name.as_bytes(), &mut window).map_err(drop));
    let mut shape = [0; 16];
    notes.note("shape", file.shape(&variable, &mut shape, &mut window).map_err(drop));
    let Ok(span) = file.record(&variable, 0) else { return };
    let mut bytes = vec![0; span.len() as usize];
    notes.note("read", file.read(span, &mut bytes).map(|_| bytes).map_err(drop));
}

fn read_ffrecord<S: ReadAt>(store: &S, notes: &mut Notes<'_>) {
    let mut window = [0; WINDOW];
    let opened = ffrecord::Reader::open(store, &mut window);
    notes.note("open", opened.as_ref().map(ffrecord::Reader::head).map_err(|e| e.to_string()));
    let Ok(file) = opened else { return };
    let samples = file.samples(0..file.n(), window).map(|sample| sample.map_err(drop));
    let samples: Vec<_> = samples.collect();
    notes.note("list", &samples);
    let middle = file.n() / 2;
    notes.note("find", file.sample(middle, &mut window).map_err(drop));
    let Some(&Ok(sample)) = samples.get(middle as usize) else { return };
    let mut bytes = vec![0; sample.span.len() as usize];
    notes.note("read", file.read(sample.span, &mut bytes).map(|_| bytes).map_err(drop));
}

fn read_hdf5<S: ReadAt>(store: &S, notes: &mut Notes<'_>) {
    let mut memory = [0; hdf5::Reader::<()>::MEMORY];
    let opened = hdf5::Reader::open(store, &mut memory);
    notes.note("open", opened.as_ref().map(hdf5::Reader::root).map_err(|e| e.to_string()));
    let Ok(file) = opened else { return };
    let links: Vec<_> = file.links(&mut memory).map(|link| link.map_err(drop)).collect();
    notes.note("list", &links);
    let attributes: Vec<_> = file.attributes(&mut memory).map(|it| it.map_err(drop)).collect();
    notes.note("list", &attributes);
    let Some(Ok(link)) = links.last() else { return };
    let mut name = vec![0; link.name.len() as usize];
    store.read_exact_at(link.name.offset(), &mut name).unwrap();
    notes.note("name", &name);
    let array = file.dataset(&name, &mut memory).map_err(drop);
    notes.note("find", array);
    let Ok(Some(array)) = array else { return };
    let mut bytes = vec![0; array.values.len() as usize];
    store.read_exact_at(array.values.offset(), &mut bytes).unwrap();
    notes.note("read", bytes);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Format {
    Sion,
    Gsd,
    Cdf,
    Ffrecord,
    Hdf5,
}

fn read<S: ReadAt>(format: Format, store: &S, notes: &mut Notes<'_>) {
    match format {
        Format::Sion => read_sion(store, notes),
        Format::Gsd => read_gsd(store, notes),
        Format::Cdf => read_cdf(store, notes),
        Format::Ffrecord => read_ffrecord(store, notes),
        Format::Hdf5 => read_hdf5(store, notes),
    }
}

/// Reads a file without memory between, and with so many bytes of it, and compares what is found.
fn logs(format: Format, bytes: &[u8], memory: usize) -> (Log, Log) {
    let far = Far::new(bytes);
    let mut notes = Notes::new(&far);
    read(format, &&far, &mut notes);
    let near = notes.log;
    let (far, mut memory) = (Far::new(bytes), vec![0; memory]);
    let mut notes = Notes::new(&far);
    read(format, &ReadAhead::new(&far, &mut memory), &mut notes);
    assert_eq!(near.len(), notes.log.len());
    for (one, other) in near.iter().zip(&notes.log) {
        assert_eq!((one.0, &one.1), (other.0, &other.1), "{format:?}");
    }
    (near, notes.log)
}

/// The golden files of all formats.
fn golden() -> Vec<(Format, String, Vec<u8>)> {
    let mut files = Vec::new();
    for set in golden_sets() {
        for (number, bytes) in set.files.into_iter().enumerate() {
            files.push((Format::Sion, format!("{} {number}", set.name), bytes));
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let format = match name.as_str() {
                name if name.ends_with(".gsd") => Format::Gsd,
                name if name.ends_with(".nc") || name.contains(".nc.0") => Format::Cdf,
                name if name.ends_with(".ffr") => Format::Ffrecord,
                name if name.ends_with(".h5") || name.contains(".h5.0") => Format::Hdf5,
                _ => continue,
            };
            files.push((format, name, std::fs::read(path).unwrap()));
        }
    }
    files
}

/// The most requests and bytes of each operation: without memory between, and with it.
type Most = BTreeMap<(Format, &'static str), [(u64, u64); 2]>;

/// The most requests of an operation.
fn most(what: &str) -> u64 {
    if what == "open" { 3 } else { 1 }
}

/// Reads files with so many bytes of memory, prints what it took, and checks the bound.
fn check(title: &str, files: &[(Format, String, Vec<u8>, usize)], bound: fn(Format, &str) -> u64) {
    let mut most = Most::new();
    let mut wrong = Vec::new();
    for (format, name, bytes, memory) in files {
        let (near, ahead) = logs(*format, bytes, *memory);
        for ((what, _, one), (_, _, other)) in near.iter().zip(&ahead) {
            let entry = most.entry((*format, *what)).or_default();
            *entry = [entry[0].max(*one), entry[1].max(*other)];
            if other.0 > bound(*format, what) {
                wrong.push((name, *what, *other));
            }
        }
    }
    println!("{title}: the most requests and bytes, without ReadAhead and with it");
    for ((format, what), [near, ahead]) in most {
        println!("{format:?} {what}: {near:?} -> {ahead:?}");
    }
    assert!(wrong.is_empty(), "{title}: {wrong:#?}");
}

#[test]
fn a_golden_file_takes_three_requests_to_open_and_one_for_each_list_and_read() {
    let files = golden();
    assert!(files.len() > 120, "{}", files.len());
    let with = |memory: fn(usize) -> usize, file: &(Format, String, Vec<u8>)| {
        let (format, name, bytes) = file.clone();
        let memory = memory(bytes.len());
        (format, name, bytes, memory)
    };
    let all: Vec<_> = files.iter().map(|file| with(|_| 1 << 16, file)).collect();
    check("64 KiB", &all, |_, what| most(what));
    // so much that no file is read whole, because half of the memory is less
    let twice = files.iter().map(|file| with(|len| (2 * len).saturating_sub(17), file));
    let twice: Vec<_> = twice.collect();
    check("twice the file", &twice, |format, what| match (format, what) {
        // an object header may go on anywhere in the file, and again from there: nothing but the
        // part before says where
        (Format::Hdf5, "list") => 2,
        _ => most(what),
    });
}

/// A header of CDF-5 with so many dimensions and variables, and zeros behind it.
fn wide_cdf(count: u64, len: usize) -> Vec<u8> {
    let mut bytes = b"CDF\x05".to_vec();
    let mut put = |tag: Option<u32>, numbers: &[u64]| {
        bytes.extend(tag.into_iter().flat_map(u32::to_be_bytes));
        bytes.extend(numbers.iter().flat_map(|number| number.to_be_bytes()));
    };
    put(None, &[0]); // no records
    put(Some(10), &[count]);
    let name = |number| {
        let name = format!("n{number:07}");
        u64::from_be_bytes(name.as_bytes().try_into().unwrap())
    };
    for number in 0..count {
        put(None, &[8, name(number), 1 + number % 3]);
    }
    put(Some(0), &[0]); // no attributes
    put(Some(11), &[count]);
    let begin = count * (24 + 64) + 100;
    for number in 0..count {
        put(None, &[8, name(number), 1, number]); // one dimension
        put(Some(0), &[0]); // no attributes
        put(Some(6), &[8 * (1 + number % 3), begin + 24 * number]); // doubles
    }
    assert!(bytes.len() as u64 <= begin && (begin + 24 * count) as usize <= len);
    bytes.resize(len, 0);
    bytes
}

/// A file that gsd could have written: chunks of `names` names in each frame, and free slots.
fn wide_gsd(frames: u64, names: u16, slots: usize, len: usize) -> Vec<u8> {
    let one = |frame, id| Entry { frame, id, n: 1, m: 1, location: 4000, kind: 1, flags: 0 };
    let entries = (0..frames).flat_map(|frame| (0..names).map(move |id| one(frame, id)));
    let mut file = Made::new(entries.collect(), names.into());
    file.slots = slots;
    let mut bytes = file.bytes();
    assert!(bytes.len() <= len);
    bytes.resize(len, 0);
    bytes
}

/// A file of SIONlib with so many tasks of so many chunks.
pub(crate) fn wide_sion(tasks: i64, chunks: usize) -> Vec<u8> {
    let chunks = || (0..chunks).map(|chunk| vec![7; 100 + chunk]).collect();
    let task = |globalrank| SionTask { globalrank, chunksize: 512, chunks: chunks() };
    SionFile { tasks: (0..tasks).map(task).collect(), ..SionFile::default() }.bytes()
}

#[test]
fn tasks_chunks_names_and_dimensions_take_no_more_requests() {
    let files = [
        (Format::Sion, "5000 tasks", wide_sion(5000, 2), 1 << 19),
        (Format::Sion, "400 chunks", wide_sion(20, 400), 1 << 18),
        (Format::Gsd, "32768 slots", wide_gsd(3000, 10, 1 << 15, 4 << 20), 3 << 19),
        (Format::Gsd, "3000 names", wide_gsd(8, 3000, 1 << 15, 4 << 20), 3 << 19),
        (Format::Cdf, "2000 dimensions", wide_cdf(2000, 4 << 20), 1 << 19),
    ];
    let files = files.map(|(format, name, bytes, memory)| {
        let (near, _) = logs(format, &bytes, memory);
        let whole = |(_, found, _): &(_, String, _)| !found.contains("Err");
        assert!(near.len() >= 6 && near.iter().all(whole), "{name} is not read: {near:?}");
        (format, name.to_owned(), bytes, memory)
    });
    check("large files", &files, |_, what| most(what));
}

#[test]
fn an_index_that_the_memory_does_not_hold_takes_one_request_more() {
    for (slots, memory) in [(1 << 15, 1 << 16), (1 << 17, 1 << 17), (1 << 18, 1 << 19)] {
        let bytes = wide_gsd(slots as u64 / 20, 10, slots, slots * 40);
        let (far, mut memory) = (Far::new(&bytes), vec![0; memory]);
        let store = ReadAhead::new(&far, &mut memory);
        let file = gsd::Reader::open(&store, &mut [0; WINDOW]).unwrap();
        assert_eq!(file.head().entries, slots as u64 / 20 * 10);
        assert!(far.asked().0 <= 4, "{}", far.asked().0);
    }
}

#[test]
fn spans_near_each_other_are_one_request_however_many_they_are() {
    let (bytes, mut memory) = (vec![7; 1 << 20], vec![0; 1 << 14]);
    let far = Far::new(&bytes);
    let store = ReadAhead::new(&far, &mut memory);
    let read = |spans: &[Span]| {
        store.forget();
        let before = far.asked().0;
        let spans: Vec<_> = spans.iter().map(|&span| Stride::one(span)).collect();
        store.will_read(&spans);
        for span in spans {
            store.read_exact_at(span.first().offset(), &mut [0; 8]).unwrap();
        }
        far.asked().0 - before - 1 // that for the length
    };
    let span = |offset| Span::new(offset, 8).unwrap();
    // three tables of each of 15 parts of the file, which are far from each other; then of 16
    let tables: Vec<_> = (0..15 * 3).map(|n| span(((n % 15) << 16) + n / 15 * 8)).collect();
    assert_eq!(read(&tables), 1);
    let tables: Vec<_> = (0..16 * 3).map(|n| span(((n / 3) << 16) + n % 3 * 8)).collect();
    assert_eq!(read(&tables), 1);
    // of 17 parts one has no place
    let tables: Vec<_> = (0..17).map(|n| span(n << 15)).collect();
    assert_eq!(read(&tables), 2);
}

#[test]
fn a_table_of_names_is_filled_by_one_request() {
    let bytes = wide_gsd(8, 3000, 1 << 15, 4 << 20);
    let far = Far::new(&bytes);
    let file = gsd::Reader::open(&far, &mut [0; WINDOW]).unwrap();
    // three quarters hold the list, and half of it does not
    let mut memory = vec![0; file.head().name_list().len() as usize * 3 / 2];
    let file = gsd::Reader::open(ReadAhead::new(&far, &mut memory), &mut [0; WINDOW]).unwrap();
    file.store().forget();
    let before = far.asked().0;
    let mut places = vec![gsd::NamePlace::EMPTY; 3000];
    let names = gsd::NameTable::fill(&file, &mut places, &mut [0; 100]).unwrap();
    assert_eq!(names.len(), 3000);
    assert_eq!(far.asked().0 - before, 2, "one is for the length");
}

/// The numbers of an xorshift generator.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[test]
fn any_read_of_any_memory_gets_the_bytes_of_the_file() {
    let mut state = 1;
    let bytes: Vec<u8> = (0..5000).map(|_| random(&mut state) as u8).collect();
    for memory in [0, 1, 15, 16, 100, 1000, 4096, 9999, 10_000, 20_000] {
        let (far, mut memory) = (Far::new(&bytes), vec![0; memory]);
        let store = ReadAhead::new(&far, &mut memory);
        let mut below = |most: u64| random(&mut state) % most;
        for _ in 0..2000 {
            if below(3) == 0 {
                let spans = [(); 4].map(|()| {
                    let first = Span::new(below(6000), below(300)).unwrap();
                    Stride::new(first, first.len() + below(700), below(6)).unwrap()
                });
                store.will_read(&spans);
            }
            let (offset, len) = (below(5200) as usize, 1 + below(1500) as usize);
            let mut buf = vec![0; len];
            let end = offset + len;
            match bytes.get(offset..end) {
                Some(wanted) => {
                    store.read_exact_at(offset as u64, &mut buf).unwrap();
                    assert_eq!(buf, wanted);
                }
                None => {
                    let read = store.read_exact_at(offset as u64, &mut buf);
                    assert_eq!(read, Err(ReadExactError::UnexpectedEof));
                }
            }
        }
    }
}

/// A store whose length can change.
struct Changing(Cell<usize>);

impl ReadAt for Changing {
    type Error = FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
        [self.0.get() as u8; 100][..self.0.get()].read_at(offset, buf)
    }

    fn size(&self) -> Result<u64, FixedSize> {
        Ok(self.0.get() as u64)
    }
}

#[test]
fn a_file_that_changed_is_read_again_after_forget() {
    let mut memory = [0; 512];
    let store = ReadAhead::new(Changing(Cell::new(50)), &mut memory);
    let read = || {
        let mut bytes = [0; 100];
        store.read_at(0, &mut bytes).map(|n| bytes[..n].to_vec())
    };
    assert_eq!(read(), Ok(vec![50; 50]));
    store.store().0.set(60);
    assert_eq!((read(), store.size()), (Ok(vec![50; 50]), Ok(50)));
    store.forget();
    assert_eq!((read(), store.size()), (Ok(vec![60; 60]), Ok(60)));
}

#[test]
fn a_file_that_was_cut_is_read_up_to_its_end() {
    let mut memory = [0; 512];
    let store = ReadAhead::new(Changing(Cell::new(50)), &mut memory);
    assert_eq!(store.size(), Ok(50));
    store.store().0.set(40);
    store.will_read(&[Stride::one(Span::new(30, 20).unwrap())]);
    let mut bytes = [0; 50];
    assert_eq!(store.read_at(30, &mut bytes), Ok(10));
    assert_eq!(bytes[..11], [40, 40, 40, 40, 40, 40, 40, 40, 40, 40, 0]);
    assert_eq!(store.read_exact_at(30, &mut bytes[..11]), Err(ReadExactError::UnexpectedEof));
}
