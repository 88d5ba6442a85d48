/* sion.h: key-value records; and threads with sets of their own. */
#include <pthread.h>
#include <sion.h>

#include "check.h"

static int make(char *path) {
    int ntasks = 2, nfiles = 1, ranks[2] = {0, 1}, *ranks_at = ranks;
    sion_int64 sizes[2] = {512, 512}, *sizes_at = sizes;
    sion_int32 unit = 512;
    return sion_open(path, "bw,keyval=inline", &ntasks, &nfiles, &sizes_at, &unit, &ranks_at,
                     NULL);
}

static int open_to_read(char *path) {
    int ntasks, nfiles;
    sion_int32 unit;
    int sid = sion_open(path, "br", &ntasks, &nfiles, NULL, &unit, NULL, NULL);
    CHECK(sid >= 0 && sion_get_keyval_mode(sid) == SION_KEYVAL_INLINE);
    return sid;
}

static int values[1000];

static void write_keys(int sid) {
    CHECK(sion_get_keyval_mode(sid) == SION_KEYVAL_INLINE);
    CHECK(sion_fwrite_key(values, 7, sizeof(int), 10, sid) == 10);
    CHECK(sion_fwrite_key(values, UINT64_MAX, sizeof(int), 500, sid) == 500); /* 4 chunks */
    CHECK(sion_fwrite_key(values + 10, 7, sizeof(int), 5, sid) == 5);
    CHECK(sion_fwrite_key(values, 9, sizeof(int), 0, sid) == 0); /* SIONlib cannot read on */
    CHECK(sion_fwrite(values, 4, 1, sid) == 0);
}

static void values_are_read_record_by_record(char *path) {
    int sid = make(path), read[1000];
    CHECK(sid >= 0);
    write_keys(sid);
    CHECK(sion_get_bytes_written(sid) == 4 * 16 + 515 * 4);
    CHECK(sion_close(sid) == 1);
    sid = open_to_read(path);
    CHECK(sion_fread_key(read, 7, sizeof(int), 4, sid) == 4 && read[3] == 3);
    CHECK(sion_fread_key(read, UINT64_MAX, sizeof(int), 1000, sid) == 500);
    CHECK(memcmp(read, values, 2000) == 0);
    CHECK(sion_fread_key(read, 7, sizeof(int), 100, sid) == 6 && read[5] == 9);
    CHECK(sion_fread_key(read, 7, sizeof(int), 100, sid) == 5 && read[4] == 14);
    CHECK(sion_fread_key(read, 7, sizeof(int), 1, sid) == 0);
    CHECK(sion_fread_key(read, 9, sizeof(int), 1, sid) == 0);
    CHECK(sion_fread_key(read, 8, sizeof(int), 1, sid) == 0);
    CHECK(sion_seek_key(sid, 7, 1, 8) == 1);
    CHECK(sion_fread_key(read, 7, sizeof(int), 1, sid) == 1 && read[0] == 12);
    CHECK(sion_seek_key(sid, 7, SION_ABSOLUTE_POS, 44) == 1);
    CHECK(sion_fread_key(read, 7, sizeof(int), 1, sid) == 1 && read[0] == 11);
    CHECK(sion_seek_key(sid, 7, SION_CURRENT_BLOCK, SION_CURRENT_POS) == 1);
    CHECK(sion_seek_key(sid, 7, SION_CURRENT_BLOCK, 0) == 1);
    CHECK(sion_fread_key(read, 7, sizeof(int), 1, sid) == 1 && read[0] == 10);
    CHECK(sion_seek_key(sid, 7, 2, 0) == 0 && sion_seek_key(sid, 7, 0, 40) == 0);
    CHECK(sion_seek_key(sid, 7, SION_ABSOLUTE_POS, 60) == 0 && sion_seek_key(sid, 8, 0, 0) == 0);
    CHECK(sion_seek_key(sid, 7, 0, SION_CURRENT_POS) == 0);
    CHECK(sion_seek(sid, 1, SION_CURRENT_BLK, SION_CURRENT_POS) == 1);
    CHECK(sion_fread_key(read, 7, sizeof(int), 1, sid) == 0);
    CHECK(sion_close(sid) == 1);
}

static void records_and_keys_are_listed(char *path) {
    int sid = open_to_read(path), read[10];
    const uint64_t keys[4] = {7, UINT64_MAX, 7, 9};
    const size_t sizes[4] = {40, 2000, 20, 0};
    uint64_t key;
    size_t size;
    CHECK(sion_key_full_scan(sid) == 1);
    for (int turn = 0; turn < 2; turn++) {
        CHECK(sion_fread_key_iterator_reset(sid) == 1);
        for (int i = 0; i < 4; i++) {
            CHECK(sion_fread_key_iterator_next(sid, &key, &size) == 1);
            CHECK(key == keys[i] && size == sizes[i]);
            if (i == 2) {
                CHECK(sion_fread_key(read, key, sizeof(int), 10, sid) == 5 && read[0] == 10);
            }
        }
        CHECK(sion_fread_key_iterator_next(sid, &key, &size) == 0);
        CHECK(sion_key_list_iterator_reset(sid) == 1);
        CHECK(sion_key_list_iterator_next(sid, &key) == 1 && key == 7);
        CHECK(sion_key_list_iterator_next(sid, &key) == 1 && key == UINT64_MAX);
        CHECK(sion_key_list_iterator_next(sid, &key) == 1 && key == 9);
        CHECK(sion_key_list_iterator_next(sid, &key) == 0 && key == 0);
    }
    sion_key_stat_t stat;
    CHECK(sion_key_get_stat(sid, 7, &stat) == 1);
    CHECK(stat.key == 7 && stat.num_blocks == 2 && stat.total_size == 60);
    CHECK(sion_key_get_stat(sid, 8, &stat) == 0);
    int twin = sion_dup(sid, SION_DUP_RANK_KEY, 0, 7); /* keys are where they were */
    CHECK(twin >= 0 && sion_seek_key(twin, 7, 0, 0) == 1);
    CHECK(sion_fread_key(read, 7, sizeof(int), 1, sid) == 0);
    CHECK(sion_fread_key(read, 7, sizeof(int), 1, twin) == 1 && read[0] == 0);
    CHECK(sion_seek(twin, 1, 0, 0) == 0 && sion_dedup(twin) == 1);
    CHECK(sion_close(sid) == 1);
    CHECK(strcmp(sion_keyval_type_to_str(SION_KEYVAL_INLINE), "SION_KEYVAL_INLINE") == 0);
    CHECK(strcmp(sion_keyval_type_to_str(0), "unknown") == 0);
}

/* A thread with sets of its own. */
static void *writes_and_reads(void *path) {
    int read[1000];
    for (int turn = 0; turn < 20; turn++) {
        int sid = make(path);
        CHECK(sid >= 0);
        write_keys(sid);
        CHECK(sion_close(sid) == 1);
        sid = open_to_read(path);
        CHECK(sion_fread_key(read, UINT64_MAX, sizeof(int), 500, sid) == 500);
        CHECK(memcmp(read, values, 2000) == 0);
        CHECK(sion_close(sid) == 1);
    }
    return NULL;
}

static void threads_do_not_disturb_one_another(const char *folder) {
    pthread_t threads[2];
    char *paths[2] = {in_folder(folder, "one.sion"), in_folder(folder, "two.sion")};
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&threads[i], NULL, writes_and_reads, paths[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        free(paths[i]);
    }
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    for (int i = 0; i < 1000; i++) {
        values[i] = i;
    }
    char *path = in_folder(argv[1], "keys.sion");
    values_are_read_record_by_record(path);
    records_and_keys_are_listed(path);
    threads_do_not_disturb_one_another(argv[1]);
    free(path);
    puts("3 tests");
    return 0;
}
