//! The functions of the serial `sion.h`.
