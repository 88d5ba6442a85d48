# The bodies of the fuzz targets accept all seeds and past findings.

rust_tests cargo test -p striae-tests fuzz_replay::
