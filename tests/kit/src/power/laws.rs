//! The simulated power cut does what its documentation says.

use super::crashes::Random;
use super::*;
use std::collections::BTreeSet;

type Images = BTreeSet<Vec<u8>>;

/// All states of the kinds that `which` takes.
fn images(store: &PowerStore, model: &Model, which: &[Kind]) -> (Images, Counts) {
    let mut images = Images::new();
    let mut shown = 0;
    let counts = store.crashes(model, |crash| {
        shown += 1;
        assert!(crash.ended <= crash.begun && crash.begun <= crash.ended + 1);
        if which.contains(&crash.kind) {
            images.insert(crash.image.to_vec());
        }
    });
    assert_eq!(shown, counts.total());
    (images, counts)
}

const WHOLE: &[Kind] = &[Kind::Killed, Kind::PowerCut];
const ALL: &[Kind] = &[
    Kind::Killed,
    Kind::PowerCut,
    Kind::KilledWriting,
    Kind::PowerCutWriting,
    Kind::PowerCutTorn,
    Kind::PowerCutErased,
];

fn counts(store: &PowerStore) -> Counts {
    store.crashes(&Model::default(), |_| {})
}

fn bytes_torn(atomic: &[std::ops::Range<u64>]) -> Model {
    Model { tear: Tear::Bytes { atomic: atomic.to_vec() }, ..Model::default() }
}

#[test]
fn it_is_a_store() {
    let mut store = PowerStore::new(b"abc");
    store.write_all_at(5, b"fg").unwrap();
    store.set_size(6).unwrap();
    store.sync().unwrap();
    let mut buf = [1; 8];
    assert_eq!(store.read_at(1, &mut buf).unwrap(), 5);
    assert_eq!(buf, *b"bc\0\0f\x01\x01\x01");
    assert_eq!(store.read_at(6, &mut buf).unwrap(), 0);
    assert_eq!(store.read_at(u64::from(u32::MAX), &mut buf).unwrap(), 0);
    assert_eq!(store.size().unwrap(), 6);
    assert_eq!(store.ops(), 3);
}

#[test]
fn what_was_never_synced_may_be_lost() {
    let mut store = PowerStore::default();
    for at in 0..4 {
        store.write_all_at(at * 512, &[7; 512]).unwrap();
    }
    let (images, _) = images(&store, &Model::default(), WHOLE);
    assert!(images.contains(&vec![]));
    for kept in 0u32..16 {
        let sectors = (0..4).flat_map(|at| [if kept >> at & 1 == 1 { 7 } else { 0 }; 512]);
        assert!(images.contains(&sectors.collect::<Vec<u8>>()), "{kept:04b}");
    }
}

#[test]
fn what_was_synced_is_never_lost() {
    let mut store = PowerStore::new(&[1; 700]);
    store.write_all_at(300, &[2; 1000]).unwrap();
    store.sync().unwrap();
    let synced = store.live().to_vec();
    let ops = store.ops();
    store.write_all_at(1300, &[3; 2000]).unwrap();
    store.write_all_at(512, &[4; 8]).unwrap();
    for lost in [Lost::Zeros, Lost::Noise] {
        let model = Model { lost, ..bytes_torn(&[]) };
        let mut seen = 0;
        store.crashes(&model, |crash| {
            if crash.ended >= ops {
                seen += 1;
                assert!(crash.image.len() >= 1300);
                assert_eq!(crash.image[..512], synced[..512]);
                assert_eq!(crash.image[520..1300], synced[520..1300]);
            }
        });
        assert!(seen > 2000);
    }
}

#[test]
fn states_are_as_many_as_combinatorics_says() {
    let mut store = PowerStore::default();
    assert_eq!(counts(&store).total(), 1); // nothing happened

    // The size is old, and nothing is seen, or new, with the sector or without it.
    store.write_all_at(0, b"abc").unwrap();
    let one = Counts { killed: 2, power_cut: 1, ..Counts::default() };
    assert_eq!(counts(&store), one);

    // Two versions more of the same sector: any of 4 contents, in a store of 3 bytes or of none;
    // the empty one, and those that were the newest at some moment, are states of a kill.
    store.write_all_at(1, b"B").unwrap();
    store.write_all_at(2, b"C").unwrap();
    let three = Counts { killed: 4, power_cut: 1, ..Counts::default() };
    assert_eq!(counts(&store), three);

    store.sync().unwrap();
    assert_eq!(counts(&store), Counts { killed: 5, ..three });

    // n sectors that were there before, each changed once: 2^n states.
    for n in 1..=8u32 {
        let mut store = PowerStore::new(&[0; 8 * 512]);
        for at in 0..n {
            store.write_all_at(u64::from(at) * 512, &[1]).unwrap();
        }
        assert_eq!(counts(&store).total(), 1 << n);
        assert_eq!(images(&store, &Model::default(), WHOLE).0.len(), 1 << n);
    }

    // n times the same sector: n + 1 contents, all of which a kill can leave.
    let mut store = PowerStore::new(&[0; 512]);
    for byte in 1..=9 {
        store.write_all_at(9, &[byte]).unwrap();
    }
    assert_eq!(counts(&store), Counts { killed: 10, ..Counts::default() });

    // One write over 3 sectors: a kill can cut it twice, a power cut leaves any subset.
    let mut store = PowerStore::new(&[0; 3 * 512]);
    store.write_all_at(0, &[1; 3 * 512]).unwrap();
    let write = Counts { killed: 2, killed_writing: 2, power_cut: 6, ..Counts::default() };
    assert_eq!(counts(&store), write);
}

/// The images by definition: for each moment, any content since the last sync for each sector.
fn by_definition(log: &[Op], start: &[u8]) -> Images {
    let mut images = Images::new();
    let mut since = vec![start.to_vec()];
    let all = |since: &[Vec<u8>], images: &mut Images| {
        let longest = since.iter().map(Vec::len).max().unwrap().next_multiple_of(SECTOR);
        let mut states = vec![vec![]];
        for sector in 0..longest / SECTOR {
            // Of later contents, those of which the sector was a part.
            let versions: BTreeSet<Vec<u8>> = since
                .iter()
                .enumerate()
                .filter(|(number, content)| *number == 0 || sector * SECTOR < content.len())
                .map(|(_, content)| {
                    let mut content = content.clone();
                    content.resize(longest, 0);
                    content[sector * SECTOR..][..SECTOR].to_vec()
                })
                .collect();
            let longer = |state: &Vec<u8>| {
                let state = state.clone();
                versions.iter().map(move |version| [state.clone(), version.clone()].concat())
            };
            states = states.iter().flat_map(longer).collect();
        }
        for state in &states {
            images.extend(since.iter().map(|content| state[..content.len()].to_vec()));
        }
    };
    all(&since, &mut images);
    for op in log {
        let mut content = since[since.len() - 1].clone();
        match op {
            Op::Write { offset, bytes } => {
                let at = usize_of(*offset);
                content.resize(content.len().max(at + bytes.len()), 0);
                content[at..at + bytes.len()].copy_from_slice(bytes);
            }
            Op::SetSize(len) => content.resize(usize_of(*len), 0),
            _ => since.clear(),
        }
        since.push(content);
        all(&since, &mut images);
    }
    images
}

#[test]
fn states_are_those_of_the_definition() {
    let mut random = Random(1);
    let mut total = 0;
    for _ in 0..200 {
        let start = vec![0xff; random.below(700)];
        let mut store = PowerStore::new(&start);
        for byte in 1..=6 {
            match random.below(8) {
                0 => store.sync().unwrap(),
                1 => store.set_size(random.next() % 1800).unwrap(),
                _ => {
                    let len = 1 + random.below(600);
                    store.write_all_at(random.next() % 1200, &vec![byte; len]).unwrap();
                }
            }
        }
        let model = Model { exhaustive: usize::MAX, ..Model::default() };
        let (shown, counts) = images(&store, &model, WHOLE);
        let defined = by_definition(&store.log(), &start);
        assert_eq!(counts.sampled, 0);
        assert!(shown == defined, "{} shown, {} defined", shown.len(), defined.len());
        total += shown.len();

        let killed = store.killed_after(store.ops());
        assert_eq!((&*killed.live(), &*killed.log()), (&*store.live(), &*store.log()));

        // The states of the last moment are those that a promise shows again.
        let ops = store.ops();
        let mut last = Images::new();
        store.crashes_since(ops, &model, |crash| {
            if WHOLE.contains(&crash.kind) {
                last.insert(crash.image.to_vec());
            }
        });
        store.promise();
        let mut again = Images::new();
        store.crashes(&model, |crash| {
            if crash.begun > ops {
                again.insert(crash.image.to_vec());
            }
        });
        assert!(last == again, "{} shown, {} shown again", last.len(), again.len());

        // Samples are some of them.
        let model = Model { exhaustive: 0, ..Model::default() };
        let (shown, _) = images(&store, &model, WHOLE);
        assert!(shown.is_subset(&defined));
    }
    assert!(total > 5000, "{total}");
}

#[test]
fn a_write_is_torn_behind_each_byte_unless_it_is_atomic() {
    let mut store = PowerStore::new(&[0; 1024]);
    store.write_all_at(500, &[1; 24]).unwrap(); // over a boundary
    let range = 0..1024;
    let torn = |model: &Model| images(&store, model, &[Kind::KilledWriting]).0;
    let expected: Images = (1..24)
        .map(|count| {
            let mut image = vec![0; 1024];
            image[500..500 + count].fill(1);
            image
        })
        .collect();
    assert_eq!(torn(&bytes_torn(&[])), expected);
    assert_eq!(torn(&bytes_torn(std::slice::from_ref(&range))), expected);
    assert_eq!(torn(&Model::default()).len(), 1);

    let mut store = PowerStore::new(&[0; 1024]);
    store.write_all_at(500, &[1; 12]).unwrap(); // up to it
    let torn = |model: &Model| store.crashes(model, |_| {}).killed_writing;
    assert_eq!(torn(&bytes_torn(std::slice::from_ref(&(500..512)))), 0);
    assert_eq!(torn(&bytes_torn(std::slice::from_ref(&(501..512)))), 11);
    assert_eq!(torn(&Model::default()), 0);

    // With a power cut, a torn sector may be all that is kept of earlier writes.
    let mut store = PowerStore::new(&[0; 1024]);
    store.write_all_at(0, &[2; 4]).unwrap();
    store.write_all_at(600, &[1; 4]).unwrap();
    let (images, _) = images(&store, &bytes_torn(&[]), &[Kind::PowerCutWriting]);
    for count in 1..4 {
        let mut image = vec![0; 1024];
        image[600..600 + count].fill(1);
        assert!(images.contains(&image), "{count}");
    }
}

#[test]
fn a_promise_shows_old_states_again() {
    let mut store = PowerStore::new(&[0; 512]);
    store.write_all_at(0, &[1]).unwrap();
    store.promise(); // too early
    let mut broken = 0;
    store.crashes(&Model::default(), |crash| {
        broken += usize::from(crash.ended >= 2 && crash.image[0] == 0);
    });
    assert_eq!(broken, 1);
    store.sync().unwrap();
    let ops = store.ops();
    store.promise();
    store.crashes(&Model::default(), |crash| {
        assert!(crash.ended <= ops || crash.image[0] == 1);
    });
}

#[test]
fn a_cut_store_grows_by_zeros() {
    let mut store = PowerStore::new(&[1; 1000]);
    store.set_size(100).unwrap();
    store.set_size(1000).unwrap();
    store.sync().unwrap();
    let ops = store.ops();
    let mut expected = vec![0; 1000];
    expected[..100].fill(1);
    store.crashes(&Model::default(), |crash| {
        assert!(crash.ended < ops || crash.image == expected);
    });
    assert_eq!(*store.live(), *expected);
}

#[test]
fn a_lost_sector_of_a_simple_file_system_is_noise() {
    let mut store = PowerStore::default();
    store.write_all_at(1000, b"x").unwrap();
    let model = Model { lost: Lost::Noise, ..Model::default() };
    let (shown, _) = images(&store, &model, ALL);
    assert!(shown.contains(&*store.live().to_vec()));
    assert!(shown.iter().any(|image| image.len() == 1001 && image[..512] != [0; 512]));
    store.sync().unwrap();
    let ops = store.ops();
    store.crashes(&model, |crash| {
        assert!(crash.ended < ops || *crash.image == *store.live());
    });
}

#[test]
fn a_failed_sync_leaves_sectors_in_doubt_until_they_are_written_again() {
    let mut store = PowerStore::new(&[0; 1024]);
    store.fail(Fault { at: 2, kept: 0, lasting: false });
    store.write_all_at(0, &[1]).unwrap();
    store.write_all_at(512, &[1]).unwrap();
    assert_eq!(store.sync(), Err(PowerError::Fault { op: 2 }));
    store.write_all_at(513, &[1]).unwrap();
    store.sync().unwrap();
    let ops = store.ops();
    store.promise();
    let mut firsts = BTreeSet::new();
    store.crashes(&Model::default(), |crash| {
        if crash.ended > ops {
            firsts.insert(crash.image[0]);
            assert_eq!(crash.image[512..514], [1, 1]);
        }
    });
    assert_eq!(firsts, BTreeSet::from([0, 1]));

    let model = Model { failed_sync: FailedSync::Dirty, ..Model::default() };
    store.crashes(&model, |crash| {
        assert!(crash.ended < ops || crash.image[0] == 1);
    });
}

#[test]
fn faults_come_when_they_are_told_to() {
    let mut store = PowerStore::new(b"abcdef");
    store.fail(Fault { at: 1, kept: 2, lasting: false });
    store.write_all_at(0, b"A").unwrap();
    assert_eq!(store.write_all_at(3, b"DEF"), Err(PowerError::Fault { op: 1 }));
    assert_eq!(*store.live(), *b"AbcDEf");
    store.write_all_at(5, b"F").unwrap();

    store.fail(Fault { at: 4, kept: 2, lasting: true });
    store.set_size(7).unwrap();
    assert_eq!(store.set_size(8), Err(PowerError::Fault { op: 4 }));
    assert_eq!(store.write_all_at(0, b"xyz"), Err(PowerError::Fault { op: 5 }));
    assert_eq!(store.sync(), Err(PowerError::Fault { op: 6 }));
    assert_eq!(*store.live(), *b"AbcDEF\0");
    assert_eq!(
        store.log()[4..],
        [Op::SetSizeFailed, Op::Write { offset: 0, bytes: [].into() }, Op::SyncFailed]
    );
}

#[test]
fn a_full_store_can_be_overwritten() {
    let mut store = PowerStore::new(b"abcdef");
    store.limit(8);
    assert_eq!(store.write_all_at(4, b"EFGHIJ"), Err(PowerError::Full { op: 0 }));
    assert_eq!(*store.live(), *b"abcdEFGH");
    assert_eq!(store.set_size(9), Err(PowerError::Full { op: 1 }));
    assert_eq!(store.write_all_at(9, b"x"), Err(PowerError::Full { op: 2 }));
    store.write_all_at(0, b"ABCD").unwrap();
    store.sync().unwrap();
    assert_eq!(*store.live(), *b"ABCDEFGH");
}

#[test]
fn a_torn_sector_is_a_front_of_one_version_and_the_rest_of_an_older_one() {
    let mut store = PowerStore::new(&[b'a'; 8]);
    store.write_all_at(0, &[b'b'; 8]).unwrap();
    store.write_all_at(0, &[b'c'; 8]).unwrap();
    let model = Model { torn: 2000, ..Model::default() };
    let (torn, counts) = images(&store, &model, ALL);
    let mix = |front: u8, rest: u8, len: usize| {
        let mut image = vec![rest; 8];
        image[..len].fill(front);
        image
    };
    let mut all = Images::new();
    for (front, rest) in [(b'b', b'a'), (b'c', b'a'), (b'c', b'b')] {
        all.extend((0..=8).map(|len| mix(front, rest, len)));
    }
    assert_eq!(torn, all);
    assert!(counts.power_cut_torn >= 2000, "{counts:?}");
    store.sync().unwrap();
    let before = store.ops();
    let none = store.crashes_since(before, &model, |crash| assert_eq!(crash.image, [b'c'; 8]));
    assert!(none.total() > 0);
}

#[test]
fn pages_are_written_all_or_nothing_if_the_model_says_so() {
    let mut store = PowerStore::new(&[0; 8192]);
    store.write_all_at(1000, &[1; 5000]).unwrap();
    let model = Model { sector: 4096, ..Model::default() };
    let (shown, _) = images(&store, &model, WHOLE);
    let both = |first, second| {
        let mut image = vec![0; 8192];
        image[1000..4096].fill(first);
        image[4096..6000].fill(second);
        image
    };
    assert_eq!(shown, BTreeSet::from([both(0, 0), both(0, 1), both(1, 0), both(1, 1)]));
}

#[test]
fn of_the_sectors_under_way_any_may_be_erased_and_no_other() {
    let mut store = PowerStore::new(&[1; 4 * 512]);
    store.write_all_at(0, &[2; 512]).unwrap();
    store.sync().unwrap();
    store.write_all_at(600, &[3; 600]).unwrap();
    let model = Model { erased: 400, ..Model::default() };
    let mut erased = BTreeSet::new();
    store.crashes_since(3, &model, |crash| {
        assert_eq!((crash.image[0], crash.image[4 * 512 - 1]), (2, 1), "not under way");
        if crash.kind == Kind::PowerCutErased {
            let sectors = crash.image.chunks(512).skip(1);
            let of = |bytes: &[u8]| [0x00, 0xFF].into_iter().find(|&it| *bytes == [it; 512]);
            erased.insert(sectors.take(2).map(of).collect::<Vec<_>>());
        }
    });
    let of = |fill| [vec![fill, None], vec![None, fill], vec![fill; 2]];
    assert_eq!(erased, [Some(0x00), Some(0xFF)].into_iter().flat_map(of).collect());
}

#[test]
fn writing_nothing_makes_a_store_no_longer() {
    let mut store = PowerStore::new(b"abc");
    store.write_all_at(5, b"").unwrap();
    assert_eq!(images(&store, &Model::default(), ALL).0, BTreeSet::from([b"abc".to_vec()]));
    assert_eq!(*store.live(), *b"abc");
}

/// The states of versions.
fn states<'a>(versions: &[Version<&'a str>]) -> Vec<&'a str> {
    versions.iter().map(|version| version.state).collect()
}

#[test]
fn a_promise_may_be_kept_from_its_beginning_on_and_must_be_from_its_end() {
    let mut store = PowerStore::default();
    let mut promises = Promises::new("nothing");
    store.write_all_at(0, b"1").unwrap();
    promises.begin(&store, "first"); // operation 1 is the first of it
    store.write_all_at(0, b"2").unwrap();
    store.sync().unwrap();
    promises.end(&store); // which operation 3 says
    promises.begin(&store, "second");
    store.write_all_at(0, b"3").unwrap();
    let allowed = |begun, ended| states(promises.allowed(begun, ended));
    assert_eq!(allowed(1, 1), ["nothing"]);
    assert_eq!(allowed(2, 1), ["nothing", "first"]);
    assert_eq!(allowed(3, 2), ["nothing", "first"]);
    assert_eq!(allowed(3, 3), ["first"]);
    assert_eq!(allowed(4, 4), ["first"]);
    assert_eq!(allowed(5, 4), ["first", "second"]);
    assert_eq!(allowed(5, 5), ["first", "second"], "it has not ended");
    let lax = promises.allowed_if(5, 5, |version| version.ended == 0);
    assert_eq!(states(lax), ["nothing", "first", "second"]);
}

#[test]
fn a_program_that_is_killed_has_promised_what_it_had_said() {
    let mut store = PowerStore::default();
    let mut promises = Promises::new("nothing");
    promises.begin(&store, "closed");
    store.write_all_at(0, b"1").unwrap();
    store.sync().unwrap();
    promises.end(&store);
    promises.closed(1);
    for ops in 0..=3 {
        let killed = promises.killed_after(ops);
        let all = if ops == 0 { vec!["nothing"] } else { vec!["nothing", "closed"] };
        assert_eq!(states(killed.all()), all);
        let version = &killed.last()[0];
        assert_eq!(version.ended == 2, ops >= 2, "killed after {ops}");
        assert_eq!(version.len, (ops == 3).then_some(1), "killed after {ops}");
    }
    let image: &[u8] = b"12";
    let crash = |begun| Crash { begun, ended: begun, kind: Kind::Killed, image };
    let (killed, whole) = (promises.killed_after(2), promises.killed_after(3));
    assert!(check_len(&crash(3), whole.last()).is_err(), "nothing else was begun");
    assert_eq!(check_len(&crash(4), whole.last()), Ok(()));
    assert_eq!(check_len(&crash(3), killed.last()), Ok(()), "by another program");
}
