//! Readers.

use std::fmt::Debug;
use std::path::Path;
use striae_core::endian::ByteOrder;
use striae_core::gsd::{NamePlace, NameTable};
use striae_core::integrity::crc32;
use striae_core::sion::{Opened, Physical, Records};
use striae_core::span::{Span, Stride};
use striae_core::step::DriveError;
use striae_core::store::{AsyncReadAt, FixedSize, ReadAt, Section};
use striae_core::{cdf, ffrecord, gsd, hdf5, sion};
use striae_kit::waiting::{Slow, Waits};

/// Shows the files of a folder of `tests/golden` with this ending, whole and cut.
fn each_file(folder: &str, ending: &str, least: u64, mut show: impl FnMut(&[u8], &Waits)) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(folder);
    let mut files = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|it| !it.to_str().unwrap().starts_with(ending)) {
            continue;
        }
        let bytes = std::fs::read(path).unwrap();
        if bytes.len() > 200_000 {
            continue;
        }
        files += 1;
        let waits = Waits::new(files);
        for percent in [100, 97, 50] {
            show(&bytes[..bytes.len() * percent / 100], &waits);
        }
    }
    assert!(files >= least, "golden files are missing: {files}");
}

/// Asserts that two lists are the same: one of items, and one that is waited for.
fn same<T: PartialEq + Debug>(items: impl Iterator<Item = T>, mut next: impl FnMut() -> Option<T>) {
    for item in items {
        assert_eq!(next(), Some(item));
    }
    assert_eq!(next(), None);
}

type Sion<T> = Result<T, DriveError<FixedSize, sion::Error>>;

fn compare_sion(bytes: &[u8], waits: &Waits) {
    let (window, other) = (&mut [0; 1200], &mut [0; 1200]);
    let waiting: Sion<_> = got!(waits, Physical::open_async(Slow::new(bytes, waits), &mut *window));
    let (file, waiting) = match (Physical::open(bytes, other), waiting) {
        (Ok(Opened::Closed(file)), Ok(Opened::Closed(waiting))) => (file, waiting),
        (Ok(Opened::Unclosed(file)), Ok(Opened::Unclosed(waiting))) => {
            assert_eq!(file.head(), waiting.head());
            assert_eq!(file.task(0, other), got!(waits, waiting.task_async(0, &mut *window)));
            return;
        }
        (file, waiting) => return assert_eq!(file.err(), waiting.err()),
    };
    assert_eq!(file.head(), waiting.head());
    assert_eq!(file.prefix(), got!(waits, waiting.prefix_async()));
    assert_eq!(file.mapping(), got!(waits, waiting.mapping_async()));
    assert_eq!(file.seal(), got!(waits, waiting.seal_async()));
    for window in [40, 100, 1200] {
        let tasks = file.tasks(vec![0; window]);
        match (tasks, got!(waits, waiting.tasks_async(vec![0; window]))) {
            (Ok(tasks), Ok(mut waiting)) => same(tasks, || got!(waits, waiting.next_async())),
            (tasks, waiting) => assert_eq!(tasks.err(), waiting.err()),
        }
    }
    let tasks = file.tasks(vec![0; 1200]).into_iter().flatten();
    for task in tasks.map(|listed| listed.unwrap().task).take(5) {
        assert_eq!(
            file.task(task.local, &mut [0; 64]),
            got!(waits, waiting.task_async(task.local, &mut [0; 64]))
        );
        let mut waiting_lens = waiting.chunk_lens(task, [0; 64]);
        same(file.chunk_lens(task, [0; 64]), || got!(waits, waiting_lens.next_async()));
        compare_streams(&file, &waiting, task, waits);
    }
    let (set, waiting) = (sion::Reader::alone(file), sion::Reader::alone(waiting));
    for globalrank in -1..5 {
        let found = set.find_globalrank(globalrank, &mut [0; 24]);
        assert_eq!(found, got!(waits, waiting.find_globalrank_async(globalrank, &mut [0; 24])));
    }
}

fn compare_streams(
    file: &Physical<&[u8]>,
    waiting: &Physical<Slow<&[u8]>>,
    task: sion::Task,
    waits: &Waits,
) {
    let (mut stream, mut waiting) = (file.stream(task), waiting.stream(task));
    let total = stream.total();
    assert_eq!(total, got!(waits, waiting.total_async()));
    let total = total.unwrap();
    for position in [0, total / 2, total.saturating_sub(20), total / 3] {
        let mut buf = vec![0; usize::try_from(total - position).unwrap().min(300)];
        let mut other = buf.clone();
        stream.seek_to(position);
        let read = stream.read_all(&mut buf);
        let waited = got!(waits, {
            waiting.seek_to(position); // some may have been read before it was dropped
            waiting.read_all_async(&mut other)
        });
        assert_eq!((read, buf, stream.position()), (waited, other, waiting.position()));
        assert_eq!(stream.location(), got!(waits, waiting.location_async()));
        for chunk in 0..3 {
            assert_eq!(stream.chunk(chunk), got!(waits, waiting.chunk_async(chunk)));
            let place = stream.position_of(chunk, position);
            assert_eq!(place, got!(waits, waiting.position_of_async(chunk, position)));
        }
        let next = stream.next_span(total);
        assert_eq!(next, got!(waits, waiting.next_span_async(total)));
        assert_eq!(stream.position(), waiting.position());
    }
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let records = Records::new(&mut stream, order).unwrap();
        let mut waiting = got!(waits, Records::new_async(&mut waiting, order)).unwrap();
        let mut key = None;
        for record in records {
            key = record.as_ref().ok().map(|record| record.key).or(key);
            assert_eq!(got!(waits, waiting.next_async()), Some(record));
        }
        assert_eq!(got!(waits, waiting.next_async()), None);
        let Some(key) = key else { continue };
        let mut value = Records::new(&mut stream, order).unwrap().value(key);
        let records = got!(waits, Records::behind_async(waiting.stream(), order, 0)).unwrap();
        let mut waiting = records.value(key);
        let (mut bytes, mut others, mut buf) = (Vec::new(), Vec::new(), [0; 50]);
        let end = loop {
            match value.read(&mut buf) {
                Ok(n @ 1..) => bytes.extend_from_slice(&buf[..n]),
                end => break end,
            }
        };
        let waiting_end = loop {
            match got!(waits, waiting.read_async(&mut buf)) {
                Ok(n @ 1..) => others.extend_from_slice(&buf[..n]),
                end => break end,
            }
        };
        assert_eq!((bytes, end), (others, waiting_end));
    }
}

#[test]
fn readers_of_sion_files_agree() {
    each_file("sion", "sion", 18, compare_sion);
}

fn compare_gsd(bytes: &[u8], waits: &Waits) {
    let (window, other) = (&mut [0; gsd::open::Open::WINDOW], &mut [0; gsd::open::Open::WINDOW]);
    let waiting = got!(waits, gsd::Reader::open_async(Slow::new(bytes, waits), &mut *window));
    let (file, mut waiting) = match (gsd::Reader::open(bytes, other), waiting) {
        (Ok(file), Ok(waiting)) => (file, waiting),
        (file, waiting) => return assert_eq!(file.err(), waiting.err()),
    };
    assert_eq!(file.head(), waiting.head());
    assert_eq!(Ok(false), got!(waits, waiting.refresh_async(window)));
    for window in [16, 70, 500] {
        let (mut names, mut waiting_names) =
            (file.names(vec![0; window]), waiting.names(vec![0; window]));
        loop {
            let next = names.next().map(|next| next.map(|(id, name)| (id, name.to_vec())));
            let waited = got!(waits, async {
                let next = waiting_names.next_async().await;
                next.map(|next| next.map(|(id, name)| (id, name.to_vec())))
            });
            assert_eq!(next, waited);
            let Ok(Some((_, name))) = next else { break };
            let id = file.name_id(&name, &mut [0; 100]);
            assert_eq!(id, got!(waits, waiting.name_id_async(&name, &mut [0; 100])));
        }
    }
    let (mut memory, mut waiting_memory) = ([NamePlace::EMPTY; 200], [NamePlace::EMPTY; 200]);
    let table = NameTable::fill(&file, &mut memory, &mut [0; 50]).unwrap();
    waits.drop_at(usize::MAX); // a table that was begun borrows the memory
    let window = &mut [0; 50];
    let filled = waits.run(NameTable::fill_async(&waiting, &mut waiting_memory, window));
    let waiting_table = filled.unwrap().unwrap();
    for name in [&b"log/quantity_042"[..], b"configuration/step", b"no such name"] {
        let waited = got!(waits, waiting_table.id_async(&waiting, name, &mut [0; 20]));
        assert_eq!(table.id(&file, name, &mut [0; 20]), waited);
    }
    for frames in [0..u64::MAX, 1..3] {
        let chunks = file.chunks_of(frames.clone(), vec![0; 100]).unwrap();
        let waited = got!(waits, waiting.chunks_of_async(frames.clone(), vec![0; 100]));
        let mut waiting_chunks = waited.unwrap();
        same(chunks, || got!(waits, waiting_chunks.next_async()));
    }
    for chunk in file.chunks(vec![0; 500]).take(20).flatten() {
        let found = file.find(chunk.frame, chunk.id, &mut [0; 96]);
        let waited = got!(waits, waiting.find_async(chunk.frame, chunk.id, &mut [0; 96]));
        assert_eq!(found, waited);
        let (mut buf, mut other) = ([0; 64], [0; 64]);
        let read = file.read(chunk.span, &mut buf);
        assert_eq!(read, got!(waits, waiting.read_async(chunk.span, &mut other)));
        assert_eq!(buf, other);
    }
}

#[test]
fn readers_of_gsd_files_agree() {
    each_file("gsd", "gsd", 18, compare_gsd);
}

fn compare_ffrecord(bytes: &[u8], waits: &Waits) {
    let waiting = got!(waits, ffrecord::Reader::open_async(Slow::new(bytes, waits), &mut [0; 12]));
    let (file, waiting) = match (ffrecord::Reader::open(bytes, &mut [0; 12]), waiting) {
        (Ok(file), Ok(waiting)) => (file, waiting),
        (file, waiting) => return assert_eq!(file.err(), waiting.err()),
    };
    assert_eq!(file.head(), waiting.head());
    assert_eq!(
        file.check_meta(&mut [0; 50], crc32),
        got!(waits, waiting.check_meta_async(&mut [0; 50], crc32))
    );
    for window in [20, 50, 200] {
        let mut waiting = waiting.samples(0..30, vec![0; window]);
        same(file.samples(0..30, vec![0; window]), || got!(waits, waiting.next_async()));
    }
    for number in 0..10 {
        let sample = file.sample(number, &mut [0; 20]);
        assert_eq!(sample, got!(waits, waiting.sample_async(number, &mut [0; 20])));
        let Ok(sample) = sample else { continue };
        assert_eq!(
            file.check(&sample, &mut [0; 50], crc32),
            got!(waits, waiting.check_async(&sample, &mut [0; 50], crc32))
        );
    }
}

#[test]
fn readers_of_ffrecord_files_agree() {
    each_file("ffrecord", "ffr", 18, compare_ffrecord);
}

fn compare_cdf(bytes: &[u8], waits: &Waits) {
    let (mut lengths, mut other, mut window) = ([0; 64], [0; 64], [0; 300]);
    let Ok(file) = cdf::Reader::open(bytes, &mut lengths, &mut window) else { return };
    waits.drop_at(usize::MAX); // a file that was begun borrows the memory
    let store = Slow::new(bytes, waits);
    let opened = waits.run(cdf::Reader::open_async(store, &mut other, &mut window));
    let waiting = opened.unwrap().unwrap();
    for variable in file.variables([0; 300]) {
        let name = variable.unwrap().var.name;
        for len in [256, 1] {
            let (mut buf, mut other) = (vec![0; len], vec![0; len]);
            let waited = got!(waits, async {
                let name = waiting.name_async(name, &mut other).await;
                name.map(|name| name.map(str::to_owned))
            });
            assert_eq!(file.name(name, &mut buf).map(|name| name.map(str::to_owned)), waited);
        }
    }
}

#[test]
fn readers_of_cdf_files_agree() {
    each_file("cdf", "nc", 18, compare_cdf);
}

fn compare_hdf5(bytes: &[u8], waits: &Waits) {
    let mut memory = [0; hdf5::Reader::<()>::MEMORY];
    let mut other = memory;
    let waiting = got!(waits, hdf5::Reader::open_async(Slow::new(bytes, waits), &mut other));
    let (file, waiting) = match (hdf5::Reader::open(bytes, &mut memory), waiting) {
        (Ok(file), Ok(waiting)) => (file, waiting),
        (file, waiting) => return assert_eq!(file.err(), waiting.err()),
    };
    assert_eq!(file.root(), waiting.root());
    for name in [&b"header_blob"[..], b"data_blob", b"D1", b"no such name"] {
        let array = file.dataset(name, &mut memory);
        assert_eq!(array, got!(waits, waiting.dataset_async(name, &mut other)));
        let attribute = file.attribute(name, &mut memory);
        assert_eq!(attribute, got!(waits, waiting.attribute_async(name, &mut other)));
        let Ok(Some(array)) = array else { continue };
        compare_sections((file.store(), waiting.store()), array.values, waits);
    }
}

fn compare_sections((store, waiting): (&&[u8], &Slow<&[u8]>), span: Span, waits: &Waits) {
    let (section, waiting) = (Section::new(store, span), Section::new(waiting, span));
    assert_eq!(section.size(), got!(waits, waiting.size()));
    for at in [0, span.len() / 2, span.len(), u64::MAX] {
        let (mut buf, mut other) = ([0; 9], [0; 9]);
        let read = section.read_exact_at(at, &mut buf);
        assert_eq!(read, got!(waits, waiting.read_exact_at(at, &mut other)));
        let one = [Stride::one(Span::new(at / 2, 9).unwrap())];
        let read = section.read_spans_at(&one, &mut buf);
        assert_eq!(read, got!(waits, waiting.read_spans_at(&one, &mut other)));
        assert!(read.is_err() || buf == other);
    }
}

#[test]
fn readers_of_hdf5_files_agree() {
    each_file("hdf5", "h5", 14, compare_hdf5);
}
