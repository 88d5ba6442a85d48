//! What was tried, and how it went.

use super::check::{Both, Verdict, allowed_to_stock, read, read_stock};
use super::path::{Act, Path, Session};
use super::run::{Content, Run, State};
use super::stock::{Stock, append};
use std::ops::AddAssign;
use striae_core::gsd::Logger;
use striae_kit::power::{Crash, Kind, Model, Op, PowerStore, check_len, sum_of};

/// How a reader found the states.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) ok: usize,
    pub(crate) unopened: usize,
    pub(crate) torn: usize,
    pub(crate) wrong: usize,
    pub(crate) lost: usize,
    /// Of those that were written on, those that were bad then.
    pub(crate) worse: usize,
}

impl Tally {
    fn count(&mut self, verdict: &Verdict<'_>) {
        *match verdict {
            Verdict::Good(_) => &mut self.ok,
            Verdict::Unopened(_) => &mut self.unopened,
            Verdict::Torn => &mut self.torn,
            Verdict::Wrong(_) => &mut self.wrong,
            Verdict::Lost => &mut self.lost,
        } += 1;
    }

    pub(crate) fn is_good(&self) -> bool {
        *self == Self { ok: self.ok, ..Self::default() }
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.ok += other.ok;
        self.unopened += other.unopened;
        self.torn += other.torn;
        self.wrong += other.wrong;
        self.lost += other.lost;
        self.worse += other.worse;
    }
}

/// Figures of some states: of a kill or a power cut, between two writes or in the middle of one.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) states: usize,
    pub(crate) ours: Tally,
    pub(crate) stock: Tally,
    /// Written on by striae, and by gsd.
    pub(crate) went_on: usize,
    pub(crate) stock_went_on: usize,
}

impl AddAssign for Row {
    fn add_assign(&mut self, other: Self) {
        self.states += other.states;
        self.ours += other.ours;
        self.stock += other.stock;
        self.went_on += other.went_on;
        self.stock_went_on += other.stock_went_on;
    }
}

impl Row {
    pub(crate) const HEAD: &str = "| case | reader | n | ok | open error | \
        torn last frame visible | wrong/missing data | lost flushed frames | written on | append makes it worse |\n\
        |---|---|---|---|---|---|---|---|---|---|";

    pub(crate) fn print(&self, case: &str) {
        let went_on = format!("{} + {}", self.went_on, self.stock_went_on);
        for (reader, tally) in [("striae", self.ours), ("gsd", self.stock)] {
            let Tally { ok, unopened, torn, wrong, lost, worse } = tally;
            let n = self.states;
            println!(
                "| {case} | {reader} | {n} | {ok} | {unopened} | {torn} | {wrong} | {lost} | \
                 {went_on} | {worse} |"
            );
        }
    }
}

/// How many of the states are looked at: of those in the middle of a write that is not one of the
/// header every so many. How many are written on: every so many by striae, of these every so many
/// with a second crash; every so many by gsd. 0 is none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    pub(crate) writing: usize,
    pub(crate) go_on: usize,
    pub(crate) crash_again: usize,
    pub(crate) stock: usize,
}

/// All kinds of states.
pub(crate) const ALL: &[Kind] = &[
    Kind::Killed,
    Kind::PowerCut,
    Kind::KilledWriting,
    Kind::PowerCutWriting,
    Kind::PowerCutTorn,
    Kind::PowerCutErased,
];

/// The row that counts states of a kind.
const fn row_of(kind: Kind) -> usize {
    match kind {
        Kind::Killed => 0,
        Kind::PowerCut => 1,
        Kind::KilledWriting => 2,
        Kind::PowerCutWriting => 3,
        Kind::PowerCutTorn => 4,
        Kind::PowerCutErased => 5,
    }
}

impl Rate {
    pub(crate) const NONE: Self = Self { writing: 1, go_on: 0, crash_again: 0, stock: 0 };
    pub(crate) const ALL: Self = Self { writing: 1, go_on: 1, crash_again: 0, stock: 1 };

    pub(crate) fn usual() -> Self {
        if super::is_all() {
            Self { crash_again: 97, ..Self::ALL }
        } else {
            Self { writing: 11, go_on: 13, crash_again: 97, stock: 11 }
        }
    }
}

/// What was tried.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    pub(crate) paths: usize,
    /// By kind: killed, power cut, killed in a write, power cut in a write, in a sector, a sector
    /// erased.
    pub(crate) rows: [Row; 6],
    /// States of second crashes.
    pub(crate) again: Row,
    number: usize,
    /// The first bad state of each path.
    pub(crate) bad: Vec<String>,
    bad_len: usize,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.paths += other.paths;
        for (row, other) in self.rows.iter_mut().zip(other.rows) {
            *row += other;
        }
        self.again += other.again;
        self.bad.extend(other.bad);
        self.bad_len = self.bad.len();
    }
}

/// How a writer goes on.
const ACTS: &[Act] = &[
    Act::Chunk(1, 3),
    Act::Chunk(11, 2),
    Act::End,
    Act::Commit,
    Act::Chunk(0, 1),
    Act::End,
    Act::Close,
];

/// How a writer goes on after a crash that left this.
pub(crate) fn on(state: &State) -> Session {
    match state {
        State::File(_) => Session::Open(ACTS),
        State::Nothing => Session::Create(ACTS),
    }
}

impl Figures {
    pub(crate) fn bad(&mut self, text: impl FnOnce() -> String) {
        if self.bad.len() == self.bad_len {
            self.bad.push(text());
        }
    }

    /// What was bad since the last call was so on this path.
    pub(crate) fn name(&mut self, name: &str) {
        let new = &mut self.bad[self.bad_len..];
        new.iter_mut().for_each(|bad| bad.insert_str(0, &format!("{name}: ")));
        self.bad_len = self.bad.len();
    }

    pub(crate) fn total(&self) -> Row {
        let mut total = Row::default();
        self.rows.into_iter().for_each(|row| total += row);
        total
    }

    /// Looks at what is there after so many operations; what it is, if it is good.
    pub(crate) fn try_image(
        &mut self,
        run: &Run<'_>,
        image: &[u8],
        begun: usize,
        ended: usize,
    ) -> Option<State> {
        let crash = Crash { begun, ended, kind: Kind::Killed, image };
        self.try_state(run, &crash, true).cloned()
    }

    /// Looks at a state; what it is, if it is good.
    fn try_state<'r>(
        &mut self,
        run: &'r Run<'_>,
        crash: &Crash<'_>,
        is_first: bool,
    ) -> Option<&'r State> {
        let versions = run.promises.allowed(crash.begun, crash.ended);
        let is_lax = run.shape.attributes.one_sync && is_power_cut(crash);
        let log = run.store.log();
        let to_stock = match is_lax {
            true => allowed_to_stock(&run.promises, &log, crash.begun, crash.ended),
            false => versions,
        };
        drop(log);
        let both = Both::of_two(crash.image, (versions, to_stock), &run.lists);
        let row = match is_first {
            true => &mut self.rows[row_of(crash.kind)],
            false => &mut self.again,
        };
        row.states += 1;
        row.ours.count(&both.ours);
        row.stock.count(&both.stock);
        let is_same = matches!(both.stock, Verdict::Good(_)) && !both.other_names;
        if is_first && !is_same && !may_be_torn(run, crash) {
            self.bad(|| describe(run, crash, &format!("gsd: {:?}", both.stock)));
        }
        // Where something failed, the size may be one that no sync has covered; the contents are
        // right.
        let len = if run.failed_at.is_none() { check_len(crash, versions) } else { Ok(()) };
        if let Err(error) = len {
            self.bad(|| describe(run, crash, &error));
        }
        match both.ours {
            Verdict::Good(state) => Some(state),
            bad => {
                self.bad(|| describe(run, crash, &format!("{bad:?}")));
                None
            }
        }
    }

    /// Tries all crashes of a run since so many operations that are of these kinds.
    pub(crate) fn crash(
        &mut self,
        run: &Run<'_>,
        since: usize,
        model: &Model,
        rate: Rate,
        kinds: &[Kind],
    ) {
        let is = |number: usize, rate| rate > 0 && number.is_multiple_of(rate);
        let mut writing = 0;
        run.store.crashes_since(since, model, |crash| {
            if !kinds.contains(&crash.kind) {
                return;
            }
            if is_writing(crash) && !is_header(run, crash) {
                writing += 1;
                if !is(writing, rate.writing) {
                    return;
                }
            }
            let mended = (crash.kind == Kind::PowerCutErased).then(|| mend(run, crash.image));
            let crash = &Crash { image: mended.as_deref().unwrap_or(crash.image), ..*crash };
            let Some(state) = self.try_state(run, crash, true) else { return };
            self.number += 1;
            let kind = row_of(crash.kind);
            if is(self.number, rate.go_on) {
                self.rows[kind].went_on += 1;
                let is_crashed = is(self.rows[kind].went_on, rate.crash_again);
                let (ours, stock) = self.go_on(run, crash.image, state);
                if is_crashed {
                    self.crash_again(run, crash.image, state);
                }
                self.rows[kind].ours.worse += usize::from(!ours);
                self.rows[kind].stock.worse += usize::from(!stock);
            }
            if let (State::File(content), true) = (state, is(self.number, rate.stock)) {
                if may_be_torn(run, crash) && is_fields(run, crash) {
                    return; // what gsd makes of such a header, nobody knows
                }
                let went_on = stock_goes_on(crash.image, content, run.has_holes);
                self.rows[kind].stock_went_on += usize::from(went_on != Ok(false));
                if let Err(error) = went_on {
                    self.rows[kind].ours.worse += 1;
                    self.bad(|| describe(run, crash, &format!("gsd goes on: {error}")));
                }
            }
        });
    }

    /// Writes on by striae what is in this state; whether both readers find all then.
    pub(crate) fn go_on(&mut self, run: &Run<'_>, image: &[u8], state: &State) -> (bool, bool) {
        let mut next = run.next(image, state);
        if let Err(error) = next.session(on(state)) {
            self.bad(|| format!("going on: {error}\n  {:?}", run.shape));
            return (false, false);
        }
        let both = Both::of(&next.store.live(), next.promises.last(), &next.lists);
        let good = |verdict: &Verdict<'_>| matches!(verdict, Verdict::Good(_));
        let (ours, stock) = (good(&both.ours), good(&both.stock));
        if !ours || !stock {
            self.bad(|| format!("gone on: {both:?}\n  {:?}", run.shape));
        }
        (ours, stock)
    }

    /// Goes on from an image, with a second crash meanwhile.
    fn crash_again(&mut self, run: &Run<'_>, image: &[u8], state: &State) {
        let mut next = run.next(image, state);
        next.session(on(state)).unwrap();
        let model = Model { exhaustive: 64, random: 4, torn: 2, ..Model::default() };
        next.store.crashes(&model, |crash| {
            self.try_state(&next, crash, false);
        });
    }

    /// Prints them, and fails if a state was bad or there were too few.
    pub(crate) fn conclude(&self, name: &str, floor: usize) {
        println!("{name}: {} paths\n{}", self.paths, Row::HEAD);
        let kinds = [
            "killed",
            "power cut",
            "killed in a write",
            "power cut in a write",
            "in a sector",
            "erased",
        ];
        for (kind, row) in kinds.iter().zip(self.rows) {
            row.print(kind);
        }
        let total = self.total();
        println!("second crashes: {} tried, {} good", self.again.states, self.again.ours.ok);
        assert!(self.bad.is_empty(), "{} paths: {}", self.bad.len(), self.bad.join("\n"));
        assert!(total.ours.is_good() && self.again.ours.is_good(), "{total:?}");
        assert_eq!(total.ours.ok, total.states);
        assert!(total.states >= floor, "too few states: {}", total.states);
    }
}

/// What a device makes of a state when it gets power: the same, but for a header that was erased,
/// and a file that was never whole.
fn mend(run: &Run<'_>, image: &[u8]) -> Vec<u8> {
    let store = PowerStore::new(image);
    let opened = Logger::<_, 16>::open_or_create(store.clone(), &run.shape.attributes);
    assert!(opened.is_ok() || store.live().as_ref() == image, "an error, and not left alone");
    store.live().to_vec()
}

fn is_power_cut(crash: &Crash<'_>) -> bool {
    matches!(crash.kind, Kind::PowerCut | Kind::PowerCutWriting | Kind::PowerCutTorn)
}

fn is_writing(crash: &Crash<'_>) -> bool {
    matches!(crash.kind, Kind::KilledWriting | Kind::PowerCutWriting)
}

/// Whether the last operation is one of the header.
fn is_header(run: &Run<'_>, crash: &Crash<'_>) -> bool {
    let log = run.store.log();
    matches!(log[..crash.begun].last(), Some(Op::Write { offset: 0..256, .. }))
}

/// Whether gsd may fail: the header was cut at some byte.
fn may_be_torn(run: &Run<'_>, crash: &Crash<'_>) -> bool {
    let is_cut = is_writing(crash) && is_header(run, crash);
    run.is_torn || is_cut || crash.kind == Kind::PowerCutTorn
}

/// Whether the fields of the header were cut, in front of the commit record.
fn is_fields(run: &Run<'_>, crash: &Crash<'_>) -> bool {
    let log = run.store.log();
    let is_last = matches!(log[..crash.begun].last(), Some(Op::Write { offset: 0..176, .. }));
    is_last || crash.kind == Kind::PowerCutTorn
}

/// Appends by gsd after a crash that left `content`, and looks behind each of its writes; `false`
/// if gsd cannot do that.
fn stock_goes_on(image: &[u8], content: &Content, has_holes: bool) -> Result<bool, String> {
    let name = b"appended by gsd".as_slice();
    let pieces = [(name, b"1".as_slice()), (b"n1", b"23")];
    let Ok(steps) = append(image, &[&pieces, &pieces[..1]]) else { return Ok(false) };
    let is_ahead = read_stock(image).is_ok_and(|seen| seen.content().chunks != content.chunks);
    if is_ahead {
        // What gsd does not see it cannot keep: both see the same behind its append.
        let last = &steps[steps.len() - 1];
        let is_same = read(last)?.pieces == read_stock(last)?.pieces;
        return if is_same { Ok(true) } else { Err("not the same behind an append".to_owned()) };
    }
    if !Stock::open(image)?.is_clean() {
        return if has_holes { Ok(false) } else { Err("entries behind the end".to_owned()) };
    }
    for (number, step) in steps.iter().enumerate() {
        let (ours, stock) = (read(step), read_stock(step));
        let text = |error| format!("write {number}: {error}");
        match (ours, stock) {
            (Ok(ours), Ok(stock)) if ours.pieces == stock.pieces => {}
            (Err(_), Err(_)) => {}
            (ours, stock) => return Err(text(format!("{ours:?}, gsd {stock:?}"))),
        }
    }
    let last = read(&steps[steps.len() - 1])?;
    let old: Vec<_> = last.pieces.iter().map(super::run::Chunk::of).collect();
    let is_kept = old.starts_with(&content.chunks) && old.len() == content.chunks.len() + 3;
    if is_kept { Ok(true) } else { Err(format!("{} chunks", old.len())) }
}

fn describe(run: &Run<'_>, crash: &Crash<'_>, error: &str) -> String {
    let text = striae_kit::power::describe(&run.store, crash, error);
    format!("{text}, {:?}", run.shape)
}

/// Tries all paths, on all cores.
pub(crate) fn crash_all(paths: &[Path], model: &Model, rate: Rate) -> Figures {
    sum_of(paths, |path| {
        let run = Run::of(path);
        let mut tried = Figures { paths: 1, ..Figures::default() };
        tried.crash(&run, 0, model, rate, ALL);
        tried.name(&path.name);
        tried
    })
}
