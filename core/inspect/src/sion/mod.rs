//! SIONlib files.
