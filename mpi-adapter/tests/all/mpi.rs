//! The ranks are processes of MPI. Without the environment of a launcher, this program starts
//! itself under `$MPIEXEC`, or `mpiexec`, again and again, and judges what its ranks wrote. A job
//! that does not end is a failure.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

mod common;
mod processes;

use crate::common::faulty::{self, Fault, Faulty};
use crate::common::{faults, gsd_and_blob, program};
use crate::processes::launcher::{Launcher, said};
use crate::processes::{differ_sample, goes_on, kills, passed};
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use striae::gsd::Durability::OnCommit;
use striae_mpi::mpi::Rank;
use striae_mpi::sion::{Builder, OpenOptions, Reopen};
use striae_mpi::{Collective, Error, Mpi};

/// A job that takes longer hangs. It is no measure of speed: jobs take a second.
const HANGS_AFTER: Duration = Duration::from_secs(100);

/// After a rank is gone, a job ends within this time.
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// The deadline of ranks that wait for one that is gone.
const SHORT: Duration = Duration::from_secs(2);

fn main() {
    let of_launcher = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"];
    if of_launcher.iter().any(|name| std::env::var_os(name).is_some()) {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        rank(&arguments[0], Path::new(&arguments[1]));
        return;
    }
    let launcher = Launcher::find();
    if let Ok(number) = std::env::var("STRIAE_MPI_KILLS") {
        (0..number.parse().unwrap()).for_each(|number| launcher.kill(number));
        return println!("test result: ok. {number} kills of {}", launcher.program);
    }
    launcher.run("every_operation", 17).is_ok_at_all(); // no longer few
    for n in [1, 2, 3, 5, 8] {
        launcher.run("every_operation", n).is_ok_at_all();
        launcher.run("a_file", n).is_ok_at_all().has_file();
        launcher.run("a_chunk_and_a_set", n).is_ok_at_all().has_chunk_and_set();
    }
    let job = launcher.run("a_passed_file", 3);
    passed::check(&job.is_ok_at_all().folder.path().join("a.sion"), 3);
    for n in [2, 3] {
        launcher.run("a_failure_at_any_collective", n).is_equal_at_all();
    }
    for n in [2, 3, 5] {
        launcher.run("a_rank_that_dies", n).ended();
        if launcher.is_open_mpi {
            launcher.run_on("a_rank_that_dies", n).ended().by_an_error_of_the_living();
        }
        launcher.run("a_rank_that_hangs", n).ended().by_an_error_of_the_living();
        launcher.run("a_rank_that_finalizes", n).ended().by_an_error_of_the_living();
        launcher.run("a_rank_that_stops", n).ended().by_an_error_of_the_living();
    }
    for n in [2, 3, 8] {
        launcher.run("ranks_that_differ", n).is_equal_at_all();
    }
    launcher.run("the_first_rank_hangs", 3).ended().by_an_error_of_the_living();
    launcher.run("an_inner_rank_hangs", 18).ended().by_an_error_of_the_living();
    goes_on::check(launcher.run("goes_on_after_a_hang", 4).ended().folder.path(), 4);
    if launcher.is_open_mpi {
        goes_on::check(launcher.run_on("goes_on_after_a_death", 4).ended().folder.path(), 4);
    }
    launcher.run("the_first_rank_is_late", 3).is_ok_at_all();
    for scenario in ["dies_before_its_rows", "dies_after_its_rows", "dies_after_a_commit"] {
        launcher.run(scenario, 3).ended().has_last_commit();
    }
    launcher.run("named_faults", faults::RANKS).is_equal_at_all();
    launcher.run("leaves_before_the_close", 4).ended().by_an_error_of_the_living();
    launcher.run("abort", 3).was_aborted();
    launcher.run("error_handlers", 2).is_ok_at_all();
    println!("test result: ok. {} jobs of {}", launcher.jobs.get(), launcher.program);
}

/// The rank that is gone in a scenario.
fn gone(scenario: &str) -> u32 {
    match scenario {
        "the_first_rank_hangs" => 0,
        "an_inner_rank_hangs" => 16, // rank 17 has no other way to the rest
        _ => 1,
    }
}

fn rank(scenario: &str, folder: &Path) {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let deadline = deadline_of(scenario);
    let settings = Mpi::new().deadline(deadline);
    let comm = settings.duplicate(&world).unwrap();
    let rank = comm.rank();
    std::fs::write(folder.join(format!("process {rank}")), std::process::id().to_string()).unwrap();
    let says = match scenario {
        "every_operation" => text(program::program(comm)),
        "a_file" => text(file(comm, &folder.join("a.sion"))),
        "a_chunk_and_a_set" => text(gsd_and_blob::write_and_read(comm, folder, OnCommit)),
        "a_passed_file" => text(passed::write(comm, &folder.join("a.sion"))),
        "a_failure_at_any_collective" => failures(&comm, &|| settings.duplicate(&world).unwrap()),
        "ranks_that_differ" => {
            differ_sample::meet(&comm, &|| settings.duplicate(&world).unwrap(), folder)
        }
        "a_rank_that_dies"
        | "a_rank_that_hangs"
        | "a_rank_that_stops"
        | "the_first_rank_hangs"
        | "an_inner_rank_hangs" => go_away(comm, scenario, folder),
        "a_rank_that_finalizes" => {
            comm.agree(Ok(())).unwrap();
            if rank == 1 {
                std::fs::write(folder.join("gone"), "").unwrap();
                drop(universe); // MPI_Finalize
                let error = comm.agree(Ok(())).unwrap_err();
                assert!(error.to_string().contains("MPI_Finalize"), "{error}");
                return;
            }
            without_the_gone(comm, scenario, folder)
        }
        "writes_a_set" => kills::write(comm, folder),
        "writes_frames" => gsd_and_blob::write_and_die(comm, folder, "never"),
        _ if scenario.starts_with("dies_") => gsd_and_blob::write_and_die(comm, folder, scenario),
        "named_faults" => faults::meet(&comm, folder),
        "leaves_before_the_close" => {
            return leave(comm, settings.duplicate(&world).unwrap(), universe, folder);
        }
        "the_first_rank_is_late" => goes_on::come_late(&comm, folder),
        _ if scenario.starts_with("goes_on_after_") => {
            let ranks = settings.duplicate(&world).unwrap();
            end(&comm, &goes_on::go_on(&comm, ranks, scenario, folder), scenario, folder)
        }
        "abort" => {
            if rank == 1 {
                comm.abort(3);
            }
            text(comm.agree(Ok(())).and_then(|()| comm.agree(Ok(()))))
        }
        "error_handlers" => {
            drop(comm);
            handlers(&world, &settings)
        }
        _ => panic!("no scenario {scenario}"),
    };
    std::fs::write(said(folder, rank), says).unwrap();
}

/// How long the ranks of a scenario wait for each other.
fn deadline_of(scenario: &str) -> Duration {
    match scenario {
        "a_rank_that_dies" | "a_rank_that_hangs" | "a_rank_that_finalizes" => SHORT,
        "a_rank_that_stops" | "the_first_rank_hangs" | "an_inner_rank_hangs" => SHORT,
        "the_first_rank_is_late" => SHORT,
        "leaves_before_the_close" | "goes_on_after_a_hang" | "goes_on_after_a_death" => SHORT,
        _ => HANGS_AFTER,
    }
}

/// One rank is gone after the first collective, and the others have an error.
fn go_away(comm: Rank, scenario: &str, folder: &Path) -> ! {
    let rank = comm.rank();
    comm.agree(Ok(())).unwrap();
    if rank == gone(scenario) {
        std::fs::write(folder.join("gone"), "").unwrap();
        match scenario {
            "a_rank_that_dies" => std::process::abort(), // without a word to MPI
            "a_rank_that_stops" => {
                let process = std::process::id().to_string();
                Command::new("kill").args(["-STOP", &process]).status().unwrap();
            }
            _ => {}
        }
        loop {
            std::thread::park();
        }
    }
    without_the_gone(comm, scenario, folder)
}

/// Rank 1 leaves with its file open: the others have an error of the close, and of the job.
fn leave(comm: Rank, own: Rank, universe: mpi::environment::Universe, folder: &Path) {
    let rank = comm.rank();
    let mut file = Builder::new().create(own, folder.join("a")).unwrap();
    file.write(b"x").unwrap();
    if rank == 1 {
        std::fs::write(folder.join("gone"), "").unwrap();
        return drop(universe); // MPI_Finalize
    }
    let error = file.close().map(drop).unwrap_err();
    assert_eq!((error.code(), error.rank()), (striae_mpi::Code::Lost, Some(1)));
    without_the_gone(comm, "leaves_before_the_close", folder)
}

fn text(result: Result<(), Error>) -> String {
    result.map_or_else(|error| format!("error: {error}"), |()| "ok".into())
}

/// What rank `rank` writes: more than a chunk.
fn stream(rank: u32) -> Vec<u8> {
    (0..rank * 700).map(|i| (i * 7 + rank) as u8).collect()
}

fn file(comm: Rank, path: &Path) -> Result<(), Error> {
    let bytes = stream(comm.rank());
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let builder = Builder::new().fsblksize(512).chunksize(512).sealed(true);
    let mut file = builder.create(comm, path)?;
    for part in [first, second] {
        file.advance(part.len() as u64)?;
        file.write(part).unwrap();
        file.commit()?;
    }
    let comm = file.close()?;
    let (rank, size) = (comm.rank(), comm.size());

    // Of twice as many tasks, each rank owns the one with its number, and the one as far from the
    // end.
    let (owned, other) = ([rank, 2 * size - 1 - rank], path.with_file_name("mapped.sion"));
    let builder = Builder::new().fsblksize(512).nfiles(2).keyval(true);
    let builder = builder.tasks(owned.map(|task| (task.into(), 600)).to_vec());
    let mut file = builder.create(comm, &other)?;
    for task in owned {
        file.writer(task).unwrap().write_key(7, &stream(task)).unwrap();
    }
    let comm = file.close()?;

    // A file for each parity.
    let grouped = path.with_file_name("grouped.sion");
    let mut file = Builder::new().fsblksize(512).color(rank % 2).create(comm, &grouped)?;
    file.write(&stream(rank)).unwrap();
    let comm = file.close()?;

    let read = |mut stream: Box<dyn Read + '_>| {
        let mut found = Vec::new();
        stream.read_to_end(&mut found).unwrap();
        found
    };
    let set = OpenOptions::new().open(comm, path)?;
    assert!(read(Box::new(set.stream(rank.into()).unwrap())) == bytes);
    assert!(set.check()?);
    let mut file = Reopen::new().open(set.close(Ok(()))?, &other)?;
    let tasks: Vec<_> = file.tasks().collect();
    assert_eq!(tasks, [2 * rank, 2 * rank + 1]);
    file.advance(1000)?;
    for task in tasks {
        file.writer(task).unwrap().write_key(8, &[task as u8; 700]).unwrap();
    }
    file.commit_set()?;
    let set = OpenOptions::new().open(file.close()?, &other)?;
    for task in [2 * rank, 2 * rank + 1] {
        let mut records = set.stream(task.into()).unwrap();
        assert!(read(Box::new(records.value(7).unwrap())) == stream(task));
        assert!(read(Box::new(records.value(8).unwrap())) == [task as u8; 700]);
    }
    let options = OpenOptions::new().globalranks(vec![rank.into()]);
    let set = options.open(set.close(Ok(()))?, &grouped)?;
    assert!(read(Box::new(set.stream(set.tasks()[0].task).unwrap())) == bytes);
    set.close(Ok(()))?.free(Ok(()))
}

/// Lets each rank fail at each operation in turn. Returns the errors, which all ranks have.
fn failures(comm: &Rank, duplicate: &dyn Fn() -> Rank) -> String {
    let never = |_: &Rank, _: Fault| {};
    let whole = Faulty::new(duplicate(), None, never).only_collectives();
    let count = whole.count();
    program::program(whole).unwrap();
    let [count] = comm.combine(Ok([count().into()]), [striae_mpi::Fold::Min]).unwrap();
    let mut errors = String::new();
    for failing in 0..comm.size() {
        for at in 0..count as u32 {
            let fault = (failing == comm.rank()).then_some((at, Fault::Fail));
            let faulty = Faulty::new(duplicate(), fault, never).only_collectives();
            let error = program::program(faulty).unwrap_err();
            assert_eq!((error.code(), error.rank()), (faulty::INJECTED, Some(failing)));
            writeln!(errors, "{failing} {at} {error:?}").unwrap();
        }
    }
    errors
}

/// The error of a rank that waits for one that is gone, and its end.
fn without_the_gone(comm: Rank, scenario: &str, folder: &Path) -> ! {
    let error = loop {
        if let Err(error) = comm.agree(Ok(())) {
            break error;
        }
    };
    end(&comm, &error, scenario, folder)
}

/// Ends a rank after an error, when the others have theirs too: they would be killed.
fn end(comm: &Rank, error: &Error, scenario: &str, folder: &Path) -> ! {
    let path = said(folder, comm.rank());
    std::fs::write(path.with_extension("new"), format!("error: {error}")).unwrap();
    std::fs::rename(path.with_extension("new"), path).unwrap();
    let living = (0..comm.size()).filter(|rank| *rank != gone(scenario));
    let start = Instant::now();
    while start.elapsed() < ENDS_WITHIN && !living.clone().all(|rank| said(folder, rank).exists()) {
        std::thread::yield_now();
    }
    std::process::exit(4) // no MPI_Finalize: it would wait for the rank that is gone
}

/// The user's communicator has the error handler that it had, and still works.
fn handlers(world: &mpi::topology::SimpleCommunicator, settings: &Mpi) -> String {
    use mpi::traits::AsRaw;
    let handler = || {
        let mut handler = std::mem::MaybeUninit::uninit();
        // SAFETY: MPI-3.1 8.3.1: a local call that writes a handle.
        #[allow(unsafe_code, reason = "the one call of MPI that this test makes itself")]
        unsafe {
            mpi::ffi::MPI_Comm_get_errhandler(world.as_raw(), handler.as_mut_ptr());
            handler.assume_init()
        }
    };
    let before = handler();
    let comm = settings.duplicate(world).unwrap();
    comm.agree(Ok(())).unwrap();
    assert_eq!(handler(), before);
    // No rank has this number: MPI's error is a value, and does not end the process.
    let error = comm.send(comm.size(), b"x").unwrap_err();
    let is_mpi = matches!(error.code(), striae_mpi::Code::Carrier(class) if class > 0);
    if is_mpi { "ok".into() } else { format!("{error:?}") }
}
