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

#[path = "common/faults.rs"]
mod faults;
#[path = "common/faulty.rs"]
mod faulty;
#[path = "common/goes_on.rs"]
mod goes_on;
#[path = "common/gsd_and_blob.rs"]
mod gsd_and_blob;
#[path = "common/kills.rs"]
mod kills;
#[path = "common/passed.rs"]
mod passed;
#[path = "common/program.rs"]
mod program;

use faulty::{Fault, Faulty};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
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
    }
    goes_on::check(launcher.run("goes_on_after_a_hang", 4).ended().folder.path(), 4);
    if launcher.is_open_mpi {
        goes_on::check(launcher.run_on("goes_on_after_a_death", 4).ended().folder.path(), 4);
    }
    for scenario in ["dies_before_its_rows", "dies_after_its_rows", "dies_after_a_commit"] {
        launcher.run(scenario, 3).ended().has_last_commit();
    }
    launcher.run("named_faults", faults::RANKS).is_equal_at_all();
    launcher.run("leaves_before_the_close", 4).ended().by_an_error_of_the_living();
    launcher.run("abort", 3).was_aborted();
    launcher.run("error_handlers", 2).is_ok_at_all();
    println!("test result: ok. {} jobs of {}", launcher.jobs.get(), launcher.program);
}

// ---- the launcher ----

struct Launcher {
    program: String,
    is_open_mpi: bool,
    jobs: std::cell::Cell<u32>,
}

/// What is left of a job.
struct Job {
    scenario: &'static str,
    n: u32,
    is_success: bool,
    /// The launcher was told to let the other ranks live when one is killed.
    lets_live: bool,
    /// The time since the first rank wrote what it has to say, or was gone.
    took: Duration,
    folder: tempfile::TempDir,
    said: BTreeMap<u32, String>,
    output: String,
}

impl Launcher {
    fn find() -> Self {
        let program = std::env::var("MPIEXEC").unwrap_or_else(|_| "mpiexec".into());
        let version = Command::new(&program).arg("--version").output().unwrap();
        let version = String::from_utf8_lossy(&version.stdout).into_owned();
        let is_open_mpi = version.contains("Open MPI") || version.contains("OpenRTE");
        Self { program, is_open_mpi, jobs: std::cell::Cell::new(0) }
    }

    fn run(&self, scenario: &'static str, n: u32) -> Job {
        self.run_with(&[], scenario, n, &mut |_| {})
    }

    /// Kills a rank while all write: of a set of files, and each fifth time of a GSD file.
    fn kill(&self, number: u32) {
        let n = 2 + number % 4;
        let mut kill = kills::Kill::new(number, n);
        let mut look = |folder: &Path| kill.look(folder);
        match number % 5 {
            4 => {
                let job = self.run_with(&[], "writes_frames", n, &mut look);
                kills::check_gsd(job.ended().folder.path(), n);
            }
            _ => {
                let job = self.run_with(&[], "writes_a_set", n, &mut look);
                kills::check(job.ended().folder.path(), n);
            }
        }
    }

    /// Lets the other ranks live when one is killed, which MPICH's launcher does not do.
    fn run_on(&self, scenario: &'static str, n: u32) -> Job {
        self.run_with(&["--enable-recovery"], scenario, n, &mut |_| {})
    }

    /// `look` is called with the folder of the job, again and again until it ends.
    fn run_with(
        &self,
        options: &[&str],
        scenario: &'static str,
        n: u32,
        look: &mut dyn FnMut(&Path),
    ) -> Job {
        self.jobs.set(self.jobs.get() + 1);
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(&self.program);
        if self.is_open_mpi {
            // In a container, as root, on few processors.
            command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]);
            command.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
        }
        command.args(options).args(["-n", &n.to_string()]).arg(std::env::current_exe().unwrap());
        command.arg(scenario).arg(folder.path());
        let log = folder.path().join("output");
        let to = std::fs::File::create(&log).unwrap();
        command.stdin(Stdio::null()).stderr(to.try_clone().unwrap()).stdout(to);
        let mut child = command.spawn().unwrap();
        let (start, mut since) = (Instant::now(), None);
        let is_success = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status.success();
            }
            look(folder.path());
            if since.is_none() && folder.path().join("gone").exists() {
                since = Some(Instant::now());
            }
            let is_over = since.is_some_and(|since: Instant| since.elapsed() > ENDS_WITHIN);
            if is_over && !(0..n).any(|rank| is_alive(folder.path(), rank)) {
                // That of Open MPI 4.1.4 sometimes hangs when all of its processes have ended.
                println!("{scenario} with {n} ranks: the ranks have ended, the launcher has not");
                child.kill().unwrap();
                child.wait().unwrap();
                since = None;
                break false;
            }
            if start.elapsed() > HANGS_AFTER {
                child.kill().unwrap();
                child.wait().unwrap();
                panic!("{scenario} with {n} ranks hangs:\n{}", read(&log));
            }
            std::thread::sleep(Duration::from_millis(5)); // between two looks at the job
        };
        let said = |rank: u32| {
            let path = said(folder.path(), rank);
            path.exists().then(|| (rank, read(&path)))
        };
        Job {
            scenario,
            n,
            is_success,
            lets_live: !options.is_empty(),
            took: since.map_or(Duration::ZERO, |since| since.elapsed()),
            said: (0..n).filter_map(said).collect(),
            output: read(&log),
            folder,
        }
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Whether the process of a rank, which has written its number, has not ended.
fn is_alive(folder: &Path, rank: u32) -> bool {
    let process = read(&folder.join(format!("process {rank}")));
    let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    state.rsplit(") ").next().is_some_and(|state| !state.is_empty() && !state.starts_with('Z'))
}

fn said(folder: &Path, rank: u32) -> PathBuf {
    folder.join(format!("rank {rank}"))
}

impl Job {
    fn show(&self) -> String {
        format!("{} with {} ranks: {:#?}\n{}", self.scenario, self.n, self.said, self.output)
    }

    fn is_equal_at_all(&self) -> &Self {
        assert!(self.is_success && self.said.len() == self.n as usize, "{}", self.show());
        assert!(self.said.values().all(|said| *said == self.said[&0]), "{}", self.show());
        self
    }

    fn is_ok_at_all(&self) -> &Self {
        self.is_equal_at_all();
        assert_eq!(self.said[&0], "ok", "{}", self.show());
        self
    }

    fn has_file(&self) {
        let file = striae::sion::File::open(self.folder.path().join("a.sion")).unwrap();
        assert_eq!(file.ntasks(), u64::from(self.n));
        for task in 0..u64::from(self.n) {
            let mut found = Vec::new();
            file.stream(task).unwrap().read_to_end(&mut found).unwrap();
            assert!(found == stream(task as u32), "task {task}: {}", self.show());
        }
    }

    fn has_chunk_and_set(&self) {
        gsd_and_blob::check(self.folder.path(), self.n);
    }

    fn has_last_commit(&self) {
        gsd_and_blob::check_last_commit(self.folder.path(), self.n);
    }

    /// Rank 1 was gone: no rank succeeded, and the job has ended. One that was told to let the
    /// others live may call that a success (`mpiexec --enable-recovery` of Open MPI).
    fn ended(&self) -> &Self {
        assert!(!self.is_success || self.lets_live, "{}", self.show());
        assert!(self.took < ENDS_WITHIN, "{:?}: {}", self.took, self.show());
        assert!(self.said.values().all(|said| said.starts_with("error")), "{}", self.show());
        self
    }

    fn by_an_error_of_the_living(&self) {
        assert_eq!(self.said.len(), self.n as usize - 1, "{}", self.show());
    }

    fn was_aborted(&self) {
        assert!(!self.is_success && self.said.is_empty(), "{}", self.show());
    }
}

// ---- a rank ----

fn rank(scenario: &str, folder: &Path) {
    let universe = mpi::initialize().unwrap();
    let world = universe.world();
    let deadline = match scenario {
        "a_rank_that_dies" | "a_rank_that_hangs" | "a_rank_that_finalizes" => SHORT,
        "leaves_before_the_close" | "goes_on_after_a_hang" | "goes_on_after_a_death" => SHORT,
        _ => HANGS_AFTER,
    };
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
        "a_rank_that_dies" | "a_rank_that_hangs" => {
            comm.agree(Ok(())).unwrap();
            if rank == 1 {
                std::fs::write(folder.join("gone"), "").unwrap();
                match scenario {
                    "a_rank_that_dies" => std::process::abort(), // without a word to MPI
                    _ => loop {
                        std::thread::park();
                    },
                }
            }
            without_the_gone(comm, folder)
        }
        "a_rank_that_finalizes" => {
            comm.agree(Ok(())).unwrap();
            if rank == 1 {
                std::fs::write(folder.join("gone"), "").unwrap();
                drop(universe); // MPI_Finalize
                let error = comm.agree(Ok(())).unwrap_err();
                assert!(error.to_string().contains("MPI_Finalize"), "{error}");
                return;
            }
            without_the_gone(comm, folder)
        }
        "writes_a_set" => kills::write(comm, folder),
        "writes_frames" => gsd_and_blob::write_and_die(comm, folder, "never"),
        _ if scenario.starts_with("dies_") => gsd_and_blob::write_and_die(comm, folder, scenario),
        "named_faults" => faults::meet(&comm, folder),
        "leaves_before_the_close" => {
            return leave(comm, settings.duplicate(&world).unwrap(), universe, folder);
        }
        _ if scenario.starts_with("goes_on_after_") => {
            let ranks = settings.duplicate(&world).unwrap();
            end(&comm, &goes_on::go_on(&comm, ranks, scenario, folder), folder)
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

/// Rank 1 leaves with its file open: the others have an error of the close, and of the job.
fn leave(comm: Rank, own: Rank, universe: mpi::environment::Universe, folder: &Path) {
    let rank = comm.rank();
    let mut file = Builder::new().create(own, folder.join("a")).unwrap();
    file.write(b"x").unwrap();
    if rank == 1 {
        std::fs::write(folder.join("gone"), "").unwrap();
        return drop(universe); // MPI_Finalize
    }
    file.close().map(drop).unwrap_err();
    without_the_gone(comm, folder)
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
fn without_the_gone(comm: Rank, folder: &Path) -> ! {
    let error = loop {
        if let Err(error) = comm.agree(Ok(())) {
            break error;
        }
    };
    end(&comm, &error, folder)
}

/// Ends a rank after an error, when the others have theirs too: they would be killed.
fn end(comm: &Rank, error: &Error, folder: &Path) -> ! {
    let path = said(folder, comm.rank());
    std::fs::write(path.with_extension("new"), format!("error: {error}")).unwrap();
    std::fs::rename(path.with_extension("new"), path).unwrap();
    let living = (0..comm.size()).filter(|rank| *rank != 1);
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
