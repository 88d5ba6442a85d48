# Tests and examples in documentation of core, striae and striae-tests.

must_run=tests/golden.rs rust_tests cargo test
