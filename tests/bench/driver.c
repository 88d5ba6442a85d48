/* Speed of the gsd library, and of plain writes of as many bytes.

   driver gsd|raw|batch CASE FILE COUNT prints how many seconds one takes. `raw` writes each frame, `batch` the
   frames of a flush together, or those of 64 KiB.

   Cases that write: frames of 3 small chunks (`small`), or of one of 12 MB (`large`), COUNT of them,
   flushed when the file is closed, which counts (`small`, `large`), each 100 frames (`small-100`), or
   each frame (`small-1`, `large-1`).

   Cases that read, from a file of COUNT frames of one chunk of 4 bytes, which `make` makes, or of
   1 to 7 of them at random, which `make-uneven` makes: COUNT times `open`; COUNT times `find` a chunk
   of a random frame, or of the next one (`find-next`), or find and `read` it.

   `memory` prints by how many KiB the memory of the process grows when FILE is opened, and
   `memory-find` when one of its chunks is found, too. It was done with FILE.small before: what the
   program itself needs is there. */

#define _GNU_SOURCE
#include "gsd.h"
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LARGE = 12000000 };

static double wall(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double started;

static void start(void) {
    started = wall();
}

static void stop(uint64_t count) {
    printf("%.9f\n", (wall() - started) / (double)count);
}

static void check(int failed, const char* what) {
    if (failed) {
        fprintf(stderr, "driver: %s failed (%d)\n", what, failed);
        exit(1);
    }
}

/* How many frames there are between two flushes; 0 for one at the close. */
static uint64_t frames_per_flush(const char* name) {
    const char* dash = strchr(name, '-');
    return dash ? strtoull(dash + 1, NULL, 10) : 0;
}

static float* values(size_t count) {
    float* all = malloc(count * sizeof(float));
    for (size_t i = 0; i < count; i++)
        all[i] = (float)i;
    return all;
}

static void write_gsd(const char* name, const char* path, uint64_t count) {
    struct gsd_handle file;
    uint64_t each = frames_per_flush(name);
    int is_large = strncmp(name, "large", 5) == 0;
    float* all = values(is_large ? LARGE / 4 : 30);
    int made = gsd_create_and_open(&file, path, "bench", "none", 0, GSD_OPEN_READWRITE, 0);
    check(made, "create");
    start();
    for (uint64_t frame = 0; frame < count; frame++) {
        int bad;
        if (is_large) {
            bad = gsd_write_chunk(&file, "position", GSD_TYPE_FLOAT, LARGE / 12, 3, 0, all);
        } else {
            bad = gsd_write_chunk(&file, "position", GSD_TYPE_FLOAT, 10, 3, 0, all)
                  | gsd_write_chunk(&file, "velocity", GSD_TYPE_FLOAT, 10, 3, 0, all)
                  | gsd_write_chunk(&file, "mass", GSD_TYPE_FLOAT, 10, 1, 0, all);
        }
        check(bad | gsd_end_frame(&file), "write");
        if (each && (frame + 1) % each == 0)
            check(gsd_flush(&file), "flush");
    }
    check(gsd_close(&file), "close");
    stop(count);
}

static void put(int fd, const void* bytes, size_t len, uint64_t at) {
    while (len) {
        ssize_t n = pwrite(fd, bytes, len, (off_t)at);
        check(n <= 0, "pwrite");
        bytes = (const char*)bytes + n;
        len -= (size_t)n;
        at += (uint64_t)n;
    }
}

/* Data and index of so many frames, each with one write; a flush makes the data durable, then the index. */
static void write_raw(const char* name, const char* path, uint64_t count, int is_batch) {
    uint64_t each = frames_per_flush(name), most = 1;
    int is_large = strncmp(name, "large", 5) == 0;
    size_t len = is_large ? LARGE : 280, entries = is_large ? 32 : 96;
    if (is_batch && !is_large)
        most = each ? each : (1 << 16) / len;
    char* all = (char*)values(LARGE / 4);
    uint64_t index = 512, data = 512 + count * entries;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    check(fd < 0, "open");
    start();
    for (uint64_t frame = 0, frames; frame < count; frame += frames) {
        frames = count - frame < most ? count - frame : most;
        int is_flush = each && (frame + frames) % each == 0;
        put(fd, all, frames * len, data + frame * len);
        if (is_flush)
            check(fdatasync(fd), "fdatasync");
        put(fd, all, frames * entries, index + frame * entries);
        if (is_flush)
            check(fdatasync(fd), "fdatasync");
    }
    check(fdatasync(fd) | close(fd), "fdatasync");
    stop(count);
}

static uint64_t next(uint64_t* state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void make(const char* path, uint64_t count, int is_uneven) {
    static const char* const names[] = {"step", "a", "b", "c", "d", "e", "f"};
    struct gsd_handle file;
    uint64_t state = 1;
    int made = gsd_create_and_open(&file, path, "bench", "none", 0, GSD_OPEN_READWRITE, 0);
    check(made, "create");
    for (uint32_t frame = 0; frame < count; frame++) {
        uint64_t chunks = is_uneven ? 1 + next(&state) % 7 : 1;
        int bad = 0;
        for (uint64_t chunk = 0; chunk < chunks; chunk++)
            bad |= gsd_write_chunk(&file, names[chunk], GSD_TYPE_UINT32, 1, 1, 0, &frame);
        check(bad | gsd_end_frame(&file), "write");
        if (frame % 100000 == 99999)
            check(gsd_flush(&file), "flush");
    }
    check(gsd_close(&file), "close");
}

static void read_gsd(const char* name, const char* path, uint64_t count) {
    struct gsd_handle file;
    if (strcmp(name, "open") == 0) {
        start();
        for (uint64_t i = 0; i < count; i++) {
            check(gsd_open(&file, path, GSD_OPEN_READONLY), "open");
            check(gsd_close(&file), "close");
        }
        stop(count);
        return;
    }
    check(gsd_open(&file, path, GSD_OPEN_READONLY), "open");
    uint64_t frames = gsd_get_nframes(&file), state = 1;
    int is_next = strcmp(name, "find-next") == 0, reads = strcmp(name, "read") == 0;
    start();
    for (uint64_t i = 0; i < count; i++) {
        uint64_t frame = (is_next ? i : next(&state)) % frames;
        const struct gsd_index_entry* entry = gsd_find_chunk(&file, frame, "step");
        uint32_t step = (uint32_t)frame;
        check(entry == NULL || entry->frame != frame, "find");
        if (reads)
            check(gsd_read_chunk(&file, &step, entry), "read");
        check(step != (uint32_t)frame, "the value");
    }
    stop(count);
    check(gsd_close(&file), "close");
}

/* KiB of memory that this process has, counted page by page. */
static long resident(void) {
    char line[256];
    long kib = -1;
    FILE* pages = fopen("/proc/self/smaps_rollup", "r");
    check(pages == NULL, "smaps_rollup");
    while (kib < 0 && fgets(line, sizeof line, pages))
        sscanf(line, "Rss: %ld", &kib);
    fclose(pages);
    return kib;
}

static void look(struct gsd_handle* file, const char* path, int finds) {
    check(gsd_open(file, path, GSD_OPEN_READONLY), "open");
    if (finds)
        check(!gsd_find_chunk(file, gsd_get_nframes(file) / 3, "step"), "find");
}

static void memory(const char* path, int finds) {
    struct gsd_handle file, small_file;
    char* small = malloc(strlen(path) + sizeof ".small");
    strcat(strcpy(small, path), ".small");
    look(&small_file, small, finds);
    long before = resident();
    look(&file, path, finds);
    printf("%ld\n", resident() - before);
}

int main(int argc, char** argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: driver gsd|raw|batch CASE FILE COUNT\n");
        return 2;
    }
    const char *what = argv[1], *name = argv[2], *path = argv[3];
    uint64_t count = strtoull(argv[4], NULL, 10);
    int writes = strncmp(name, "small", 5) == 0 || strncmp(name, "large", 5) == 0;
    if (strcmp(what, "gsd") != 0)
        write_raw(name, path, count, strcmp(what, "batch") == 0);
    else if (strncmp(name, "memory", 6) == 0)
        memory(path, strcmp(name, "memory-find") == 0);
    else if (writes)
        write_gsd(name, path, count);
    else if (strncmp(name, "make", 4) == 0)
        make(path, count, strcmp(name, "make-uneven") == 0);
    else
        read_gsd(name, path, count);
    return 0;
}
