//! The findings of verifying a netCDF file.

use crate::finding::{Facts, error_facts, findings};
use alloc::string::String;
use striae_core::cdf::{Error, raw};
use striae_core::field::FieldId;
use striae_core::span::Span;

findings! {
    /// A problem or an unusual fact in a netCDF file.
    pub enum FindingKind;

    /// Values of a variable are not in the file.
    Damage Variable { number: u64, error: Error }
    |facts| Facts { variable: Some(*number), ..error_facts(error) }
    => "variable {number}: {error}";

    /// Two items of a list have the same name: the second can only be found by its number.
    Note "same_name" SameName {
        /// The second item, in words.
        item: String,
        /// The offset of its name.
        offset: u64,
        /// The number of the first item.
        first: u64,
    }
    |facts| Facts { offset: Some(*offset), ..facts }.text(item)
    => "{item}: its name at offset {offset} is that of {first}, too";

    /// A variable has more bytes than the version allows, and is not the last one
    /// (`spec/cdf.md#large-variables`).
    Damage "large" Large { number: u64, len: u64, max: u64 }
    |facts| Facts { variable: Some(*number), ..facts.value(*len).max(*max) }
    => "variable {number} has {len} bytes, must have at most {max} unless it is the last one";

    /// The record variables have gaps: values of a record overlap those of the next one.
    Damage "overlap" Overlap {
        /// The place of the first record, from its first value to its last one.
        span: Span,
        /// The bytes from one record to the next.
        recsize: u64,
    }
    |facts| facts.span(span.offset(), span.len()).value(*recsize)
    => "the first record at offset {} has {} bytes, but the next one begins after {recsize}",
        span.offset(), span.len();

    /// A variable begins in the padding of the one before. Readers that know no order of variables
    /// read both; netCDF-C, PnetCDF and ncvalidator refuse the file (`spec/cdf.md#variables`).
    Damage "padding_overlap" PaddingOverlap {
        number: u64,
        /// The offset of its `begin`.
        offset: u64,
        value: u64,
        /// The end of the variable before, with its padding.
        min: u64,
    }
    |facts| Facts { variable: Some(*number), ..at(facts, raw::Var1::begin, *offset) }
        .value(*value).min(*min)
    => "var.begin of variable {number} at offset {offset} is {value}, must be at least {min}, where \
        the padding of the variable before ends";

    /// The header counts records, and no variable has records: variables are lost. All writers
    /// count the records of variables only; ncvalidator refuses such a file if it has no variable
    /// at all.
    Damage "no_records" NoRecords {
        /// The number of records in the header.
        records: u64,
    }
    |facts| at(facts, raw::Header1::numrecs, 4).value(*records)
    => "header.numrecs at offset 4 is {records}, must be 0 as no variable has records";

    /// The bytes after a name or after the values of an attribute, up to a multiple of 4, are not
    /// null. The libraries do not check them, ncvalidator does.
    Note "padding" Padding { item: String, span: Span }
    |facts| facts.span(span.offset(), span.len()).text(item)
    => "{item}: the padding at offset {} is not null", span.offset();

    /// A name has characters that the libraries refuse when they define a name.
    Note "name" Name { item: String, offset: u64 }
    |facts| Facts { offset: Some(*offset), ..facts }.text(item)
    => "{item}: the name at offset {offset} cannot be defined with the libraries";

    /// The stored size of a variable is none that a library stores for its type and dimensions:
    /// one of them is damaged. Readers compute it, and do not look.
    Damage "wrong_vsize" WrongVsize { number: u64, offset: u64, value: u64, expected: u64 }
    |facts| Facts { variable: Some(*number), ..at(facts, raw::Var1::vsize, *offset) }
        .value(*value).expected(*expected)
    => "var.vsize of variable {number} at offset {offset} is {value}, but by its type and \
        dimensions it must be {expected}";

    /// The stored size of a variable is not that of its dimensions, but one that old versions or
    /// other libraries store for them. Readers compute it.
    Note "vsize" Vsize { number: u64, offset: u64, value: u64, expected: u64 }
    |facts| Facts { variable: Some(*number), ..at(facts, raw::Var1::vsize, *offset) }
        .value(*value).expected(*expected)
    => "var.vsize at offset {offset} is {value}, must be {expected}";

    /// Values of a variable do not begin at a multiple of 4.
    Note "unaligned" Unaligned { number: u64, offset: u64, value: u64 }
    |facts| Facts { variable: Some(*number), ..at(facts, raw::Var1::begin, *offset) }.value(*value)
    => "var.begin at offset {offset} is {value}, which is no multiple of 4";

    /// In a header without values, which is in an HDF5 file, a variable has a place. Nobody reads
    /// it.
    Note "begin" Begin { number: u64, offset: u64, value: u64 }
    |facts| Facts { variable: Some(*number), ..at(facts, raw::Var1::begin, *offset) }.value(*value)
    => "var.begin of variable {number} at offset {offset} is {value}, must be 0 in header_blob";

    /// The header has no number of records: readers compute it from the length of the file, or
    /// refuse the file.
    Note "streaming" Streaming {
        /// The number of records in the file.
        records: u64,
    }
    |facts| at(facts, raw::Header1::numrecs, 4).value(*records)
    => "header.numrecs at offset 4 is that of a stream; the file has {records} records";

    /// The file is longer than its header says. The libraries ignore the rest; ncvalidator 1.12
    /// does not.
    Note "tail" Tail { span: Span }
    |facts| facts.span(span.offset(), span.len())
    => "{} bytes at offset {} are after the end of all variables", span.len(), span.offset();

    reading
    also
    /// The header is damaged.
    Damage Wrong(Error) error_facts, ERRORS;
}

#[cfg(feature = "blob")]
impl FindingKind {
    /// The finding in a header that begins at offset `by` of its file.
    pub(crate) fn moved(mut self, by: u64) -> Self {
        match &mut self {
            Self::SameName { offset, .. }
            | Self::Name { offset, .. }
            | Self::Vsize { offset, .. }
            | Self::WrongVsize { offset, .. }
            | Self::Begin { offset, .. } => *offset = offset.saturating_add(by),
            Self::Padding { span, .. } | Self::Tail { span } => {
                let offset = span.offset().saturating_add(by);
                *span = Span::new(offset, span.len()).unwrap_or(*span);
            }
            _ => {}
        }
        self
    }
}

fn at(facts: Facts, field: FieldId, offset: u64) -> Facts {
    facts.field(raw::TABLES, field, offset)
}

error_facts! {
    /// What an error of a file says, as values.
    pub fn error_facts(Error), Damage ERRORS;

    /// The file does not start like a classic netCDF file.
    "not_cdf" NotCdf { magic } |facts| at(facts, raw::Header1::magic, 0).bytes(&magic);
    /// The file ends inside the header.
    "cut" Cut { field, offset, file_len } |facts| at(facts, field, offset).max(file_len);
    /// A list has the wrong tag.
    "tag" Tag { offset, tag, expected }
        |facts| at(facts, raw::List1::tag, offset).value(tag).expected(expected);
    /// The version has no type with this number.
    "no_type" NoType { offset, nc_type }
        |facts| at(facts, raw::Var1::nc_type, offset).value(nc_type);
    /// A variable has a dimension that does not exist.
    "no_dim" NoDim { offset, dimid, ndims }
        |facts| at(facts, raw::Dimid1::dimid, offset)
            .value(dimid).max(i128::from(ndims).saturating_sub(1));
    /// A name is not UTF-8.
    "not_utf8" NotUtf8 { offset } |facts| Facts { offset: Some(offset), ..facts };
    /// A number is below the smallest allowed value.
    "too_small" TooSmall { field, offset, value, min }
        |facts| at(facts, field, offset).value(value).min(min);
    /// A number is above the largest allowed value.
    "too_large" TooLarge { field, offset, value, max }
        |facts| at(facts, field, offset).value(value).max(max);
    /// Two dimensions have length 0; only the record dimension may have it.
    "two_record_dims" TwoRecordDims { second, .. } |facts| facts.value(second);
    /// The record dimension is not the first one of a variable.
    "record_dim_not_first" RecordDimNotFirst { varid }
        |facts| Facts { variable: Some(varid), ..facts };
    /// A variable, or a record, is larger than any file.
    "size" Size { begin } |facts| facts.value(begin);
    /// The file ends before the end of the values.
    "out_of_file" OutOfFile { offset, end, file_len }
        |facts| facts.span(offset, end.saturating_sub(offset)).max(file_len);
}
