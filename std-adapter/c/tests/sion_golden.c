/*
 * sion.h against SIONlib's own files: the calls by which SIONlib wrote each file of tests/golden/sion
 * give the same bytes, and reading gives the data of the formula in its README. Arguments: an empty
 * folder, the folder of the golden files, and how many damaged files to pass over for each one.
 */
#include <sion.h>
#include <unistd.h>

#include "check.h"

enum { MOST = 4096, TASKS = 100 };

/* Byte i of the stream of global rank g. */
static unsigned char stream_byte(long long g, long long i) {
    return (unsigned char)(i * 7 + (i >> 8) * 13 + g * 37 + 11);
}

/* Byte j of the n-th value of a key of global rank g. */
static unsigned char value_byte(long long g, uint64_t key, int n, long long j) {
    unsigned long long sum = (unsigned long long)(j * 7 + (j >> 8) * 13 + g * 37 + n * 59 + 11);
    return (unsigned char)(sum + key * 101);
}

struct set {
    const char *name, *mode;
    int unit;
    /* For each task: global rank, chunk size, what it writes: bytes by sion_fwrite, eBYTES with the
       FILE * after sion_ensure_free_space, kKEY=BYTES by sion_fwrite_key. */
    const char *tasks;
};

#define TEN(x) x x x x x x x x x x

static const struct set WRITTEN[] = {
    {"s01_one_task", "bw", 512, "0:512:100"},
    {"s02_three_unequal_noncontig", "bw", 512,
     "10:300:100,150,100 7:512: 42:1000:1000,24,700,700"},
    {"s03_eight_mixed", "bw", 512,
     "0:512:512,512,512 1:100:50 2:0: 3:2000:2000,2000 4:512: 5:512:1,1,1 "
     "6:1500:700,700,700,700 7:512:300,300,300"},
    {"s05_posix", "bw,posix", 512, "0:700:700,1 1:512:512,1 2:513:513"},
    {"s06_fsb1_packed", "bw", 1, "0:10:10,10,3 1:1:1,1 2:17:5 3:0:"},
    {"s08_all_empty", "bw", 512, "0:512: 1:512: 2:512:"},
    {"s09_exact_fill", "bw", 512, "0:512:512,512 1:512:512"},
    {"s10_filepointer", "bw", 512, "0:512:e300,e300,e212 1:1024:e1024,e1"},
    {"s11_130_chunks", "bw", 512,
     "0:512:" TEN("500,500,500,500,500,500,500,500,500,500,500,500,500,") " 1:512:12,12,12"},
    {"s14_endian_flag_big", "bw,endianness=big", 512, "0:512:200 1:512:300,300"},
    {"s16_keyval_simple", "bw,keyval=inline", 512, "0:512:k1=10,k2=20,k1=5 1:512:k7=100 2:512:"},
    {"s17_keyval_straddle", "bw,keyval=inline", 512,
     "0:512:k1=490,k2=600,k3=1,k18446744073709551615=2000 3:512:k5=480,k5=16,k6=496,k7=3"},
    {"s24_big_chunk_small_write", "bw", 2048, "0:65536:1000 1:2048:3"},
};

/* Does what a task of the list does, from after its second colon on; returns the rest. */
static const char *write_task(int sid, int g, const char *text) {
    unsigned char bytes[MOST];
    uint64_t keys[16];
    int counts[16] = {0}, known = 0;
    long long at = 0;
    FILE *file = NULL;
    while (*text != 0 && *text != ' ') {
        char kind = *text, *end;
        uint64_t key = kind == 'k' ? strtoull(text + 1, &end, 10) : 0;
        text = kind == 'k' ? end + 1 : text + (kind == 'e');
        long long len = strtol(text, &end, 10);
        text = end + (*end == ',');
        int number = 0;
        if (kind == 'k') {
            int i = 0;
            while (i < known && keys[i] != key) {
                i++;
            }
            known += i == known;
            keys[i] = key;
            number = counts[i]++;
        }
        for (long long i = 0; i < len; i++) {
            bytes[i] = kind == 'k' ? value_byte(g, key, number, i) : stream_byte(g, at + i);
        }
        at += len;
        if (kind == 'k') {
            CHECK(sion_fwrite_key(bytes, key, 1, (size_t)len, sid) == (size_t)len);
        } else if (kind == 'e') {
            CHECK(sion_ensure_free_space(sid, len) == 1);
            file = sion_get_fp(sid);
            CHECK(file != NULL && fwrite(bytes, 1, (size_t)len, file) == (size_t)len);
        } else {
            CHECK(sion_fwrite(bytes, 1, (size_t)len, sid) == (size_t)len);
        }
    }
    return text + (*text == ' ');
}

static void the_bytes_are_those_of_sionlib(const struct set *set, const char *golden) {
    int ntasks = 0, nfiles = 1, ranks[TASKS], *ranks_at = ranks;
    sion_int64 sizes[TASKS], *sizes_at = sizes;
    sion_int32 unit = set->unit;
    const char *text = set->tasks;
    while (*text != 0) {
        char *end;
        ranks[ntasks] = (int)strtol(text, &end, 10);
        sizes[ntasks++] = strtol(end + 1, &end, 10);
        text = strchr(end, ' ') == NULL ? "" : strchr(end, ' ') + 1;
    }
    char name[100];
    snprintf(name, sizeof name, "%s.sion", set->name);
    int sid = sion_open(name, set->mode, &ntasks, &nfiles, &sizes_at, &unit, &ranks_at, NULL);
    CHECK(sid >= 0);
    text = set->tasks;
    for (int task = 0; task < ntasks; task++) {
        CHECK(sion_seek(sid, task, SION_CURRENT_BLK, SION_CURRENT_POS) == 1);
        text = strchr(strchr(text, ':') + 1, ':') + 1;
        text = write_task(sid, ranks[task], text);
    }
    CHECK(sion_close(sid) == 1);
    size_t len, expected_len;
    char *path = in_folder(golden, name);
    unsigned char *bytes = bytes_of(name, &len), *expected = bytes_of(path, &expected_len);
    CHECK(len == expected_len);
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != expected[i]) {
            fprintf(stderr, "%s: byte %zu is %d, not %d\n", name, i, bytes[i], expected[i]);
            exit(1);
        }
    }
    free(path);
    free(bytes);
    free(expected);
}

/* Reads the records of the current task; returns their bytes with the headers. */
static long long read_records(int sid, long long g) {
    unsigned char bytes[MOST];
    uint64_t key, keys[64];
    size_t size;
    int counts[64] = {0}, known = 0;
    long long sum = 0;
    while (sion_fread_key_iterator_next(sid, &key, &size) == 1) {
        int i = 0;
        while (i < known && keys[i] != key) {
            i++;
        }
        known += i == known;
        keys[i] = key;
        CHECK(size <= MOST && sion_fread_key(bytes, key, 1, size, sid) == size);
        for (size_t j = 0; j < size; j++) {
            CHECK(bytes[j] == value_byte(g, key, counts[i], (long long)j));
        }
        counts[i]++;
        sum += (long long)size + 16;
    }
    return sum;
}

/* Reads the stream of the current task; returns its bytes. */
static long long read_stream(int sid, long long g) {
    unsigned char bytes[MOST];
    long long at = 0;
    while (!sion_feof(sid)) {
        size_t left = (size_t)sion_bytes_avail_in_chunk(sid);
        size_t len = left < MOST ? left : MOST;
        CHECK(len > 0 && sion_fread(bytes, 1, len, sid) == len);
        for (size_t i = 0; i < len; i++) {
            CHECK(bytes[i] == stream_byte(g, at++));
        }
    }
    return at;
}

struct shape {
    const char *name;
    int ntasks, nfiles;
    long long bytes; /* of all streams */
};

/* Sets of all kinds; the numbers are those of the JSON files beside them. */
static const struct shape READ[] = {
    {"c01_be_of_s02", 3, 1, 2774},      {"c03_be_of_s17_keyval", 2, 1, 4214},
    {"c04_v4_of_s03", 8, 1, 9289},         {"c05_v3_of_s02", 3, 1, 2774},
    {"d02_defrag_of_m05", 8, 1, 5080},     {"m04_np8_multichunk", 8, 1, 5177},
    {"m05_np8_3files", 8, 3, 5080},        {"m06_np4_2files_lcomm", 4, 2, 300},
    {"m07_np8_coll4", 8, 1, 188},         {"m19_np8_posix", 8, 1, 32028},
    {"m10_np4_keyval", 4, 1, 2574},        {"m11_np4_buddy", 4, 2, 2206},
    {"m13_np8_coll_2files", 8, 2, 840},   {"m17_np4_4files_zero", 4, 4, 522},
    {"p01_mapped_np2_6tasks_2files", 6, 2, 3300}, {"s13_100_tasks_meta1_3blocks", 100, 1, 9950},
};

static void the_data_are_those_of_the_formula(const struct shape *shape, const char *golden) {
    char name[100];
    snprintf(name, sizeof name, "%s.sion", shape->name);
    char *path = in_folder(golden, name);
    int ntasks, nfiles, *ranks = NULL, size, files, *mapping = NULL;
    sion_int64 *sizes = NULL;
    sion_int32 unit;
    int sid = sion_open(path, "br", &ntasks, &nfiles, &sizes, &unit, &ranks, NULL);
    CHECK(sid >= 0 && ntasks == shape->ntasks && nfiles == shape->nfiles);
    CHECK(sion_get_mapping(sid, &size, &mapping, &files) == 1 && files == nfiles);
    CHECK(size == (nfiles > 1 ? ntasks : -1));
    long long sum = 0;
    for (int rank = ntasks - 1; rank >= 0; rank--) {
        CHECK(sion_seek(sid, rank, 0, 0) == 1);
        if (sion_get_keyval_mode(sid) == SION_KEYVAL_INLINE) {
            sum += read_records(sid, ranks[rank]);
        } else {
            long long bytes = read_stream(sid, ranks[rank]);
            CHECK(sion_get_bytes_read(sid) == bytes);
            sum += bytes;
        }
        CHECK(nfiles == 1 || (mapping[2 * rank] >= 0 && mapping[2 * rank] < nfiles));
        CHECK(nfiles == 1 || ranks[rank] == rank);
    }
    CHECK(sum == shape->bytes);
    sion_io_stat_t *stat = sion_get_io_info(sid);
    CHECK(stat != NULL && stat->nfiles == nfiles);
    for (int file = 0; file < nfiles; file++) {
        sum -= (long long)stat->sizes[file];
    }
    CHECK(sum == 0 && sion_free_io_info(stat) == 1);
    CHECK(sion_close(sid) == 1);
    for (int rank = 0; rank < ntasks; rank++) {
        sion_int64 chunksize;
        int only = rank;
        sid = sion_open_rank(path, "br", &chunksize, &unit, &only, NULL);
        CHECK(sid >= 0 && chunksize == sizes[rank]);
        if (sion_get_keyval_mode(sid) == SION_KEYVAL_NONE) {
            sum += read_stream(sid, ranks[rank]);
        } else {
            sum += read_records(sid, ranks[rank]);
        }
        CHECK(sion_close(sid) == 1);
    }
    CHECK(sum == shape->bytes);
    free(path);
    free(ranks);
    free(sizes);
}

/* Every prefix of a file, and every byte of its metadata with other values, is read or refused. */
static void damaged_files_do_no_harm(const char *golden, size_t step) {
    char *path = in_folder(golden, "s02_three_unequal_noncontig.sion");
    size_t len;
    unsigned char *bytes = bytes_of(path, &len);
    int opened = 0;
    for (size_t i = 0; i < len + 1124 + 100; i += step) {
        int is_cut = i < len;
        size_t at = is_cut ? i : i - len < 1124 ? i - len : len - 1 - (i - len - 1124);
        FILE *file = fopen("damaged.sion", "w");
        unsigned char old = bytes[at];
        if (!is_cut) {
            bytes[at] ^= at % 3 == 0 ? 0x80 : 0xff;
        }
        CHECK(file != NULL && fwrite(bytes, 1, is_cut ? i : len, file) == (is_cut ? i : len));
        CHECK(fclose(file) == 0);
        bytes[at] = old;
        int ntasks, nfiles;
        sion_int32 unit;
        char buffer[MOST];
        int sid = sion_open("damaged.sion", "r", &ntasks, &nfiles, NULL, &unit, NULL, NULL);
        for (int rank = 0; sid >= 0 && rank < ntasks && rank < 5; rank++) {
            if (sion_seek(sid, rank, 0, 0) == 1) {
                for (int turn = 0; turn < 10 && !sion_feof(sid); turn++) {
                    sion_int64 left = sion_bytes_avail_in_block(sid);
                    sion_fread(buffer, 1, left < MOST ? (size_t)left : MOST, sid);
                }
            }
        }
        if (sid >= 0) {
            opened++;
            CHECK(sion_close(sid) == 1);
        }
    }
    CHECK(opened > (int)(100 / step));
    free(bytes);
    free(path);
}

int main(int argc, char **argv) {
    CHECK(argc == 4 && chdir(argv[1]) == 0);
    int count = 1;
    for (size_t i = 0; i < sizeof WRITTEN / sizeof *WRITTEN; i++, count++) {
        the_bytes_are_those_of_sionlib(&WRITTEN[i], argv[2]);
    }
    for (size_t i = 0; i < sizeof READ / sizeof *READ; i++, count++) {
        the_data_are_those_of_the_formula(&READ[i], argv[2]);
    }
    damaged_files_do_no_harm(argv[2], strtoul(argv[3], NULL, 10));
    printf("%d tests\n", count);
    return 0;
}
