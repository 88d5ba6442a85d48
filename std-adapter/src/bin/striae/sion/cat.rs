//! `striae cat`.

use super::failure;
use crate::args::CatArgs;
use crate::failure::{Failure, Sound};
use std::io::{self, Read, Seek, SeekFrom};
use striae::Error;
use striae::address::{Address, Index, Part};
use striae::sion::{File, TaskEntry};

pub(super) fn cat(args: &CatArgs) -> Result<Sound, Failure> {
    let file = args.file.open(args.direct.options())?;
    let pattern = args.address.clone();
    if let Some(address) = pattern.address() {
        let (task, part) = file.locate(address)?;
        return cat_part(args, &file, task, part);
    }
    let chosen = file.selection(&[pattern])?;
    let output = args.max_size.output();
    // No byte is in two streams, so only files with large holes need a closer look.
    let all = file.files().map(|(_, head)| head.file_len).fold(0, u64::saturating_add);
    if file.admit(&output, all).is_err() {
        let mut size = 0_u64;
        for entry in file.tasks()? {
            let entry = entry?;
            let parts = file.selected(&entry, &chosen)?;
            size = size.saturating_add(most(args, &file, &entry, &parts)?);
        }
        file.admit(&output, size)?;
    }
    for entry in file.tasks()? {
        let entry = entry?;
        for part in file.selected(&entry, &chosen)? {
            cat_part(args, &file, entry.task, part)?;
        }
    }
    chosen.check().map_err(|error| Error::new(&args.file.path, error))?;
    Ok(Sound::Yes)
}

/// The most bytes that are written of these parts of a task.
fn most(args: &CatArgs, file: &File, entry: &TaskEntry, parts: &[Part]) -> Result<u64, Failure> {
    let (mut sum, mut of_keys) = (0_u64, 0_u64);
    for part in parts {
        let len = match part {
            Part::Chunk(chunk) => file.stream_of(entry)?.chunk(*chunk)?.1,
            Part::All => entry.bytes,
            // Its records have no bytes in common with those of other keys.
            Part::Key(_) => {
                of_keys = of_keys.saturating_add(args.length.unwrap_or(u64::MAX));
                continue;
            }
        };
        sum = sum.saturating_add(args.length.map_or(len, |most| len.min(most)));
    }
    Ok(sum.saturating_add(of_keys.min(entry.bytes)))
}

fn cat_part(args: &CatArgs, file: &File, task: u64, part: Part) -> Result<Sound, Failure> {
    if let Part::Key(key) = part {
        let mut value = file.value(task, key)?;
        let wanted = Wanted::of(args, (task, part), value.len())?;
        file.admit(&args.max_size.output(), wanted.len)?;
        io::copy(&mut (&mut value).take(wanted.skip), &mut io::sink())
            .map_err(failure(&args.file.path))?;
        return write(args, value.take(wanted.len));
    }
    let mut stream = file.stream(task)?;
    let (begin, len) = match part {
        Part::Chunk(chunk) => stream.chunk(chunk)?,
        Part::All | Part::Key(_) => (0, stream.len()),
    };
    let wanted = Wanted::of(args, (task, part), len)?;
    file.admit(&args.max_size.output(), wanted.len)?; // a pattern's parts were, all together
    let position = begin.saturating_add(wanted.skip);
    stream.seek(SeekFrom::Start(position)).map_err(failure(&args.file.path))?;
    let mut stdout = io::stdout().lock();
    let mut written = Ok(());
    stream.read_pieces(wanted.len, &mut |bytes| {
        written = io::Write::write_all(&mut stdout, bytes);
        written.is_ok()
    })?;
    written.and_then(|()| io::Write::flush(&mut stdout)).map_err(Failure::stdout)?;
    Ok(Sound::Yes)
}

/// The part of a stream that `--offset` and `--length` select.
struct Wanted {
    skip: u64,
    len: u64,
}

impl Wanted {
    fn of(args: &CatArgs, (task, part): (u64, Part), len: u64) -> Result<Self, Failure> {
        let skip = args.offset;
        let Some(left) = len.checked_sub(skip) else {
            let part = Address::Task(Index::FromStart(task), part);
            let text = format!("{part}: --offset is {skip}, must be at most the length, {len}");
            return Err(usage(args, &text));
        };
        Ok(Self { skip, len: args.length.map_or(left, |len| len.min(left)) })
    }
}

fn write(args: &CatArgs, mut bytes: impl Read) -> Result<Sound, Failure> {
    let mut stdout = io::stdout().lock();
    let mut buf = vec![0; 1 << 20];
    loop {
        let n = bytes.read(&mut buf).map_err(failure(&args.file.path))?;
        if n == 0 {
            io::Write::flush(&mut stdout).map_err(Failure::stdout)?;
            return Ok(Sound::Yes);
        }
        let bytes = buf.get(..n).unwrap_or_default();
        io::Write::write_all(&mut stdout, bytes).map_err(Failure::stdout)?;
    }
}

fn usage(args: &CatArgs, text: &str) -> Failure {
    Failure::usage(&args.file.path, text)
}
