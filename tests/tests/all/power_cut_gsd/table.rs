//! The crash experiments that gsd was put through, on striae's writer: 60 frames, so that the index
//! and the name list are moved; after each crash all is read, a frame is appended, and all is read
//! again.

use super::figures::{ALL, Figures, Rate, Row};
use super::is_all;
use super::path::{Act, OLD, Path, Session, Shape, content, golden};
use super::run::{Run, State};
use super::stock::append;
use striae_core::gsd::Attributes;
use striae_kit::power::{Kind, Lost, Model, PowerStore, Tear};

/// A case of the table: its name, what is written, and which states of which crashes are counted.
struct Case {
    name: &'static str,
    start: Vec<u8>,
    sessions: &'static [Session],
    attributes: Attributes<'static>,
    model: Model,
    /// Which of the kinds of states count.
    kinds: &'static [Kind],
    rate: Rate,
}

use Act::{Close, Commit, Each, Frames, Measured, Truncate, Upgrade};
use Session::{Create, Open};

/// Kinds of states as they are counted.
const KILLED: &[Kind] = &[Kind::Killed];
const CUT: &[Kind] = &[Kind::PowerCut];
const WRITING: &[Kind] = &[Kind::KilledWriting];

const PER_FRAME: &[Session] = &[Create(&[Measured(1), Close])];
const PER_20: &[Session] = &[Create(&[Measured(20), Close])];

fn cases() -> Vec<Case> {
    let rate = match is_all() {
        true => Rate { writing: 13, ..Rate::ALL },
        false => Rate { writing: 97, go_on: 5, crash_again: 0, stock: 5 },
    };
    let none = Model { exhaustive: 0, random: 0, ..Model::default() };
    let sectors =
        Model { exhaustive: 12, random: if is_all() { 20 } else { 3 }, ..Model::default() };
    let pages = Model { sector: 4096, ..sectors.clone() };
    let noise = Model { lost: Lost::Noise, ..sectors.clone() };
    let bytes =
        Model { tear: Tear::Bytes { atomic: vec![] }, exhaustive: 12, random: 4, ..none.clone() };
    let small =
        Attributes { index_slots: 1, shown_slots: 1, names_len: 64, ..Attributes::default() };
    let case = |name, sessions, model: &Model, kinds| Case {
        name,
        start: Vec::new(),
        sessions,
        attributes: Attributes::default(),
        model: model.clone(),
        kinds,
        rate,
    };
    let of_gsd = |name, file, model: &Model| Case {
        start: golden(file),
        ..case(name, &[Open(&[Measured(1), Close])], model, CUT)
    };
    vec![
        case("kill between writes", PER_FRAME, &none, KILLED),
        Case {
            rate: Rate { writing: rate.writing / 13, ..rate },
            ..case("kill during create, any byte", &[Create(&[])], &bytes, ALL)
        },
        case("prefix of one write persisted", PER_FRAME, &bytes, WRITING),
        case("power loss, 512 B sectors, commit/frame", PER_FRAME, &sectors, CUT),
        case("power loss, 4096 B pages, commit/frame", PER_FRAME, &pages, CUT),
        case("power loss, 512 B, commit/20 frames", PER_20, &sectors, CUT),
        case("power loss, 512 B, lost is noise", PER_20, &noise, CUT),
        of_gsd("power loss, 512 B, appended to gsd's", "v21_sparse_chunks", &sectors),
        of_gsd("power loss, 4096 B, appended to gsd's", "v21_sparse_chunks", &pages),
        Case {
            attributes: Attributes { layer: OLD, ..small },
            rate: Rate { writing: rate.writing / 7, ..rate },
            ..case("upgrade, any byte", &[Create(&[Each(3, 3), Upgrade])], &bytes, ALL)
        },
        Case {
            attributes: small,
            rate: Rate { writing: rate.writing / 4, ..rate },
            ..case(
                "growth, any byte",
                &[Create(&[Frames(9, 3), Commit, Frames(9, 4), Commit])],
                &bytes,
                ALL,
            )
        },
        Case {
            attributes: small,
            rate: Rate { writing: rate.writing / 4, ..rate },
            ..case("truncate, any byte", &[Create(&[Each(2, 3), Truncate])], &bytes, ALL)
        },
    ]
}

impl Case {
    fn path(&self) -> Path {
        let state = match self.start.is_empty() {
            true => State::Nothing,
            false => State::File(content(&self.start)),
        };
        let is_ours = self.start.is_empty();
        let shape = Shape { attributes: self.attributes, slots: 16, is_ours };
        let (name, start) = (self.name.to_owned(), self.start.clone());
        Path { name, start, state, sessions: self.sessions, shape }
    }

    fn run(&self) -> (Row, Figures) {
        let path = self.path();
        let run = Run::of(&path);
        let mut figures = Figures::default();
        figures.crash(&run, 0, &self.model, self.rate, self.kinds);
        figures.name(self.name);
        (figures.total(), figures)
    }
}

#[test]
fn all_states_of_the_experiments_are_good() {
    let mut bad = Vec::new();
    println!("{}", Row::HEAD);
    for case in cases() {
        let (row, figures) = case.run();
        row.print(case.name);
        assert!(row.states > 0, "{}", case.name);
        assert!(row.ours.is_good() && row.stock.worse == 0, "{}: {row:?}", case.name);
        let torn = row.states - row.stock.ok;
        assert!(torn == 0 || case.model.tear != Tear::Sectors, "{}: {torn}", case.name);
        bad.extend(figures.bad);
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// What gsd itself does to a file of striae's is as good as before.
#[test]
fn a_file_goes_back_and_forth() {
    let shape = Shape { attributes: Attributes::default(), slots: 16, is_ours: false };
    let start = golden("v21_empty");
    let mut state = State::File(content(&start));
    let mut bytes = start;
    for turn in 0..40 {
        let mut run = Run::new(&shape, PowerStore::new(&bytes), state, turn);
        run.session(Open(&[Frames(2, 3), Commit, Frames(1, 1)])).unwrap();
        let name = format!("of turn {}", turn / 2);
        let pieces = [(name.as_bytes(), b"12".as_slice()), (b"n0", b"3")];
        let frames = [&pieces[..], &[], &pieces[1..]];
        let steps = append(&run.store.live(), &frames[..usize::from(turn % 4)]).unwrap();
        let live = run.store.live().to_vec();
        bytes = steps.last().cloned().unwrap_or(live);
        let (ours, stock) = (super::check::read(&bytes).unwrap(), content(&bytes));
        assert_eq!(ours.content(), stock);
        let last = &run.promises.last()[0];
        let State::File(before) = &last.state else { panic!("{last:?}") };
        assert!(stock.chunks.starts_with(&before.chunks));
        let appended: usize = frames[..usize::from(turn % 4)].iter().map(|frame| frame.len()).sum();
        assert_eq!(stock.chunks.len(), before.chunks.len() + appended);
        state = State::File(stock);
    }
}
