//! Whether what a crash left is a file that was promised.

use super::path::Shape;
use super::run::{Chunks, State};
use striae_core::integrity::crc32c;
use striae_core::sion::{Opened, Physical, SealState, Unclosed};
use striae_kit::power::Version;

/// What `image` is, which has to be one of `versions`.
pub(crate) fn check<'v>(
    shape: &Shape,
    image: &[u8],
    versions: &'v [Version<State>],
) -> Result<&'v State, String> {
    let is_allowed = |is: &dyn Fn(&State) -> bool| {
        let found = versions.iter().rev().map(|version| &version.state).find(|state| is(state));
        found.ok_or_else(|| "a state that was not promised".to_owned())
    };
    let mut window = [0; 4096];
    match Physical::open(image, &mut window) {
        Err(error) if image.starts_with(b"sion") => Err(error.to_string()),
        Err(_) => is_allowed(&|state| *state == State::Nothing),
        Ok(Opened::Unclosed(file)) => {
            check_tasks(shape, &file)?;
            is_allowed(&|state| *state == State::Unclosed)
        }
        Ok(Opened::Closed(file)) => {
            let streams = streams(&file)?;
            check_seal(shape, &file)?;
            check_mapping(shape, &file)?;
            is_allowed(&|state| match state {
                State::Committed(tasks) => is_same(tasks, &streams),
                _ => false,
            })
        }
    }
    .map_err(|error| format!("{error}, expected one of {}", names(versions)))
}

fn names(versions: &[Version<State>]) -> String {
    let name = |version: &Version<State>| match &version.state {
        State::Nothing => "nothing".to_owned(),
        State::Unclosed => "unclosed".to_owned(),
        State::Committed(tasks) => {
            let chunks = |chunks: &Chunks| chunks.iter().map(Vec::len).collect::<Vec<_>>();
            format!("{:?}", tasks.iter().map(chunks).collect::<Vec<_>>())
        }
    };
    versions.iter().map(name).collect::<Vec<_>>().join(" or ")
}

/// Streams with the lengths of their chunks.
type Streams = Vec<(Vec<u8>, Vec<u64>)>;

fn streams(file: &Physical<&[u8]>) -> Result<Streams, String> {
    let mut streams = Vec::new();
    let mut window = [0; 512];
    for listed in file.tasks(&mut window).map_err(|error| error.to_string())? {
        let listed = listed.map_err(|error| error.to_string())?;
        let mut bytes = vec![0; usize::try_from(listed.bytes).unwrap()];
        file.stream(listed.task).read_all(&mut bytes).map_err(|error| error.to_string())?;
        let lens = file.chunk_lens(listed.task, [0; 64]).collect::<Result<Vec<_>, _>>();
        streams.push((bytes, lens.map_err(|error| error.to_string())?));
    }
    Ok(streams)
}

fn is_same(tasks: &[Chunks], streams: &Streams) -> bool {
    tasks.len() == streams.len()
        && tasks.iter().zip(streams).all(|(chunks, (bytes, lens))| {
            let mut rest = bytes.as_slice();
            chunks.len() == lens.len()
                && chunks.iter().zip(lens).all(|(chunk, &len)| {
                    let same = u64::try_from(chunk.len()).unwrap() == len;
                    same && rest.split_off(..chunk.len()) == Some(chunk.as_slice())
                })
        })
}

/// A file that says that it was sealed has a seal, and all of it is right.
fn check_seal(shape: &Shape, file: &Physical<&[u8]>) -> Result<(), String> {
    let seal = match file.seal().map_err(|error| error.to_string())? {
        SealState::Sealed(seal) if shape.sealed => seal,
        SealState::None if !shape.sealed => return Ok(()),
        state => return Err(format!("{state:?}")),
    };
    let mut window = [0; 512];
    seal.check_metadata(file.store(), crc32c, &mut window).map_err(|error| error.to_string())?;
    for listed in file.tasks(&mut window).map_err(|error| error.to_string())? {
        let task = listed.map_err(|error| error.to_string())?.task;
        for (len, chunk) in file.chunk_lens(task, [0; 64]).zip(0..) {
            let place = task.chunks.chunk(chunk).unwrap();
            let start = usize::try_from(place.offset()).unwrap();
            let len = usize::try_from(len.unwrap()).unwrap();
            let crc = file.sealed_crc(&seal, task.local, chunk).unwrap();
            if crc != crc32c(0, &file.store()[start..start + len]) {
                return Err(format!("the seal of chunk {chunk} of task {} is wrong", task.local));
            }
        }
    }
    Ok(())
}

fn check_mapping(shape: &Shape, file: &Physical<&[u8]>) -> Result<(), String> {
    let Some(mapping) = file.mapping().map_err(|error| error.to_string())? else {
        return if shape.mapping.is_empty() { Ok(()) } else { Err("no mapping".to_owned()) };
    };
    let entries: Vec<_> = (0..mapping.len())
        .map(|globalrank| {
            let place = mapping.entry(globalrank).unwrap();
            let at = usize::try_from(place.offset()).unwrap();
            mapping.address(&file.store()[at..at + 8]).unwrap()
        })
        .collect();
    if entries == shape.mapping { Ok(()) } else { Err(format!("the mapping is {entries:?}")) }
}

/// META1 of a file without a commit is whole.
fn check_tasks(shape: &Shape, file: &Unclosed<&[u8]>) -> Result<(), String> {
    let tasks = file.tasks([0; 512]).map_err(|error| error.to_string())?;
    let tasks: Result<Vec<_>, _> = tasks
        .map(|listed| listed.map(|listed| (listed.task.globalrank, listed.task.chunks.chunksize)))
        .collect();
    match tasks {
        Ok(tasks) if tasks == shape.tasks => Ok(()),
        Ok(tasks) => Err(format!("the tasks are {tasks:?}")),
        Err(error) => Err(error.to_string()),
    }
}
