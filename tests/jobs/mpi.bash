# Ranks that are processes of Open MPI and of MPICH: every operation, ranks that fail, die or leave.

need_debian libclang-dev openmpi-bin libopenmpi-dev mpich libmpich-dev

# The tests of the package under one MPI. A program is bound to the MPI that it was built with.
under() {
    local mpi=$1 wanted=$2 output="$RUN_STATE/mpi-$1"
    export MPICC=mpicc.$mpi MPIEXEC=mpiexec.$mpi CARGO_TARGET_DIR="$target/mpi-$mpi"
    cargo clippy -p striae-mpi --features mpi --all-targets -- -D warnings
    cargo test -p striae-mpi --features mpi --doc
    cargo test -p striae-mpi --features mpi --test mpi | tee "$output"
    grep -qx "test result: ok. $wanted jobs of mpiexec.$mpi" "$output" || fail "not $wanted jobs ran"
    note "$mpi: $wanted jobs"
}

under openmpi 26
under mpich 23
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps -p striae-mpi --features mpi
