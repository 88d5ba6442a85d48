//! The program that starts the ranks as processes, and what it leaves.

use crate::{ENDS_WITHIN, HANGS_AFTER, gone, gsd_and_blob, kills, stream};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(crate) struct Launcher {
    pub(crate) program: String,
    pub(crate) is_open_mpi: bool,
    pub(crate) jobs: std::cell::Cell<u32>,
}

/// What is left of a job.
pub(crate) struct Job {
    scenario: &'static str,
    n: u32,
    is_success: bool,
    /// The launcher was told to let the other ranks live when one is killed.
    lets_live: bool,
    /// The time since the first rank wrote what it has to say, or was gone.
    took: Duration,
    pub(crate) folder: tempfile::TempDir,
    said: BTreeMap<u32, String>,
    output: String,
}

impl Launcher {
    pub(crate) fn find() -> Self {
        let program = std::env::var("MPIEXEC").unwrap_or_else(|_| "mpiexec".into());
        let version = Command::new(&program).arg("--version").output().unwrap();
        let version = String::from_utf8_lossy(&version.stdout).into_owned();
        let is_open_mpi = version.contains("Open MPI") || version.contains("OpenRTE");
        Self { program, is_open_mpi, jobs: std::cell::Cell::new(0) }
    }

    pub(crate) fn run(&self, scenario: &'static str, n: u32) -> Job {
        self.run_with(&[], scenario, n, &mut |_| {})
    }

    /// Kills a rank while all write: of a set of files, and each fifth time of a GSD file.
    pub(crate) fn kill(&self, number: u32) {
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
    pub(crate) fn run_on(&self, scenario: &'static str, n: u32) -> Job {
        self.run_with(&["--enable-recovery"], scenario, n, &mut |_| {})
    }

    /// `look` is called with the folder of the job, again and again until it ends.
    pub(crate) fn run_with(
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

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Whether the process of a rank, which has written its number, has not ended.
pub(crate) fn is_alive(folder: &Path, rank: u32) -> bool {
    let process = read(&folder.join(format!("process {rank}")));
    let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    state.rsplit(") ").next().is_some_and(|state| !state.is_empty() && !state.starts_with('Z'))
}

pub(crate) fn said(folder: &Path, rank: u32) -> PathBuf {
    folder.join(format!("rank {rank}"))
}

impl Job {
    pub(crate) fn show(&self) -> String {
        format!("{} with {} ranks: {:#?}\n{}", self.scenario, self.n, self.said, self.output)
    }

    pub(crate) fn is_equal_at_all(&self) -> &Self {
        assert!(self.is_success && self.said.len() == self.n as usize, "{}", self.show());
        assert!(self.said.values().all(|said| *said == self.said[&0]), "{}", self.show());
        self
    }

    pub(crate) fn is_ok_at_all(&self) -> &Self {
        self.is_equal_at_all();
        assert_eq!(self.said[&0], "ok", "{}", self.show());
        self
    }

    pub(crate) fn has_file(&self) {
        let file = striae::sion::File::open(self.folder.path().join("a.sion")).unwrap();
        assert_eq!(file.ntasks(), u64::from(self.n));
        for task in 0..u64::from(self.n) {
            let mut found = Vec::new();
            file.stream(task).unwrap().read_to_end(&mut found).unwrap();
            assert!(found == stream(task as u32), "task {task}: {}", self.show());
        }
    }

    pub(crate) fn has_chunk_and_set(&self) {
        gsd_and_blob::check(self.folder.path(), self.n);
    }

    pub(crate) fn has_last_commit(&self) {
        gsd_and_blob::check_last_commit(self.folder.path(), self.n);
    }

    /// Rank 1 was gone: no rank succeeded, and the job has ended. One that was told to let the
    /// others live may call that a success (`mpiexec --enable-recovery` of Open MPI).
    pub(crate) fn ended(&self) -> &Self {
        assert!(!self.is_success || self.lets_live, "{}", self.show());
        assert!(self.took < ENDS_WITHIN, "{:?}: {}", self.took, self.show());
        assert!(self.said.values().all(|said| said.starts_with("error")), "{}", self.show());
        self
    }

    /// All of them, with the name of the one that is gone; but Open MPI itself may see a death.
    pub(crate) fn by_an_error_of_the_living(&self) {
        let gone = format!("error: rank {} is gone", gone(self.scenario));
        let is_named = |said: &String| said.starts_with(&gone) || self.lets_live;
        let are_named = self.said.values().all(is_named);
        assert!(are_named && self.said.len() == self.n as usize - 1, "{}", self.show());
    }

    pub(crate) fn was_aborted(&self) {
        assert!(!self.is_success && self.said.is_empty(), "{}", self.show());
    }
}
