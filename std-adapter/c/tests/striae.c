/* What gsd does not have: checksums, alignment, one writer, verify; and threads. */
#include <errno.h>
#include <gsd.h>
#include <pthread.h>
#include <sys/stat.h>

#include "check.h"

static const double VALUES[512];

static void write_frames(struct gsd_handle *file, uint64_t frames) {
    for (uint64_t step = 0; step < frames; step++) {
        CHECK(gsd_write_chunk(file, "step", GSD_TYPE_UINT64, 1, 1, 0, &step) == 0);
        CHECK(gsd_write_chunk(file, "values", GSD_TYPE_DOUBLE, 512, 1, 0, VALUES) == 0);
        CHECK(gsd_end_frame(file) == 0);
    }
    CHECK(gsd_flush(file) == 0);
}

static void checksums_find_a_flipped_bit(const char *folder) {
    char *path = in_folder(folder, "checked.gsd");
    struct striae_gsd_options options;
    struct striae_gsd_findings found = {9, 9};
    struct gsd_handle file;
    double values[512];
    striae_gsd_options_init(&options);
    CHECK(options.size == sizeof options && options.align == 1 && options.durable == 1);
    options.checksums = options.checked = options.lock = 1;
    options.align = 4096;
    CHECK(striae_gsd_create_and_open(&file, path, "check", "none", 0, GSD_OPEN_READWRITE, 1,
                                     &options) == 0);
    write_frames(&file, 3);
    const struct gsd_index_entry *entry = gsd_find_chunk(&file, 1, "values");
    CHECK(entry != NULL && entry->location % 4096 == 0);
    long location = (long)entry->location;
    struct gsd_handle second;
    errno = 0;
    CHECK(striae_gsd_open(&second, path, GSD_OPEN_READWRITE, &options) == 0);
    uint64_t step = 0;
    CHECK(gsd_write_chunk(&second, "step", GSD_TYPE_UINT64, 1, 1, 0, &step) == -1);
    CHECK(errno == EWOULDBLOCK);
    CHECK(gsd_close(&second) == 0 && gsd_close(&file) == 0);
    CHECK(striae_gsd_verify(path, &found) == 0 && found.damages == 0);

    FILE *raw = fopen(path, "r+");
    CHECK(raw != NULL && fseek(raw, location + 100, SEEK_SET) == 0 && fputc(1, raw) == 1);
    CHECK(fclose(raw) == 0);
    CHECK(striae_gsd_verify(path, &found) == 0 && found.damages == 1);
    CHECK_TEXT("checked.gsd");
    CHECK(striae_gsd_open(&file, path, GSD_OPEN_READONLY, &options) == 0);
    CHECK(gsd_read_chunk(&file, values, gsd_find_chunk(&file, 0, "values")) == 0);
    CHECK(gsd_read_chunk(&file, values, gsd_find_chunk(&file, 1, "values")) == -5);
    CHECK_TEXT("values");
    CHECK(gsd_close(&file) == 0);
    /* Version 2.9, which is a note, and found before the damage. */
    raw = fopen(path, "r+");
    CHECK(raw != NULL && fseek(raw, 44, SEEK_SET) == 0 && fputc(9, raw) == 9 && fclose(raw) == 0);
    CHECK(striae_gsd_verify(path, &found) == 0 && found.damages == 1 && found.warnings == 1);
    CHECK_TEXT("checksums.crc");
    options.size = 8;
    CHECK(striae_gsd_open(&file, path, GSD_OPEN_READONLY, &options) == -2);
    CHECK(striae_gsd_verify(folder, NULL) == -1);
    free(path);
}

/* The byte of the commit record that says whether the next commit may be one of one sync. */
static int one_sync_of(const char *path) {
    FILE *raw = fopen(path, "r");
    CHECK(raw != NULL && fseek(raw, 176 + 75, SEEK_SET) == 0);
    int byte = fgetc(raw);
    CHECK(fclose(raw) == 0);
    return byte;
}

static void options_are_of_a_file_until_they_are_changed(const char *folder) {
    char *path = in_folder(folder, "options.gsd");
    struct striae_gsd_options options;
    struct gsd_handle file;
    struct stat none;
    striae_gsd_options_init(&options);
    options.one_sync = 1;
    options.align = 3;
    CHECK(striae_gsd_create_and_open(&file, path, "check", "none", 0, GSD_OPEN_READWRITE, 1,
                                     &options) == -2);
    CHECK(stat(path, &none) == -1); /* so that the call can be made again */
    options.align = 1;
    CHECK(striae_gsd_create_and_open(&file, path, "check", "none", 0, GSD_OPEN_READWRITE, 1,
                                     &options) == 0);
    write_frames(&file, 1);
    CHECK(gsd_close(&file) == 0 && one_sync_of(path) == 1);
    const int set[] = {0, -1, 0, 1}, expected[] = {1, 0, 0, 1};
    for (int turn = 0; turn < 4; turn++) {
        options.one_sync = set[turn];
        CHECK(striae_gsd_open(&file, path, GSD_OPEN_READWRITE, &options) == 0);
        write_frames(&file, 1);
        CHECK(gsd_close(&file) == 0 && one_sync_of(path) == expected[turn]);
    }
    free(path);
}

/* A thread with a handle of its own. */
static void *writes_and_reads(void *path) {
    struct gsd_handle file, none;
    CHECK(gsd_create_and_open(&file, path, "check", "none", 0, GSD_OPEN_READWRITE, 0) == 0);
    for (int turn = 0; turn < 20; turn++) {
        write_frames(&file, 5);
        uint64_t step, frames = gsd_get_nframes(&file);
        CHECK(frames == 5 * (uint64_t)(turn + 1));
        CHECK(gsd_read_chunk(&file, &step, gsd_find_chunk(&file, frames - 1, "step")) == 0);
        CHECK(step == 4);
        CHECK(gsd_find_chunk(&file, frames, "step") == NULL);
        CHECK(gsd_open(&none, "/nonexistent/file", GSD_OPEN_READONLY) == -1);
        CHECK_TEXT("No such file");
    }
    CHECK(gsd_close(&file) == 0);
    return NULL;
}

static struct gsd_handle shared;

/* Threads that read one handle. */
static void *reads(void *unused) {
    (void)unused;
    double values[512];
    for (uint64_t turn = 0; turn < 1000; turn++) {
        uint64_t frame = turn % 10, step;
        CHECK(gsd_read_chunk(&shared, &step, gsd_find_chunk(&shared, frame, "step")) == 0);
        CHECK(step == frame);
        CHECK(gsd_read_chunk(&shared, values, gsd_find_chunk(&shared, frame, "values")) == 0);
    }
    return NULL;
}

static void threads_do_not_disturb_one_another(const char *folder) {
    pthread_t threads[4];
    char *paths[2] = {in_folder(folder, "one.gsd"), in_folder(folder, "two.gsd")};
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&threads[i], NULL, writes_and_reads, paths[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(gsd_create_and_open(&shared, paths[0], "a", "b", 0, GSD_OPEN_READWRITE, 0) == 0);
    write_frames(&shared, 10);
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_create(&threads[i], NULL, reads, NULL) == 0);
    }
    for (int i = 0; i < 4; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    CHECK(gsd_close(&shared) == 0);
    free(paths[0]);
    free(paths[1]);
}

static void the_end_of_a_frame_flushes_if_it_is_to(const char *folder) {
    char *path = in_folder(folder, "buffered.gsd");
    struct gsd_handle file;
    CHECK(gsd_create_and_open(&file, path, "a", "b", 0, GSD_OPEN_APPEND, 0) == 0);
    CHECK(gsd_get_index_entries_to_buffer(&file) == UINT64_MAX);
    CHECK(gsd_set_index_entries_to_buffer(&file, 0) == -2);
    CHECK(gsd_set_index_entries_to_buffer(&file, 4) == 0);
    for (uint64_t step = 0; step < 9; step++) {
        CHECK(gsd_write_chunk(&file, "step", GSD_TYPE_UINT64, 1, 1, 0, &step) == 0);
        CHECK(gsd_end_frame(&file) == 0);
        CHECK(gsd_get_nframes(&file) == (step + 1) / 4 * 4);
        CHECK(file.file_frame == (step + 1) / 4 * 4 && file.buffer_frame == step + 1);
        CHECK(file.pending_index_entries == 0);
        struct stat now;
        CHECK(stat(path, &now) == 0);
        CHECK(file.file_frame <= step || file.file_size == now.st_size);
    }
    CHECK(gsd_close(&file) == 0);
    free(path);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    checksums_find_a_flipped_bit(argv[1]);
    options_are_of_a_file_until_they_are_changed(argv[1]);
    threads_do_not_disturb_one_another(argv[1]);
    the_end_of_a_frame_flushes_if_it_is_to(argv[1]);
    puts("4 tests");
    return 0;
}
