/* An error of one process is one of all of them, and nobody waits. Argument: an empty folder. */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "parallel.h"

static const char *folder;
static int count;

/* The last process does something else than the others. */
static int is_last(void) { return rank == size - 1; }

/* How many duplicates of MPI_COMM_WORLD there are. */
static int alive;

static int is_copied(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    alive++;
    return MPI_SUCCESS;
}

static int is_gone(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    alive--;
    return MPI_SUCCESS;
}

/* Opens a set and expects that no process can; then the program's own communicator still works. */
static void refused(const char *path, const char *mode, int nfiles, const MPI_Comm *part,
                    sion_int64 chunksize, const char *words) {
    sion_int32 fsblksize = 512;
    int globalrank = -1;
    int sid = sion_paropen_mpi(path, mode, &nfiles, MPI_COMM_WORLD, part, &chunksize, &fsblksize,
                               &globalrank, NULL, NULL);
    CHECK(sid == -1);
    if (words != NULL) CHECK_TEXT(words);
    CHECK(is_equal_at_all(sid));
    CHECK(alive == 0); /* no communicator is left */
    count++;
}

static void open_errors(void) {
    char *path = in_folder(folder, "set.sion"), *none = in_folder(folder, "none.sion");
    char *deep = in_folder(folder, "no/such/folder.sion");
    MPI_Comm world = MPI_COMM_WORLD;
    refused(folder, "bw", 1, &world, 100, "rank 0");
    refused(deep, "bw", 1, &world, 100, "rank 0");
    refused(folder, "br", 1, &world, 100, "rank 0");
    refused(none, "br", 1, &world, 100, "rank 0");
    refused(path, "bw", size + 1, &world, 100, NULL);
    refused(is_last() ? NULL : path, "bw", 1, &world, 100, "null pointer");
    refused(path, is_last() ? NULL : "bw", 1, &world, 100, "null pointer");
    refused(path, "bw", 1, &world, is_last() ? -1 : 100, "negative");
    refused(path, "bw", 0, is_last() ? NULL : &world, 100, "lComm");
    if (size > 1) {
        refused(is_last() ? folder : path, "bw", 1, &world, 100, "other arguments");
        refused(path, "bw", is_last() ? 2 : 1, &world, 100, NULL);
        refused(path, is_last() ? "br" : "bw", 1, &world, 100, NULL);
        refused(path, is_last() ? "bw,keyval" : "bw", 1, &world, 100, "other arguments");
        MPI_Comm back;
        MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &back);
        refused(path, "bw", 0, &back, 100, "order");
        MPI_Comm_free(&back);
    }
    CHECK(sion_paropen_mpi(path, "bw", &(int){1}, MPI_COMM_NULL, &world, &(sion_int64){1},
                           &(sion_int32){512}, &(int){0}, NULL, NULL) == -1);
    CHECK_TEXT("MPI_COMM_NULL");

    /* A set of another number of tasks. */
    MPI_Comm fewer;
    MPI_Comm_split(MPI_COMM_WORLD, is_last(), rank, &fewer);
    int sid, nfiles = 1, globalrank;
    sion_int64 chunksize = 100;
    sion_int32 fsblksize = 512;
    if (!is_last() || size == 1) {
        sid = sion_paropen_mpi(path, "bw", &nfiles, fewer, &fewer, &chunksize, &fsblksize,
                               &globalrank, NULL, NULL);
        CHECK(sid >= 0);
        CHECK(sion_parclose_mpi(sid) == SION_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (size > 1) refused(path, "br", 1, &world, 100, "tasks");
    MPI_Comm_free(&fewer);
    free(path);
    free(none);
    free(deep);
}

/* What one process does wrong after the open is one of all when they close. */
static void later_errors(void) {
    char *path = in_folder(folder, "later.sion");
    MPI_Comm world = MPI_COMM_WORLD;
    for (int kind = 0; kind < 3; kind++) {
        int nfiles = 1, globalrank;
        sion_int64 chunksize = 512;
        sion_int32 fsblksize = 512;
        const char *mode = kind == 2 ? "bw,collective" : "bw";
        unsigned char bytes[4096] = {0};
        FILE *file = NULL;
        int sid = sion_paropen_mpi(path, mode, &nfiles, world, &world, &chunksize, &fsblksize,
                                   &globalrank, &file, NULL);
        CHECK(sid >= 0);
        if (kind == 0) {
            /* A record that no chunk can have is refused, and changes nothing. */
            CHECK(sion_fwrite(bytes, 1, is_last() ? sizeof bytes : 10, sid) == (is_last() ? 0 : 10));
            CHECK(sion_parclose_mpi(sid) == SION_SUCCESS);
        } else if (kind == 1) {
            /* Bytes behind the end of the chunk, which are another task's. */
            if (is_last()) CHECK(fwrite(bytes, 1, sizeof bytes, file) == sizeof bytes);
            CHECK(sion_parclose_mpi(sid) == SION_NOT_SUCCESS);
            CHECK_TEXT("which is not in");
        } else {
            int done = (int)sion_coll_fwrite(bytes, 1, is_last() ? sizeof bytes : 10, sid);
            CHECK(!is_last() || done == 0);
            CHECK(sion_parclose_mpi(sid) == SION_NOT_SUCCESS);
            CHECK_TEXT("more than a chunk");
        }
        CHECK(sion_parclose_mpi(sid) == SION_NOT_SUCCESS); /* it is closed */
        MPI_Barrier(world);
        count++;
    }
    free(path);
}

/* What has no room for its copy is refused, until the processes meet. */
static void no_room(void) {
    enum { LEN = 200 << 10 };
    static unsigned char bytes[LEN];
    if (size < 2) return; /* another file keeps the copies */
    char *path = in_folder(folder, "room.sion");
    int nfiles = 2, globalrank;
    sion_int64 chunksize = 1 << 20;
    sion_int32 fsblksize = 512;
    int sid = sion_paropen_mpi(path, "bw,buddy", &nfiles, MPI_COMM_WORLD, NULL, &chunksize,
                               &fsblksize, &globalrank, NULL, NULL);
    CHECK(sid >= 0);
    CHECK(sion_fwrite(bytes, 1, LEN, sid) == LEN);
    CHECK(sion_fwrite(bytes, 1, LEN, sid) == 0);
    CHECK_TEXT("there is no room for copies");
    CHECK(sion_get_bytes_written(sid) == LEN);
    CHECK(sion_coll_fwrite(bytes, 1, 10, sid) == 10);
    CHECK(sion_fwrite(bytes, 1, LEN, sid) == LEN);
    CHECK(sion_get_bytes_written(sid) == 2 * LEN + 10);
    CHECK(sion_parclose_mpi(sid) == SION_SUCCESS);
    free(path);
    count++;
}

/* A record that a process has lost is an error of that process, before all meet at the close. */
static void lost_records(const char *mode) {
    enum { LEN = 100 << 10, RECORDS = 40 };
    static unsigned char bytes[LEN];
    char *path = in_folder(folder, "lost.sion");
    int nfiles = 1, globalrank, failed = 0;
    sion_int64 chunksize = 8 << 20;
    sion_int32 fsblksize = 512;
    MPI_Comm world = MPI_COMM_WORLD;
    int sid = sion_paropen_mpi(path, mode, &nfiles, world, &world, &chunksize, &fsblksize,
                               &globalrank, NULL, NULL);
    CHECK(sid >= 0);
    struct rlimit all, few;
    CHECK(getrlimit(RLIMIT_FSIZE, &all) == 0 && signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    few = all;
    few.rlim_cur = 4096;
    CHECK(setrlimit(RLIMIT_FSIZE, &few) == 0);
    for (int i = 0; i < RECORDS && !failed; i++) {
        failed = sion_coll_fwrite(bytes, 1, LEN, sid) == 0;
    }
    CHECK(failed);
    CHECK(sion_coll_fwrite(bytes, 1, LEN, sid) == 0);
    CHECK(setrlimit(RLIMIT_FSIZE, &all) == 0);
    CHECK(sion_parclose_mpi(sid) == SION_NOT_SUCCESS);
    free(path);
    count++;
}

/* Chunks that cannot get another size are an error of all, and the set is closed. */
static void reinit_errors(void) {
    char *path = in_folder(folder, "reinit.sion");
    MPI_Comm world = MPI_COMM_WORLD;
    for (int kind = 0; kind < 2; kind++) {
        int nfiles = 1, globalrank;
        sion_int64 chunksize = 512;
        sion_int32 fsblksize = 512;
        unsigned char bytes[100] = {0};
        FILE *file = NULL;
        const char *mode = kind == 0 ? "bw" : "bw,posix";
        int sid = sion_paropen_mpi(path, mode, &nfiles, world, &world, &chunksize, &fsblksize,
                                   &globalrank, &file, NULL);
        CHECK(sid >= 0);
        /* Bytes of the last process, which only its FILE * or descriptor knows of. */
        if (is_last() && kind == 0) CHECK(fwrite(bytes, 1, 100, file) == 100);
        if (is_last() && kind == 1) CHECK(write(sion_get_fd(sid), bytes, 100) == 100);
        CHECK(sion_parreinit_mpi(sid, 2048) == SION_NOT_SUCCESS);
        CHECK_TEXT("before anything is written");
        CHECK(sion_parclose_mpi(sid) == SION_NOT_SUCCESS); /* it is closed */
        MPI_Barrier(world);
        count++;
    }

    /* A mapped set, of which the last process has no task. */
    int nfiles = 1, nlocal = size > 1 && is_last() ? 0 : 1, number = 0;
    sion_int64 sizes[1] = {512}, *s = sizes;
    sion_int32 fsblksize = 512;
    int *r = &rank, *f = &number, *l = &rank;
    int sid = sion_paropen_mapped_mpi(path, "bw", &nfiles, world, &nlocal, &r, &s, &f, &l,
                                      &fsblksize, NULL);
    CHECK(sid >= 0);
    CHECK(sion_parreinit_mpi(sid, 2048) == SION_NOT_SUCCESS);
    CHECK_TEXT("keep their sizes");
    CHECK(sion_parclose_mapped_mpi(sid) == SION_NOT_SUCCESS); /* it is closed */
    MPI_Barrier(world);
    free(path);
    count++;
}

/* Arrays of the caller have no known length if it does not say how many tasks it wants. */
static void mapped_errors(void) {
    char *path = in_folder(folder, "mapped.sion");
    MPI_Comm world = MPI_COMM_WORLD;
    int nfiles = 1, nlocal = 1, number = 0, guard = -7;
    sion_int64 sizes[1] = {512}, *s = sizes;
    sion_int32 fsblksize = 512;
    int *r = &rank, *f = &number, *l = &rank;
    int sid = sion_paropen_mapped_mpi(path, "bw", &nfiles, world, &nlocal, &r, &s, &f, &l,
                                      &fsblksize, NULL);
    CHECK(sid >= 0);
    CHECK(sion_parclose_mapped_mpi(sid) == SION_SUCCESS);
    for (int kind = 0; kind < 3; kind++) {
        r = f = l = NULL;
        s = NULL;
        nlocal = -1;
        if (is_last()) *(kind == 0 ? &r : kind == 1 ? &f : &l) = &guard;
        CHECK(sion_paropen_mapped_mpi(path, "br", &nfiles, world, &nlocal, &r, &s, &f, &l,
                                      &fsblksize, NULL) == -1);
        CHECK_TEXT("must be null");
        CHECK(guard == -7 && nlocal == -1 && s == NULL);
        CHECK(alive == 0);
        count++;
    }
    MPI_Barrier(world);
    free(path);
}

/* A process that does not come is lost after the deadline, and the others go on. */
static void lost(void) {
    char *path = in_folder(folder, "lost.sion");
    MPI_Comm world = MPI_COMM_WORLD;
    CHECK(setenv("STRIAE_MPI_DEADLINE", is_last() ? "soon" : "1", 1) == 0);
    refused(path, "bw", 1, &world, 100, "STRIAE_MPI_DEADLINE");
    CHECK(setenv("STRIAE_MPI_DEADLINE", "1", 1) == 0);
    int nfiles = 1, globalrank;
    sion_int64 chunksize = 512;
    sion_int32 fsblksize = 512;
    int sid = sion_paropen_mpi(path, "bw", &nfiles, world, &world, &chunksize, &fsblksize,
                               &globalrank, NULL, NULL);
    CHECK(sid >= 0);
    /* The last one waits until the others have given up. */
    if (size > 1 && is_last()) MPI_Recv(&count, 0, MPI_INT, 0, 1, world, MPI_STATUS_IGNORE);
    CHECK(sion_parclose_mpi(sid) == (size > 1 ? SION_NOT_SUCCESS : SION_SUCCESS));
    if (size > 1 && !is_last()) CHECK_TEXT("deadline");
    if (size > 1 && rank == 0) MPI_Send(&count, 0, MPI_INT, size - 1, 1, world);
    count++;
    MPI_Barrier(world);
    free(path);
}

int main(int argc, char **argv) {
    CHECK(sion_paropen_mpi("a", "bw", &(int){1}, MPI_COMM_WORLD, NULL, NULL, NULL, NULL, NULL,
                           NULL) == -1);
    CHECK_TEXT("not initialized");
    begin(&argc, &argv);
    CHECK(argc == 2);
    folder = argv[1];
    int key;
    CHECK(MPI_Comm_create_keyval(is_copied, is_gone, &key, NULL) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &alive) == MPI_SUCCESS);
    open_errors();
    later_errors();
    no_room();
    lost_records("bw,collective");
    lost_records("bw,collective,collsize=2,cmerge");
    reinit_errors();
    mapped_errors();
    CHECK(alive == 0);
    lost();
    if (rank == 0) printf("%d errors of %d processes\n", count, size);
    MPI_Finalize();
    return 0;
}
