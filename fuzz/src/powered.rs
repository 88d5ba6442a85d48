//! A store that fails, and whose power goes, when a scenario says so: what the bodies that write
//! share.

use striae_kit::power::{FailedSync, Fault, Lost, MAX_LEN, Model, PowerStore, Tear};

/// States of a power cut that are looked at, about.
const LOOKS: usize = 64;

/// What happens to a store.
#[derive(Debug, Clone, Copy)]
pub enum Trouble {
    /// An operation of the store fails.
    Fail {
        /// Operations before it.
        after: usize,
        /// Bytes that it writes.
        kept: usize,
    },
    /// The power goes.
    Cut {
        /// Operations of the store before that.
        after: usize,
        /// Bytes that the last one writes.
        kept: usize,
        /// Which of the states that may be left is gone on with.
        pick: usize,
    },
}

/// Why a writer is given up.
#[derive(Debug, Clone, Copy)]
pub enum End {
    /// Nothing is left to do.
    Acts,
    /// Another one goes on.
    Reopen,
    /// Another one begins a new file.
    Create,
    /// There is no power.
    Cut,
}

/// A store, and what happens to it.
#[derive(Debug)]
pub struct Powered {
    /// The store; its clones are the same one.
    pub store: PowerStore,
    /// Bytes that it has room for.
    room: u64,
    /// From which operation of the store on there is no power, and which state is gone on with.
    cut: Option<(usize, usize)>,
    /// The next byte that is written.
    next: u8,
}

impl Powered {
    /// A store that durably has the bytes `start`.
    #[must_use]
    pub fn new(start: &[u8], room: u64) -> Self {
        let store = PowerStore::new(start);
        store.limit(room);
        Self { store, room, cut: None, next: 0 }
    }

    /// So many bytes that differ from those before.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut next = || {
            self.next = self.next.wrapping_add(1);
            self.next
        };
        std::iter::repeat_with(&mut next).take(len).collect()
    }

    /// From now on it waits for this, unless it waits for a power cut.
    pub fn expect(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::Fail { after, kept } if self.cut.is_none() => {
                let at = self.store.ops() + after;
                self.store.fail(Fault { at, kept, lasting: false });
            }
            Trouble::Fail { .. } => {}
            Trouble::Cut { after, kept, pick } => {
                let at = self.store.ops() + after;
                self.store.fail(Fault { at, kept, lasting: true });
                self.cut = Some((at + usize::from(after > 0), pick));
            }
        }
    }

    /// Whether the power is gone.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.cut.is_some_and(|(at, _)| self.store.ops() >= at)
    }

    /// Why a writer is given up that would be for `end`.
    #[must_use]
    pub fn end(&self, end: End) -> End {
        if self.is_cut() { End::Cut } else { end }
    }

    /// Looks at states that the power cut may leave, and returns that which is gone on with.
    #[must_use]
    pub fn crash(&self, noise: bool, tear: Tear, mut look: impl FnMut(&[u8])) -> Vec<u8> {
        let (_, pick) = self.cut.unwrap();
        let lost = if noise { Lost::Noise } else { Lost::Zeros };
        // A writer that goes on after a failed sync needs a store whose next one covers both.
        let failed_sync = FailedSync::Dirty;
        let torn = if tear == Tear::Sectors { 0 } else { 4 };
        let model = Model {
            lost,
            tear,
            failed_sync,
            exhaustive: LOOKS,
            random: 8,
            torn,
            ..Model::default()
        };
        let (mut number, mut picked) = (0, Vec::new());
        self.store.crashes_since(self.store.ops(), &model, |crash| {
            if number < LOOKS / 2 || number % 8 == pick % 8 {
                look(crash.image);
            }
            if number == 0 || number == pick {
                picked = crash.image.to_vec();
            }
            number += 1;
        });
        look(&picked);
        picked
    }

    /// It durably has these bytes, and power.
    pub fn go_on_with(&mut self, file: &[u8]) {
        self.store = PowerStore::new(file);
        self.store.limit(self.room.max(u64::try_from(file.len()).unwrap()));
        self.cut = None;
    }

    /// Nothing happens to it any more, and it has room for all.
    pub fn mend(&mut self) {
        self.cut = None;
        self.store.fail(Fault { at: usize::MAX, kept: 0, lasting: false });
        self.store.limit(MAX_LEN);
    }
}
