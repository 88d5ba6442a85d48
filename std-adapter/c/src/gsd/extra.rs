//! The exported functions that gsd does not have: checksums, alignment, durability, verify.
#![allow(unsafe_code, reason = "the functions get pointers of C programs")]
#![allow(clippy::missing_safety_doc, reason = "the contract of all is in gsd.h")]

use super::calls::{call, open};
use super::code::Code;
use super::handle::GsdHandle;
use super::state::{Mode, NewFile, Options, State};
use super::write::Settings;
use crate::boundary::{bytes, guard, path, store};
use libc::{c_char, c_int, c_uint};
use std::mem::offset_of;
use striae::gsd::Durability;

/// `struct striae_gsd_options`: how a file is made, written and read, beyond what gsd knows.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct StriaeGsdOptions {
    /// `sizeof(struct striae_gsd_options)` of the program: later versions may have more fields.
    pub size: usize,
    /// Alignment of the chunks of a new file in bytes, a power of two.
    pub align: u64,
    /// Whether each frame of a new file has checksums of its chunks.
    pub checksums: c_int,
    /// Whether what is read is compared with checksums, where there are any.
    pub checked: c_int,
    /// Whether a flush survives a power cut.
    pub durable: c_int,
    /// Whether a flush takes one sync in place of two, where possible.
    pub one_sync: c_int,
    /// Whether other writers are kept out.
    pub lock: c_int,
}

/// `struct striae_gsd_findings`: what a check of a file has found.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct StriaeGsdFindings {
    /// What makes the file wrong, or unreadable in part.
    pub damages: u64,
    /// What is unusual, but loses nothing.
    pub warnings: u64,
}

/// What `tests/layout.c` compares with its own `sizeof` and `offsetof`.
#[unsafe(no_mangle)]
pub static striae_gsd_options_layout: [usize; 9] = [
    size_of::<StriaeGsdOptions>(),
    offset_of!(StriaeGsdOptions, size),
    offset_of!(StriaeGsdOptions, align),
    offset_of!(StriaeGsdOptions, checksums),
    offset_of!(StriaeGsdOptions, checked),
    offset_of!(StriaeGsdOptions, durable),
    offset_of!(StriaeGsdOptions, one_sync),
    offset_of!(StriaeGsdOptions, lock),
    size_of::<StriaeGsdFindings>(),
];

/// Sets all options to what gsd does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn striae_gsd_options_init(options: *mut StriaeGsdOptions) {
    guard((), || {
        // SAFETY: gsd.h: "options: memory for the structure".
        unsafe { store(options, StriaeGsdOptions::DEFAULT) }
    });
}

unsafe fn options<'a>(options: *const StriaeGsdOptions) -> Result<&'a StriaeGsdOptions, Code> {
    // SAFETY: pointer::as_ref: "either null or convertible to a reference"; gsd.h: "options: what
    // striae_gsd_options_init has set".
    let options = unsafe { options.as_ref() };
    options.filter(|options| options.size == size_of::<StriaeGsdOptions>()).ok_or_else(|| {
        let why = "options must be set by striae_gsd_options_init first";
        Code::INVALID_ARGUMENT.because(&why)
    })
}

impl StriaeGsdOptions {
    /// What gsd does.
    pub const DEFAULT: Self = Self {
        size: size_of::<Self>(),
        align: 1,
        checksums: 0,
        checked: 0,
        durable: 1,
        one_sync: 0,
        lock: 0,
    };

    const fn options(&self) -> Options {
        let durability = match self.durable {
            0 => Durability::None,
            _ => Durability::OnCommit,
        };
        let one_sync = if self.one_sync == 0 { None } else { Some(self.one_sync > 0) };
        let settings = Settings { durability, one_sync, lock: self.lock != 0 };
        Options { settings, checked: self.checked != 0 }
    }
}

/// Makes an empty file with options and opens it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn striae_gsd_create_and_open(
    handle: *mut GsdHandle,
    fname: *const c_char,
    application: *const c_char,
    schema: *const c_char,
    schema_version: u32,
    flags: c_uint,
    exclusive_create: c_int,
    with: *const StriaeGsdOptions,
) -> c_int {
    let opened = || {
        let mode = Mode::new(flags)?;
        if mode == Mode::ReadOnly {
            return Err(Code::FILE_MUST_BE_WRITABLE.because(&"a new file is written"));
        }
        let null = || Code::INVALID_ARGUMENT.because(&"a text is a null pointer");
        // SAFETY: gsd.h: all three are texts that end with a NUL.
        let texts = unsafe { (bytes(fname), bytes(application), bytes(schema)) };
        let (Some(name), Some(application), Some(schema)) = texts else { return Err(null()) };
        // SAFETY: gsd.h: "options: what striae_gsd_options_init has set".
        let with = unsafe { options(with) }?;
        let (checksums, align) = (with.checksums != 0, with.align);
        let new = NewFile { application, schema, schema_version, checksums, align };
        State::create(path(name), &new, mode, &with.options(), exclusive_create != 0)
    };
    // SAFETY: gsd.h: "handle: memory for a handle".
    unsafe { open(handle, opened) }
}

/// Opens a file with options; `align` and `checksums` are those of the file.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn striae_gsd_open(
    handle: *mut GsdHandle,
    fname: *const c_char,
    flags: c_uint,
    with: *const StriaeGsdOptions,
) -> c_int {
    let opened = || {
        // SAFETY: gsd.h: "fname: a text that ends with a NUL".
        let name = unsafe { bytes(fname) };
        let null = || Code::INVALID_ARGUMENT.because(&"fname is a null pointer");
        // SAFETY: gsd.h: "options: what striae_gsd_options_init has set".
        let with = unsafe { options(with) }?;
        State::open(path(name.ok_or_else(null)?), Mode::new(flags)?, &with.options())
    };
    // SAFETY: gsd.h: "handle: memory for a handle".
    unsafe { open(handle, opened) }
}

/// Checks all of a file, and its data against the checksums, if it has any. The first finding is
/// the text of `striae_last_error`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn striae_gsd_verify(
    fname: *const c_char,
    findings: *mut StriaeGsdFindings,
) -> c_int {
    call(|| {
        // SAFETY: gsd.h: "fname: a text that ends with a NUL".
        let name = unsafe { bytes(fname) };
        let null = || Code::INVALID_ARGUMENT.because(&"fname is a null pointer");
        let found = super::check::check(path(name.ok_or_else(null)?))?;
        // SAFETY: gsd.h: "findings: memory for the structure, or null".
        unsafe { store(findings, found) };
        Ok(())
    })
}
