//! Limits: what no file can hold is refused, and nothing is written.
