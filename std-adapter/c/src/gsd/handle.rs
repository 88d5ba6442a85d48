//! The structures of `gsd.h`, as C programs have them.
#![allow(unsafe_code, reason = "exports the layout to a C program that checks it")]

use super::state::State;
use libc::{c_char, c_int, c_uint, c_void};
use std::mem::offset_of;
use std::ptr;

/// `struct gsd_header`: the first 256 bytes of a file.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct GsdHeader {
    /// Marks a GSD file.
    pub magic: u64,
    /// Offset of the index block.
    pub index_location: u64,
    /// Slots of the index block.
    pub index_allocated_entries: u64,
    /// Offset of the name list.
    pub namelist_location: u64,
    /// Length of the name list in units of 64 bytes.
    pub namelist_allocated_entries: u64,
    /// Version of the schema.
    pub schema_version: u32,
    /// Version of the file layer.
    pub gsd_version: u32,
    /// Name of the program that made the file.
    pub application: [c_char; 64],
    /// Name of the schema.
    pub schema: [c_char; 64],
    /// Unused by gsd; the commit record of striae.
    pub reserved: [c_char; 80],
}

/// `struct gsd_index_entry`: where a chunk is.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GsdIndexEntry {
    /// The frame.
    pub frame: u64,
    /// Rows; `N` in gsd.h.
    pub n: u64,
    /// Offset of the first byte.
    pub location: i64,
    /// Columns; `M` in gsd.h.
    pub m: u32,
    /// Index of the name.
    pub id: u16,
    /// Number of the type; `type` in gsd.h.
    pub kind: u8,
    /// Always 0.
    pub flags: u8,
}

/// `struct gsd_handle`: memory of the caller, as long as gsd's and with its public fields where gsd
/// has them. What gsd keeps in the other fields is behind `state`.
#[repr(C)]
#[derive(Debug)]
pub struct GsdHandle {
    /// Descriptor of the file.
    pub fd: c_int,
    /// The header of the file.
    pub header: GsdHeader,
    /// The library's own state; null in a closed handle.
    pub(super) state: *const State,
    unused: [u64; 20],
    /// Number of the frame that is written.
    pub buffer_frame: u64,
    /// Number of frames in the file.
    pub file_frame: u64,
    /// Length of the file in bytes.
    pub file_size: i64,
    /// How the file was opened: `enum gsd_open_flag`.
    pub open_flags: c_uint,
    unused_map: [u64; 2],
    /// Number of chunks of the frame that is written.
    pub pending_index_entries: u64,
    /// Bytes that are gathered before a write.
    pub maximum_write_buffer_size: u64,
}

impl GsdHeader {
    /// A header of zeros.
    pub const EMPTY: Self = Self {
        magic: 0,
        index_location: 0,
        index_allocated_entries: 0,
        namelist_location: 0,
        namelist_allocated_entries: 0,
        schema_version: 0,
        gsd_version: 0,
        application: [0; 64],
        schema: [0; 64],
        reserved: [0; 80],
    };

    /// The header from the first bytes of a file.
    pub(super) fn from_bytes(bytes: &[u8; 256]) -> Self {
        let mut rest = &bytes[..];
        let words = [(); 5].map(|()| u64::from_le_bytes(take(&mut rest)));
        let [magic, index_location, index_allocated_entries, namelist_location, names] = words;
        let [schema_version, gsd_version] = [(); 2].map(|()| u32::from_le_bytes(take(&mut rest)));
        Self {
            magic,
            index_location,
            index_allocated_entries,
            namelist_location,
            namelist_allocated_entries: names,
            schema_version,
            gsd_version,
            application: take(&mut rest).map(to_char),
            schema: take(&mut rest).map(to_char),
            reserved: take(&mut rest).map(to_char),
        }
    }
}

fn to_char(byte: u8) -> c_char {
    c_char::from_le_bytes([byte])
}

/// Takes the next bytes; zeros if there are no more.
fn take<const LEN: usize>(rest: &mut &[u8]) -> [u8; LEN] {
    let (first, others) = rest.split_first_chunk().unwrap_or((&[0; LEN], &[]));
    *rest = others;
    *first
}

impl GsdHandle {
    /// A closed handle.
    pub const EMPTY: Self = Self {
        fd: -1,
        header: GsdHeader::EMPTY,
        state: ptr::null(),
        unused: [0; 20],
        buffer_frame: 0,
        file_frame: 0,
        file_size: 0,
        open_flags: 0,
        unused_map: [0; 2],
        pending_index_entries: 0,
        maximum_write_buffer_size: 0,
    };
}

/// What `tests/layout.c` compares with its own `sizeof` and `offsetof`.
#[unsafe(no_mangle)]
pub static striae_gsd_layout: [usize; 27] = [
    size_of::<GsdHeader>(),
    offset_of!(GsdHeader, magic),
    offset_of!(GsdHeader, index_location),
    offset_of!(GsdHeader, index_allocated_entries),
    offset_of!(GsdHeader, namelist_location),
    offset_of!(GsdHeader, namelist_allocated_entries),
    offset_of!(GsdHeader, schema_version),
    offset_of!(GsdHeader, gsd_version),
    offset_of!(GsdHeader, application),
    offset_of!(GsdHeader, schema),
    offset_of!(GsdHeader, reserved),
    size_of::<GsdIndexEntry>(),
    offset_of!(GsdIndexEntry, frame),
    offset_of!(GsdIndexEntry, n),
    offset_of!(GsdIndexEntry, location),
    offset_of!(GsdIndexEntry, m),
    offset_of!(GsdIndexEntry, id),
    offset_of!(GsdIndexEntry, kind),
    offset_of!(GsdIndexEntry, flags),
    size_of::<GsdHandle>(),
    offset_of!(GsdHandle, header),
    offset_of!(GsdHandle, buffer_frame),
    offset_of!(GsdHandle, file_frame),
    offset_of!(GsdHandle, file_size),
    offset_of!(GsdHandle, open_flags),
    offset_of!(GsdHandle, pending_index_entries),
    offset_of!(GsdHandle, maximum_write_buffer_size),
];

/// The layout of gsd 5.0.1 on a 64-bit machine, measured with its own header.
#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(size_of::<GsdHeader>() == 256 && size_of::<GsdIndexEntry>() == 32);
    assert!(size_of::<GsdHandle>() == 496 && offset_of!(GsdHandle, header) == 8);
    assert!(offset_of!(GsdHandle, buffer_frame) == 432 && offset_of!(GsdHandle, file_size) == 448);
    assert!(offset_of!(GsdHandle, open_flags) == 456);
    assert!(offset_of!(GsdHandle, pending_index_entries) == 480);
    assert!(offset_of!(GsdHandle, maximum_write_buffer_size) == 488);
};

const _: () = assert!(size_of::<*const c_void>() <= 8);
