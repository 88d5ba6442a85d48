//! `striae append`.

use super::failure;
use crate::args::AppendArgs;
use crate::failure::{Failure, Sound};
use crate::files::is_same;
use std::fs;
use std::io::{self, Read, Write};
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
    if let Part::Chunk(_) = part {
        return Err(usage("bytes are appended to a task or a key, and not to a chunk"));
    }
    // The source is opened before the set is changed.
    let mut source = open(&args.source)?;
    if file.files().any(|(file, _)| is_same(file, &args.source)) {
        return Err(usage("cannot be appended to itself"));
    }
    drop(file);
    let mut set = Reopen::new().open(path)?;
    let mut stream = set.task(task)?;
    let unread = |error| Failure::File(Error::new(&args.source, error));
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

fn open(source: &Path) -> Result<Box<dyn Read>, Failure> {
    if source == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file = fs::File::open(source).map_err(|error| Error::new(source, error))?;
    Ok(Box::new(file))
}
