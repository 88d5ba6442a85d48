//! Texts of errors and names.
//!
//! At opt-level 3 none of them can panic. At opt-level s those with a `u64` can, by no fault of
//! ours: core's own `<u64>::_fmt_inner` keeps a check of the index into its buffer of digits, and
//! calls `core::panicking::panic_bounds_check` (seen with rustc 1.96 and thumbv7em-none-eabihf by
//! `arm-none-eabi-objdump -d`). So their entries are called `gate_text64_...`, and are linked at
//! opt-level 3 only. Firmware that must not panic at opt-level s shows the fields of an error
//! itself.

use crate::entries;
use crate::host::{Host, Text};
use core::fmt::{Display, Write};
use striae_core::sion::filename::{Buddy, Sibling};
use striae_core::sion::{Meta1, Physical};
use striae_core::step::DriveError;
use striae_core::store::{SeekStoreError, WriteAt};

fn show(text: impl Display) -> crate::Answer {
    write!(Text, "{text}")?;
    Ok(0)
}

entries! {
    fn gate_text_sibling(_bytes, number: u32) { show(Sibling(number)) }
    fn gate_text_buddy(_bytes, number: u32) { show(Buddy(number)) }

    fn gate_text64_error(window) {
        match Physical::open(Host { file: 0 }, window) {
            Ok(_) => Ok(0),
            Err(DriveError::Format(error)) if error.blames_caller() => Ok(1),
            Err(error) => show(error.map_format(|error| error)),
        }
    }

    fn gate_text_keyval_mode(bytes, file_len: u64) {
        let meta1 = Meta1::parse(bytes, file_len)?;
        write!(Text, "{} {}", meta1.keyval(), meta1.order())?;
        Ok(0)
    }

    fn gate_text64_fixed_size(bytes, len: u64) {
        match bytes.set_size(len) {
            Ok(()) => Ok(0),
            Err(error) => show(error),
        }
    }

    fn gate_text64_seek_store(_bytes, offset: u64, len: u64) {
        show(SeekStoreError::<crate::host::HostError>::Full { offset })?;
        show(SeekStoreError::<crate::host::HostError>::CannotShrink { len, wanted: offset })
    }
}
