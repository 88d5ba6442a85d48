//! GSD files.
