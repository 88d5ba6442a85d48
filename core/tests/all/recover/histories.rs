//! Files of core's writer after random histories, damaged: see [`striae_kit::history`].

use super::recover;
use std::cell::RefCell;
use std::rc::Rc;
use striae_core::endian::ByteOrder;
use striae_core::sion::{Attributes, Error, Finished, Memory, Options, Pen, Writer};
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, WriteAt};
use striae_kit::history::{Dice, Facts, Found, History, Ledger, damages, seeds};

/// A file in memory whose writer may be killed: after so many writes all fail.
#[derive(Debug, Clone, Default)]
pub(crate) struct Mortal {
    pub(crate) bytes: Rc<RefCell<Vec<u8>>>,
    pub(crate) writes: Rc<RefCell<Option<usize>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Killed;

impl core::fmt::Display for Killed {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("killed")
    }
}

impl core::error::Error for Killed {}

impl embedded_io::Error for Killed {
    fn kind(&self) -> embedded_io::ErrorKind {
        embedded_io::ErrorKind::Other
    }
}

impl Mortal {
    fn live(&self) -> Result<(), Killed> {
        match &mut *self.writes.borrow_mut() {
            Some(0) => Err(Killed),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl ReadAt for Mortal {
    type Error = Killed;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Killed> {
        Ok(self.bytes.borrow().as_slice().read_at(offset, buf).unwrap())
    }

    fn size(&self) -> Result<u64, Killed> {
        Ok(self.bytes.borrow().len() as u64)
    }
}

impl WriteAt for Mortal {
    fn write_all_at(&mut self, offset: u64, new: &[u8]) -> Result<(), Killed> {
        self.live()?;
        let (mut bytes, start) = (self.bytes.borrow_mut(), offset as usize);
        let len = bytes.len().max(start + new.len());
        bytes.resize(len, 0);
        bytes[start..start + new.len()].copy_from_slice(new);
        Ok(())
    }

    fn set_size(&mut self, len: u64) -> Result<(), Killed> {
        self.live()?;
        self.bytes.borrow_mut().resize(len as usize, 0);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Killed> {
        self.live()
    }
}

type Failure = DriveError<Killed, Error>;

/// How a file is written.
#[derive(Debug, Clone)]
struct Plan {
    attributes: Attributes,
    tasks: Vec<(i64, u64)>,
    sealed: bool,
    ahead: u32,
    mapping: Vec<(u32, u32)>,
}

impl Plan {
    fn new(dice: &mut Dice) -> Self {
        let ntasks = dice.one_of(&[1, 1, 2, 2, 2, 3, 4, 5, 29, 70]);
        let sizes = dice.one_of(&[&[512u64][..], &[4096], &[8, 100, 40], &[600, 0, 64, 1000]]);
        let tasks = (0..ntasks).map(|rank| (rank, dice.one_of(sizes))).collect();
        let (nfiles, filenumber) = dice.one_of(&[(1, 0), (1, 1), (2, 0), (2, 1)]);
        let has_mapping = (nfiles, filenumber) == (2, 0);
        let mapping = (0..ntasks as u32).map(|local| (0, local)).filter(|_| has_mapping);
        let attributes = Attributes {
            order: dice.one_of(&[ByteOrder::Little, ByteOrder::Little, ByteOrder::Big]),
            fsblksize: dice.one_of(&[1, 16, 512, 512, 4096]),
            nfiles,
            filenumber,
            keyval: dice.below(4) == 0,
            ..Attributes::default()
        };
        let (sealed, ahead) = (dice.below(2) == 0, dice.one_of(&[0, 0, 1, 5, 40]));
        Self { attributes, tasks, sealed, ahead, mapping: mapping.collect() }
    }
}

/// A file that is being written.
struct Run {
    plan: Plan,
    store: Mortal,
    history: History,
}

/// Why a session ended.
enum End {
    Reopen,
    All,
}

impl Run {
    fn history(seed: u64) -> History {
        let mut dice = Dice(seed);
        let plan = Plan::new(&mut dice);
        let what = format!(
            "history {seed}: {} tasks, {:?}, sealed {}, ahead {}, keyval {}:",
            plan.tasks.len(),
            &plan.tasks[..plan.tasks.len().min(4)],
            plan.sealed,
            plan.ahead,
            plan.attributes.keyval,
        );
        let empty = vec![vec![]; plan.tasks.len()];
        let (bytes, committed, live) = (vec![], empty.clone(), empty);
        let (abandoned, places) = (vec![], vec![]);
        let history = History { what, bytes, committed, live, abandoned, places };
        let mut run = Self { plan, store: Mortal::default(), history };
        let acts = dice.below(10) + 1;
        let dies = (dice.below(3) == 0).then(|| dice.below(acts));
        let (mut done, mut is_new) = (0, true);
        while done < acts {
            match run.session(&mut dice, is_new, &mut done, acts, dies) {
                Ok(End::Reopen) => is_new = false,
                Ok(End::All) => break,
                Err(DriveError::Store(Killed)) => {
                    run.history.what.push_str(" killed");
                    break;
                }
                Err(error) => panic!("{}: {error:?}", run.history.what),
            }
        }
        run.history.bytes = run.store.bytes.borrow().clone();
        run.history
    }

    /// Does `acts` up to a reopening.
    fn session(
        &mut self,
        dice: &mut Dice,
        is_new: bool,
        done: &mut usize,
        acts: usize,
        dies: Option<usize>,
    ) -> Result<End, Failure> {
        let (mut pens, mut ledger) = ([Pen::EMPTY; 128], vec![Finished::EMPTY; 4096]);
        let mut window = vec![0; 2048];
        let memory = Memory { pens: &mut pens, ledger: &mut ledger, window: &mut window };
        let Plan { sealed, ahead, mapping, attributes, tasks } = self.plan.clone();
        let options = Options { sealed, ahead, mapping: &mapping, ..Options::default() };
        let store = self.store.clone();
        let mut writer = match is_new {
            true => Writer::create(store, &attributes, b"m", tasks.as_slice(), memory, options)?,
            false => Writer::reopen(store, memory, options)?,
        };
        while *done < acts {
            *done += 1;
            if dies == Some(*done) {
                *self.store.writes.borrow_mut() = Some(dice.below(12));
            }
            match dice.below(9) {
                0..=4 => self.write(&mut writer, dice, attributes.keyval, &tasks)?,
                5 | 6 => {
                    writer.commit()?;
                    self.history.committed(" commit", &self.store.bytes.borrow());
                }
                7 => {
                    writer.close()?;
                    self.history.committed(" close", &self.store.bytes.borrow());
                    return Ok(End::Reopen);
                }
                _ if self.history.places.is_empty() => {}
                _ => {
                    self.history.what.push_str(" dropped");
                    let left = std::mem::take(&mut self.history.live);
                    self.history.abandoned.push(left);
                    self.history.live = self.history.committed.clone();
                    return Ok(End::Reopen);
                }
            }
        }
        Ok(End::All)
    }

    fn write(
        &mut self,
        writer: &mut Writer<'_, Mortal>,
        dice: &mut Dice,
        keyval: bool,
        tasks: &[(i64, u64)],
    ) -> Result<(), Failure> {
        let local = dice.below(tasks.len());
        if tasks[local].1 == 0 {
            return Ok(());
        }
        let len = dice.one_of(&[1, 20, 100, 300, 700, 1500]);
        let bytes = dice.bytes(len);
        self.history.what.push_str(&format!(" {local}+{len}"));
        if keyval {
            let big = writer.meta1().order() == ByteOrder::Big;
            let number = |n: u64| if big { n.to_be_bytes() } else { n.to_le_bytes() };
            let header = [number(7), number(len as u64)].concat();
            self.history.live[local].extend([&header[..], &bytes].concat());
            return writer.write_key(local as u32, 7, &bytes);
        }
        self.history.live[local].extend(&bytes);
        match dice.below(3) {
            0 if len as u64 <= tasks[local].1 => writer.write_record(local as u32, &bytes),
            _ => writer.write(local as u32, &bytes),
        }
    }
}

/// All streams of a file, as far as META1 can be read.
fn found(bytes: &[u8]) -> Vec<Found> {
    let streams = recover(bytes).unwrap().into_iter();
    let found = streams.map(|stream| Found {
        exact: stream.is_sound(),
        why: stream.recovered.certainty.to_string(),
        bytes: stream.bytes,
    });
    found.collect()
}

#[test]
fn what_is_sound_was_committed_whatever_the_history_and_the_damage() {
    let mut ledger = Ledger::default();
    for seed in seeds(60, 10_000) {
        let history = Run::history(seed);
        if Facts::try_of(&history.bytes).is_none() {
            continue; // killed before META1 was whole
        }
        ledger.histories += 1;
        let mut dice = Dice(!seed);
        damages(&history, &mut dice, &mut |damaged| {
            ledger.enter(&history, damaged, &found(&damaged.bytes));
        });
    }
    ledger.close();
}

#[test]
fn meta2_that_no_field_leads_to_is_not_taken_for_records() {
    let mut ledger = Ledger::default();
    for seed in [830, 5464, 6437] {
        let history = Run::history(seed); // killed in a commit, with an older META2 in the blocks
        damages(&history, &mut Dice(!seed), &mut |damaged| {
            if damaged.kind == "zeros for the commit fields" {
                ledger.enter(&history, damaged, &found(&damaged.bytes));
            }
        });
    }
    ledger.close();
}
