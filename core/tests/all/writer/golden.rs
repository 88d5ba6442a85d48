//! The golden sets, written once more: every byte is the one that SIONlib wrote.

use super::{Growing, with_memory};
use striae_core::sion::{
    Attributes, FormatVersion, KeyvalMode, Opened, Options, Physical, Records, Writer,
};
use striae_kit::golden_sets::{GoldenSet, golden_sets};

/// Sets whose bytes a writer of ours does not make, and why.
const OTHERS: [(&str, &str); 2] = [
    ("m15_np2_buffered", "SIONlib wrote bytes that it did not count"),
    ("p01_mapped_np2_6tasks_2files", "a mapped writer stores -1 where a chunk is not in use"),
];

#[test]
fn the_files_of_every_golden_set_are_written_byte_for_byte() {
    let mut files = 0;
    for set in golden_sets() {
        let is_other = OTHERS.iter().any(|(name, _)| set.name == *name);
        let closed = set.expected["closed"].as_bool().unwrap();
        if is_other || !closed || set.expected["trailing_bytes"].as_u64() != Some(0) {
            continue;
        }
        for number in 0..set.files.len() {
            files += usize::from(check_file(&set, number));
        }
    }
    assert!(files >= 40, "{files} files were compared");
}

/// Writes file `number` of the set again, if it is of fileformat_version 5.
fn check_file(set: &GoldenSet, number: usize) -> bool {
    let bytes = set.files[number].as_slice();
    let file = closed(bytes);
    let meta1 = *file.meta1();
    if meta1.fileformat_version() != FormatVersion::V5 {
        return false;
    }
    let attributes = Attributes {
        order: meta1.order(),
        data_order: meta1.data_order(),
        fsblksize: meta1.fsblksize(),
        nfiles: meta1.nfiles(),
        filenumber: meta1.filenumber().unwrap(),
        keyval: meta1.keyval() == KeyvalMode::Inline,
    };
    let tasks: Vec<_> = file.tasks([0; 4096]).unwrap().map(|task| task.unwrap().task).collect();
    let table: Vec<_> = tasks.iter().map(|task| (task.globalrank, task.chunks.chunksize)).collect();
    let mapping = mapping_of(&file);
    let prefix = file.prefix().unwrap();
    let written = with_memory(1100, |memory| {
        let options = Options { mapping: &mapping, ..Options::default() };
        let store = Growing::default();
        let mut writer =
            Writer::create(store, &attributes, &prefix, &table[..], memory, options).unwrap();
        for task in &tasks {
            let local = task.local;
            let mut stream = file.stream(*task);
            let mut bytes = vec![0; usize::try_from(stream.total().unwrap()).unwrap()];
            stream.read_all(&mut bytes).unwrap();
            if attributes.keyval {
                for record in Records::new(&mut file.stream(*task), meta1.order()).unwrap() {
                    let record = record.unwrap();
                    let begin = usize::try_from(record.position).unwrap();
                    let value = &bytes[begin..begin + usize::try_from(record.len).unwrap()];
                    writer.write_key(local, record.key, value).unwrap();
                }
                continue;
            }
            let mut rest = bytes.as_slice();
            for chunk in 0..task.blockcount {
                let len = usize::try_from(file.chunk_len(task, chunk).unwrap()).unwrap();
                let (now, later) = rest.split_at(len);
                if chunk > 0 && writer.cursor(local).unwrap().used() > 0 {
                    writer.ensure_free_space(local, task.chunks.chunksize).unwrap();
                }
                now.chunks(100).for_each(|part| writer.write_record(local, part).unwrap());
                rest = later;
            }
        }
        writer.close().unwrap();
        writer.into_store().0
    });
    let differs = written.iter().zip(bytes).position(|(ours, theirs)| ours != theirs);
    assert_eq!((written.len(), differs), (bytes.len(), None), "{} file {number}", set.name);
    true
}

fn closed(bytes: &[u8]) -> Physical<&[u8]> {
    match Physical::open(bytes, &mut [0; 2048]).unwrap() {
        Opened::Closed(file) => file,
        _ => panic!("the file is closed"),
    }
}

fn mapping_of(file: &Physical<&[u8]>) -> Vec<(u32, u32)> {
    let Some(mapping) = file.mapping().unwrap() else { return Vec::new() };
    let entry = |rank| {
        let at = usize::try_from(mapping.entry(rank).unwrap().offset()).unwrap();
        mapping.address(&file.store()[at..at + 8]).unwrap()
    };
    (0..mapping.len()).map(entry).collect()
}

/// It is longer than the window, and stays as it is wherever META2 moves, also if a writer that
/// goes on is given another one.
#[test]
fn a_long_mapping_is_written_in_parts_and_kept() {
    let mapping: Vec<_> = [(0, 0), (0, 1)].into_iter().chain((0..400).map(|at| (1, at))).collect();
    let attributes = Attributes { nfiles: 2, filenumber: 0, ..Attributes::DEFAULT };
    let mut store = Growing::default();
    with_memory(1100, |memory| {
        let (tasks, options) =
            (&[(0, 9), (1, 9)][..], Options { mapping: &mapping, ..Options::default() });
        let writer = Writer::create(&mut store, &attributes, b"set", tasks, memory, options);
        writer.unwrap().close().unwrap();
    });
    let other = vec![(1, 7); mapping.len()];
    let mut places = Vec::new();
    for _ in 0..3 {
        let file = closed(&store.0);
        assert!(mapping_of(&file) == mapping);
        places.push(file.meta2().start());
        with_memory(1100, |memory| {
            let options = Options { mapping: &other, ..Options::default() };
            let mut writer = Writer::reopen(&mut store, memory, options).unwrap();
            writer.write(0, &[1; 512]).unwrap();
            writer.close().unwrap();
        });
    }
    places.dedup();
    assert_eq!(places.len(), 3);
}
