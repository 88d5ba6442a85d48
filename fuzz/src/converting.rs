//! The body of `sion_convert`: sets that are written anew by the adapter, in a temporary folder
//! that is in memory if the system has such a place.

use crate::held::is_sealed;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::Path;
use striae::Verify;
use striae::error::ErrorKind;
use striae::sion::{Convert, File, OpenOptions, Opened};
use striae_core::endian::ByteOrder;
use striae_core::sion::{self as core_sion, Error, KeyvalMode, Meta1, Physical, Record, SealState};
use striae_inspect::size::Demand;
use striae_kit::everything::{Summary, TaskSummary, read_within_budget};
use tempfile::TempDir;

/// Largest fsblksize of a new file: new files are sparse, but tests may run on any file system.
const MAX_FSBLKSIZE: u32 = 1 << 16;

/// A folder with the input as the file `in`.
fn folder(input: &[u8]) -> TempDir {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    std::fs::write(folder.path().join("in"), input).unwrap();
    folder
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// A task as it should be, or is.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Task {
    globalrank: i64,
    stream: Vec<u8>,
    /// Records, and whether all of the stream is one.
    records: Option<(Vec<Record>, bool)>,
}

/// All tasks of a file in memory, if it can be read.
fn expected(summary: Summary) -> Option<Vec<Task>> {
    let task = |task: Result<TaskSummary, Error>| {
        let task = task.ok()?;
        Some(Task {
            globalrank: task.listed.task.globalrank,
            stream: task.stream,
            records: task.records.map(|(records, error)| (records, error.is_none())),
        })
    };
    summary.tasks.ok()?.into_iter().map(task).collect()
}

/// All tasks of a set.
fn found(file: &File) -> Vec<Task> {
    let tasks = file.tasks().unwrap().map(|entry| {
        let entry = entry.unwrap();
        let mut stream = file.stream_of(&entry).unwrap();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut stream, &mut bytes).unwrap();
        let records = (file.keyval() == KeyvalMode::Inline).then(|| {
            let (mut records, mut is_whole) = (Vec::new(), true);
            for record in stream.records().unwrap() {
                match record {
                    Ok(record) => records.push(record),
                    Err(_) => is_whole = false,
                }
            }
            (records, is_whole)
        });
        Task { globalrank: entry.place.globalrank, stream: bytes, records }
    });
    tasks.collect()
}

/// A set that was just written: it can be opened, and nothing is wrong with it.
fn open_sound(path: &Path) -> File {
    let mut damage = Vec::new();
    let summary =
        Verify::new().sion(path, &mut |finding| damage.push(finding.to_string())).unwrap();
    assert!(summary.is_sound(), "{damage:?}");
    File::open(path).unwrap()
}

/// What a byte of choices says.
fn convert(choices: u8, fsblksize: u8, most: u32) -> (Convert, u32) {
    let nfiles = NonZeroU32::new(u32::from(choices & 3) + 1).unwrap();
    let threads = NonZeroUsize::new(1 + usize::from(choices >> 7)).unwrap();
    let mut convert = Convert::new().nfiles(nfiles).output(striae::Output::new().threads(threads));
    if choices & 4 != 0 {
        let is_big = choices & 8 != 0;
        convert = convert.order(if is_big { ByteOrder::Big } else { ByteOrder::Little });
    }
    if choices & 16 != 0 {
        convert = convert.sealed(choices & 32 != 0);
    }
    if choices & 64 != 0 || most > MAX_FSBLKSIZE {
        convert = convert.fsblksize(1 + u32::from(fsblksize) * 16);
    }
    (convert, nfiles.get())
}

/// Whether there is a seal; `None` if it is not right. All chunks must be readable.
pub(crate) fn has_right_seal(bytes: &[u8]) -> Option<bool> {
    match Physical::open(bytes, &mut [0; Meta1::MAX_LEN]) {
        Ok(core_sion::Opened::Closed(file)) => is_sealed(&file),
        _ => None,
    }
}

/// The input is a byte of choices, an fsblksize in one more, and a physical SIONlib file.
pub fn sion_convert(data: &[u8]) {
    let [choices, fsblksize, bytes @ ..] = data else { return };
    let Ok(summary) = read_within_budget(bytes) else { return };
    let (true, Some(old)) = (summary.closed, expected(summary)) else { return };
    let folder = folder(bytes);
    let (input, out) = (folder.path().join("in"), folder.path().join("out"));
    let Ok(Opened::Closed(set)) = OpenOptions::new().alone(true).open(&input) else {
        panic!("it was opened before");
    };
    assert_eq!(found(&set), old, "the adapter reads other streams");
    let (_, head) = set.files().next().unwrap();
    let meta1 = head.meta1;
    let (convert, nfiles) = convert(*choices, *fsblksize, meta1.fsblksize());
    let order = match choices & 12 {
        4 => ByteOrder::Little,
        12 => ByteOrder::Big,
        _ => meta1.order(),
    };
    let is_cut = |task: &Task| task.records.as_ref().is_some_and(|records| !records.1);
    let must_fail = u64::from(nfiles) > set.ntasks() || old.iter().any(is_cut);
    let may_fail = must_fail || has_right_seal(bytes).is_none();
    if let Err(error) = convert.run(&set, &out, &|_| {}) {
        assert!(may_fail || matches!(error.kind(), ErrorKind::TooLarge { .. }), "{error}");
        assert_eq!(names(&folder), ["in"], "a run that failed left something");
        return;
    }
    assert!(!must_fail, "what cannot be done was done");
    assert_eq!(names(&folder).len(), 1 + usize::try_from(nfiles).unwrap());
    let new = open_sound(&out);
    assert_eq!(new.files().len(), usize::try_from(nfiles).unwrap());
    let size: u64 = new.files().map(|(_, head)| head.file_len).sum();
    let own = (set.ntasks() + u64::from(nfiles)) * (64 + 4096);
    let existing = u64::try_from(bytes.len()).unwrap();
    assert!(Demand { size, existing, own }.is_fair(), "{size} bytes of {existing}");
    let has_seal = |set: &File| {
        set.reader().files().iter().all(|file| matches!(file.seal(), Ok(SealState::Sealed(_))))
    };
    let sealed = if choices & 16 == 0 { has_seal(&set) } else { choices & 32 != 0 };
    assert_eq!(has_seal(&new), sealed);
    assert_eq!(new.keyval() == KeyvalMode::Inline, set.keyval() == KeyvalMode::Inline);
    for (_, head) in new.files() {
        assert_eq!((head.meta1.order(), head.meta1.data_order()), (order, meta1.data_order()));
    }
    let new = found(&new);
    assert_eq!(new.len(), old.len());
    for (new, old) in new.iter().zip(&old) {
        let is_other_order = old.records.is_some() && order != meta1.order();
        assert_eq!((new.globalrank, &new.records), (old.globalrank, &old.records));
        if is_other_order {
            assert_eq!(values(new), values(old));
        } else {
            assert_eq!(new.stream, old.stream);
        }
    }
}

/// The stream without the headers of its records.
fn values(task: &Task) -> Vec<&[u8]> {
    let records = task.records.iter().flat_map(|(records, _)| records);
    let at = |n| usize::try_from(n).unwrap();
    records.map(|record| &task.stream[at(record.position)..][..at(record.len)]).collect()
}
