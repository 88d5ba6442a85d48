# Ranks that are processes of Open MPI and of MPICH: every operation, ranks that fail, die or leave.

need_debian libclang-dev openmpi-bin libopenmpi-dev mpich libmpich-dev

# A program is bound to the MPI that it was built with: what binds it, and that alone, is built anew.
use() {
    export MPICC=mpicc.$1 MPIEXEC=mpiexec.$1
    cargo clean --quiet -p mpi-sys
}

# The tests of the package under one MPI. Arguments: which, how many jobs there are, features.
under() {
    local mpi=$1 wanted=$2 output="$RUN_STATE/mpi-$1"
    use "$mpi"
    cargo test -p striae-mpi --features "$3" --test mpi | tee "$output"
    grep -qx "test result: ok. $wanted jobs of mpiexec.$mpi" "$output" || fail "not $wanted jobs ran"
    note "$mpi: $wanted jobs"
}

under mpich 44 mpi
under openmpi 48 cli,mpi # as all that follows, so that it is built once
# What no MPI makes a difference to.
cargo test -p striae-mpi --features cli,mpi --test program
cargo clippy -p striae-mpi --features cli,mpi --all-targets -- -D warnings
cargo test -p striae-mpi --features cli,mpi --doc
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps -p striae-mpi --features cli,mpi --lib
