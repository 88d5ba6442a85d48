//! What is in the file, now and behind every power cut, is what may be.

use super::{Run, Writer};
use crate::gsd_held::Held;
use crate::gsd_linear::proofs;
use striae_core::gsd::{Reader, State};
use striae_kit::gsd_everything::read_everything;
use striae_kit::power::Tear;

impl Run<'_> {
    /// What a reader finds now, which must be right.
    pub(super) fn check(&self) -> Held {
        self.judge(&self.disk.store.live(), true)
    }

    /// What readers find, which must be allowed; gsd, too, if it `looks`.
    fn judge(&self, bytes: &[u8], gsd_looks: bool) -> Held {
        let held = Held::read(bytes);
        assert!(self.is_one_of(&self.allowed, &held), "{held:?} is none of {:?}", self.allowed);
        let state = Reader::open(bytes, &mut [0; 256]).map(|file| file.head().state);
        match state {
            _ if !gsd_looks => {}
            Ok(State::Torn(_)) => {} // gsd is not promised that a half written header is read
            Ok(State::Ahead(_)) if proofs(bytes).1 => {}
            Ok(State::Ahead(_)) => {
                let seen = Held::read_as_gsd(bytes).unwrap();
                let is_before = [&self.allowed, &self.behind].map(|all| self.is_one_of(all, &seen));
                assert!(is_before.contains(&true), "gsd sees {seen:?}, not {:?}", self.behind);
            }
            _ => assert_eq!(Held::read_as_gsd(bytes), Ok(held.clone()), "what gsd sees differs"),
        }
        held
    }

    fn is_one_of(&self, all: &[Held], held: &Held) -> bool {
        all.iter().any(|allowed| match (held, allowed) {
            (Held::File(held), Held::File(allowed)) => {
                held.is_with_names(allowed, &self.live.names)
            }
            _ => held == allowed,
        })
    }

    /// The power goes: every state that may be left is right. Goes on with one of them, and returns
    /// whether a new file has to be made.
    pub(super) fn lose_power(&mut self) -> bool {
        let tear = if self.plan.tears { Tear::Bytes { atomic: vec![] } } else { Tear::Sectors };
        let look = |image: &[u8]| _ = self.judge(image, !self.plan.tears);
        let picked = self.disk.crash(self.plan.noise, tear, look);
        self.disk.go_on_with(&picked);
        let held = Held::read(&picked);
        if held != Held::Nothing {
            read_everything(&picked).unwrap();
        }
        let is_new = held == Held::Nothing;
        self.behind = Held::read_as_gsd(&picked).into_iter().collect();
        self.allowed = vec![held];
        is_new
    }

    /// When the store works again, all that was written can be committed.
    pub(super) fn finish(&mut self, writer: &mut Writer) {
        self.disk.mend();
        assert!(self.end_frame(writer));
        assert!(self.publish(writer, Writer::commit));
        self.check();
        self.close(writer);
        self.check();
        read_everything(&self.disk.store.live()).unwrap();
    }
}
