# Instructions of a frame of three chunks: counts, and no noise of a machine.

need_program valgrind valgrind

cargo build --quiet --release -p striae-core --example frames
cargo build --quiet --release -p striae --example gsd_frames
readonly programs="$target/release/examples"
mkdir -p "$target/instructions"

# The instructions of a run of a program.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 | sed -n 's/.*Collected : //p'
}

# within WHAT COUNT FEW MANY: a frame takes at most a tenth more than COUNT by rustc 1.96, for other compilers. FEW and
# MANY are the instructions of runs of 1000 and 6000 frames.
within() {
    local each=$((($4 - $3) / 5000)) most=$(($2 * 11 / 10))
    note "$each instructions for $1"
    ((each > 100 && each <= most)) || fail "$1 takes $each instructions, at most $most"
}

logged() {
    instructions "$programs/frames" "$1"
}
within "a committed frame, by a Logger in memory" 4960 "$(logged 1000)" "$(logged 6000)"

written() {
    instructions "$programs/gsd_frames" "$target/instructions/written.gsd" "$1" 100
}
within "a frame of a file, committed each 100" 886 "$(written 1000)" "$(written 6000)"
