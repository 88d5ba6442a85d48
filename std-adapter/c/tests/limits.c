/* A disk that is full: calls fail and say so, and nothing that was accepted is lost. */
#include <errno.h>
#include <fcntl.h>
#include <gsd.h>
#include <signal.h>
#include <sion.h>
#include <sys/resource.h>

#include "check.h"

static double values[512];

/* Files may have so many bytes from now on, as on a disk with so many. */
static void limit(rlim_t bytes) {
    struct rlimit all;
    CHECK(getrlimit(RLIMIT_FSIZE, &all) == 0);
    all.rlim_cur = bytes;
    CHECK(setrlimit(RLIMIT_FSIZE, &all) == 0);
}

/* Adds a frame; 0, or the error of the first call that fails. */
static int add_frame(struct gsd_handle *file, uint64_t step) {
    int code = gsd_write_chunk(file, "step", GSD_TYPE_UINT64, 1, 1, 0, &step);
    code = code ? code : gsd_write_chunk(file, "values", GSD_TYPE_DOUBLE, 512, 1, 0, values);
    return code ? code : gsd_end_frame(file);
}

static void expect_frames(const char *path, uint64_t frames) {
    struct gsd_handle file;
    CHECK(gsd_open(&file, path, GSD_OPEN_READONLY) == 0);
    CHECK(gsd_get_nframes(&file) == frames);
    for (uint64_t frame = 0; frame < frames; frame++) {
        uint64_t step;
        CHECK(gsd_read_chunk(&file, &step, gsd_find_chunk(&file, frame, "step")) == 0);
        CHECK(step == frame);
        CHECK(gsd_read_chunk(&file, values, gsd_find_chunk(&file, frame, "values")) == 0);
    }
    CHECK(gsd_close(&file) == 0);
}

/* gsd loses all frames if its index cannot grow, and returns 0. */
static void frames_wait_until_there_is_room(const char *folder) {
    char *path = in_folder(folder, "full.gsd");
    struct gsd_handle file;
    CHECK(gsd_create_and_open(&file, path, "a", "b", 0, GSD_OPEN_READWRITE, 0) == 0);
    uint64_t frame = 0, flushed = 0;
    limit(1 << 20);
    while (1) {
        errno = 0;
        if (add_frame(&file, frame) != 0) {
            break;
        }
        frame++;
        if (frame % 4 == 0) {
            if (gsd_flush(&file) != 0) {
                break;
            }
            flushed = frame;
        }
        CHECK(frame < 1000);
    }
    CHECK(errno == EFBIG && flushed > 100);
    CHECK_TEXT("full.gsd");
    CHECK(gsd_flush(&file) == -1 && gsd_flush(&file) == -1);
    CHECK(gsd_close(&file) == -1);
    expect_frames(path, flushed);
    limit(RLIM_INFINITY);
    CHECK(gsd_flush(&file) == 0 && gsd_get_nframes(&file) == frame);
    CHECK(gsd_close(&file) == 0);
    expect_frames(path, frame);
    free(path);
}

static void records_are_accepted_or_not_at_all(const char *folder) {
    char *path = in_folder(folder, "full.sion");
    int ntasks = 1, nfiles = 1, rank = 0, *ranks = &rank;
    sion_int64 size = 1 << 16, *sizes = &size;
    sion_int32 unit = 512;
    int sid = sion_open(path, "w", &ntasks, &nfiles, &sizes, &unit, &ranks, NULL);
    CHECK(sid >= 0);
    limit(1 << 20);
    sion_int64 accepted = 0;
    while (sion_fwrite(values, 1, sizeof values, sid) == sizeof values) {
        accepted += sizeof values;
        CHECK(accepted < 1 << 21);
    }
    CHECK(accepted > 1 << 19 && sion_get_bytes_written(sid) == accepted);
    CHECK_TEXT("full.sion");
    CHECK(sion_close(sid) == 0 && sion_get_bytes_written(sid) == accepted);
    limit(RLIM_INFINITY);
    CHECK(sion_fwrite(values, 1, sizeof values, sid) == sizeof values);
    CHECK(sion_close(sid) == 1);
    sid = sion_open(path, "r", &ntasks, &nfiles, NULL, &unit, NULL, NULL);
    CHECK(sid >= 0 && sion_seek(sid, 0, SION_END_POS, 0) == 1);
    CHECK(sion_get_bytes_read(sid) == accepted + (sion_int64)sizeof values);
    CHECK(sion_close(sid) == 1);
    free(path);
}

/* Of two chunks of one name, the first one is gone if the second one has no room. */
static void a_chunk_that_is_not_replaced_is_not_counted(const char *folder) {
    char *path = in_folder(folder, "replaced.gsd");
    struct gsd_handle file;
    uint64_t step = 1;
    CHECK(gsd_create_and_open(&file, path, "a", "b", 0, GSD_OPEN_READWRITE, 0) == 0);
    CHECK(gsd_set_maximum_write_buffer_size(&file, 1) == 0);
    CHECK(gsd_write_chunk(&file, "step", GSD_TYPE_UINT64, 1, 1, 0, &step) == 0);
    CHECK(gsd_write_chunk(&file, "values", GSD_TYPE_DOUBLE, 512, 1, 0, values) == 0);
    CHECK(file.pending_index_entries == 2);
    limit(1);
    errno = 0;
    CHECK(gsd_write_chunk(&file, "values", GSD_TYPE_DOUBLE, 512, 1, 0, values) == -1);
    CHECK(errno == EFBIG && file.pending_index_entries == 1);
    limit(RLIM_INFINITY);
    CHECK(gsd_write_chunk(&file, "values", GSD_TYPE_DOUBLE, 512, 1, 0, values) == 0);
    CHECK(file.pending_index_entries == 2);
    CHECK(gsd_end_frame(&file) == 0 && gsd_close(&file) == 0);
    CHECK(gsd_open(&file, path, GSD_OPEN_READONLY) == 0);
    CHECK(gsd_read_chunk(&file, values, gsd_find_chunk(&file, 0, "values")) == 0);
    CHECK(gsd_close(&file) == 0);
    free(path);
}

static void a_truncation_that_failed_keeps_the_open_frame(const char *folder) {
    char *path = in_folder(folder, "truncated.gsd");
    struct gsd_handle file;
    CHECK(gsd_create_and_open(&file, path, "a", "b", 0, GSD_OPEN_READWRITE, 0) == 0);
    CHECK(add_frame(&file, 0) == 0 && gsd_flush(&file) == 0);
    uint64_t step = 1;
    CHECK(gsd_write_chunk(&file, "step", GSD_TYPE_UINT64, 1, 1, 0, &step) == 0);
    CHECK(gsd_write_chunk(&file, "values", GSD_TYPE_DOUBLE, 512, 1, 0, values) == 0);
    limit(1);
    CHECK(gsd_truncate(&file) == -1 && file.pending_index_entries == 2);
    limit(RLIM_INFINITY);
    CHECK(gsd_end_frame(&file) == 0 && gsd_close(&file) == 0);
    expect_frames(path, 2);
    CHECK(gsd_open(&file, path, GSD_OPEN_READWRITE) == 0 && gsd_truncate(&file) == 0);
    CHECK(gsd_get_nframes(&file) == 0 && gsd_close(&file) == 0);
    free(path);
}

/* The frame has ended when its flush fails: the call that is repeated only flushes. */
static void the_end_of_a_frame_is_repeated_without_another_frame(const char *folder) {
    char *path = in_folder(folder, "ended.gsd");
    struct gsd_handle file;
    CHECK(gsd_create_and_open(&file, path, "a", "b", 0, GSD_OPEN_READWRITE, 0) == 0);
    CHECK(gsd_set_index_entries_to_buffer(&file, 2) == 0);
    CHECK(add_frame(&file, 0) == 0 && file.buffer_frame == 1);
    limit(1);
    CHECK(add_frame(&file, 1) == -1 && file.buffer_frame == 2);
    CHECK(gsd_end_frame(&file) == -1 && file.buffer_frame == 2);
    limit(RLIM_INFINITY);
    CHECK(gsd_end_frame(&file) == 0 && file.buffer_frame == 2 && gsd_get_nframes(&file) == 2);
    CHECK(add_frame(&file, 2) == 0 && gsd_close(&file) == 0);
    expect_frames(path, 3);
    free(path);
}

/* A new set of one task with chunks of 4 MiB. */
static int make_sion(char *path, FILE **stdio) {
    int ntasks = 1, nfiles = 1, rank = 0, *ranks = &rank;
    sion_int64 size = 1 << 22, *sizes = &size;
    sion_int32 unit = 512;
    int sid = sion_open(path, "w", &ntasks, &nfiles, &sizes, &unit, &ranks, stdio);
    CHECK(sid >= 0);
    return sid;
}

static int open_sion(char *path) {
    int ntasks, nfiles;
    sion_int32 unit;
    int sid = sion_open(path, "r", &ntasks, &nfiles, NULL, &unit, NULL, NULL);
    CHECK(sid >= 0);
    return sid;
}

static void bytes_that_find_no_room_replace_nothing(const char *folder) {
    char *path = in_folder(folder, "replaced.sion"), *bytes = calloc(3, 1 << 20);
    int sid = make_sion(path, NULL);
    memset(bytes, 'a', 1000);
    CHECK(sion_fwrite(bytes, 1, 1000, sid) == 1000 && sion_flush(sid) == 1);
    CHECK(sion_seek(sid, 0, 0, 500) == 1);
    limit(1 << 20);
    memset(bytes, 'b', 3 << 20);
    CHECK(sion_fwrite(bytes, 1, 3 << 20, sid) == 0);
    limit(RLIM_INFINITY);
    CHECK(sion_fwrite(bytes, 1, 10, sid) == 10 && sion_close(sid) == 1);
    sid = open_sion(path);
    CHECK(sion_bytes_avail_in_block(sid) == 1000 && sion_fread(bytes, 1, 1000, sid) == 1000);
    errno = 0; /* a loop until sion_fread returns 0 ends without an error */
    CHECK(sion_fread(bytes, 1, 1, sid) == 0 && errno == 0);
    CHECK(sion_seek(sid, 0, 0, 999) == 1 && sion_fread(bytes + 999, 1, 2, sid) == 0);
    CHECK(errno == EINVAL);
    for (int i = 0; i < 1000; i++) {
        CHECK(bytes[i] == (500 <= i && i < 510 ? 'b' : 'a'));
    }
    CHECK(sion_close(sid) == 1);
    free(bytes);
    free(path);
}

static void a_set_that_is_not_closed_keeps_its_stdio(const char *folder) {
    char *path = in_folder(folder, "stdio.sion"), bytes[14];
    FILE *stdio = NULL;
    int sid = make_sion(path, &stdio);
    CHECK(stdio != NULL && sion_fwrite("striae", 1, 6, sid) == 6);
    int fd = fileno(stdio);
    limit(1);
    CHECK(sion_close(sid) == 0);
    limit(RLIM_INFINITY);
    CHECK(fcntl(fd, F_GETFD) >= 0); /* before it is used, which needs no tool to be seen */
    CHECK(fwrite(" and more", 1, 8, stdio) == 8);
    CHECK(sion_close(sid) == 1 && fcntl(fd, F_GETFD) == -1);
    sid = open_sion(path);
    CHECK(sion_fread(bytes, 1, 14, sid) == 14 && memcmp(bytes, "striae and mor", 14) == 0);
    CHECK(sion_close(sid) == 1);
    free(path);
}

/* What the C library had buffered is gone when its write fails: no close says that it is there. */
static void lost_bytes_of_stdio_are_not_closed_over(const char *folder) {
    char *path = in_folder(folder, "lost.sion"), bytes[10];
    FILE *stdio = NULL;
    int sid = make_sion(path, &stdio);
    CHECK(sion_fwrite("kept ", 1, 5, sid) == 5 && sion_get_fp(sid) == stdio);
    CHECK(fwrite("lost", 1, 4, stdio) == 4);
    limit(1);
    CHECK(sion_get_bytes_written(sid) != 9);
    limit(RLIM_INFINITY);
    CHECK(sion_close(sid) == 0 && sion_close(sid) == 0);
    CHECK_TEXT("clearerr");
    clearerr(stdio);
    CHECK(sion_close(sid) == 1);
    sid = open_sion(path);
    CHECK(sion_bytes_avail_in_block(sid) == 5 && sion_fread(bytes, 1, 5, sid) == 5);
    CHECK(memcmp(bytes, "kept ", 5) == 0 && sion_close(sid) == 1);
    free(path);
}

static void a_set_that_cannot_be_closed_can_be_made_again(const char *folder) {
    char *path = in_folder(folder, "again.sion"), bytes[10];
    int ntasks = 1, nfiles = 1, rank = 0, *ranks = &rank;
    sion_int64 size = 1000, *sizes = &size;
    sion_int32 unit = 512;
    int sid = make_sion(path, NULL);
    CHECK(sion_fwrite("first", 1, 5, sid) == 5);
    errno = 0;
    CHECK(sion_open(path, "w", &ntasks, &nfiles, &sizes, &unit, &ranks, NULL) == -1);
    CHECK(errno == EWOULDBLOCK); /* it is written */
    limit(1);
    CHECK(sion_close(sid) == 0);
    limit(RLIM_INFINITY);
    size = -1; /* a call that cannot succeed gives nothing up */
    CHECK(sion_open(path, "w", &ntasks, &nfiles, &sizes, &unit, &ranks, NULL) == -1);
    CHECK(sion_get_bytes_written(sid) == 5);
    sid = make_sion(path, NULL);
    CHECK(sion_fwrite("second", 1, 6, sid) == 6 && sion_close(sid) == 1);
    CHECK(sion_close(sid) == 0);
    sid = open_sion(path);
    CHECK(sion_fread(bytes, 1, 6, sid) == 6 && memcmp(bytes, "second", 6) == 0);
    CHECK(sion_close(sid) == 1);
    free(path);
}

int main(int argc, char **argv) {
    CHECK(argc == 2 && signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    frames_wait_until_there_is_room(argv[1]);
    records_are_accepted_or_not_at_all(argv[1]);
    a_chunk_that_is_not_replaced_is_not_counted(argv[1]);
    a_truncation_that_failed_keeps_the_open_frame(argv[1]);
    the_end_of_a_frame_is_repeated_without_another_frame(argv[1]);
    bytes_that_find_no_room_replace_nothing(argv[1]);
    a_set_that_is_not_closed_keeps_its_stdio(argv[1]);
    lost_bytes_of_stdio_are_not_closed_over(argv[1]);
    a_set_that_cannot_be_closed_can_be_made_again(argv[1]);
    puts("9 tests");
    return 0;
}
