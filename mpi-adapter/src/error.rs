//! The reason why a rank has no value, and the error that all ranks get for it.

use std::fmt;
use std::io;
use std::sync::Arc;

/// What went wrong, as a value that travels between ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
    /// The operating system returned an error; its number.
    Io(i32),
    /// An argument cannot be used.
    Refused,
    /// The ranks made different calls, or passed different values of an argument that must be
    /// equal.
    Differ,
    /// The format has no place for the data.
    Full,
    /// The file is damaged, or of another format.
    Damaged,
    /// The file was never closed nor committed.
    Unclosed,
    /// A sum is not below 2^64.
    Overflow,
    /// A message is longer than its receiver allows.
    TooLong,
    /// The message layer cannot do it.
    Unsupported,
    /// A rank is gone, or missed the deadline.
    Lost,
    /// The message layer returned an error; for MPI, the class of the error.
    Carrier(i32),
    /// A rank ended the job, with this exit code.
    Aborted(i32),
    /// A reason of the program that uses this crate.
    Other(i32),
}

impl Code {
    /// The number of an error of the operating system; of one that was found without a call of it,
    /// the number that such a call would have given.
    pub(crate) fn of_io(error: &io::Error) -> Self {
        match (error.raw_os_error(), error.kind()) {
            (Some(number), _) => Self::Io(number),
            (None, io::ErrorKind::InvalidInput) => Self::Refused,
            (None, io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) => Self::Damaged,
            (None, io::ErrorKind::NotFound) => Self::Io(2), // ENOENT
            (None, io::ErrorKind::OutOfMemory) => Self::Io(12), // ENOMEM
            (None, io::ErrorKind::PermissionDenied) => Self::Io(13), // EACCES
            (None, io::ErrorKind::ResourceBusy) => Self::Io(16), // EBUSY
            (None, io::ErrorKind::AlreadyExists) => Self::Io(17), // EEXIST
            (None, io::ErrorKind::NotADirectory) => Self::Io(20), // ENOTDIR
            (None, io::ErrorKind::IsADirectory) => Self::Io(21), // EISDIR
            (None, io::ErrorKind::StorageFull) => Self::Io(28), // ENOSPC
            (None, _) => Self::Io(5),                       // EIO
        }
    }

    const fn to_words(self) -> (u32, i32) {
        match self {
            Self::Io(number) => (1, number),
            Self::Refused => (2, 0),
            Self::Differ => (3, 0),
            Self::Full => (4, 0),
            Self::Damaged => (5, 0),
            Self::Overflow => (6, 0),
            Self::TooLong => (7, 0),
            Self::Lost => (8, 0),
            Self::Carrier(class) => (9, class),
            Self::Aborted(code) => (10, code),
            Self::Other(number) => (11, number),
            Self::Unclosed => (12, 0),
            Self::Unsupported => (13, 0),
        }
    }

    const fn from_words(kind: u32, number: i32) -> Self {
        match kind {
            1 => Self::Io(number),
            2 => Self::Refused,
            3 => Self::Differ,
            4 => Self::Full,
            5 => Self::Damaged,
            6 => Self::Overflow,
            7 => Self::TooLong,
            8 => Self::Lost,
            9 => Self::Carrier(number),
            10 => Self::Aborted(number),
            12 => Self::Unclosed,
            13 => Self::Unsupported,
            _ => Self::Other(number),
        }
    }
}

/// The reason why this rank has no value: an error that the other ranks do not know yet.
///
/// It cannot be turned into an [`Error`], so `?` does not return it from a function whose ranks
/// must agree. The only way on is to pass it to a collective, which gives an [`Error`] to all.
///
/// ```compile_fail,E0277
/// use striae_mpi::{Collective, Error, Failure};
///
/// fn work(comm: &impl Collective, local: Result<(), Failure>) -> Result<(), Error> {
///     local?; // this rank would return, and the others would wait for it
///     comm.agree(Ok(()))
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    code: Code,
    /// The rank where it began, if that is not the rank that has it now.
    rank: Option<u32>,
    text: Arc<str>,
}

/// The error of a collective. All ranks of the communicator get equal errors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(Failure);

/// The length in bytes of a failure as it is sent: a path (PATH_MAX), and what is wrong with it.
pub(crate) const RECORD: usize = 4096 + 512;

/// The length in bytes of the numbers at the start of a record: kind, number, rank, text length.
const NUMBERS: usize = 16;

impl Failure {
    /// A failure for a reason. At most 4592 bytes of `text` reach the other ranks.
    #[must_use]
    pub fn new(code: Code, text: impl fmt::Display) -> Self {
        let mut text = text.to_string();
        let end = (0..=RECORD.saturating_sub(NUMBERS)).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        Self { code, rank: None, text: text.into() }
    }

    /// An error of the operating system during `what`: "writing 4096 bytes at offset 512".
    #[must_use]
    pub fn io(what: impl fmt::Display, error: &io::Error) -> Self {
        Self::new(Code::of_io(error), format_args!("{what}: {error}"))
    }

    pub(crate) fn at(self, rank: Option<u32>) -> Self {
        Self { rank, ..self }
    }

    /// The reason.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    pub(crate) fn to_record(&self, rank: u32) -> [u8; RECORD] {
        let ((kind, number), mut record) = (self.code.to_words(), [0; RECORD]);
        let rank = self.rank.unwrap_or(rank);
        let text = self.text.as_bytes();
        let len = u32::try_from(text.len()).unwrap_or(0); // at most 4592
        let numbers = [kind.to_le_bytes(), number.to_le_bytes(), rank.to_le_bytes()];
        let numbers = numbers.into_iter().chain([len.to_le_bytes()]).flatten();
        let bytes = numbers.chain(text.iter().copied());
        record.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
        record
    }

    pub(crate) fn from_record(record: &[u8; RECORD]) -> Self {
        let word = |at: usize| {
            let bytes = record.get(at..)?.first_chunk::<4>()?;
            Some(u32::from_le_bytes(*bytes))
        };
        let word = |at| word(at).unwrap_or(0); // inside
        let len = usize::try_from(word(12)).unwrap_or(0);
        let text = record.get(NUMBERS..NUMBERS.saturating_add(len)).unwrap_or_default();
        let code = Code::from_words(word(0), word(4).cast_signed());
        Self { code, rank: Some(word(8)), text: String::from_utf8_lossy(text).into() }
    }
}

impl Error {
    /// The error of all ranks for a failure that all of them find equally, without a message, for
    /// those who write a message layer ([`Transport`](crate::comm::Transport)).
    #[must_use]
    pub const fn agreed(failure: Failure) -> Self {
        Self(failure)
    }

    /// A rank is gone, if it is known which one; for those who write a message layer.
    #[must_use]
    pub fn lost(rank: Option<u32>) -> Self {
        let text = "is gone, or did not come to a collective before the deadline";
        Self(Failure::new(Code::Lost, text).at(rank))
    }

    pub(crate) fn unsupported() -> Self {
        let text = "this message layer has no communicator of the ranks that are left";
        Self(Failure::new(Code::Unsupported, text))
    }

    /// A rank ended the job; for those who write a message layer.
    #[must_use]
    pub fn aborted(rank: u32, code: i32) -> Self {
        let text = format_args!("ended the job with exit code {code}");
        Self(Failure::new(Code::Aborted(code), text).at(Some(rank)))
    }

    /// An error of the message layer of a rank, for those who write one
    /// ([`Transport`](crate::comm::Transport)).
    pub fn carrier(rank: u32, class: i32, text: impl fmt::Display) -> Self {
        Self(Failure::new(Code::Carrier(class), text).at(Some(rank)))
    }

    /// The reason.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.0.code
    }

    /// The rank where the error began, as a rank of the first communicator: the one from which all
    /// others were split. None if nobody can know, as of a process that no longer answers.
    #[must_use]
    pub const fn rank(&self) -> Option<u32> {
        self.0.rank
    }

    /// What the rank said.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }
}

/// The error of a communicator is a failure for every other communicator that its ranks have.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        error.0
    }
}

/// An error about a file: with the number of the operating system if it is one of it.
impl From<striae::Error> for Failure {
    fn from(error: striae::Error) -> Self {
        use striae::error::ErrorKind;
        use striae::sion::{Error as SionError, ErrorKind as Sion};
        let text = error.to_string();
        let code = match error.kind() {
            ErrorKind::Io(error) | ErrorKind::Sion(Sion::Sibling { error, .. }) => {
                Code::of_io(error)
            }
            ErrorKind::Sion(Sion::Format(SionError::NotClosed { .. })) => Code::Unclosed,
            _ => match io::Error::from(error).kind() {
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => Code::Damaged,
                io::ErrorKind::AlreadyExists => Code::Io(17), // EEXIST
                io::ErrorKind::ResourceBusy => Code::Io(16),  // EBUSY
                io::ErrorKind::Other => Code::Io(5),          // EIO
                _ => Code::Refused,
            },
        };
        Self::new(code, text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.rank, self.0.code) {
            (Some(rank), Code::Lost | Code::Aborted(_)) => write!(f, "rank {rank} {}", self.0),
            (Some(rank), _) => write!(f, "rank {rank}: {}", self.0),
            (None, Code::Lost) => write!(f, "a rank {}", self.0),
            (None, _) => self.0.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl std::error::Error for Error {}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match error.code() {
            Code::Io(number) => Self::from_raw_os_error(number).kind(),
            Code::Refused | Code::Differ => io::ErrorKind::InvalidInput,
            Code::Damaged | Code::Unclosed => io::ErrorKind::InvalidData,
            Code::Full => io::ErrorKind::FileTooLarge,
            Code::Lost => io::ErrorKind::TimedOut,
            Code::Unsupported => io::ErrorKind::Unsupported,
            Code::Aborted(_) => io::ErrorKind::ConnectionAborted,
            Code::Overflow | Code::TooLong | Code::Carrier(_) | Code::Other(_) => {
                io::ErrorKind::Other
            }
        };
        Self::new(kind, error)
    }
}
