/* Sets that all processes write, read back by one and by all. Argument: an empty folder. */
#include <unistd.h>

#include "parallel.h"

static const char *folder;
static int count;

/* Opens a set; returns its sid. */
static int paropen(const char *path, const char *mode, int nfiles, const MPI_Comm *part,
                   sion_int64 *chunksize, FILE **fileptr) {
    sion_int32 fsblksize = 512;
    int globalrank = -1;
    MPI_Comm none = MPI_COMM_NULL;
    int sid = sion_paropen_mpi(path, mode, &nfiles, MPI_COMM_WORLD, part != NULL ? part : &none,
                               chunksize, &fsblksize, &globalrank, fileptr, NULL);
    CHECK(sid >= 0);
    CHECK(globalrank == rank && fsblksize == 512);
    return sid;
}

/* How many bytes a task has: of some, nothing. */
static long len_of(int task) { return task % 3 == 2 ? 0 : 1000 + 300 * task; }

/* Writes the stream of this process in records of some bytes. */
static void write_stream(int sid, sion_int64 chunksize, size_t step) {
    unsigned char bytes[1024];
    long len = len_of(rank);
    for (long done = 0; done < len;) {
        size_t more = (size_t)(len - done) < step ? (size_t)(len - done) : step;
        fill(bytes, rank, done, (long)more);
        CHECK(sion_fwrite(bytes, 1, more, sid) == more);
        done += (long)more;
        CHECK(sion_get_bytes_written(sid) == done);
    }
    CHECK(sion_fwrite(bytes, 1, (size_t)chunksize + 1, sid) == 0);
    CHECK(sion_get_bytes_written(sid) == len);
}

/* One process alone reads all of a set. */
static void check_alone(char *path, int nfiles) {
    if (rank == 0) {
        int ntasks = 0, files = 0, sid;
        sion_int64 *sizes = NULL;
        int *ranks = NULL;
        sion_int32 fsblksize = 0;
        sid = sion_open(path, "br", &ntasks, &files, &sizes, &fsblksize, &ranks, NULL);
        CHECK(sid >= 0 && ntasks == size && files == nfiles && fsblksize == 512);
        for (int task = 0; task < ntasks; task++) {
            CHECK(ranks[task] == task);
            CHECK(sion_seek(sid, task, SION_CURRENT_BLK, SION_CURRENT_POS) == SION_SUCCESS);
            CHECK(check_stream(sid, task) == len_of(task));
        }
        free(sizes);
        free(ranks);
        CHECK(sion_parclose_mpi(sid) == SION_NOT_SUCCESS); /* opened by one process */
        CHECK(sion_close(sid) == SION_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* All processes read a set, each its own task. */
static void check_together(const char *path, const char *mode, int nfiles) {
    sion_int64 chunksize = 0;
    int files = -1, globalrank = -1;
    sion_int32 fsblksize = 0;
    char *name = NULL;
    MPI_Comm none = MPI_COMM_NULL;
    int sid = sion_paropen_mpi(path, mode, &files, MPI_COMM_WORLD, &none, &chunksize, &fsblksize,
                               &globalrank, NULL, &name);
    CHECK(sid >= 0 && files == nfiles && globalrank == rank && fsblksize == 512);
    CHECK(chunksize > 0 && strncmp(name, path, strlen(path)) == 0);
    free(name);
    CHECK(sion_is_serial_opened(sid) == 0 && sion_get_number_of_files(sid) == nfiles);
    CHECK(check_stream(sid, rank) == len_of(rank));
    if (len_of(rank) > 0) {
        unsigned char last;
        CHECK(sion_seek(sid, SION_CURRENT_RANK, SION_END_POS, -1) == SION_SUCCESS);
        CHECK(sion_fread(&last, 1, 1, sid) == 1 && last == byte_of(rank, len_of(rank) - 1));
        CHECK(sion_seek(sid, size, SION_CURRENT_BLK, 0) == SION_NOT_SUCCESS); /* of no process */
        int again = sion_dup(sid, SION_DUP_ALL, 0, 0);
        CHECK(again >= 0 && again != sid);
        CHECK(sion_seek(again, rank, 0, 0) == SION_SUCCESS);
        CHECK(check_stream(again, rank) == len_of(rank));
        CHECK(sion_dedup(again) == SION_SUCCESS);
    }
    CHECK(sion_fwrite(&chunksize, 1, 1, sid) == 0);
    CHECK(sion_close(sid) == SION_NOT_SUCCESS); /* all processes close it */
    CHECK(sion_parclose_mapped_mpi(sid) == SION_NOT_SUCCESS);
    CHECK(sion_parclose_mpi(sid) == SION_SUCCESS);
    CHECK(sion_parclose_mpi(sid) == SION_NOT_SUCCESS);
}

static void sets_of(int nfiles, const MPI_Comm *part, const char *mode) {
    char name[64];
    snprintf(name, sizeof name, "set%d.sion", count);
    char *path = in_folder(folder, name);
    char read[32];
    snprintf(read, sizeof read, "br%s", strchr(mode, ',') != NULL ? strchr(mode, ',') : "");
    for (size_t step = 100; step <= 700; step += 600) {
        sion_int64 chunksize = 700 + rank;
        int sid = paropen(path, mode, part != NULL ? -1 : nfiles, part, &chunksize, NULL);
        CHECK(chunksize == 1024);
        CHECK(sion_is_serial_opened(sid) == 0);
        write_stream(sid, chunksize, step);
        CHECK(sion_flush(sid) == SION_SUCCESS);
        CHECK(sion_close(sid) == SION_NOT_SUCCESS);
        CHECK(sion_parclose_mpi(sid) == SION_SUCCESS);
        check_alone(path, nfiles);
        check_together(path, read, nfiles);
        count++;
    }
    free(path);
}

/* Programs write by the FILE * or the descriptor of a set, and replace bytes. */
static void writing_by_itself(const char *mode) {
    char *path = in_folder(folder, "own.sion");
    sion_int64 chunksize = 512;
    FILE *file = NULL;
    int sid = paropen(path, mode, 1, NULL, &chunksize, &file);
    unsigned char bytes[512];
    long done = 0;
    for (int n = 0; n < 5; n++) {
        fill(bytes, rank, done, 200);
        CHECK(sion_ensure_free_space(sid, 200) == SION_SUCCESS);
        if (n % 2 == 0) {
            CHECK(sion_fwrite(bytes, 1, 200, sid) == 200);
        } else if (file != NULL) {
            CHECK(fwrite(bytes, 1, 200, file) == 200);
        } else {
            CHECK(write(sion_get_fd(sid), bytes, 200) == 200);
        }
        done += 200;
        CHECK(sion_get_bytes_written(sid) == done);
    }
    /* Byte 250 is in the first chunk, byte 420 is the 20th of the second one. */
    memset(bytes, 0, sizeof bytes);
    CHECK(sion_seek(sid, SION_CURRENT_RANK, 0, 250) == SION_SUCCESS);
    CHECK(sion_fwrite(bytes, 1, 2, sid) == 2);
    CHECK(sion_seek(sid, rank, 1, 20) == SION_SUCCESS);
    CHECK(sion_fwrite(bytes, 1, 1, sid) == 1);
    CHECK(sion_seek(sid, SION_CURRENT_RANK, SION_END_POS, 0) == SION_SUCCESS);
    CHECK(sion_get_bytes_written(sid) == 1000);
    CHECK(sion_parclose_mpi(sid) == SION_SUCCESS);

    chunksize = 0;
    sid = paropen(path, "br", 1, NULL, &chunksize, &file);
    unsigned char found[1000];
    for (size_t at = 0; !sion_feof(sid);) {
        size_t len = (size_t)sion_bytes_avail_in_block(sid);
        CHECK(at + len <= sizeof found);
        CHECK(at % 2 == 0 ? fread(found + at, 1, len, file) == len
                          : sion_fread(found + at, 1, len, sid) == len);
        at += len;
    }
    for (int i = 0; i < 1000; i++) {
        int is_replaced = i == 250 || i == 251 || i == 420;
        CHECK(found[i] == (is_replaced ? 0 : byte_of(rank, i)));
    }
    CHECK(sion_parclose_mpi(sid) == SION_SUCCESS);
    free(path);
    count++;
}

/* sion_coll_fwrite, with records of any length, and merged ones. */
static void collective(const char *mode, int merges) {
    char *path = in_folder(folder, "coll.sion");
    sion_int64 chunksize = 300;
    unsigned char bytes[300];
    int sid = paropen(path, mode, 1, NULL, &chunksize, NULL);
    long done = 0;
    for (int n = 0; n < 20; n++) {
        size_t len = n % 4 == rank % 4 ? 0 : (size_t)(10 + n);
        fill(bytes, rank, done, (long)len);
        CHECK(sion_coll_fwrite(bytes, 1, len, sid) == len);
        done += (long)len;
    }
    CHECK(sion_parclose_mpi(sid) == SION_SUCCESS);
    sion_int64 sum = 0, all = done;
    sid = paropen(path, "br,collective", 1, NULL, &chunksize, NULL);
    if (merges) {
        while (!sion_feof(sid)) {
            size_t len = (size_t)sion_bytes_avail_in_chunk(sid);
            unsigned char *some = malloc(len);
            CHECK(sion_coll_fread(some, 1, len, sid) == len);
            sum += (sion_int64)len;
            free(some);
        }
    } else {
        sum = check_stream(sid, rank);
        CHECK(sum == done);
    }
    CHECK(sion_parclose_mpi(sid) == SION_SUCCESS);
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == all);
    free(path);
    count++;
}

/* Key-value records, and chunks that get another size. */
static void records(void) {
    char *path = in_folder(folder, "keys.sion");
    sion_int64 chunksize = 100;
    int sid = paropen(path, "bw,keyval", 1, NULL, &chunksize, NULL);
    CHECK(sion_parreinit_mpi(sid, 1000 + rank) == SION_SUCCESS);
    CHECK(sion_bytes_avail_in_chunk(sid) == 1024);
    CHECK(sion_fwrite_key("value", 7, 1, 5, sid) == 5);
    CHECK(sion_fwrite_key(&rank, (uint64_t)rank, sizeof rank, 1, sid) == 1);
    CHECK(sion_parclose_mpi(sid) == SION_SUCCESS);
    sid = paropen(path, "br,keyval", 1, NULL, &chunksize, NULL);
    CHECK(chunksize == 1024 && sion_get_keyval_mode(sid) == SION_KEYVAL_INLINE);
    int found = -1;
    char text[5];
    CHECK(sion_fread_key(text, 7, 1, 5, sid) == 5 && memcmp(text, "value", 5) == 0);
    if (rank != 7) {
        CHECK(sion_fread_key(&found, (uint64_t)rank, sizeof found, 1, sid) == 1 && found == rank);
    }
    CHECK(sion_parclose_mpi(sid) == SION_SUCCESS);
    free(path);
    count++;
}

/* Opens a mapped set of chunks of 600 bytes to write, with tasks of this process. */
static int open_mapped(char *path, const char *mode, int nfiles, int nlocal, int *ranks,
                       int *files, int *locals) {
    sion_int64 sizes[3] = {600, 600, 600}, *s = sizes;
    sion_int32 fsblksize = 512;
    int sid = sion_paropen_mapped_mpi(path, mode, &nfiles, MPI_COMM_WORLD, &nlocal, &ranks, &s,
                                      &files, &locals, &fsblksize, NULL);
    CHECK(sid >= 0);
    return sid;
}

/* Writes the first bytes of the stream of a task. */
static void write_mapped(int sid, int task, int len) {
    unsigned char bytes[600];
    CHECK(sion_seek(sid, task, SION_CURRENT_BLK, SION_CURRENT_POS) == SION_SUCCESS);
    fill(bytes, task, 0, len);
    CHECK(sion_fwrite(bytes, 1, (size_t)len, sid) == (size_t)len);
}

/* Three tasks of each process in two files, read by fewer processes. */
static void mapped(void) {
    char *path = in_folder(folder, "mapped.sion");
    int nfiles = 2, ntasks = 3 * size;
    int ranks[3], files[3], locals[3];
    for (int i = 0; i < 3; i++) {
        ranks[i] = rank + i * size;
        files[i] = ranks[i] % 2;
        locals[i] = ranks[i] / 2;
    }
    int sid = open_mapped(path, "bw", nfiles, 3, ranks, files, locals);
    for (int i = 2; i >= 0; i--) write_mapped(sid, ranks[i], 100 + ranks[i]);
    CHECK(sion_seek(sid, ntasks, SION_CURRENT_BLK, SION_CURRENT_POS) == SION_NOT_SUCCESS);
    CHECK(sion_parreinit_mpi(sid, 100) == SION_NOT_SUCCESS);
    /* It has closed the set at all processes, as it cannot be done. */
    CHECK(sion_parclose_mapped_mpi(sid) == SION_NOT_SUCCESS);

    sid = open_mapped(path, "bw", nfiles, 3, ranks, files, locals);
    for (int i = 0; i < 3; i++) write_mapped(sid, ranks[i], 100 + ranks[i]);
    CHECK(sion_parclose_mapped_mpi(sid) == SION_SUCCESS);

    int *r, *f, *l;
    sion_int64 *s;
    sion_int32 fsblksize = 512;
    MPI_Comm half;
    int readers = size > 1 ? size - size / 2 : 1;
    MPI_Comm_split(MPI_COMM_WORLD, rank < readers, rank, &half);
    if (rank < readers) {
        int count_read = -1;
        r = f = l = NULL;
        s = NULL;
        nfiles = 0;
        sid = sion_paropen_mapped_mpi(path, "br", &nfiles, half, &count_read, &r, &s, &f, &l,
                                      &fsblksize, NULL);
        CHECK(sid >= 0 && nfiles == 2);
        int share = ntasks / readers, first = rank * share;
        CHECK(count_read == (rank == readers - 1 ? ntasks - first : share));
        for (int i = 0; i < count_read; i++) {
            CHECK(r[i] == first + i && s[i] == 1024 && f[i] == r[i] % 2 && l[i] == r[i] / 2);
            CHECK(sion_seek(sid, r[i], 0, 0) == SION_SUCCESS);
            CHECK(check_stream(sid, r[i]) == 100 + r[i]);
        }
        CHECK(sion_parclose_mapped_mpi(sid) == SION_SUCCESS);
        free(r);
        free(s);
        free(f);
        free(l);

        /* The last process reads all, the others nothing. */
        int *all = malloc(sizeof *all * (size_t)ntasks);
        for (int i = 0; i < ntasks; i++) all[i] = ntasks - 1 - i;
        count_read = rank == readers - 1 ? ntasks : 0;
        r = all;
        s = NULL;
        f = l = NULL;
        sid = sion_paropen_mapped_mpi(path, "br", &nfiles, half, &count_read, &r, &s, &f, &l,
                                      &fsblksize, NULL);
        CHECK(sid >= 0);
        for (int i = 0; i < count_read; i++) {
            CHECK(f[i] == all[i] % 2 && l[i] == all[i] / 2);
            CHECK(sion_seek(sid, all[i], 0, 0) == SION_SUCCESS);
            CHECK(check_stream(sid, all[i]) == 100 + all[i]);
        }
        CHECK(sion_parclose_mapped_mpi(sid) == SION_SUCCESS);
        free(all);
        free(s);
        free(f);
        free(l);
    }
    MPI_Comm_free(&half);
    free(path);
    count++;
}

/* Processes that are dealt the tasks of a set get them by their global ranks, not their places. */
static void mapped_backwards(void) {
    char *path = in_folder(folder, "backwards.sion");
    int nfiles = 1, ntasks = 2 * size, ranks[2], files[2] = {0, 0}, locals[2];
    for (int i = 0; i < 2; i++) {
        ranks[i] = rank + i * size;
        locals[i] = ntasks - 1 - ranks[i];
    }
    int sid = open_mapped(path, "bw", nfiles, 2, ranks, files, locals);
    for (int i = 0; i < 2; i++) write_mapped(sid, ranks[i], 50);
    CHECK(sion_parclose_mapped_mpi(sid) == SION_SUCCESS);
    int count_read = -1, *r = NULL, *f = NULL, *l = NULL;
    sion_int64 *s = NULL;
    sion_int32 fsblksize = 512;
    sid = sion_paropen_mapped_mpi(path, "br", &nfiles, MPI_COMM_WORLD, &count_read, &r, &s, &f, &l,
                                  &fsblksize, NULL);
    CHECK(sid >= 0 && count_read == 2);
    for (int i = 0; i < 2; i++) {
        CHECK(r[i] == 2 * rank + i && l[i] == ntasks - 1 - r[i]);
        CHECK(sion_seek(sid, r[i], 0, 0) == SION_SUCCESS);
        CHECK(check_stream(sid, r[i]) == 50);
    }
    CHECK(sion_parclose_mapped_mpi(sid) == SION_SUCCESS);
    free(r);
    free(s);
    free(f);
    free(l);
    free(path);
    count++;
}

/* In a mapped set a collective write is one of this process, to its current task. */
static void mapped_records(const char *mode) {
    char *path = in_folder(folder, "records.sion");
    int nfiles = size > 1 ? 2 : 1, ntasks = 2 * size;
    int ranks[2], files[2], locals[2];
    for (int i = 0; i < 2; i++) {
        ranks[i] = rank + i * size;
        files[i] = ranks[i] % nfiles;
        locals[i] = ranks[i] / nfiles;
    }
    int sid = open_mapped(path, mode, nfiles, 2, ranks, files, locals);
    unsigned char bytes[600];
    for (int i = 1; i >= 0; i--) {
        CHECK(sion_seek(sid, ranks[i], SION_CURRENT_BLK, SION_CURRENT_POS) == SION_SUCCESS);
        for (int part = 0; part <= ranks[i]; part++) { /* another number for each task */
            fill(bytes, ranks[i], 10 * part, 10);
            CHECK(sion_coll_fwrite(bytes, 1, 10, sid) == 10);
        }
    }
    CHECK(sion_parclose_mapped_mpi(sid) == SION_SUCCESS);
    if (rank == 0) {
        int *r = NULL;
        sion_int64 *s = NULL;
        sion_int32 fsblksize;
        sid = sion_open(path, "br", &ntasks, &nfiles, &s, &fsblksize, &r, NULL);
        CHECK(sid >= 0 && ntasks == 2 * size);
        for (int task = 0; task < ntasks; task++) {
            CHECK(s[task] == 1024); /* each chunk has blocks of its own, whatever the mode */
            CHECK(sion_seek(sid, task, SION_CURRENT_BLK, SION_CURRENT_POS) == SION_SUCCESS);
            CHECK(check_stream(sid, r[task]) == 10 * (r[task] + 1));
        }
        free(r);
        free(s);
        CHECK(sion_close(sid) == SION_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(path);
    count++;
}

/* A set and its buddy set have all records, more than wait in memory. */
static void buddies(void) {
    enum { LEN = 100 << 10, CALLS = 3 };
    static unsigned char bytes[LEN];
    if (size < 2) return; /* another file keeps the copies */
    char *path = in_folder(folder, "buddy.sion"), *copy = in_folder(folder, "buddy.sion_BUDDY_00");
    sion_int64 chunksize = 1 << 20;
    int sid = paropen(path, "bw,buddy", 2, NULL, &chunksize, NULL);
    for (int n = 0; n < CALLS; n++) {
        fill(bytes, rank, (long)n * LEN, LEN);
        CHECK(sion_coll_fwrite(bytes, 1, LEN, sid) == LEN);
        CHECK(sion_get_bytes_written(sid) == (sion_int64)(n + 1) * LEN);
    }
    CHECK(sion_parclose_mpi(sid) == SION_SUCCESS);
    for (int n = 0; n < 2 && rank == 0; n++) {
        int ntasks = 0, files = 0, *ranks = NULL;
        sion_int64 *sizes = NULL;
        sion_int32 fsblksize = 0;
        sid = sion_open(n == 0 ? path : copy, "br", &ntasks, &files, &sizes, &fsblksize, &ranks,
                        NULL);
        CHECK(sid >= 0 && files == 2 && ntasks >= size);
        for (int task = 0; task < size; task++) {
            CHECK(ranks[task] == task);
            CHECK(sion_seek(sid, task, SION_CURRENT_BLK, SION_CURRENT_POS) == SION_SUCCESS);
            CHECK(check_stream(sid, task) == (long)CALLS * LEN);
        }
        free(sizes);
        free(ranks);
        CHECK(sion_close(sid) == SION_SUCCESS);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    free(path);
    free(copy);
    count++;
}

/* In a set that is not collective a collective write replaces bytes, as any write. */
static void collective_at_a_position(void) {
    char *path = in_folder(folder, "replaced.sion");
    sion_int64 chunksize = 512;
    unsigned char bytes[200];
    int sid = paropen(path, "bw", 1, NULL, &chunksize, NULL);
    fill(bytes, rank, 0, 200);
    memset(bytes, 0, 10); /* a header, which is known at the end */
    CHECK(sion_fwrite(bytes, 1, 100, sid) == 100);
    CHECK(sion_seek(sid, SION_CURRENT_RANK, 0, 0) == SION_SUCCESS);
    fill(bytes, rank, 0, 10);
    CHECK(sion_coll_fwrite(bytes, 1, 10, sid) == 10);
    CHECK(sion_seek(sid, SION_CURRENT_RANK, SION_END_POS, 0) == SION_SUCCESS);
    CHECK(sion_coll_fwrite(bytes + 100, 1, 100, sid) == 100);
    CHECK(sion_get_bytes_written(sid) == 200);
    CHECK(sion_parclose_mpi(sid) == SION_SUCCESS);
    sid = paropen(path, "br", 1, NULL, &chunksize, NULL);
    CHECK(check_stream(sid, rank) == 200);
    CHECK(sion_parclose_mpi(sid) == SION_SUCCESS);
    free(path);
    count++;
}

/* A check leaves its arguments as they are, for the next one. */
static void file_checks(void) {
    char *path = in_folder(folder, "check.sion");
    MPI_Comm part;
    int parts = size > 1 ? 2 : 1;
    MPI_Comm_split(MPI_COMM_WORLD, rank % parts, rank, &part); /* every other one */
    sion_file_check_par_args_mpi *args =
        sion_file_check_par_args_init_mpi("bw", MPI_COMM_WORLD, -1, part);
    CHECK(args != NULL);
    for (int i = 0; i < 2; i++) {
        CHECK(sion_file_check_par_cb_mpi(path, args) == SION_SUCCESS);
        int nfiles = 0, globalrank;
        sion_int64 chunksize = 0;
        sion_int32 fsblksize = 0;
        MPI_Comm none = MPI_COMM_NULL;
        int sid = sion_paropen_mpi(path, "br", &nfiles, MPI_COMM_WORLD, &none, &chunksize,
                                   &fsblksize, &globalrank, NULL, NULL);
        CHECK(sid >= 0 && nfiles == parts && sion_get_filenumber(sid) == rank % parts);
        CHECK(sion_parclose_mpi(sid) == SION_SUCCESS);
    }
    CHECK(sion_file_check_par_args_free_mpi(args) == SION_SUCCESS);
    MPI_Comm_free(&part);
    free(path);
    count++;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(argc == 2);
    folder = argv[1];
    MPI_Comm part;
    int parts = size > 1 ? 2 : 1;
    MPI_Comm_split(MPI_COMM_WORLD, rank % parts, rank, &part); /* every other one */
    sets_of(1, NULL, "bw");
    sets_of(1, NULL, "bw,posix");
    sets_of(size > 2 ? 3 : size, NULL, "bw");
    sets_of(parts, &part, "bw,posix");
    MPI_Comm_free(&part);
    writing_by_itself("bw");
    writing_by_itself("bw,posix");
    collective("bw", 0);
    collective("bw,collective,collsize=2", 0);
    collective("bw,collective", 0);
    collective("bw,collective,cmerge,collsize=2", 1);
    records();
    mapped();
    file_checks();
    mapped_backwards();
    mapped_records("bw");
    mapped_records("bw,collective");
    mapped_records("bw,collective,collsize=2");
    buddies();
    collective_at_a_position();
    if (rank == 0) printf("%d sets of %d processes\n", count, size);
    MPI_Finalize();
    return 0;
}
