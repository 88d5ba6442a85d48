//! Errors of rules, requests and the caller's memory.

crate::texts! {
    /// Why a plan cannot be made.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[cfg_attr(feature = "defmt", derive(defmt::Format))]
    #[non_exhaustive]
    pub enum Error;

    /// An alignment is not a power of two, or is too large.
    Alignment { value: u64, max: u64 } =>
        "an alignment of {value} bytes, must be a power of two of at most {max}";
    /// The limit of reads is shorter than the shortest aligned read.
    MaxIo { value: u64, min: u64 } =>
        "reads of at most {value} bytes, must be at least {min} to be aligned";
    /// The file is so long that its end, rounded up, exceeds the largest offset.
    FileTooLong { file_len: u64, max: u64 } => "a file of {file_len} bytes, can be {max} at most";
    /// A request ends after the end of the file.
    BehindEnd {
        /// The index of the request.
        request: usize,
        /// The end of the request.
        end: u64,
        file_len: u64,
    } => "request {request} ends at offset {end}, the file at {file_len}";
    /// The caller's memory has too few runs.
    Memory {
        /// The number of runs needed.
        need: usize,
        /// The number of runs given.
        have: usize,
    } => "memory for {have} runs, must be for {need}";
}

impl core::error::Error for Error {}
