# Instructions of a committed frame of three chunks, by a Logger in memory: a count, and no noise of a machine.

need_program valgrind valgrind

# At most so many: 4960 by rustc 1.96, and a tenth for other compilers.
readonly bound=5456

cargo build --quiet --release -p striae-core --example frames

# The instructions of a run that logs so many frames.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$target/release/examples/frames" "$1" 2>&1 |
        sed -n 's/.*Collected : //p'
}

few=$(instructions 1000)
many=$(instructions 6000)
each=$(((many - few) / 5000))
note "$each instructions for a committed frame of three chunks"
((each > 1000 && each <= bound)) || fail "a committed frame takes $each instructions, at most $bound"
