//! The arguments of `extract`.

use super::options::a_file;
use super::{Copying, Direct, Flags, Made, MaxSize, Rows, Set, Values, VerbArgs};
use clap::Args as ClapArgs;
use std::path::{Path, PathBuf};
use striae::Format::{Blob, Gsd, Sion};
use striae::Output;
use striae::address::Pattern;

#[derive(Debug, ClapArgs)]
#[command(
    about = "Write each task, sample or variable to a file, or the chunks of each name to an array"
)]
#[command(after_help = "Examples:\n  striae extract run.sion tasks/\n  \
striae extract run.gsd arrays/\n  \
striae extract run.sion tasks/ 'task/[0-9]' rank/42\n  \
striae extract run.gsd arrays/ 'frame/*/particles/*'\n  \
striae extract --frames 0..100 run.gsd arrays/ 'frame/*/log/*'\n\n\
SIONlib: the files are task_00000 and so on; with key-value records, task_00000.key_1 and so \
on.\n\n\
GSD: the files are arrays in NumPy's format. The chunks particles/position become \
particles.position.npy, an array of frames, rows and columns (no columns if there is only one). If \
some frames lack the chunk, particles.position@frames.npy has the numbers of the frames that have \
it. If the type or the shape of the chunk differs between frames, each frame gets an array of its \
own, such as particles.position@00012.npy for frame 12. In names of files, / becomes a dot; a dot \
becomes %2E, and other characters that a file name should not have are encoded likewise.\n\n\
ffrecord: the files are sample_00000 and so on.\n\n\
netCDF and blob sets: the files are arrays in NumPy's format, VARIABLE.npy; of a blob set they have \
the shapes of the canonical file.\n\n\
If the run fails, or if SIGINT, SIGTERM or SIGHUP ends it, no files are left, and none is \
replaced. A folder with tasks or samples of larger numbers, or with other arrays of a name, such as \
NAME@frames.npy, is refused: they would be taken for parts of what is extracted.")]
pub(crate) struct ExtractArgs {
    #[command(flatten)]
    pub(crate) file: Set,
    /// The output folder; it is created if it does not exist.
    #[arg(value_parser = a_file())]
    pub(crate) dir: PathBuf,
    /// Extract only these addresses: task/3, task/3/key/7, frame/9/NAME. Patterns need quotes:
    /// 'task/[0-9]*', 'frame/*/particles/*', 'frame/-1/*'. Default: everything.
    #[arg(value_name = "ADDRESS")]
    pub(crate) addresses: Vec<Pattern>,
    #[command(flatten)]
    pub(crate) copying: Copying,
    /// Extract only frames A to B-1; A or B may be left out, -1 is the last frame (GSD only).
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    pub(crate) frames: Option<Rows>,
    /// Also extract what a frame has by frame 0 or by default, as readers of trajectories find it,
    /// so that the arrays have all frames (GSD files of the schema hoomd only).
    #[arg(long)]
    pub(crate) hoomd: bool,
    #[command(flatten)]
    pub(crate) values: Values,
    #[command(flatten)]
    pub(crate) max_size: MaxSize,
    #[command(flatten)]
    pub(crate) direct: Direct,
}

impl VerbArgs for ExtractArgs {
    fn flags(&self) -> Flags {
        &[
            ("alone", &[Sion]),
            ("threads", &[Sion]),
            ("frames", &[Gsd]),
            ("hoomd", &[Gsd]),
            ("no_seal", &[Blob]),
            ("fill", &[Blob]),
        ]
    }

    fn path(&self) -> &Path {
        &self.file.path
    }

    fn makes(&self) -> Made<'_> {
        Made::Folder(&self.dir)
    }
}

impl ExtractArgs {
    pub(crate) fn output(&self) -> Output {
        self.copying.output(self.max_size, self.direct.options())
    }
}
