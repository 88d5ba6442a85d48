//! `striae-mpi verify`: many files, each checked by one rank.

use crate::text::{say, warn};
use std::fmt::{Display, Write};
use std::path::{Path, PathBuf};
use striae::finding::{Finding, Severity};
use striae::format::{Format, Recognized};
use striae::{Error as AnyError, Verify, blob::map};
use striae_mpi::{Collective, Error, Failure};

#[derive(Debug, clap::Args)]
#[command(after_help = "Rank r of n checks every n-th file from the r-th on, with all that \
`striae verify` checks. A set of several SIONlib files is checked by one rank when its first file \
is named; later files that are named, too, are checked once more, each alone. Of each file up to \
1000 findings are printed, and the number of the others.\n\nExit status: 0 if all files are \
sound, 1 if one is damaged, 2 if one could not be checked.")]
pub(crate) struct VerifyArgs {
    /// The files, of any formats.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print only damage, not notes.
    #[arg(long)]
    quiet: bool,
}

/// The most findings that are printed of a file; the others are counted.
const MOST: u64 = 1000;

/// How many bytes of findings the first rank has in memory.
const WINDOW: usize = 1 << 16;

/// Checks the files; returns the exit status.
pub(crate) fn run<C: Collective>(comm: C, args: &VerifyArgs) -> Result<u8, Error> {
    let (rank, size) = (comm.rank(), comm.size());
    let step = usize::try_from(size).unwrap_or(usize::MAX);
    let first = usize::try_from(rank).unwrap_or(usize::MAX);
    let (mut text, mut counts) = (String::new(), [0_u64; 3]);
    for path in args.files.iter().skip(first).step_by(step) {
        let [sound, damaged, failed] = &mut counts;
        let count = match verify(path, args, &mut text) {
            Ok(0) => sound,
            Ok(_) => damaged,
            Err(error) => {
                let _ = writeln!(text, "{error}"); // to a String, which cannot fail
                failed
            }
        };
        *count = count.saturating_add(1);
    }
    comm.gather(0, Ok(text.as_bytes()), WINDOW, |_, piece| {
        say(piece).map_err(|error| Failure::io("printing", &error))
    })?;
    let [sound, damaged, failed] = comm.total(Ok(counts))?;
    if rank == 0 {
        let files = args.files.len();
        let word = if files == 1 { "file" } else { "files" };
        warn(format_args!(
            "{files} {word}: {sound} sound, {damaged} damaged, {failed} not checked"
        ));
    }
    Ok(match (failed, damaged) {
        (0, 0) => 0,
        (0, _) => 1,
        _ => 2,
    })
}

/// Adds the findings of a file to `text`, a line each; returns the number of damages.
fn verify(path: &Path, args: &VerifyArgs, text: &mut String) -> Result<u64, AnyError> {
    let format = Recognized::new(path)?.format();
    let (how, mut damage, mut count) = (Verify::new(), 0_u64, 0_u64);
    let mut tell = |is_damage: bool, finding: &dyn Display| {
        damage = damage.saturating_add(u64::from(is_damage));
        if is_damage || !args.quiet {
            count = count.saturating_add(1);
            if count <= MOST {
                let _ = writeln!(text, "{finding}");
            }
        }
    };
    // The findings of the formats have types of their own.
    macro_rules! told {
        ($verify:ident) => {{
            let mut each = |finding| told(finding, &mut tell);
            how.$verify(path, &mut each)?;
        }};
    }
    match format {
        Format::Sion => told!(sion),
        Format::Gsd => told!(gsd),
        Format::Ffrecord => told!(ffrecord),
        Format::Blob => told!(blob),
        Format::Map => told!(map),
        Format::Cdf => {
            told!(cdf);
            if map::is_map(path)? {
                told!(map);
            }
        }
    }
    let more = count.saturating_sub(MOST);
    if more > 0 {
        let _ = writeln!(text, "{}: {more} more findings", path.display());
    }
    Ok(damage)
}

fn told<W: Display>(finding: Finding<W>, tell: &mut impl FnMut(bool, &dyn Display)) {
    tell(finding.severity == Severity::Damage, &finding);
}
