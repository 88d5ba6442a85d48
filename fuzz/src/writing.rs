//! The body of `sion_write`: whatever is done to a writer, its store and its power supply, the file
//! is what a commit that succeeded left, or what one that was under way did.

use crate::held::Held;
use crate::model::{Act, PREFIX, Plan, Put, Written, scenario};
use crate::powered::{End, Powered};
use striae_core::sion::writer::WriteError;
use striae_core::sion::{Finished, Memory, Options, Pen, Writer};
use striae_core::step::DriveError;
use striae_kit::everything::read_within_budget;
use striae_kit::power::{PowerStore, Tear};

struct Run<'p> {
    plan: &'p Plan,
    disk: Powered,
    /// What the writer holds.
    live: Written,
    /// What the file may be.
    allowed: Vec<Held>,
}

/// The input tells a file, and what is done to it: see [`scenario`].
pub fn sion_write(data: &[u8]) {
    let (plan, acts) = scenario(data);
    let disk = Powered::new(&[], plan.room);
    let (live, allowed) = (Written::nothing(&plan, plan.sealed), vec![Held::Nothing]);
    let mut run = Run { plan: &plan, disk, live, allowed };
    let mut acts = acts.iter();
    let mut is_new = true;
    loop {
        let end = run.session(is_new, &mut acts);
        is_new = match end {
            End::Acts => break,
            End::Create => true,
            End::Reopen => !matches!(Held::read(&run.disk.store.live()), Held::Closed { .. }),
            End::Cut => run.lose_power(),
        };
    }
}

impl<'p> Run<'p> {
    /// One writer, from its beginning to its end.
    fn session<'a>(&mut self, is_new: bool, acts: &mut impl Iterator<Item = &'a Act>) -> End {
        let plan = self.plan;
        let mut pens = vec![Pen::EMPTY; plan.tasks.len()];
        let mut ledger = vec![Finished::EMPTY; plan.ledger];
        let mut window = vec![0xee; plan.window];
        let memory = Memory { pens: &mut pens, ledger: &mut ledger, window: &mut window };
        let begun = if is_new { self.create(memory) } else { self.reopen(memory) };
        self.check();
        let Some(mut writer) = begun else {
            return self.disk.end(if is_new { End::Create } else { End::Reopen });
        };
        for act in acts {
            match *act {
                Act::Put { task, put, len } => self.put(&mut writer, task, put, len),
                Act::Commit => _ = self.publish(&mut writer, Writer::commit),
                Act::Close => self.close(&mut writer),
                Act::Reopen => return End::Reopen,
                Act::Create { sealed } => {
                    self.live.sealed = sealed;
                    return End::Create;
                }
                Act::Trouble(trouble) => self.disk.expect(trouble),
            }
            if self.disk.is_cut() {
                return End::Cut;
            }
            self.check();
        }
        self.finish(&mut writer);
        End::Acts
    }

    /// Begins with a new file, unless the store fails.
    fn create<'m>(&mut self, memory: Memory<'m>) -> Option<Writer<'m, PowerStore>>
    where
        'p: 'm,
    {
        let Plan { attributes, tasks, .. } = self.plan;
        self.live = Written::nothing(self.plan, self.live.sealed);
        self.allowed.extend([Held::Nothing, Held::Unclosed]);
        let (store, options) = (self.disk.store.clone(), self.options());
        match Writer::create(store, attributes, PREFIX, tasks.as_slice(), memory, options) {
            Ok(writer) => {
                self.allowed = vec![Held::Unclosed];
                Some(writer)
            }
            Err(DriveError::Store(_)) => None,
            Err(error) => panic!("a good plan was refused: {error}"),
        }
    }

    /// Goes on with a file that has a commit.
    fn reopen<'m>(&mut self, memory: Memory<'m>) -> Option<Writer<'m, PowerStore>>
    where
        'p: 'm,
    {
        let held = self.check();
        let Held::Closed { tasks, sealed, .. } = held.clone() else { panic!("{held:?}") };
        self.live = Written { tasks, finished: 0, sealed };
        // What options say of seals must not matter.
        let options = Options { sealed: self.plan.sealed, ..self.options() };
        let before = self.disk.store.live().to_vec();
        let writer = Writer::reopen(self.disk.store.clone(), memory, options);
        assert!(*self.disk.store.live() == *before, "reopening changed the file");
        match writer {
            Ok(writer) => {
                self.allowed = vec![held]; // it is durable now
                Some(writer)
            }
            Err(DriveError::Store(_)) => None,
            Err(error) => panic!("a good file was refused: {error}"),
        }
    }

    fn options<'m>(&self) -> Options<'m>
    where
        'p: 'm,
    {
        let (mapping, ahead) = (self.plan.mapping.as_slice(), self.plan.ahead);
        Options { mapping, sealed: self.live.sealed, ahead, ..Options::default() }
    }

    fn put(&mut self, writer: &mut Writer<'_, PowerStore>, task: u32, put: Put, len: usize) {
        let bytes = self.disk.bytes(len);
        let mut live = self.live.clone();
        let expected = live.put(self.plan, task, put, &bytes);
        let result = match put {
            Put::Write => writer.write(task, &bytes).map(|()| len),
            Put::Some => writer.write_some(task, &bytes),
            Put::Record => writer.write_record(task, &bytes).map(|()| len),
            Put::Space => writer.ensure_free_space(task, u64::try_from(len).unwrap()).map(|()| 0),
            Put::Key(key) => writer.write_key(task, key, &bytes).map(|()| len),
        };
        match result {
            Ok(written) => {
                assert_eq!(expected, Ok(written), "{put:?} of {len} bytes");
                self.live = live;
            }
            Err(DriveError::Store(_)) => {}
            Err(DriveError::Format(error)) => assert_eq!(expected, Err(error), "{put:?}, {len}"),
            Err(error) => panic!("{put:?} of {len} bytes: {error}"),
        }
    }

    fn held(&self) -> Held {
        let Written { tasks, sealed, .. } = self.live.clone();
        let mapping = (self.plan.attributes.nfiles > 1 && self.plan.attributes.filenumber == 0)
            .then(|| self.plan.mapping.iter().copied().map(Some).collect());
        Held::Closed { tasks, sealed, mapping }
    }

    /// Commits or closes, and returns whether the store let that happen.
    fn publish<'m>(
        &mut self,
        writer: &mut Writer<'m, PowerStore>,
        publish: impl FnOnce(&mut Writer<'m, PowerStore>) -> Result<(), WriteError<PowerStore>>,
    ) -> bool {
        let new = self.held();
        self.allowed.push(new.clone());
        match publish(writer) {
            Ok(()) => {
                self.allowed = vec![new];
                self.live.finished = 0;
                true
            }
            Err(DriveError::Store(_)) => false,
            Err(error) => panic!("nothing is wrong but the store: {error}"),
        }
    }

    /// Closes; META1 and all behind the blocks is what a writer from the specification makes.
    fn close(&mut self, writer: &mut Writer<'_, PowerStore>) {
        if !self.publish(writer, Writer::close) {
            return;
        }
        let plain = self.plan.file(&self.live.tasks);
        let (places, plain, live) = (plain.places(), plain.bytes(), self.disk.store.live());
        let at = |offset| usize::try_from(offset).unwrap();
        let meta1 = 8..at(places.commit + 12); // the order of data is not in the other writer
        assert_eq!(live[meta1.clone()], plain[meta1], "META1");
        let meta2 = at(places.varheader)..plain.len();
        assert_eq!(live[meta2.clone()], plain[meta2], "META2");
        assert!(self.live.sealed || live.len() == plain.len(), "something is behind META2");
    }

    /// What a reader finds now, which must be right.
    fn check(&self) -> Held {
        let held = Held::read(&self.disk.store.live());
        self.assert_allowed(&held);
        held
    }

    fn assert_allowed(&self, held: &Held) {
        assert!(self.allowed.contains(held), "{held:?} is none of {:?}", self.allowed);
    }

    /// The power goes: every state that may be left is right. Goes on with one of them, and returns
    /// whether a new file has to be made.
    fn lose_power(&mut self) -> bool {
        let look = |image: &[u8]| self.assert_allowed(&Held::read(image));
        let picked = self.disk.crash(self.plan.noise, Tear::Sectors, look);
        self.disk.go_on_with(&picked);
        let held = Held::read(&picked);
        let is_new = !matches!(held, Held::Closed { .. });
        if held != Held::Nothing {
            assert_eq!(read_within_budget(&picked).unwrap().error(), None);
        }
        self.allowed = vec![held];
        is_new
    }

    /// When the store works again, all that was written can be committed.
    fn finish(&mut self, writer: &mut Writer<'_, PowerStore>) {
        self.disk.mend();
        assert!(self.publish(writer, Writer::commit));
        self.check();
        self.close(writer);
        self.check();
        let summary = read_within_budget(&self.disk.store.live()).unwrap();
        assert_eq!(summary.error(), None);
        for (local, stream) in self.live.tasks.iter().enumerate() {
            assert_eq!(summary.stream(local), Some(stream.bytes.as_slice()));
        }
    }
}
