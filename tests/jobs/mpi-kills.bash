# 50 ranks killed under each MPI while all write: every commit that returned is there; not part of the default run.

need_debian libclang-dev openmpi-bin libopenmpi-dev mpich libmpich-dev

for mpi in mpich openmpi; do
    export MPICC=mpicc.$mpi MPIEXEC=mpiexec.$mpi CARGO_TARGET_DIR="$target/mpi-$mpi"
    output="$RUN_STATE/mpi-kills-$mpi"
    STRIAE_MPI_KILLS=50 cargo test -p striae-mpi --features mpi --test mpi | tee "$output"
    grep -qx "test result: ok. 50 kills of mpiexec.$mpi" "$output" || fail "not 50 kills"
    note "$mpi: 50 kills"
done
