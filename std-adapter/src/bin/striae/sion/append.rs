//! `striae append`.

use super::failure;
use crate::args::AppendArgs;
use crate::failure::{Failure, Sound};
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use striae::Error;
use striae::address::Part;
use striae::shown;
use striae::sion::{File, Reopen, set_path};

/// Number of bytes that are read at once.
const PIECE: usize = 1 << 20;

pub(super) fn append(args: &AppendArgs) -> Result<Sound, Failure> {
    let path = &args.file;
    let usage = |text: &str| Failure::usage(path, text);
    let file = File::open(path)?;
    if let Some(part) = file.part_of_set() {
        let set =
            set_path(part, path).map_or_else(String::new, |set| format!(" {}", shown::path(&set)));
        return Err(usage(&format!("is one file of the set{set}; append needs the whole set")));
    }
    let (task, part) = file.locate(&args.address)?;
    match part {
        Part::All | Part::Chunk(_) => {} // the arguments have no chunk
        Part::Key(_) => check_records(&file, task)?,
    }
    drop(file);
    // The source is opened before the set is changed.
    let unread = |error| Failure::File(Error::new(&args.source, error));
    let mut source = open(&args.source).map_err(unread)?;
    let mut set = Reopen::new().open(path)?;
    if set.has_file(&source)? {
        return Err(usage("cannot be appended to itself"));
    }
    let mut stream = set.task(task)?;
    if let Part::Key(key) = part {
        let mut value = Vec::new();
        source.read_to_end(&mut value).map_err(unread)?;
        stream.write_key(key, &value)?;
    } else {
        let mut buf = vec![0; PIECE];
        loop {
            let n = match source.read(&mut buf) {
                Ok(0) => break,
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(unread(error)),
            };
            stream.write_all(buf.get(..n).unwrap_or_default()).map_err(failure(path))?;
        }
    }
    drop(stream);
    set.close()?;
    Ok(Sound::Yes)
}

/// Checks that a reader finds what follows the last record: a damaged one would swallow it.
fn check_records(file: &File, task: u64) -> Result<(), Error> {
    let mut stream = file.stream(task)?;
    for record in stream.records()? {
        record.map_err(|error| error.of_task(task))?;
    }
    Ok(())
}

fn open(source: &Path) -> io::Result<fs::File> {
    if source == Path::new("-") {
        return Ok(io::stdin().as_fd().try_clone_to_owned()?.into());
    }
    fs::File::open(source)
}
