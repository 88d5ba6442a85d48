//! The body of `sion_reopen`: a writer that goes on with any file that can be read leaves what is
//! in it as it is, and adds what is written.

use crate::bounded::{Bounded, Full};
use crate::held::is_sealed;
use striae_core::endian::ByteOrder;
use striae_core::sion::{
    Error, Finished, KeyvalMode, Memory, Meta1, Opened, Options, Pen, Physical, Writer,
};
use striae_core::step::DriveError;
use striae_kit::everything::{TaskSummary, read_within_budget};
use striae_kit::sion_file::SionFile;

/// Tasks that are written to. Each may enter a block of its own, for which all of META2 is moved.
const WRITES: usize = 4;

/// Bytes by which a file may grow.
const GROWTH: usize = 1 << 16;

/// A file that can be read.
struct Readable<'a> {
    file: Physical<&'a [u8]>,
    tasks: Vec<TaskSummary>,
    has_mapping_error: bool,
    /// Whether it has a seal; `None` if that is not right.
    sealed: Option<bool>,
}

impl<'a> Readable<'a> {
    fn new(bytes: &'a [u8]) -> Option<Self> {
        let summary = read_within_budget(bytes).ok()?;
        let has_mapping_error = summary.mapping.is_err();
        let tasks = summary.tasks.ok()?.into_iter().collect::<Result<Vec<_>, _>>().ok()?;
        match Physical::open(bytes, &mut [0; Meta1::MAX_LEN]) {
            Ok(Opened::Closed(file)) => {
                Some(Self { sealed: is_sealed(&file), file, tasks, has_mapping_error })
            }
            _ => None,
        }
    }

    /// Whether a writer may refuse to go on with it.
    fn may_refuse(&self, error: &Error) -> bool {
        match error {
            Error::Checksum { .. }
            | Error::TooLarge { .. }
            | Error::TooSmall { .. }
            | Error::SealMagic { .. }
            | Error::NotAsSealed { .. } => self.sealed.is_none(),
            Error::FileFull { .. } => true,
            _ => self.has_mapping_error,
        }
    }

    fn streams(&self) -> Vec<Vec<u8>> {
        self.tasks.iter().map(|task| task.stream.clone()).collect()
    }
}

/// The input is a byte of choices and a physical SIONlib file.
pub fn sion_reopen(data: &[u8]) {
    let Some((&choices, bytes)) = data.split_first() else { return };
    let Some(old) = Readable::new(bytes) else { return };
    let mut pens = vec![Pen::EMPTY; old.tasks.len()];
    let mut ledger = [Finished::EMPTY; 2 * WRITES];
    let mut window = vec![0xee; Meta1::MAX_LEN + (usize::from(choices & 0xc0) << 6)];
    let memory = Memory { pens: &mut pens, ledger: &mut ledger, window: &mut window };
    let options = Options { ahead: (choices & 3).into(), ..Options::default() };
    let mut store = Bounded::new(bytes, GROWTH);
    let mut writer = match Writer::reopen(&mut store, memory, options) {
        Ok(writer) => writer,
        Err(DriveError::Format(error)) if old.may_refuse(&error) => {
            assert!(store.changes.is_empty(), "a file that was refused was changed");
            return;
        }
        Err(error) => panic!("a file that can be read was refused: {error}"),
    };
    let streams = write_a_little(&mut writer, &old, choices);
    let committed = match choices >> 4 & 3 {
        0 => writer.close(),
        1 => writer.commit(),
        2 => writer.commit().and_then(|()| writer.close()),
        _ => Err(DriveError::Store(Full)), // that is, none
    };
    match committed {
        Ok(()) | Err(DriveError::Store(Full) | DriveError::Format(Error::FileFull { .. })) => {}
        Err(error) => panic!("{error}"),
    }
    let new = Readable::new(&store.bytes).expect("what a writer left cannot be read");
    let is_new = new.streams() == streams;
    assert!(is_new || committed.is_err() && new.streams() == old.streams(), "other streams");
    for (old, new) in old.tasks.iter().zip(&new.tasks) {
        let count = old.lens.len().saturating_sub(1); // the last one may be longer
        assert_eq!(old.lens[..count], new.lens[..count]);
        assert_eq!(old.listed.task.globalrank, new.listed.task.globalrank);
    }
    if old.sealed.is_some() {
        assert_eq!(new.sealed, old.sealed, "the seal was right");
    }
}

/// Writes to a few tasks, and returns all streams as they should be then.
fn write_a_little(
    writer: &mut Writer<'_, &mut Bounded>,
    old: &Readable<'_>,
    choices: u8,
) -> Vec<Vec<u8>> {
    let value = [b'n'; 23];
    let meta1 = old.file.meta1();
    let is_keyval = meta1.keyval() == KeyvalMode::Inline;
    let big_endian = meta1.order() == ByteOrder::Big;
    let header = SionFile { big_endian, ..SionFile::default() }.record_header(7, 23);
    let header = if is_keyval { header } else { Vec::new() };
    let mut streams = old.streams();
    let step = (streams.len() / WRITES).max(1);
    for (stream, local) in streams.iter_mut().zip(0..).step_by(step).take(WRITES) {
        let written = match choices & 0xc {
            _ if is_keyval => writer.write_key(local, 7, &value),
            0 => writer.write_record(local, &value),
            _ => writer.write(local, &value),
        };
        match written {
            Ok(()) => stream.extend([&header, &value[..]].concat()),
            Err(DriveError::Format(Error::RecordTooLong { chunksize, .. })) if chunksize < 23 => {}
            Err(DriveError::Format(
                Error::NoRoom | Error::LedgerFull { .. } | Error::FileFull { .. },
            )) => {}
            Err(DriveError::Store(Full)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    streams
}
