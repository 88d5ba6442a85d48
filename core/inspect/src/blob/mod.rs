//! Blob files of E3SM-IO, and the maps that they are written by.

pub mod map;
