//! What a kernel may refuse: calls that a filter denies, memory that may not be locked,
//! descriptors.
//!
//! Each case is a process of its own, as what was denied cannot be allowed again.

use crate::*;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};
use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};
use std::os::fd::AsRawFd;
use striae_kit::adapter::denying::{deny, deny_if};

/// Something is denied, and so a file that is read stands on a lower rung.
struct Case {
    name: &'static str,
    deny: fn(),
    /// Whether that is denied when the file is open already.
    is_open: bool,
    top: Rung,
    dontcache: bool,
    /// Where it stands in the end, how many steps that takes, and what they say.
    rung: Rung,
    why: Why,
}

const fn case(name: &'static str, deny: fn(), rung: Rung, why: Why) -> Case {
    let (is_open, top, dontcache) = (false, Rung::Registered, false);
    Case { name, deny, is_open, top, dontcache, rung, why }
}

/// As `case`, beginning with AIO and ending with threads.
const fn of_aio(name: &'static str, deny: fn(), why: Why) -> Case {
    Case { top: Rung::Aio, ..case(name, deny, Rung::Threads, why) }
}

/// As `case`, when the file is open.
const fn open(name: &'static str, deny: fn(), rung: Rung, why: Why) -> Case {
    Case { is_open: true, ..case(name, deny, rung, why) }
}

/// As `of_aio`, when the file is open.
const fn open_by_aio(name: &'static str, deny: fn()) -> Case {
    Case { is_open: true, ..of_aio(name, deny, NOT_READ_ONCE) }
}

type Why = (usize, &'static str);

const NO_RING: Why = (2, "setting up a ring: ");
const NO_AIO: Why = (1, "setting up AIO: ");
const NEITHER: Why = (3, "setting up ");
const NOT_OPENED: Why = (4, "opening the file: ");
const NOT_READ: Why = (2, "reading at offset ");
const NOT_READ_ONCE: Why = (1, "reading at offset ");
const NO_BUFFERS: Why = (1, "registering buffers: ");

const CASES: &[Case] = &[
    case("a kernel without io_uring", || deny(SETUP, Errno::NOSYS), Rung::Aio, NO_RING),
    case("a container without io_uring", || deny(SETUP, Errno::PERM), Rung::Aio, NO_RING),
    case("a ring that has no memory", || deny(SETUP, Errno::NOMEM), Rung::Aio, NO_RING),
    case("no descriptor for a ring", two_descriptors, Rung::Aio, NO_RING),
    case("neither a ring nor AIO", no_ring_no_aio, Rung::Threads, NEITHER),
    case("no ring, no AIO and no threads", no_threads, Rung::Threads, NEITHER),
    of_aio("a kernel without AIO", || deny(IO_SETUP, Errno::NOSYS), NO_AIO),
    of_aio("a machine that reads too much", || deny(IO_SETUP, Errno::AGAIN), NO_AIO),
    of_aio("no submitting", || deny(IO_SUBMIT, Errno::PERM), NO_AIO),
    of_aio("no events", || deny(IO_GETEVENTS, Errno::PERM), NO_AIO),
    of_aio("no destroying", || deny(IO_DESTROY, Errno::PERM), NO_AIO),
    case("an old kernel", || deny(REGISTER, Errno::INVAL), Rung::Ring, NO_BUFFERS),
    case("no registering", || deny(REGISTER, Errno::PERM), Rung::Ring, NO_BUFFERS),
    case("little locked memory", little_locked_memory, Rung::Ring, (1, "registering ")),
    case("no locked memory", no_locked_memory, Rung::Aio, NO_RING),
    case("no statx", || deny(STATX, Errno::NOSYS), Rung::Registered, (0, "")),
    case("statx forbidden", || deny(STATX, Errno::PERM), Rung::Registered, (0, "")),
    case("no O_DIRECT", no_direct, Rung::Buffered, NOT_OPENED),
    Case {
        dontcache: true,
        ..case("no O_DIRECT, no cache", no_direct, Rung::Uncached, NOT_OPENED)
    },
    Case {
        top: Rung::Threads,
        ..case("no O_DIRECT for threads", no_direct, Rung::Buffered, (1, "opening the file: "))
    },
    Case {
        top: Rung::Uncached,
        ..case("no preadv2", || deny(PREADV2, Errno::NOSYS), Rung::Buffered, NOT_READ_ONCE)
    },
    Case {
        top: Rung::Uncached,
        ..case("no flag", || deny(PREADV2, Errno::OPNOTSUPP), Rung::Buffered, NOT_READ_ONCE)
    },
    open("no entering", || deny(ENTER, Errno::PERM), Rung::Aio, NOT_READ),
    open("an entry that is always busy", || deny(ENTER, Errno::BUSY), Rung::Aio, NOT_READ),
    open("an entry to be tried again", || deny(ENTER, Errno::AGAIN), Rung::Aio, NOT_READ),
    open("an entry that is interrupted", || deny(ENTER, Errno::INTR), Rung::Aio, NOT_READ),
    open("no entry", || deny(ENTER, Errno::NOMEM), Rung::Aio, NOT_READ),
    open("no entry, and no AIO", no_entry_no_aio, Rung::Threads, (3, "")),
    open_by_aio("no more AIO", || deny(IO_SUBMIT, Errno::PERM)),
    open_by_aio("AIO that is always full", || deny(IO_SUBMIT, Errno::AGAIN)),
    open_by_aio("AIO that is interrupted", || deny(IO_SUBMIT, Errno::INTR)),
    open_by_aio("no more events", || deny(IO_GETEVENTS, Errno::PERM)),
    open_by_aio("no events now", || deny(IO_GETEVENTS, Errno::AGAIN)),
    Case {
        is_open: true,
        ..case(
            "no registering of memory",
            || deny(REGISTER, Errno::NOMEM),
            Rung::Ring,
            (1, "registering "),
        )
    },
];

const SETUP: i64 = libc::SYS_io_uring_setup;
const ENTER: i64 = libc::SYS_io_uring_enter;
const REGISTER: i64 = libc::SYS_io_uring_register;
const IO_SETUP: i64 = libc::SYS_io_setup;
const IO_SUBMIT: i64 = libc::SYS_io_submit;
const IO_GETEVENTS: i64 = libc::SYS_io_getevents;
const IO_DESTROY: i64 = libc::SYS_io_destroy;
const STATX: i64 = libc::SYS_statx;
const PREADV2: i64 = libc::SYS_preadv2;

fn no_direct() {
    no_direct_by(libc::SYS_openat, 2);
    #[cfg(target_arch = "x86_64")]
    no_direct_by(libc::SYS_open, 1);
}

fn no_direct_by(call: i64, argument: u8) {
    let flag = u64::from(rustix::fs::OFlags::DIRECT.bits());
    let masked = SeccompCmpOp::MaskedEq(flag);
    let flags = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, masked, flag).unwrap();
    deny_if(call, vec![SeccompRule::new(vec![flags]).unwrap()], Errno::INVAL);
}

fn no_ring_no_aio() {
    deny(SETUP, Errno::PERM);
    deny(IO_SETUP, Errno::PERM);
}

fn no_entry_no_aio() {
    deny(ENTER, Errno::PERM);
    deny(IO_SETUP, Errno::PERM);
}

fn no_threads() {
    no_ring_no_aio();
    deny(libc::SYS_clone, Errno::AGAIN);
    deny(libc::SYS_clone3, Errno::AGAIN);
    assert!(std::thread::Builder::new().spawn(|| ()).is_err());
}

/// Enough for a ring, and for no buffer.
fn little_locked_memory() {
    locked_memory(1 << 16);
}

fn no_locked_memory() {
    locked_memory(0);
}

fn locked_memory(bytes: u64) {
    let maximum = getrlimit(Resource::Memlock).maximum;
    setrlimit(Resource::Memlock, Rlimit { current: Some(bytes), maximum }).unwrap();
    let mut sets = capabilities(None).unwrap();
    sets.effective.remove(CapabilitySet::IPC_LOCK);
    set_capabilities(None, sets).unwrap();
}

/// As many as a file takes that is open twice.
fn two_descriptors() {
    let next = std::fs::File::open("/dev/null").unwrap().as_raw_fd() as u64;
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(next + 2), maximum }).unwrap();
}

fn check_case(case: &Case) {
    let bytes = content(200_701);
    let made = made(&bytes);
    let mut random = Random(3);
    let options = OpenOptions::new().top(case.top).dontcache(case.dontcache).threshold(50_000);
    let options = options.max_io(16_384).depth(8);
    let open = || options.open(made.path()).unwrap();
    let file = if case.is_open {
        let file = open();
        (case.deny)();
        file
    } else {
        (case.deny)();
        open()
    };
    check_all(&file, &bytes, &mut random);
    let steps = file.steps();
    assert_eq!(file.rung(), case.rung, "{steps:?}");
    assert_eq!(steps.len(), case.why.0, "{steps:?}");
    assert!(steps.iter().all(|step| step.why.starts_with(case.why.1)), "{steps:?}");
    drop(file);
    match options.policy(Policy::Required).open(made.path()) {
        Ok(file) => {
            check_all(&file, &bytes, &mut random);
            assert_eq!(file.rung(), case.rung);
            assert!(file.rung().is_direct());
        }
        Err(error) => {
            let kind = match case.top.is_direct() {
                true => io::ErrorKind::Unsupported,
                false => io::ErrorKind::InvalidInput,
            };
            assert_eq!(io::Error::from(error).kind(), kind);
            assert!(!case.rung.is_direct());
        }
    }
}

#[test]
#[ignore = "a process of its own, which is denied something"]
fn process() {
    let Some(name) = argument() else { return };
    if has_all_rungs() {
        check_case(CASES.iter().find(|case| case.name == name).unwrap());
        println!("denied: {name}");
    }
}

/// What a child says of its work.
const SAID: &[&str] = &["denied: ", "skipped: "];

#[test]
fn what_is_denied_is_gone_without() {
    for case in CASES {
        run(child("denied::process", case.name), SAID);
    }
}

/// What is taken away while it is used: where a file stood, and stands then.
struct Middle {
    name: &'static str,
    call: i64,
    top: Rung,
    rung: Rung,
}

const MIDDLES: [Middle; 3] = [
    Middle { name: "ring", call: ENTER, top: Rung::Registered, rung: Rung::Aio },
    Middle { name: "AIO", call: IO_SUBMIT, top: Rung::Aio, rung: Rung::Threads },
    Middle { name: "events", call: IO_GETEVENTS, top: Rung::Aio, rung: Rung::Threads },
];

/// Something is taken away from one that reads on, or from one that does not.
fn check_middle(middle: &Middle, order: Order, is_left: bool) {
    let bytes = content(2_000_000);
    let made = made(&bytes);
    let options = OpenOptions::new().top(middle.top).max_io(16_384).depth(16);
    let file = options.open(made.path()).unwrap();
    let spans = (0..40).map(|at| span(at * 49_001, 48_001));
    let mut stream = file.stream(spans.clone(), order).unwrap();
    let mut found = 0;
    while let Some(piece) = stream.next_piece().unwrap() {
        assert!(piece.bytes == part(&bytes, piece.span));
        found += piece.bytes.len();
        if found == piece.bytes.len() {
            deny(middle.call, Errno::PERM);
            if is_left {
                break;
            }
        }
    }
    assert!(is_left || found == 40 * 48_001);
    drop(stream);
    check_all(&file, &bytes, &mut Random(5));
    assert_eq!(file.rung(), middle.rung);
    let why = |step: &striae::direct::Step| step.why.starts_with("reading at offset ");
    assert!(file.steps().iter().all(why), "{:?}", file.steps());
}

#[test]
#[ignore = "a process of its own, from which something is taken away"]
fn middle() {
    let Some(name) = argument() else { return };
    if has_all_rungs() {
        let order = if name.contains("asked") { Order::Asked } else { Order::Completed };
        let middle = MIDDLES.iter().find(|middle| name.starts_with(middle.name)).unwrap();
        check_middle(middle, order, name.contains("left"));
        println!("denied: {name}");
    }
}

#[test]
fn what_is_taken_away_leaves_nothing_under_way() {
    for middle in MIDDLES {
        for how in ["asked", "completed", "asked, left", "completed, left"] {
            run(child("denied::middle", &format!("{}, {how}", middle.name)), SAID);
        }
    }
}

#[test]
#[ignore = "a process of its own, which has few descriptors"]
fn second() {
    let Some(_) = argument() else { return };
    if !has_all_rungs() {
        return;
    }
    let bytes = content(200_701);
    let made = made(&bytes);
    let file = OpenOptions::new().max_io(4096).memory(1 << 16).open(made.path()).unwrap();
    let spans = [span(1, 100_000), span(100_002, 100_000)];
    let mut first = file.stream(spans, Order::Asked).unwrap();
    assert!(first.next_piece().unwrap().is_some());
    let next = std::fs::File::open("/dev/null").unwrap().as_raw_fd() as u64;
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: Some(next), maximum }).unwrap();
    let mut second = file.stream(spans, Order::Asked).unwrap();
    assert_eq!(file.rung(), Rung::Aio);
    assert!(file.steps().iter().all(|step| step.why.starts_with("setting up a ring: ")));
    // What the first one has under way by its ring comes in, and the rest by AIO.
    for stream in [&mut first, &mut second] {
        while let Some(piece) = stream.next_piece().unwrap() {
            assert!(piece.bytes == part(&bytes, piece.span));
        }
    }
    println!("denied: a second ring");
}

#[test]
fn a_second_ring_that_cannot_be_had_leaves_the_first_one_alone() {
    run(child("denied::second", "all"), SAID);
}

#[test]
#[ignore = "a process of its own, which cannot read"]
fn nothing() {
    let Some(_) = argument() else { return };
    let made = made(&content(100_000));
    let files = Rung::ALL.map(|top| OpenOptions::new().top(top).open(made.path()).unwrap());
    for call in [ENTER, IO_SUBMIT, PREADV2, libc::SYS_pread64] {
        deny(call, Errno::PERM);
    }
    for file in files {
        let error = file.read_spans(&[span(1, 70_000)]).unwrap_err();
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(file.rung(), Rung::Buffered);
        let mut stream = file.stream([span(1, 9); 5], Order::Asked).unwrap();
        assert!(stream.next_piece().is_err());
        assert!(stream.next_piece().unwrap().is_none());
        assert!(file.read_into(1, &mut [0; 9]).is_err());
    }
    println!("denied: all");
}

#[test]
fn what_cannot_be_read_at_all_is_an_error() {
    run(child("denied::nothing", "all"), SAID);
}
