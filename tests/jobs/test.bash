# Tests and examples in documentation of core, striae and striae-tests.

must_run=golden:: rust_tests cargo test
