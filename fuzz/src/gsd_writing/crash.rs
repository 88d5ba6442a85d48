//! What is in the file, now and behind every power cut, is what may be.

use super::{Run, Writer};
use crate::gsd_everything::read_everything;
use crate::gsd_held::Held;
use striae_core::gsd::{Reader, State};
use striae_tests::power::{FailedSync, Fault, Lost, MAX_LEN, Model, PowerStore, Tear};

/// States of a power cut that are looked at, about.
const LOOKS: usize = 64;

impl Run<'_> {
    pub(super) fn is_cut(&self) -> bool {
        self.cut.is_some_and(|(at, _)| self.store.ops() >= at)
    }

    /// What a reader finds now, which must be right.
    pub(super) fn check(&self) -> Held {
        self.judge(&self.store.live(), true)
    }

    /// What readers find, which must be allowed; gsd, too, if it `looks`.
    fn judge(&self, bytes: &[u8], gsd_looks: bool) -> Held {
        let held = Held::read(bytes);
        let is_allowed = self.allowed.iter().any(|allowed| match (&held, allowed) {
            (Held::File(held), Held::File(allowed)) => {
                held.is_with_names(allowed, &self.live.names)
            }
            _ => held == *allowed,
        });
        assert!(is_allowed, "{held:?} is none of {:?}", self.allowed);
        if gsd_looks && !is_torn(bytes) {
            assert_eq!(Held::read_as_gsd(bytes), Ok(held.clone()), "what gsd sees differs");
        }
        held
    }

    /// The power goes: every state that may be left is right. Goes on with one of them, and returns
    /// whether a new file has to be made.
    pub(super) fn lose_power(&mut self) -> bool {
        let (_, pick) = self.cut.take().unwrap();
        let lost = if self.plan.noise { Lost::Noise } else { Lost::Zeros };
        let tear = if self.plan.tears { Tear::Bytes { atomic: vec![] } } else { Tear::Sectors };
        // A writer that goes on after a failed sync needs a store whose next one covers both.
        let failed_sync = FailedSync::Dirty;
        let model =
            Model { lost, tear, failed_sync, exhaustive: LOOKS, random: 8, ..Model::default() };
        let (mut number, mut picked) = (0, Vec::new());
        self.store.crashes_since(self.store.ops(), &model, |crash| {
            if number < LOOKS / 2 || number % 8 == pick % 8 {
                self.judge(crash.image, !self.plan.tears);
            }
            if number == 0 || number == pick {
                picked = crash.image.to_vec();
            }
            number += 1;
        });
        let held = self.judge(&picked, !self.plan.tears);
        self.go_on_with(&picked);
        if held != Held::Nothing {
            read_everything(&picked).unwrap();
        }
        let is_new = held == Held::Nothing;
        self.allowed = vec![held];
        is_new
    }

    /// When the store works again, all that was written can be committed.
    pub(super) fn finish(&mut self, writer: &mut Writer) {
        self.cut = None;
        self.store.fail(Fault { at: usize::MAX, kept: 0, lasting: false });
        self.store.limit(MAX_LEN);
        assert!(self.end_frame(writer));
        assert!(self.publish(writer, Writer::commit));
        self.check();
        self.close(writer);
        self.check();
        read_everything(&self.store.live()).unwrap();
    }

    /// The store durably has these bytes and no fault.
    pub(super) fn go_on_with(&mut self, file: &[u8]) {
        self.store = PowerStore::new(file);
        self.store.limit(self.plan.room.max(u64::try_from(file.len()).unwrap()));
        self.cut = None;
    }
}

/// Whether a header was half written: gsd is not promised that it is read.
fn is_torn(file: &[u8]) -> bool {
    let file = Reader::open(file, &mut [0; 256]);
    file.is_ok_and(|file| matches!(file.head().state, State::Torn(_)))
}
