//! `striae-mpi extract`, `pack` and `convert`: SIONlib sets whose tasks are dealt to the ranks.

use crate::convert::{ConvertArgs, MaxSize, SetArgs};
use crate::text::warn;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Write};
use std::num::NonZeroU64;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use striae::error::ErrorKind;
use striae::publish::{Folder, Publish};
use striae::sion::{ByteOrder, File, SealState, check_buddies, task_name};
use striae_core::integrity::crc32c;
use striae_core::sion::KeyvalMode;
use striae_core::sion::filegroups::EvenFiles;
use striae_core::sion::filename::Sibling;
use striae_mpi::sion::{Builder, FileReader, FileWriter, OpenOptions};
use striae_mpi::{Code, Collective, Error, Failure, even_part};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "The files have the names that `striae extract` gives them. They get their \
final names when all ranks are done; if a rank fails, none of them stays. A kill leaves a hidden \
folder."
)]
pub(crate) struct ExtractArgs {
    /// The first file of the set.
    set: PathBuf,
    /// The folder for the files; it is made if it does not exist.
    folder: PathBuf,
    /// Replace existing files.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    max_size: MaxSize,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A folder is one that `extract` made: task_00000 and so on, without a gap. \
Every rank writes an even part of the tasks."
)]
pub(crate) struct PackArgs {
    /// The first file of the new set.
    out: PathBuf,
    /// A folder, or the files in order: one task each.
    #[arg(required = true, value_name = "FILE")]
    sources: Vec<PathBuf>,
    /// Size of every chunk; default: the length of each task.
    #[arg(long, value_name = "BYTES")]
    chunksize: Option<NonZeroU64>,
    #[command(flatten)]
    options: SetArgs,
    #[command(flatten)]
    max_size: MaxSize,
}

/// Length of the pieces that are copied.
const WINDOW: usize = 1 << 20;

/// The longest path that the ranks tell each other.
const LONGEST_PATH: usize = 1 << 16;

fn io(what: impl std::fmt::Display) -> impl FnOnce(io::Error) -> Failure {
    move |error| Failure::io(what, &error)
}

/// Opens the set as one process does. Refuses streams that are together larger than what its files
/// have.
fn admitted(set: &Path, max_size: MaxSize) -> Result<File, Failure> {
    let file = File::open(set)?;
    let mut size = 0_u64;
    for task in file.tasks()? {
        size = size.saturating_add(task?.bytes);
    }
    let output = striae::Output::new().max_size(max_size.bytes);
    file.admit(&output, size).map_err(|error| match error.kind() {
        ErrorKind::TooLarge { .. } => too_large(&error),
        _ => error.into(),
    })?;
    Ok(file)
}

// ---- extract ----

pub(crate) fn extract<C: Collective>(comm: C, args: &ExtractArgs) -> Result<(), Error> {
    let rank = comm.rank();
    let set = OpenOptions::new().open(comm, &args.set)?;
    let made = if rank == 0 { prepare(&set, args).map(Some) } else { Ok(None) };
    let path = made.as_ref().map(|made| match made {
        Some(made) => made.hidden().as_os_str().as_bytes(),
        None => &[],
    });
    let path = set.comm().bcast(0, path.map_err(Clone::clone), LONGEST_PATH)?;
    let folder = PathBuf::from(OsString::from_vec(path));
    let done = extract_mine(&set, &folder, args.force);
    let (ntasks, comm) = (set.ntasks(), set.close(done)?);
    // All files are there.
    let named = made.and_then(|made| made.map_or(Ok(()), |made| publish(made, args)));
    comm.agree(named)?;
    if rank == 0 {
        warn(format_args!("{ntasks} tasks extracted"));
    }
    Ok(())
}

/// Checks the names of the new files, and makes a hidden folder for them.
fn prepare<C: Collective>(set: &FileReader<C>, args: &ExtractArgs) -> Result<Folder, Failure> {
    check_plain(set.keyval(), "extract")?;
    for older in admitted(&args.set, args.max_size)?.older()? {
        warn(older.into_error());
    }
    Folder::new(&args.folder, args.force, || {
        if args.force {
            return Ok(());
        }
        for entry in fs::read_dir(&args.folder).map_err(io("reading the folder"))? {
            let name = entry.map_err(io("reading the folder"))?.file_name();
            if task_of(&name).is_some_and(|task| task < set.ntasks()) {
                let path = args.folder.join(name);
                let text = format_args!("{} exists already", path.display());
                return Err(Failure::new(Code::Refused, text));
            }
        }
        Ok(())
    })
}

/// The task whose file has this name.
fn task_of(name: &OsStr) -> Option<u64> {
    let task = name.to_str()?.strip_prefix("task_")?.parse().ok()?;
    (*name == *task_name(task)).then_some(task)
}

fn extract_mine<C: Collective>(
    set: &FileReader<C>,
    folder: &Path,
    replaces: bool,
) -> Result<(), Failure> {
    let mut window = vec![0; WINDOW];
    for entry in set.tasks() {
        let name = task_name(entry.task);
        let copy = |window: &mut [u8]| {
            let mut file = fs::File::create_new(folder.join(&name))?;
            copy(&mut set.stream(entry.task)?, &mut file, window)?;
            // What another node has written, rank 0 may not be able to sync.
            if replaces { file.sync_all() } else { Ok(()) }
        };
        copy(&mut window).map_err(io(format_args!("extracting {name}")))?;
    }
    Ok(())
}

/// Gives the files their names. What is replaced stays until the disk has the new files.
fn publish(made: Folder, args: &ExtractArgs) -> Result<(), Failure> {
    let sources = (0..).map_while(|number| identity(&sibling(&args.set, number)));
    made.finish(sources, args.force)?;
    Ok(())
}

fn copy(from: &mut impl Read, to: &mut impl Write, window: &mut [u8]) -> io::Result<()> {
    loop {
        match from.read(window)? {
            0 => return Ok(()),
            len => to.write_all(window.get(..len).unwrap_or_default())?,
        }
    }
}

fn check_plain(keyval: KeyvalMode, verb: &str) -> Result<(), Failure> {
    match keyval {
        KeyvalMode::Inline => {
            let text = format_args!("a set of key-value records: use `striae {verb}`");
            Err(Failure::new(Code::Refused, text))
        }
        _ => Ok(()),
    }
}

// ---- pack and convert ----

pub(crate) fn pack<C: Collective>(comm: C, args: &PackArgs) -> Result<(), Error> {
    let ntasks = if comm.rank() == 0 { count_sources(args) } else { Ok(0) };
    let [ntasks] = comm.max(ntasks.map(|ntasks| [ntasks]))?;
    let mine = even_part(ntasks, comm.rank(), comm.size());
    let sources = mine.map(|task| Ok((task, source(args, task)?)));
    let sources: Result<Vec<(u64, PathBuf)>, Failure> = sources.collect();
    let (mut bytes, mut stored, mut tasks) = (0_u64, 0_u64, Vec::new());
    let measured = sources.as_ref().map_err(Clone::clone).and_then(|sources| {
        for (task, path) in sources {
            let file = fs::metadata(path).map_err(io(path.display()))?;
            bytes = bytes.saturating_add(file.len());
            stored = stored.saturating_add(file.blocks().saturating_mul(512)); // stat(2)
            tasks.push((*task, args.chunksize.map_or(file.len(), NonZeroU64::get)));
        }
        Ok([bytes, stored])
    });
    let [bytes, stored] = comm.total(measured)?;
    admit_sources(args, bytes, stored).map_err(Error::agreed)?;
    let builder = Builder::new().sealed(args.options.seal);
    let new = New { out: &args.out, options: &args.options, like: None, builder, ntasks, tasks };
    let read = (0..ntasks).filter_map(|task| Some((source(args, task).ok()?, None)));
    new.write(comm, read, |file, window| {
        for (task, path) in sources.iter().flatten() {
            let from = fs::File::open(path).map_err(io(path.display()));
            write_task(file, *task, &mut from?, window)?;
        }
        Ok(())
    })
}

/// Refuses streams that are together larger than what the sources have: here holes become zeros.
/// All ranks find it equally.
fn admit_sources(args: &PackArgs, bytes: u64, stored: u64) -> Result<(), Failure> {
    let fair = stored.saturating_mul(16).saturating_add(1 << 20);
    let limit = args.max_size.bytes.unwrap_or(fair);
    if bytes <= limit {
        return Ok(());
    }
    let because = "the sources have holes".into();
    let error = ErrorKind::TooLarge { size: bytes, limit, because };
    Err(too_large(&striae::Error::new(&args.out, error)))
}

/// A refusal, with what can be done about it.
fn too_large(error: &striae::Error) -> Failure {
    Failure::new(Code::Refused, format_args!("{error}; --max-size BYTES allows more"))
}

/// The number of tasks.
fn count_sources(args: &PackArgs) -> Result<u64, Failure> {
    let number = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let [folder] = args.sources.as_slice() else { return Ok(number(args.sources.len())) };
    if !folder.is_dir() {
        return Ok(1);
    }
    let mut ntasks = 0_u64;
    for entry in fs::read_dir(folder).map_err(io(folder.display()))? {
        let name = entry.map_err(io(folder.display()))?.file_name();
        if name.to_str().is_some_and(|name| name.starts_with("task_") && name.contains(".key_")) {
            check_plain(KeyvalMode::Inline, "pack")?;
        }
        ntasks = ntasks.saturating_add(u64::from(task_of(&name).is_some()));
    }
    match ntasks {
        0 => {
            Err(Failure::new(Code::Refused, format_args!("no task_00000 in {}", folder.display())))
        }
        ntasks => Ok(ntasks), // one that is missing is not found later
    }
}

fn source(args: &PackArgs, task: u64) -> Result<PathBuf, Failure> {
    match args.sources.as_slice() {
        [folder] if folder.is_dir() => Ok(folder.join(task_name(task))),
        files => {
            let file = usize::try_from(task).ok().and_then(|task| files.get(task));
            file.cloned().ok_or_else(|| Failure::new(Code::Differ, "the ranks see other files"))
        }
    }
}

pub(crate) fn convert<C: Collective>(comm: C, args: &ConvertArgs) -> Result<(), Error> {
    let twin = comm.split(Ok(0))?; // the set to be read and the new one are open at once
    let set = OpenOptions::new().open(twin, &args.set)?;
    let tasks = set.tasks().iter().map(|entry| {
        if i128::from(entry.place.globalrank) != i128::from(entry.task) {
            let text = "other global ranks than 0, 1, 2 and so on: use `striae convert`";
            return Err(Failure::new(Code::Refused, text));
        }
        Ok((entry.task, entry.bytes))
    });
    let check = || {
        check_plain(set.keyval(), "convert")?;
        let tasks = tasks.collect::<Result<Vec<_>, Failure>>()?;
        Ok((tasks, if comm.rank() == 0 { Old::admitted(args)? } else { Old::default() }))
    };
    let mine = check();
    let kept = mine.as_ref().map(|(_, old)| old.kept()).map_err(Clone::clone);
    let builder = with_kept(comm.max(kept)?);
    let (tasks, old) = mine.map_err(Error::agreed)?; // never: no rank has failed
    if !args.blob.no_seal {
        set.check()?;
    }
    let like = old.files.first().cloned();
    let ntasks = set.ntasks();
    let new = New { out: &args.out, options: &args.options, like, builder, ntasks, tasks };
    let read = old.files.into_iter().zip((0..).map(Some));
    new.write(comm, read, |file, window| {
        for entry in set.tasks() {
            let stream = set.stream(entry.task).map_err(io("opening a stream"));
            write_task(file, entry.task, &mut stream?, window)?;
        }
        Ok(())
    })
}

/// What rank 0 knows of a set that is converted.
#[derive(Debug, Default)]
struct Old {
    /// The paths of its files.
    files: Vec<PathBuf>,
    /// Whether the metadata are big-endian, and what is stated of the data.
    are_big: [bool; 2],
    /// Whether the new set has a seal, too.
    sealed: bool,
}

impl Old {
    /// Refuses a set that may not be converted as a whole: a file of an older commit, or damage of
    /// the tables, would not be known in the new set.
    fn admitted(args: &ConvertArgs) -> Result<Self, Failure> {
        let set = admitted(&args.set, args.max_size)?;
        if let Some(older) = set.older()?.first() {
            return Err(older.into_error().into());
        }
        let sealed = !args.blob.no_seal && check_tables(&set)?;
        let mut old = Self { sealed: sealed || args.options.seal, ..Self::default() };
        old.files.extend(set.files().map(|(path, _)| path.to_owned()));
        if let Some((_, head)) = set.files().next() {
            let orders = [head.meta1.order(), head.meta1.data_order()];
            old.are_big = orders.map(|order| order == ByteOrder::Big);
        }
        Ok(old)
    }

    /// What the new set keeps, as numbers for all ranks.
    fn kept(&self) -> [u64; 3] {
        let [order, data_order] = self.are_big;
        [order, data_order, self.sealed].map(u64::from)
    }
}

/// Compares the tables of all files with their seals. Returns whether all of them have one.
fn check_tables(set: &File) -> Result<bool, Failure> {
    let (mut are_sealed, mut window) = (true, vec![0; WINDOW]);
    for file in set.reader().files() {
        let at = |error| striae::Error::new(file.store().path(), error);
        match file.seal().map_err(at)? {
            SealState::Sealed(seal) => {
                seal.check_metadata(file.store(), crc32c, &mut window).map_err(at)?;
            }
            _ => are_sealed = false,
        }
    }
    Ok(are_sealed)
}

/// Options of a new set that keeps this of an old one.
fn with_kept([order, data_order, sealed]: [u64; 3]) -> Builder {
    let of = |number| if number == 0 { ByteOrder::Little } else { ByteOrder::Big };
    Builder::new().order(of(order)).data_order(of(data_order)).sealed(sealed != 0)
}

/// A set that is to be made.
struct New<'a> {
    /// The path of its first file.
    out: &'a Path,
    options: &'a SetArgs,
    /// The file whose permissions the new files get, if there is one; at rank 0.
    like: Option<PathBuf>,
    builder: Builder,
    /// The number of its tasks.
    ntasks: u64,
    /// The tasks of this rank, and the sizes of their chunks.
    tasks: Vec<(u64, u64)>,
}

impl New<'_> {
    /// Makes the set; `fill` writes the tasks of this rank. The files get their names when all
    /// ranks are done: until then what had these names stays. `read` are the files that are read
    /// meanwhile, each with the number of the new file that may replace it; rank 0 uses them.
    fn write<C: Collective>(
        self,
        comm: C,
        read: impl Iterator<Item = (PathBuf, Option<u32>)>,
        fill: impl FnOnce(&mut FileWriter<C>, &mut [u8]) -> Result<(), Failure>,
    ) -> Result<(), Error> {
        let publish = if comm.rank() == 0 { self.publish(read).map(Some) } else { Ok(None) };
        let hidden = publish.as_ref().map(|publish| publish.as_ref().map(|it| it.hidden(0)));
        let hidden = hidden.map_err(Clone::clone).map(Option::unwrap_or_default);
        let bytes = hidden.as_ref().map(|path| path.as_os_str().as_bytes());
        let hidden = comm.bcast(0, bytes.map_err(Clone::clone), LONGEST_PATH)?;
        let mut builder = self.builder.tasks(self.tasks).nfiles(self.options.files.get());
        builder = builder.prefix(self.out.as_os_str().as_bytes().to_vec());
        if let Some(bytes) = self.options.fsblksize {
            builder = builder.fsblksize(bytes.get());
        }
        let mut file = builder.create(comm, PathBuf::from(OsString::from_vec(hidden)))?;
        let done = fill(&mut file, &mut vec![0; WINDOW]);
        file.whole().unwrap_or(file.comm()).agree(done)?;
        let comm = file.close()?;
        let named = publish.and_then(|publish| publish.map_or(Ok(()), |it| Ok(it.finish(true)?)));
        comm.agree(named)
    }

    /// Checks the names of the new files, and makes a hidden folder for them.
    fn publish(
        &self,
        read: impl Iterator<Item = (PathBuf, Option<u32>)>,
    ) -> Result<Publish, Failure> {
        // Before anyone looks whether so many names are free.
        EvenFiles::new(self.ntasks, self.options.files.get().into())
            .map_err(|error| striae::Error::new(self.out, error))?;
        check_buddies(self.out, self.options.files.get(), 0)?;
        self.spare(read)?;
        let publish = Publish::new(self.out, self.options.files, self.options.force)?;
        Ok(match &self.like {
            Some(path) => publish.like(path),
            None => publish,
        })
    }

    /// Refuses to replace what is read, except by the file that may.
    fn spare(&self, read: impl Iterator<Item = (PathBuf, Option<u32>)>) -> Result<(), Failure> {
        let numbers = 0..self.options.files.get();
        let targets = numbers.map(|number| (number, sibling(self.out, number)));
        let existing = targets.filter_map(|(number, path)| Some((number, identity(&path)?, path)));
        let existing: Vec<_> = existing.collect();
        if existing.is_empty() {
            return Ok(()); // nobody looks at what may be many files
        }
        let read = read.filter_map(|(path, by)| Some((identity(&path)?, by)));
        let read: BTreeMap<_, _> = read.collect();
        let is_read = |(number, file, _): &(u32, _, PathBuf)| {
            read.get(file).is_some_and(|by| *by != Some(*number))
        };
        match existing.iter().find(|target| is_read(target)) {
            Some((_, _, path)) => Err(striae::Error::new(path, ErrorKind::Source).into()),
            None => Ok(()),
        }
    }
}

/// The path of a file of a set.
fn sibling(set: &Path, number: u32) -> PathBuf {
    let mut name = set.as_os_str().to_owned();
    name.push(Sibling(number).to_string());
    name.into()
}

/// Which file a path leads to.
fn identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

fn write_task<C: Collective>(
    file: &mut FileWriter<C>,
    task: u64,
    from: &mut impl Read,
    window: &mut [u8],
) -> Result<(), Failure> {
    let number = u32::try_from(task).ok();
    let Some(mut to) = number.and_then(|task| file.writer(task)) else {
        return Err(Failure::new(Code::Refused, format_args!("task {task} is of another rank")));
    };
    copy(from, &mut to, window).map_err(io(format_args!("writing task {task}")))
}
