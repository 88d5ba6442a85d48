/*
 * gsd.h: results, errors, and the bytes of the files. The job compiles this with our header and
 * with that of gsd itself, and links both with our library.
 */
#include <errno.h>
#include <fcntl.h>
#include <gsd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static const float POINTS[6] = {0, 1, 2, 3, 4, 5};

static void make(struct gsd_handle *file, const char *path) {
    uint32_t version = gsd_make_version(1, 4);
    CHECK(version == 0x00010004);
    CHECK(gsd_create_and_open(file, path, "check", "none", version, GSD_OPEN_READWRITE, 0) == 0);
}

static void write_frame(struct gsd_handle *file, uint64_t step) {
    CHECK(gsd_write_chunk(file, "step", GSD_TYPE_UINT64, 1, 1, 0, &step) == 0);
    CHECK(gsd_write_chunk(file, "points", GSD_TYPE_FLOAT, 2, 3, 0, POINTS) == 0);
    CHECK(gsd_end_frame(file) == 0);
}

static uint64_t step_of(struct gsd_handle *file, uint64_t frame) {
    uint64_t step = 0;
    const struct gsd_index_entry *entry = gsd_find_chunk(file, frame, "step");
    CHECK(entry != NULL && entry->frame == frame);
    CHECK(entry->N == 1 && entry->M == 1 && entry->type == GSD_TYPE_UINT64 && entry->flags == 0);
    CHECK(gsd_read_chunk(file, &step, entry) == 0);
    return step;
}

static void frames_are_visible_when_they_are_flushed(const char *folder) {
    char *path = in_folder(folder, "flushed.gsd");
    struct gsd_handle file, other;
    make(&file, path);
    CHECK(file.fd >= 0 && file.open_flags == GSD_OPEN_READWRITE);
    CHECK(strcmp(file.header.application, "check") == 0);
    CHECK(strcmp(file.header.schema, "none") == 0);
    CHECK(file.header.schema_version == gsd_make_version(1, 4));
    CHECK(file.header.gsd_version == gsd_make_version(2, 1));
    for (uint64_t frame = 0; frame < 5; frame++) {
        write_frame(&file, 10 * frame);
    }
    CHECK(file.buffer_frame == 5 && file.file_frame == 0);
    CHECK(gsd_get_nframes(&file) == 0 && gsd_find_chunk(&file, 0, "step") == NULL);
    CHECK(gsd_flush(&file) == 0);
    CHECK(gsd_get_nframes(&file) == 5 && file.file_frame == 5);
    const struct gsd_index_entry *first = gsd_find_chunk(&file, 0, "points");
    const struct gsd_index_entry *last = gsd_find_chunk(&file, 4, "points");
    CHECK(first != NULL && last != NULL && first->id == last->id && first->frame == 0);
    CHECK(gsd_find_chunk(&file, 0, "points") == first);
    float points[6];
    CHECK(gsd_read_chunk(&file, points, last) == 0);
    CHECK(memcmp(points, POINTS, sizeof points) == 0);
    CHECK(step_of(&file, 3) == 30);
    CHECK(gsd_find_chunk(&file, 5, "step") == NULL && gsd_find_chunk(&file, 0, "none") == NULL);

    CHECK(gsd_open(&other, path, GSD_OPEN_READONLY) == 0);
    CHECK(gsd_get_nframes(&other) == 5 && step_of(&other, 4) == 40);
    CHECK(gsd_close(&other) == 0);
    CHECK(gsd_close(&file) == 0);
    free(path);
}

static void bytes_are_as_gsd_writes_them(const char *folder) {
    char *path = in_folder(folder, "bytes.gsd");
    struct gsd_handle file;
    make(&file, path);
    write_frame(&file, 7);
    CHECK(gsd_flush(&file) == 0);
    const struct gsd_index_entry *entry = gsd_find_chunk(&file, 0, "points");
    CHECK(entry != NULL);
    uint64_t location = (uint64_t)entry->location;
    CHECK(gsd_close(&file) == 0);
    size_t len;
    unsigned char *bytes = bytes_of(path, &len);
    CHECK(memcmp(bytes, "\xdf\x65\xdf\x65\xdf\x65\xdf\x65", 8) == 0);
    CHECK(memcmp(bytes + 40, "\x04\0\1\0\1\0\2\0" "check\0", 14) == 0);
    CHECK(location + sizeof POINTS <= len);
    CHECK(memcmp(bytes + location, POINTS, sizeof POINTS) == 0);
    free(bytes);
    free(path);
}

static void an_open_frame_is_dropped_by_close(const char *folder) {
    char *path = in_folder(folder, "open_frame.gsd");
    struct gsd_handle file;
    make(&file, path);
    write_frame(&file, 1);
    uint64_t lost = 2;
    CHECK(gsd_write_chunk(&file, "step", GSD_TYPE_UINT64, 1, 1, 0, &lost) == 0);
    CHECK(file.pending_index_entries == 1);
    CHECK(gsd_flush(&file) == 0 && gsd_get_nframes(&file) == 1);
    CHECK(gsd_close(&file) == 0);
    CHECK(gsd_open(&file, path, GSD_OPEN_APPEND) == 0);
    CHECK(gsd_get_nframes(&file) == 1 && step_of(&file, 0) == 1);
    write_frame(&file, 3);
    CHECK(gsd_close(&file) == 0);
    CHECK(gsd_open(&file, path, GSD_OPEN_READONLY) == 0);
    CHECK(gsd_get_nframes(&file) == 2 && step_of(&file, 1) == 3);
    CHECK(gsd_close(&file) == 0);
    free(path);
}

static void the_last_chunk_of_a_name_counts(const char *folder) {
    char *path = in_folder(folder, "twice.gsd");
    struct gsd_handle file;
    make(&file, path);
    for (uint64_t value = 0; value < 4; value++) {
        CHECK(gsd_write_chunk(&file, "step", GSD_TYPE_UINT64, 1, 1, 0, &value) == 0);
        CHECK(gsd_write_chunk(&file, "other", GSD_TYPE_UINT64, 1, 1, 0, &value) == 0);
    }
    CHECK(file.pending_index_entries == 2);
    CHECK(gsd_end_frame(&file) == 0 && gsd_flush(&file) == 0);
    CHECK(step_of(&file, 0) == 3);
    CHECK(gsd_close(&file) == 0);
    free(path);
}

static void names_and_labels_are_cut_as_gsd_cuts_them(const char *folder) {
    char *path = in_folder(folder, "names.gsd");
    char label[101];
    memset(label, 'x', 100);
    label[100] = 0;
    struct gsd_handle file;
    CHECK(gsd_create(path, label, label, 1) == 0);
    CHECK(gsd_open(&file, path, GSD_OPEN_READWRITE) == 0);
    CHECK(strlen(file.header.application) == 63 && strlen(file.header.schema) == 63);
    uint8_t one = 1;
    CHECK(gsd_write_chunk(&file, label, GSD_TYPE_UINT8, 1, 1, 0, &one) == 0);
    CHECK(gsd_write_chunk(&file, "log/a", GSD_TYPE_UINT8, 1, 1, 0, &one) == 0);
    CHECK(gsd_write_chunk(&file, "log/b", GSD_TYPE_UINT8, 1, 1, 0, &one) == 0);
    CHECK(gsd_find_matching_chunk_name(&file, "log/", NULL) == NULL);
    CHECK(gsd_end_frame(&file) == 0 && gsd_flush(&file) == 0);
    const char *name = gsd_find_matching_chunk_name(&file, "log/", NULL);
    CHECK(name != NULL && strcmp(name, "log/a") == 0);
    name = gsd_find_matching_chunk_name(&file, "log/", name);
    CHECK(name != NULL && strcmp(name, "log/b") == 0);
    CHECK(gsd_find_matching_chunk_name(&file, "log/", name) == NULL);
    CHECK(gsd_find_matching_chunk_name(&file, "", label) == NULL);
    CHECK(gsd_find_chunk(&file, 0, label) != NULL);
    CHECK(gsd_close(&file) == 0);
    free(path);
}

static void wrong_arguments_are_refused(const char *folder) {
    char *path = in_folder(folder, "arguments.gsd");
    struct gsd_handle file;
    uint8_t one = 1;
    make(&file, path);
    CHECK(gsd_write_chunk(&file, "a", GSD_TYPE_UINT8, 1, 0, 0, &one) == -2);
    CHECK(gsd_write_chunk(&file, "a", GSD_TYPE_UINT8, 1, 1, 1, &one) == -2);
    CHECK(gsd_write_chunk(&file, "a", GSD_TYPE_UINT8, 1, 1, 0, NULL) == -2);
    CHECK(gsd_write_chunk(&file, "a", (enum gsd_type)99, 1, 1, 0, &one) == -2);
    CHECK(gsd_write_chunk(&file, "", GSD_TYPE_UINT8, 1, 1, 0, &one) == -2);
    CHECK(gsd_write_chunk(&file, NULL, GSD_TYPE_UINT8, 1, 1, 0, &one) == -2);
    CHECK(gsd_write_chunk(&file, "a", GSD_TYPE_UINT64, UINT64_MAX / 4, 8, 0, &one) == -2);
    CHECK(gsd_write_chunk(&file, "none", GSD_TYPE_DOUBLE, 0, 3, 0, NULL) == 0);
    CHECK(gsd_end_frame(&file) == 0 && gsd_flush(&file) == 0);
    const struct gsd_index_entry *none = gsd_find_chunk(&file, 0, "none");
    CHECK(none != NULL && none->N == 0 && none->M == 3);
    CHECK(gsd_read_chunk(&file, &one, none) == 0);
    CHECK(gsd_read_chunk(&file, NULL, none) == -2 && gsd_read_chunk(&file, &one, NULL) == -2);
    struct gsd_index_entry wrong = *none;
    wrong.N = 1000000;
    CHECK(gsd_read_chunk(&file, &one, &wrong) == -5);
    CHECK(gsd_set_maximum_write_buffer_size(&file, 0) == -2);
    CHECK(gsd_set_maximum_write_buffer_size(&file, 4096) == 0);
    CHECK(gsd_get_maximum_write_buffer_size(&file) == 4096);
    CHECK(file.maximum_write_buffer_size == 4096);
    CHECK(gsd_close(&file) == 0);
    CHECK(gsd_close(&file) == -2 && gsd_flush(&file) == -2 && gsd_get_nframes(&file) == 0);
    CHECK(gsd_close(NULL) == -2 && gsd_end_frame(NULL) == -2);
    CHECK(gsd_find_chunk(NULL, 0, "a") == NULL);
    CHECK(gsd_find_matching_chunk_name(NULL, "", NULL) == NULL);
    CHECK(gsd_sizeof_type(GSD_TYPE_DOUBLE) == 8 && gsd_sizeof_type((enum gsd_type)0) == 0);

    CHECK(gsd_open(&file, path, GSD_OPEN_READONLY) == 0);
    CHECK(gsd_write_chunk(&file, "a", GSD_TYPE_UINT8, 1, 1, 0, &one) == -8);
    CHECK(gsd_end_frame(&file) == -8 && gsd_flush(&file) == -8 && gsd_truncate(&file) == -8);
    CHECK(gsd_upgrade(&file) == -2);
    CHECK(gsd_close(&file) == 0);
    CHECK(gsd_create_and_open(&file, path, "a", "b", 0, GSD_OPEN_READONLY, 0) == -8);
    free(path);
}

static void errors_name_file_and_reason(const char *folder) {
    char *path = in_folder(folder, "errors.gsd"), *none = in_folder(folder, "none/x.gsd");
    struct gsd_handle file;
    errno = 0;
    CHECK(gsd_open(&file, none, GSD_OPEN_READONLY) == -1 && errno == ENOENT);
    CHECK(gsd_create(none, "a", "b", 0) == -1 && errno == ENOENT);
    make(&file, path);
    write_frame(&file, 1);
    CHECK(gsd_close(&file) == 0);
    errno = 0;
    CHECK(gsd_create_and_open(&file, path, "a", "b", 0, GSD_OPEN_APPEND, 1) == -1);
    CHECK(errno == EEXIST);

    CHECK(truncate(path, 100) == 0);
    CHECK(gsd_open(&file, path, GSD_OPEN_READONLY) == -3);
    CHECK_TEXT("errors.gsd");
    CHECK(gsd_close(&file) == -2);
    FILE *text = fopen(path, "w");
    CHECK(text != NULL && fprintf(text, "%300s", "no GSD file") == 300 && fclose(text) == 0);
    CHECK(gsd_open(&file, path, GSD_OPEN_READWRITE) == -3);
    CHECK_TEXT("magic");

    CHECK(gsd_create(path, "a", "b", 0) == 0);
    text = fopen(path, "r+");
    CHECK(text != NULL && fseek(text, 46, SEEK_SET) == 0 && fputc(3, text) == 3);
    CHECK(fclose(text) == 0);
    CHECK(gsd_open(&file, path, GSD_OPEN_READONLY) == -4);
    CHECK_TEXT("gsd_version");
    free(path);
    free(none);
}

static void a_file_is_made_and_emptied_in_place(const char *folder) {
    char *path = in_folder(folder, "place.gsd"), *link = in_folder(folder, "link.gsd");
    struct gsd_handle file;
    struct stat before, after;
    CHECK(symlink("place.gsd", link) == 0);
    make(&file, path);
    CHECK(gsd_close(&file) == 0 && stat(path, &before) == 0);
    CHECK((before.st_mode & 0007) == 0);
    make(&file, link);
    for (uint64_t step = 0; step < 300; step++) {
        write_frame(&file, step);
    }
    CHECK(gsd_flush(&file) == 0 && gsd_get_nframes(&file) == 300);
    CHECK(stat(path, &after) == 0 && after.st_ino == before.st_ino);
    CHECK(lstat(link, &after) == 0 && S_ISLNK(after.st_mode));
    CHECK(gsd_truncate(&file) == 0);
    CHECK(gsd_get_nframes(&file) == 0 && gsd_find_chunk(&file, 0, "step") == NULL);
    CHECK(gsd_find_matching_chunk_name(&file, "", NULL) == NULL);
    CHECK(strcmp(file.header.application, "check") == 0);
    write_frame(&file, 9);
    CHECK(gsd_close(&file) == 0);
    CHECK(gsd_open(&file, path, GSD_OPEN_READONLY) == 0);
    CHECK(gsd_get_nframes(&file) == 1 && step_of(&file, 0) == 9);
    CHECK(gsd_close(&file) == 0);
    free(path);
    free(link);
}

static void handles_take_turns(const char *folder) {
    char *path = in_folder(folder, "turns.gsd");
    struct gsd_handle first, second;
    make(&first, path);
    CHECK(gsd_open(&second, path, GSD_OPEN_READWRITE) == 0);
    for (uint64_t step = 0; step < 10; step += 2) {
        write_frame(&first, step);
        CHECK(gsd_flush(&first) == 0 && gsd_get_nframes(&first) == step + 1);
        write_frame(&second, step + 1);
        CHECK(gsd_flush(&second) == 0 && gsd_get_nframes(&second) == step + 2);
        CHECK(gsd_flush(&first) == 0); /* with nothing to flush, it hides nothing of the other */
    }
    CHECK(gsd_close(&first) == 0); /* knows nothing of the last frame, and keeps it */
    CHECK(gsd_close(&second) == 0);
    CHECK(gsd_open(&first, path, GSD_OPEN_READONLY) == 0);
    CHECK(gsd_get_nframes(&first) == 10);
    for (uint64_t step = 0; step < 10; step++) {
        CHECK(step_of(&first, step) == step);
    }
    CHECK(gsd_close(&first) == 0);
    free(path);
}

static void a_handle_that_only_reads_changes_nothing(const char *folder) {
    char *path = in_folder(folder, "read.gsd");
    struct gsd_handle file;
    struct stat before, after;
    make(&file, path);
    write_frame(&file, 5);
    CHECK(gsd_close(&file) == 0 && stat(path, &before) == 0);
    CHECK(gsd_open(&file, path, GSD_OPEN_READWRITE) == 0);
    CHECK(step_of(&file, 0) == 5 && gsd_flush(&file) == 0);
    CHECK(gsd_close(&file) == 0 && stat(path, &after) == 0);
    CHECK(after.st_size == before.st_size);
    CHECK(memcmp(&after.st_mtim, &before.st_mtim, sizeof after.st_mtim) == 0);
    free(path);
}

static void the_file_that_was_opened_is_written(const char *folder) {
    char *path = in_folder(folder, "here.gsd"), *moved = in_folder(folder, "moved.gsd");
    struct gsd_handle file;
    uint64_t one = 1;
    make(&file, path);
    CHECK(gsd_close(&file) == 0);
    char here[4096];
    CHECK(getcwd(here, sizeof here) != NULL && chdir(folder) == 0);
    CHECK(gsd_open(&file, "here.gsd", GSD_OPEN_APPEND) == 0);
    CHECK(chdir("/") == 0);
    write_frame(&file, 4);
    CHECK(chdir(here) == 0 && gsd_close(&file) == 0);
    CHECK(gsd_open(&file, path, GSD_OPEN_READWRITE) == 0 && step_of(&file, 0) == 4);
    CHECK(rename(path, moved) == 0 && gsd_create(path, "a", "b", 0) == 0);
    errno = 0;
    CHECK(gsd_write_chunk(&file, "step", GSD_TYPE_UINT64, 1, 1, 0, &one) == -1);
    CHECK(errno == ESTALE && step_of(&file, 0) == 4);
    CHECK(gsd_close(&file) == 0);
    free(path);
    free(moved);
}

static void a_forked_child_leaves_the_file_to_its_parent(const char *folder) {
    char *path = in_folder(folder, "forked.gsd");
    struct gsd_handle file;
    make(&file, path);
    write_frame(&file, 1);
    CHECK(gsd_flush(&file) == 0);
    write_frame(&file, 2);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        _exit(gsd_close(&file) == 0 ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    struct gsd_handle other;
    CHECK(gsd_open(&other, path, GSD_OPEN_READONLY) == 0 && gsd_get_nframes(&other) == 1);
    CHECK(gsd_close(&other) == 0);
    write_frame(&file, 3);
    CHECK(gsd_close(&file) == 0);
    CHECK(gsd_open(&file, path, GSD_OPEN_READONLY) == 0 && gsd_get_nframes(&file) == 3);
    CHECK(step_of(&file, 1) == 2 && step_of(&file, 2) == 3 && gsd_close(&file) == 0);
    free(path);
}

static void a_forked_child_that_writes_has_the_file(const char *folder) {
    char *path = in_folder(folder, "daemon.gsd");
    struct gsd_handle file;
    make(&file, path);
    write_frame(&file, 1);
    CHECK(gsd_flush(&file) == 0);
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        write_frame(&file, 2);
        _exit(gsd_close(&file) == 0 ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    struct gsd_handle other;
    CHECK(gsd_open(&other, path, GSD_OPEN_READONLY) == 0 && gsd_get_nframes(&other) == 2);
    CHECK(step_of(&other, 1) == 2 && gsd_close(&other) == 0);
    write_frame(&file, 3); /* the parent goes on after what the child has written */
    CHECK(gsd_close(&file) == 0);
    CHECK(gsd_open(&file, path, GSD_OPEN_READONLY) == 0 && gsd_get_nframes(&file) == 3);
    CHECK(step_of(&file, 1) == 2 && step_of(&file, 2) == 3 && gsd_close(&file) == 0);
    free(path);
}

/* What was written is in no file any more, and the handle is none, too. */
static void a_file_that_was_removed_is_closed_with_an_error(const char *folder) {
    char *path = in_folder(folder, "removed.gsd");
    struct gsd_handle file;
    make(&file, path);
    write_frame(&file, 1);
    int fd = file.fd;
    CHECK(remove(path) == 0);
    errno = 0;
    CHECK(gsd_close(&file) == -1 && errno == ENOENT && fcntl(fd, F_GETFD) == -1);
    CHECK(gsd_close(&file) == -2);
    free(path);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    frames_are_visible_when_they_are_flushed(argv[1]);
    bytes_are_as_gsd_writes_them(argv[1]);
    an_open_frame_is_dropped_by_close(argv[1]);
    the_last_chunk_of_a_name_counts(argv[1]);
    names_and_labels_are_cut_as_gsd_cuts_them(argv[1]);
    wrong_arguments_are_refused(argv[1]);
    errors_name_file_and_reason(argv[1]);
    a_file_is_made_and_emptied_in_place(argv[1]);
    handles_take_turns(argv[1]);
    a_handle_that_only_reads_changes_nothing(argv[1]);
    the_file_that_was_opened_is_written(argv[1]);
    a_forked_child_leaves_the_file_to_its_parent(argv[1]);
    a_forked_child_that_writes_has_the_file(argv[1]);
    a_file_that_was_removed_is_closed_with_an_error(argv[1]);
    puts("14 tests");
    return 0;
}
