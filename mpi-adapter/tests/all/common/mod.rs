//! What ranks do in tests, be they threads or processes.
#![allow(dead_code, reason = "processes do not use all of it")]

pub(crate) mod calls;
pub(crate) mod faults;
pub(crate) mod faulty;
pub(crate) mod gsd_and_blob;
pub(crate) mod options;
pub(crate) mod program;
