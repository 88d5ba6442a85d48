//! What the writers of the golden sets asked SIONlib for, from the commands in their JSON.

use serde_json::Value;
use striae_core::endian::ByteOrder;
use striae_core::sion::filename::{Buddy, Sibling};
use striae_core::sion::{Attributes, BuddySet, ChunkRule, EvenFiles, FileGroups, Grouping};
use striae_kit::golden_sets::{GoldenSet, golden_dir, golden_set};

/// A physical file, as a writer of ours is asked for it, and as SIONlib wrote it.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) name: String,
    pub(crate) attributes: Attributes,
    pub(crate) prefix: String,
    pub(crate) rule: ChunkRule,
    pub(crate) globalranks: Vec<i64>,
    pub(crate) requests: Vec<u64>,
    pub(crate) bytes: Vec<u8>,
}

/// Tasks dealt out to the files one by one, as the mapped writer's program does.
struct Dealt {
    ntasks: u32,
    nfiles: u32,
}

impl FileGroups for Dealt {
    fn nfiles(&self) -> u32 {
        self.nfiles
    }

    fn ntasks(&self, file: u32) -> u32 {
        (0..self.ntasks).filter(|rank| rank % self.nfiles == file).count().try_into().unwrap()
    }

    fn globalrank(&self, file: u32, local: u32) -> Option<u32> {
        Some(local * self.nfiles + file).filter(|&rank| file < self.nfiles && rank < self.ntasks)
    }

    fn address(&self, globalrank: u32) -> Option<(u32, u32)> {
        (globalrank < self.ntasks).then_some((globalrank % self.nfiles, globalrank / self.nfiles))
    }
}

/// The physical files of a set, then those of its buddy set, if it has one.
pub(crate) struct RecordedSet {
    pub(crate) files: Vec<Recorded>,
    /// The file groups of each, with the index of the first file; none of a serial writer.
    pub(crate) groups: Vec<(usize, Box<dyn FileGroups>)>,
}

pub(crate) fn recorded(set: &GoldenSet) -> RecordedSet {
    let command = set.expected["command"].as_str().unwrap();
    let words: Vec<_> = command.split(' ').collect();
    let is_program = |word: &&str| word.starts_with("gen_") || *word == words[0];
    let at = words.iter().rposition(is_program).unwrap();
    let arguments = &words[at + 1..];
    match words[at] {
        "gen_serial" => serial(set, arguments),
        "gen_mpi" => mpi(set, arguments),
        "gen_mapped" => mapped(set, arguments),
        "gen_omp" => omp(set, arguments),
        "convert.py" => converted(set, arguments),
        "siondefrag" => defragmented(set, arguments),
        other => panic!("{}: {other}", set.name),
    }
}

fn number<T: std::str::FromStr>(word: &str) -> T {
    word.parse().unwrap_or_else(|_| panic!("{word} is no number"))
}

/// The block size that was asked for, or found if the command leaves it to the file system.
fn fsblksize(set: &GoldenSet, word: &str) -> u32 {
    let found = set.expected["meta"]["fsblksize"].as_u64().map(|size| size.try_into().unwrap());
    let asked: i32 = number(word);
    let asked = u32::try_from(asked).ok();
    assert!(found.is_none() || asked.is_none() || found == asked, "{}", set.name);
    asked.or(found).unwrap()
}

fn attributes(mode: &str, fsblksize: u32, filenumber: u32) -> Attributes {
    let has = |flag| mode.split(',').any(|word| word == flag);
    Attributes {
        order: ByteOrder::Little,
        data_order: if has("endianness=big") { ByteOrder::Big } else { ByteOrder::Little },
        fsblksize,
        nfiles: 1,
        filenumber,
        keyval: has("keyval=inline"),
    }
}

/// The rule that the mode asks a parallel writer for.
fn rule(mode: &str) -> ChunkRule {
    let has = |flag| mode.split(',').any(|word| word == flag);
    let collsize = mode.split(',').find_map(|word| word.strip_prefix("collsize="));
    match (has("collective"), has("buddy")) {
        (false, false) => ChunkRule::Aligned,
        (false, true) => ChunkRule::Packed(Grouping::WHOLE_FILE),
        (true, _) => {
            let grouping = Grouping::of_collsize(collsize.map_or(-1, number));
            if has("cmerge") { ChunkRule::Merged(grouping) } else { ChunkRule::Packed(grouping) }
        }
    }
}

fn alone(recorded: Recorded) -> RecordedSet {
    RecordedSet { files: vec![recorded], groups: Vec::new() }
}

fn serial(set: &GoldenSet, arguments: &[&str]) -> RecordedSet {
    let [name, mode, unit, _closes, tasks @ ..] = arguments else { panic!("{}", set.name) };
    let parts = |task: &&str| -> (i64, u64) {
        let mut parts = task.split(':');
        (number(parts.next().unwrap()), number(parts.next().unwrap()))
    };
    let (globalranks, requests) = tasks.iter().map(parts).unzip();
    alone(Recorded {
        name: set.name.clone(),
        attributes: attributes(mode, fsblksize(set, unit), 1),
        prefix: (*name).to_owned(),
        rule: ChunkRule::Aligned,
        globalranks,
        requests,
        bytes: set.files[0].clone(),
    })
}

fn mpi(set: &GoldenSet, arguments: &[&str]) -> RecordedSet {
    let [name, mode, unit, nfiles, _, _, tasks @ ..] = arguments else { panic!("{}", set.name) };
    let requests: Vec<u64> =
        tasks.iter().map(|task| number(task.split(':').next().unwrap())).collect();
    // -2 is two communicators of half the tasks each
    let nfiles = number::<i32>(nfiles).unsigned_abs();
    let groups = EvenFiles::new(u64::try_from(requests.len()).unwrap(), nfiles.into()).unwrap();
    let attributes = attributes(mode, fsblksize(set, unit), 0);
    let (files, rule) =
        (files_of(set, name, attributes, rule(mode), &groups, &requests), rule(mode));
    if !mode.contains("buddy") {
        return RecordedSet { files, groups: vec![(0, Box::new(groups))] };
    }
    let buddy_set = BuddySet::new(groups, Buddy(0)).unwrap();
    let buddy = |file: u32| {
        let tasks: Vec<_> = buddy_set.tasks(file).collect();
        let request = |rank: u32| requests[usize::try_from(rank).unwrap()];
        let path = golden_dir().join(format!("{name}{}{}", Buddy(0), Sibling(file)));
        Recorded {
            name: format!("{}{} {file}", set.name, Buddy(0)),
            attributes: Attributes { nfiles, filenumber: file, ..attributes },
            prefix: (*name).to_owned(),
            rule,
            globalranks: tasks.iter().map(|task| task.globalrank()).collect(),
            requests: tasks.iter().map(|task| task.request(request)).collect(),
            bytes: std::fs::read(path).unwrap(),
        }
    };
    let begin = files.len();
    let files = files.into_iter().chain((0..nfiles).map(buddy)).collect();
    RecordedSet { files, groups: vec![(0, Box::new(groups)), (begin, Box::new(buddy_set))] }
}

/// The physical files of a parallel writer's set.
fn files_of(
    set: &GoldenSet,
    prefix: &str,
    attributes: Attributes,
    rule: ChunkRule,
    groups: &dyn FileGroups,
    requests: &[u64],
) -> Vec<Recorded> {
    let file = |(file, bytes): (u32, &Vec<u8>)| {
        let ranks = 0..groups.ntasks(file);
        let ranks: Vec<_> = ranks.map(|local| groups.globalrank(file, local).unwrap()).collect();
        Recorded {
            name: format!("{} {file}", set.name),
            attributes: Attributes { nfiles: groups.nfiles(), filenumber: file, ..attributes },
            prefix: prefix.to_owned(),
            rule,
            globalranks: ranks.iter().map(|&rank| rank.into()).collect(),
            requests: ranks.iter().map(|&rank| requests[usize::try_from(rank).unwrap()]).collect(),
            bytes: bytes.clone(),
        }
    };
    assert_eq!(set.files.len(), usize::try_from(groups.nfiles()).unwrap());
    (0..).zip(&set.files).map(file).collect()
}

fn mapped(set: &GoldenSet, arguments: &[&str]) -> RecordedSet {
    let [name, mode, unit, nfiles, ntasks, chunksize, _] = arguments else {
        panic!("{}", set.name)
    };
    let groups = Dealt { ntasks: number(ntasks), nfiles: number(nfiles) };
    let attributes = attributes(mode, fsblksize(set, unit), 0);
    let requests = vec![number(chunksize); number(ntasks)];
    let files = files_of(set, name, attributes, rule(mode), &groups, &requests);
    RecordedSet { files, groups: vec![(0, Box::new(groups))] }
}

fn omp(set: &GoldenSet, arguments: &[&str]) -> RecordedSet {
    let [name, mode, unit, ntasks, chunksize, _] = arguments else { panic!("{}", set.name) };
    let groups = EvenFiles::new(number(ntasks), 1).unwrap();
    let attributes = attributes(mode, fsblksize(set, unit), 0);
    let requests = vec![number(chunksize); number(ntasks)];
    let files = files_of(set, name, attributes, rule(mode), &groups, &requests);
    RecordedSet { files, groups: vec![(0, Box::new(groups))] }
}

/// A file of another set with the metadata in another form.
fn converted(set: &GoldenSet, arguments: &[&str]) -> RecordedSet {
    let [source, _, form] = arguments else { panic!("{}", set.name) };
    let source = golden_set(source.strip_suffix(".sion").unwrap());
    let mut file = recorded(&source).files.remove(0);
    if *form == "be" {
        (file.attributes.order, file.attributes.data_order) = (ByteOrder::Big, ByteOrder::Big);
    }
    file.name.clone_from(&set.name);
    file.bytes.clone_from(&set.files[0]);
    alone(file)
}

/// A serially written file that asks for a chunk for the whole stream of each task.
fn defragmented(set: &GoldenSet, arguments: &[&str]) -> RecordedSet {
    let [options @ .., source, name] = arguments else { panic!("{}", set.name) };
    let source = golden_set(source.strip_suffix(".sion").unwrap());
    let unit = options.last().map_or(-1, |unit| number(unit));
    let field = |task: &Value, field: &str| task[field].as_i64().unwrap();
    let tasks = source.tasks();
    alone(Recorded {
        name: set.name.clone(),
        attributes: attributes("bw", fsblksize(set, &unit.to_string()), 1),
        prefix: (*name).to_owned(),
        rule: ChunkRule::Aligned,
        globalranks: tasks.iter().map(|task| field(task, "globalrank")).collect(),
        requests: tasks.iter().map(|task| field(task, "length").try_into().unwrap()).collect(),
        bytes: set.files[0].clone(),
    })
}
