/*
 * Writes a set as the program did that wrote a file of tests/golden/sion with SIONlib; the job
 * compares the files. Arguments, as the command in the JSON of the file has them:
 *
 *     golden NAME MODE FSBLKSIZE NUMFILES COLLECTIVE ONE TASK...
 *
 * A TASK is CHUNKSIZE:LEN,LEN,... or, with keys, CHUNKSIZE:kKEY=LEN,...; the files of -N are those
 * of communicators, of which each has consecutive processes.
 */
#include "parallel.h"

static void write_keys(int sid, char *calls) {
    static unsigned char bytes[1 << 12];
    for (char *call = strtok(calls, ","); call != NULL; call = strtok(NULL, ",")) {
        int key, len;
        CHECK(sscanf(call, "k%d=%d", &key, &len) == 2 && len <= (int)sizeof bytes);
        for (long i = 0; i < len; i++) {
            bytes[i] = (unsigned char)(i * 7 + (i >> 8) * 13 + rank * 37 + key * 101 + 11);
        }
        CHECK(sion_fwrite_key(bytes, (uint64_t)key, 1, (size_t)len, sid) == (size_t)len);
    }
}

static void write_calls(int sid, char *calls, int is_collective) {
    static unsigned char bytes[1 << 16];
    long done = 0;
    for (char *call = strtok(calls, ","); call != NULL; call = strtok(NULL, ",")) {
        long len = atol(call);
        CHECK(len >= 0 && len <= (long)sizeof bytes);
        fill(bytes, rank, done, len);
        size_t wrote = is_collective ? sion_coll_fwrite(bytes, 1, (size_t)len, sid)
                                     : sion_fwrite(bytes, 1, (size_t)len, sid);
        CHECK(wrote == (size_t)len);
        done += len;
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(argc == 7 + size);
    char *calls = NULL;
    sion_int64 chunksize = strtoll(argv[7 + rank], &calls, 10);
    CHECK(*calls == ':');
    calls++;
    sion_int32 fsblksize = atoi(argv[3]);
    int nfiles = atoi(argv[4]), globalrank = -1;
    MPI_Comm part = MPI_COMM_NULL;
    if (nfiles < 0) MPI_Comm_split(MPI_COMM_WORLD, rank * -nfiles / size, rank, &part);
    int sid = sion_paropen_mpi(argv[1], argv[2], &nfiles, MPI_COMM_WORLD, &part, &chunksize,
                               &fsblksize, &globalrank, NULL, NULL);
    CHECK(sid >= 0);
    CHECK(globalrank == rank && nfiles == abs(atoi(argv[4])) && fsblksize == atoi(argv[3]));
    if (strchr(calls, 'k') != NULL) {
        write_keys(sid, calls);
    } else {
        write_calls(sid, calls, atoi(argv[5]));
    }
    CHECK(sion_parclose_mpi(sid) == SION_SUCCESS);
    MPI_Finalize();
    return 0;
}
