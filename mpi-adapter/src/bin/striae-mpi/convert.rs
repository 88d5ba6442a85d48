//! The arguments of `striae-mpi convert`, for sets of both kinds, and of a new set.

use std::num::NonZeroU32;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "SIONlib: seals of the old set are compared before, and the new set is sealed if \
all files of the old one are; every task gets one chunk of its length; byte orders and permissions \
are kept. Sets of key-value records, or with other global ranks than 0, 1, 2 and so on, are for \
`striae convert`.\n\nBlob sets: every rank writes an even part of the canonical file. Elements \
that no subfile has are filled.\n\nExit status: 0; 1 if a blob set is not whole; 2 if nothing was \
made."
)]
pub(crate) struct ConvertArgs {
    /// The first file of a SIONlib set, or the name of a blob set.
    pub(crate) set: PathBuf,
    /// The first file of the new set, or the canonical file.
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) options: SetArgs,
    #[command(flatten)]
    pub(crate) blob: BlobArgs,
    #[command(flatten)]
    pub(crate) max_size: MaxSize,
}

/// How large an output may be.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct MaxSize {
    /// Write up to BYTES, however small the input is. Default: 16 times the bytes that the input
    /// has, and 1 MiB; holes are written as zeros.
    #[arg(long = "max-size", value_name = "BYTES")]
    pub(crate) bytes: Option<u64>,
}

/// The options of a new set.
#[derive(Debug, clap::Args)]
pub(crate) struct SetArgs {
    /// Number of physical files.
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) files: NonZeroU32,
    /// Size that chunks are rounded up to; default: the block size of the folder.
    #[arg(long, value_name = "BYTES")]
    pub(crate) fsblksize: Option<NonZeroU32>,
    /// Add checksums of everything.
    #[arg(long)]
    pub(crate) seal: bool,
    /// Replace existing files.
    #[arg(long)]
    pub(crate) force: bool,
}

impl SetArgs {
    /// The first option that only SIONlib sets have.
    pub(crate) fn of_sion(&self) -> Option<&'static str> {
        let given = [
            (self.files.get() > 1, "--files"),
            (self.fsblksize.is_some(), "--fsblksize"),
            (self.seal, "--seal"),
        ];
        given.into_iter().find_map(|(is_given, name)| is_given.then_some(name))
    }
}

/// The options of a conversion that not all sets have.
#[derive(Debug, clap::Args)]
pub(crate) struct BlobArgs {
    /// Value of elements that no subfile has; default: the fill value of the variable.
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) fill: Option<String>,
    /// Do not compare a set with its seal; a new SIONlib set gets none.
    #[arg(long, conflicts_with = "seal")]
    pub(crate) no_seal: bool,
}

impl BlobArgs {
    /// The option that only blob sets have, if it is given.
    pub(crate) fn of_blob(&self) -> Option<&'static str> {
        self.fill.is_some().then_some("--fill")
    }
}
