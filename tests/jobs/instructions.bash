# Instructions of small things: a frame, a task, a record, a variable. Counts, and no noise of a machine.

need_program valgrind valgrind

# Packages of which nothing is counted are not optimised: those of tests, which cargo builds too, and those whose
# work is the same in both runs of a pair.
packages=(-p striae-core -p striae)
for package in assert_cmd bstr clap clap_builder clap_complete clap_mangen difflib predicates proptest rand \
    regex-automata regex-syntax roff seccompiler striae-kit; do
    packages+=(--config "profile.release.package.$package.opt-level=0")
done
cargo build --quiet --release "${packages[@]}" --bin striae --example frames --example openings \
    --example gsd_frames --example gsd_steps
readonly programs="$target/release/examples"
messages=$(cargo bench --quiet "${packages[@]}" --bench sion --bench blob --no-run --message-format json)
sion=$(sed -n 's/.*"executable":"\([^"]*\/sion-[0-9a-f]*\)".*/\1/p' <<<"$messages")
blob=$(sed -n 's/.*"executable":"\([^"]*\/blob-[0-9a-f]*\)".*/\1/p' <<<"$messages")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The instructions of a run of a program.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 | sed -n 's/.*Collected : //p'
}

# Says how many instructions one of these things takes; at most so many: those by rustc 1.96, or 1.95, and a tenth
# for other compilers. Far fewer would mean that nothing was measured.
check() {
    local what=$1 each=$2 recorded=$3
    note "$each instructions for $what"
    ((each > recorded / 5 && each <= recorded * 11 / 10)) ||
        fail "$what takes $each instructions, at most $((recorded * 11 / 10))"
}

# The instructions of a run that writes so many frames.
in_file() {
    instructions "$programs/gsd_frames" "$folder/written.gsd" "$1" 100
}

few=$(in_file 1000)
many=$(in_file 6000)
check "a frame of three chunks in a file, committed each 100" $(((many - few) / 5000)) 825
few=$(instructions "$programs/frames" 1000)
many=$(instructions "$programs/frames" 6000)
check "a committed frame of three chunks, by a Logger in memory" $(((many - few) / 5000)) 3880

# The instructions of opening a golden file in memory, by the blocking path.
check_open() {
    local what=$1 recorded=$2 few many
    few=$(instructions "$programs/openings" "tests/golden/$what" 1000)
    many=$(instructions "$programs/openings" "tests/golden/$what" 6000)
    check "opening $what in memory" $(((many - few) / 5000)) "$recorded"
}
check_open sion/s03_eight_mixed.sion 1047
check_open cdf/cdf5_alltypes.nc 77996
check_open ffrecord/five_one_empty.ffr 382
check_open gsd/v21_hoomd_full_single.gsd 23710
check_open hdf5/superblock0.h5 72522 # and the list of its 22 datasets

# What verbs of the program take for a frame, as the difference of two files.
for frames in 1000 11000; do
    "$programs/gsd_steps" "$folder/$frames.gsd" $frames
done
check_verb() {
    local recorded=$1 few many
    shift
    few=$(instructions "$target/release/striae" "$@" "$folder/1000.gsd" ${out:+"$out.1000"})
    many=$(instructions "$target/release/striae" "$@" "$folder/11000.gsd" ${out:+"$out.11000"})
    check "a frame of 4 bytes, by striae $*" $(((many - few) / 10000)) "$recorded"
}
check_verb 233 verify
check_verb 329 ls
check_verb 604 ls --json
out="$folder/recovered" check_verb 2132 recover
out="$folder/converted" check_verb 1051 convert

# A process that does nothing is part of each; of 2^18 tasks or records, it is 2 instructions.
readonly all=$((1 << 18))
create=$(instructions "$sion" memory create "$folder/tasks")
check "a task that is created and closed" $((create / all)) 98
list=$(instructions "$sion" memory list "$folder/tasks")
check "a task that is listed" $((list / all)) 158
one=$(instructions "$sion" memory one "$folder/tasks")
check "1000 tasks of which one is found" $((one * 1000 / all)) 3951
write=$(instructions "$sion" memory write "$folder/records")
check "a record of 64 bytes that is written" $((write / all)) 71
read=$(instructions "$sion" memory read "$folder/records")
check "a record of 64 bytes that is read" $((read / all)) 76

# A set of 414 variables with 4.25 million elements in one record, which 16 ranks write one after the other.
set=$(instructions "$blob" memory write "$folder/set")
check "1000 elements that ranks write" $((set * 1000 / 4250000)) 8570
open=$(instructions "$blob" memory open "$folder/set")
check "a variable of a set that is opened" $((open / 414)) 9184
convert=$(instructions "$blob" memory convert "$folder/set")
check "1000 elements that are converted" $((convert * 1000 / 4250000)) 11373
