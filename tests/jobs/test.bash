# Tests and examples in documentation of all packages of the workspace.

must_run="golden:: spec_tables:: limits:: style::" rust_tests cargo test "${tested[@]}" --no-fail-fast
