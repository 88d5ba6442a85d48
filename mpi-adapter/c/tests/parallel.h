/* What the tests of several processes share. */
#ifndef PARALLEL_H
#define PARALLEL_H

#include <mpi.h>
#include <sion.h>

#include "check.h"

static int rank, size;

static inline void begin(int *argc, char ***argv) {
    CHECK(MPI_Init(argc, argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

/* Whether all processes have this value. */
static inline int is_equal_at_all(int value) {
    int least, most;
    MPI_Allreduce(&value, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&value, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    return least == most;
}

/* Byte i of the stream of a task, as tests/golden/sion/README.md has it. */
static inline unsigned char byte_of(long task, long i) {
    return (unsigned char)(i * 7 + (i >> 8) * 13 + task * 37 + 11);
}

/* Bytes from, from + 1, ... of the stream of a task. */
static inline void fill(unsigned char *bytes, long task, long from, long len) {
    for (long i = 0; i < len; i++) bytes[i] = byte_of(task, from + i);
}

/* Checks that all bytes of the current task are those of its stream, and returns their number. */
static inline long check_stream(int sid, long task) {
    static unsigned char bytes[1 << 16];
    long done = 0;
    while (!sion_feof(sid)) {
        sion_int64 len = sion_bytes_avail_in_chunk(sid);
        CHECK(len > 0);
        if (len > (sion_int64)sizeof bytes) len = (sion_int64)sizeof bytes;
        CHECK(sion_fread(bytes, 1, (size_t)len, sid) == (size_t)len);
        for (long i = 0; i < len; i++) CHECK(bytes[i] == byte_of(task, done + i));
        done += len;
    }
    CHECK(sion_get_bytes_read(sid) == done);
    return done;
}

#endif
