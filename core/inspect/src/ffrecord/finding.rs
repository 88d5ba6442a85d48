//! The findings of verifying an ffrecord file.

use crate::finding::{Facts, error_facts, findings};
use striae_core::ffrecord::{Error, raw};
use striae_core::span::Span;

findings! {
    /// A problem or an unusual fact in an ffrecord file.
    pub enum FindingKind;

    /// A sample is damaged, or where it should start or end.
    Damage Sample { number: u64, error: Error }
    |facts| Facts { sample: Some(*number), ..error_facts(error) }
    => "sample {number}: {error}";

    /// The header has no checksum of the tables, as in files of old versions: a changed number in
    /// them cannot be detected.
    Note "no_checksum" Unsummed {}
    |facts| facts.field(raw::TABLES, raw::Header::checksum_meta, 0).value(0)
    => "header.checksum_meta at offset 0 is 0: the tables have no checksum, as in files of old \
        versions";

    /// There are bytes between the tables and the first sample.
    Note "gap" Gap { span: Span }
    |facts| facts.span(span.offset(), span.len())
    => "{} bytes at offset {} between the tables and the first sample belong to none",
        span.len(), span.offset();

    /// The header says that there is no sample, and bytes follow it: the writer was killed before
    /// it wrote the header and the tables, or n is damaged. A file without samples ends with its
    /// header.
    Damage "no_samples" NoSamples {
        /// The bytes after the header.
        span: Span,
    }
    |facts| facts.field(raw::TABLES, raw::Header::n, 4).value(0)
    => "header.n at offset 4 is 0, but {} bytes follow at offset {}: a file without samples has 12 \
        bytes; a writer that is killed before it closes its file leaves zeros for the header and \
        the tables", span.len(), span.offset();

    /// All samples together have more than twice the bytes of the file, so many share bytes:
    /// samples from this one on were not compared with their checksums.
    Damage "shared" Shared { number: u64 }
    |facts| Facts { sample: Some(*number), ..facts }
    => "samples have more than twice the bytes of the file together: those from sample {number} on \
        were not compared with their checksums";

    reading
    also
    /// The header or the tables are damaged.
    Damage Wrong(Error) error_facts, ERRORS;
}

error_facts! {
    /// What an error of a file says, as values.
    pub fn error_facts(Error), Damage ERRORS;

    /// The file ends inside a part that must be there.
    "cut" Cut { file_len } |facts| facts.span(0, file_len);
    /// A number is below the smallest allowed value.
    "too_small" TooSmall { field, offset, value, min }
        |facts| facts.field(raw::TABLES, field, offset).value(value).min(min);
    /// A number is above the largest allowed value.
    "too_large" TooLarge { field, offset, value, max }
        |facts| facts.field(raw::TABLES, field, offset).value(value).max(max);
    /// The stored checksum differs from the checksum of the bytes that it covers.
    "checksum" Checksum { field, offset, stored, computed }
        |facts| facts.field(raw::TABLES, field, offset).crcs(stored, computed);
}
