/* sion.h: results, errors, positions, FILE * and descriptors, and the bytes of the files. */
#include <fcntl.h>
#include <sion.h>
#include <unistd.h>

#include "check.h"

enum { UNIT = 512 };

/* A new set of `ntasks` tasks with chunks of 512 bytes, and global ranks from 10 on. */
static int make(char *path, const char *mode, int ntasks, FILE **file) {
    int nfiles = 1, ranks[8], *ranks_at = ranks;
    sion_int64 sizes[8], *sizes_at = sizes;
    sion_int32 unit = UNIT;
    for (int task = 0; task < ntasks; task++) {
        ranks[task] = 10 + task;
        sizes[task] = 500;
    }
    return sion_open(path, mode, &ntasks, &nfiles, &sizes_at, &unit, &ranks_at, file);
}

static int open_to_read(char *path, const char *mode, FILE **file) {
    int ntasks, nfiles, sid;
    sion_int32 unit;
    sid = sion_open(path, mode, &ntasks, &nfiles, NULL, &unit, NULL, file);
    CHECK(sid >= 0 && nfiles == 1 && unit == UNIT);
    return sid;
}

static void write_bytes(int sid, int value, size_t len) {
    char bytes[UNIT];
    memset(bytes, value, len);
    CHECK(sion_fwrite(bytes, 1, len, sid) == len);
}

/* The next bytes are so many of this value. */
static void expect(int sid, int value, size_t len) {
    char bytes[UNIT];
    CHECK(!sion_feof(sid));
    CHECK(sion_bytes_avail_in_block(sid) >= (sion_int64)len);
    CHECK(sion_fread(bytes, 1, len, sid) == len);
    for (size_t i = 0; i < len; i++) {
        CHECK(bytes[i] == (char)value);
    }
}

static void expect_location(int sid, int block, sion_int64 position, int blocks) {
    int current, chunks;
    sion_int64 at, *lens;
    CHECK(sion_get_current_location(sid, &current, &at, &chunks, &lens) == 1);
    CHECK(current == block && at == position && chunks == blocks);
}

static void records_stay_in_one_chunk(const char *folder) {
    char *path = in_folder(folder, "records.sion"), byte;
    int sid = make(path, "bw", 2, NULL);
    CHECK(sid == 0);
    write_bytes(sid, 'a', 300);
    CHECK(sion_bytes_avail_in_chunk(sid) == 212);
    expect_location(sid, 0, 300, 1);
    write_bytes(sid, 'b', 300);
    expect_location(sid, 1, 300, 2);
    CHECK(sion_fwrite(path, 1, 513, sid) == 0);
    CHECK(sion_fwrite(path, 1, 0, sid) == 0 && sion_fwrite(path, 0, 5, sid) == 0);
    CHECK(sion_fread(&byte, 1, 1, sid) == 0 && sion_get_bytes_read(sid) == -1);
    CHECK(sion_get_bytes_written(sid) == 600);
    CHECK(sion_seek(sid, 1, SION_CURRENT_BLK, SION_CURRENT_POS) == 1);
    CHECK(sion_get_bytes_written(sid) == 0);
    for (int i = 0; i < 150; i++) { /* SIONlib writes outside its memory from the 101st chunk on */
        write_bytes(sid, i % 100, 400);
    }
    CHECK(sion_ensure_free_space(sid, 513) == 0 && sion_ensure_free_space(sid, 112) == 1);
    expect_location(sid, 149, 400, 150);
    CHECK(sion_ensure_free_space(sid, 113) == 1);
    expect_location(sid, 150, 0, 151);
    CHECK(sion_seek(sid, 0, SION_CURRENT_BLK, SION_CURRENT_POS) == 1);
    expect_location(sid, 1, 300, 2);
    CHECK(sion_seek(sid, 2, SION_CURRENT_BLK, SION_CURRENT_POS) == 0);
    CHECK(sion_close(sid) == 1 && sion_close(sid) == 0);

    sid = open_to_read(path, "br", NULL);
    expect(sid, 'a', 300);
    CHECK(sion_bytes_avail_in_block(sid) == 0 && !sion_feof(sid));
    expect_location(sid, 1, 0, 2);
    CHECK(sion_fread(&byte, 1, 301, sid) == 0);
    expect(sid, 'b', 300);
    CHECK(sion_get_bytes_read(sid) == 600 && sion_get_bytes_written(sid) == -1);
    CHECK(sion_feof(sid) == 1 && sion_fread(&byte, 1, 1, sid) == 0);
    CHECK(sion_seek(sid, 1, SION_CURRENT_BLK, SION_CURRENT_POS) == 1);
    for (int i = 0; i < 150; i++) {
        expect(sid, i % 100, 400);
    }
    CHECK(sion_feof(sid) == 1);
    CHECK(sion_close(sid) == 1);

    int rank = 1; /* SIONlib reads only as many chunks as task 0 has */
    sion_int64 size = 0;
    sion_int32 unit = 0;
    sid = sion_open_rank(path, "rb", &size, &unit, &rank, NULL);
    CHECK(sid >= 0 && size == UNIT && unit == UNIT);
    CHECK(sion_seek(sid, 0, 0, 0) == 0);
    CHECK(sion_seek(sid, SION_CURRENT_RANK, 149, 399) == 1);
    expect(sid, 149 % 100, 1);
    CHECK(sion_close(sid) == 1);
    CHECK(sion_open_rank(path, "bw", &size, &unit, &rank, NULL) == -1);
    rank = 2;
    CHECK(sion_open_rank(path, "br", &size, &unit, &rank, NULL) == -1);
    CHECK_TEXT("no rank");
    free(path);
}

static void positions_are_found_and_others_refused(const char *folder) {
    char *path = in_folder(folder, "positions.sion");
    int sid = make(path, "w", 1, NULL);
    write_bytes(sid, 'a', 400);
    write_bytes(sid, 'b', 400);
    CHECK(sion_ensure_free_space(sid, UNIT) == 1);
    write_bytes(sid, 'c', 100);
    CHECK(sion_close(sid) == 1);
    sid = open_to_read(path, "r", NULL);
    const int good[][4] = {
        {SION_ABSOLUTE_POS, 0, 0, 0},     {SION_ABSOLUTE_POS, 400, 0, 400},
        {SION_ABSOLUTE_POS, 401, 1, 1},   {SION_ABSOLUTE_POS, 900, 2, 100},
        {SION_END_POS, 0, 2, 100},        {SION_END_POS, -100, 2, 0},
        {SION_END_POS, -101, 1, 399},     {SION_END_POS, -900, 0, 0},
        {1, 17, 1, 17},                   {SION_CURRENT_BLK, 400, 1, 400},
        {0, SION_CURRENT_POS, 0, 400},    {SION_CURRENT_BLK, SION_CURRENT_POS, 0, 400},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK(sion_seek(sid, SION_CURRENT_RANK, good[i][0], good[i][1]) == 1);
        expect_location(sid, good[i][2], good[i][3], 3);
        CHECK(sion_get_bytes_read(sid) == 400 * good[i][2] + good[i][3]);
        CHECK(sion_get_position(sid) % UNIT == good[i][3]);
    }
    const int wrong[][2] = {{SION_ABSOLUTE_POS, 901}, {SION_ABSOLUTE_POS, -1}, {SION_END_POS, 1},
                            {SION_END_POS, -901},     {3, 0},                  {-1, 0},
                            {2, 101},                 {0, -1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(sion_seek(sid, SION_CURRENT_RANK, wrong[i][0], wrong[i][1]) == 0);
        expect_location(sid, 0, 400, 3);
    }
    CHECK(sion_close(sid) == 1);
    sid = make(path, "w", 1, NULL);
    CHECK(remove(path) == 0 && sion_close(sid) == 0);
    CHECK_TEXT("was removed");
    CHECK(sion_close(sid) == 0); /* there is nothing to try again */
    CHECK(strstr(striae_last_error(), "was removed") == NULL);
    free(path);
}

static void the_program_writes_and_reads_with_stdio(const char *folder) {
    char *path = in_folder(folder, "stdio.sion"), bytes[UNIT];
    FILE *file = NULL;
    int sid = make(path, "bw", 2, &file);
    CHECK(sid >= 0 && file != NULL && sion_get_fp(sid) == file && sion_get_fd(sid) == -1);
    CHECK(sion_ensure_free_space(sid, 200) == 1);
    CHECK(fprintf(file, "%0200d", 1) == 200);
    CHECK(sion_get_bytes_written(sid) == 200 && sion_bytes_avail_in_block(sid) == 312);
    write_bytes(sid, 'x', 100); /* calls of both kinds, in any order */
    CHECK(fputc('y', file) == 'y');
    CHECK(sion_seek_fp(sid, 1, SION_CURRENT_BLK, SION_CURRENT_POS, &file) == 1);
    CHECK(fputs("other", file) >= 0);
    CHECK(sion_seek(sid, 0, SION_CURRENT_BLK, SION_CURRENT_POS) == 1);
    expect_location(sid, 0, 301, 1);
    CHECK(sion_ensure_free_space(sid, 300) == 1);
    CHECK(fprintf(file, "%0300d", 2) == 300 && sion_get_bytes_written(sid) == 601);
    CHECK(sion_optimize_fp_buffer(sid) == 1);
    CHECK(fputs("end", file) >= 0); /* is in no buffer of ours when the set is closed */
    CHECK(sion_close(sid) == 1);

    sid = open_to_read(path, "br", &file);
    CHECK(fread(bytes, 1, 200, file) == 200 && bytes[199] == '1');
    CHECK(sion_get_bytes_read(sid) == 200 && sion_bytes_avail_in_block(sid) == 101);
    expect(sid, 'x', 100);
    CHECK(fgetc(file) == 'y' && !sion_feof(sid));
    CHECK(fread(bytes, 1, 303, file) == 303 && memcmp(bytes + 299, "2end", 4) == 0);
    CHECK(sion_feof(sid) == 1);
    CHECK(sion_seek_fp(sid, 1, SION_CURRENT_BLK, SION_CURRENT_POS, &file) == 1);
    CHECK(fread(bytes, 1, 5, file) == 5 && memcmp(bytes, "other", 5) == 0);
    CHECK(sion_feof(sid) == 1 && sion_close(sid) == 1);

    sid = make(path, "bw", 2, &file);
    CHECK(fseek(file, 3 * UNIT, SEEK_CUR) == 0 && fputc('z', file) == 'z');
    CHECK(sion_ensure_free_space(sid, 1) == 0);
    CHECK_TEXT("which is not in chunk 0");
    write_bytes(sid, 'a', 1);
    CHECK(sion_close(sid) == 1);
    free(path);
}

static void the_program_writes_and_reads_with_descriptors(const char *folder) {
    char *path = in_folder(folder, "posix.sion"), bytes[8];
    FILE *file = stdin;
    int sid = make(path, "bw,posix", 1, &file);
    CHECK(sid >= 0 && file == NULL && sion_get_fp(sid) == NULL);
    int fd = sion_get_fd(sid);
    CHECK(fd >= 0 && write(fd, "12345678", 8) == 8);
    write_bytes(sid, 'x', 8);
    CHECK(sion_get_bytes_written(sid) == 16 && write(fd, "87654321", 8) == 8);
    CHECK(sion_close(sid) == 1);
    sid = open_to_read(path, "br,posix", &file);
    fd = sion_get_fd(sid);
    CHECK(read(fd, bytes, 8) == 8 && memcmp(bytes, "12345678", 8) == 0);
    expect(sid, 'x', 8);
    CHECK(read(fd, bytes, 8) == 8 && memcmp(bytes, "87654321", 8) == 0);
    CHECK(sion_feof(sid) == 1 && sion_close(sid) == 1);
    free(path);
}

static void bytes_are_replaced(const char *folder) {
    char *path = in_folder(folder, "replaced.sion");
    int sid = make(path, "w", 1, NULL);
    write_bytes(sid, 'a', 400);
    write_bytes(sid, 'b', 400);
    CHECK(sion_seek(sid, 0, 0, 0) == 1);
    write_bytes(sid, 'A', 10);
    expect_location(sid, 0, 10, 2);
    CHECK(sion_seek(sid, 0, SION_ABSOLUTE_POS, 395) == 1);
    CHECK(sion_fwrite(path, 1, 6, sid) == 0); /* a chunk that is not the last one cannot grow */
    CHECK_TEXT("cannot grow");
    CHECK(sion_seek(sid, 0, SION_END_POS, -10) == 1);
    write_bytes(sid, 'B', 30);
    CHECK(sion_get_bytes_written(sid) == 820);
    expect_location(sid, 1, 420, 2);
    CHECK(sion_seek(sid, 0, 0, 20) == 1); /* bytes that were written before must not come later */
    CHECK(fputs("CCC", sion_get_fp(sid)) >= 0);
    CHECK(sion_close(sid) == 1);
    sid = open_to_read(path, "r", NULL);
    expect(sid, 'A', 10);
    expect(sid, 'a', 10);
    expect(sid, 'C', 3);
    expect(sid, 'a', 377);
    expect(sid, 'b', 390);
    expect(sid, 'B', 30);
    CHECK(sion_feof(sid) == 1 && sion_close(sid) == 1);
    free(path);
}

static void a_flush_makes_a_set_that_can_be_read(const char *folder) {
    char *path = in_folder(folder, "flushed.sion");
    int ntasks, nfiles, reader, sid = make(path, "w", 1, NULL);
    sion_int32 unit;
    write_bytes(sid, 'a', 100);
    CHECK(sion_open(path, "r", &ntasks, &nfiles, NULL, &unit, NULL, NULL) == -1);
    CHECK_TEXT("flushed.sion");
    CHECK(sion_flush(sid) == 1);
    write_bytes(sid, 'b', 100);
    reader = open_to_read(path, "r", NULL);
    expect(reader, 'a', 100);
    CHECK(sion_feof(reader) == 1 && sion_flush(reader) == 0);
    int twin = sion_dup(reader, SION_DUP_ALL, 0, 0);
    CHECK(twin >= 0 && twin != reader && sion_feof(twin) == 1);
    CHECK(sion_seek(twin, 0, 0, 50) == 1 && sion_feof(reader) == 1);
    CHECK(sion_dedup(reader) == 0 && sion_close(reader) == 1);
    expect(twin, 'a', 50);
    CHECK(sion_dedup(twin) == 1 && sion_dedup(twin) == 0 && sion_dup(sid, -201, 0, 0) == -1);
    CHECK(sion_close(sid) == 1);
    sid = open_to_read(path, "r", NULL);
    expect(sid, 'a', 100);
    expect(sid, 'b', 100);
    CHECK(sion_close(sid) == 1);
    free(path);
}

static void locations_are_those_of_the_file(const char *folder) {
    char *path = in_folder(folder, "locations.sion");
    int sid = make(path, "w,endianness=big", 3, NULL), count, chunks, files;
    for (int i = 0; i < 3; i++) {
        write_bytes(sid, 'a', 400);
    }
    CHECK(sion_seek(sid, 2, SION_CURRENT_BLK, SION_CURRENT_POS) == 1);
    write_bytes(sid, 'c', 24);
    CHECK(sion_close(sid) == 1);

    int ntasks = 0, nfiles = 0, *ranks = NULL;
    sion_int64 *sizes = NULL, skip, start, *stored, *globalranks, *counts, *used;
    sion_int32 unit = 0, *mapping = NULL;
    sid = sion_open(path, "r", &ntasks, &nfiles, &sizes, &unit, &ranks, NULL);
    CHECK(sid >= 0 && ntasks == 3 && nfiles == 1 && unit == UNIT);
    CHECK(ranks[0] == 10 && ranks[2] == 12 && sizes[0] == UNIT && sizes[2] == UNIT);
    free(ranks);
    free(sizes);
    CHECK(sion_get_locations(sid, &count, &chunks, &skip, &start, &stored, &globalranks, &counts,
                             &used) == 1);
    CHECK(count == 3 && chunks == 3 && skip == 3 * UNIT);
    CHECK(start == 3 * UNIT + 3 * 3 * UNIT); /* META1 of 1088 + 16 * 3 bytes takes three units */
    CHECK(stored[1] == UNIT && globalranks[1] == 11);
    CHECK(counts[0] == 3 && counts[1] == 1 && counts[2] == 1);
    const sion_int64 expected[9] = {400, 0, 24, 400, 0, 0, 400, 0, 0};
    CHECK(memcmp(used, expected, sizeof expected) == 0);
    sion_int64 *used_again, *lens, *lens_again, at;
    CHECK(sion_get_locations(sid, &count, &chunks, &skip, &start, &stored, &globalranks, &counts,
                             &used_again) == 1 && used_again == used);
    CHECK(sion_get_current_location(sid, &count, &at, &chunks, &lens) == 1 && chunks == 3);
    CHECK(sion_seek(sid, 2, 0, 0) == 1);
    CHECK(sion_get_current_location(sid, &count, &at, &chunks, &lens_again) == 1 && chunks == 1);
    CHECK(lens_again == lens && lens[0] == 24);
    size_t len;
    unsigned char *bytes = bytes_of(path, &len);
    sion_int64 first;
    memcpy(&first, bytes + start, 8);
    CHECK(memcmp(bytes, "sion", 4) == 0 && first == 3 && bytes[4 * UNIT + 24 + UNIT] == 0);
    CHECK(memcmp(bytes + 5 * UNIT, "cccc", 4) == 0 && bytes[5 * UNIT + 24] == 0);
    free(bytes);
    CHECK(sion_get_mapping(sid, &count, &mapping, &files) == 1 && count == -1 && files == 1);
    CHECK(sion_get_number_of_files(sid) == 1 && sion_get_filenumber(sid) >= 0);
    CHECK(sion_get_file_endianness(sid) == 1);
    CHECK(sion_endianness_swap_needed(sid) == (sion_get_endianness() != 1));
    CHECK(sion_is_serial_opened(sid) == 1 && sion_using_hints(sid) == 0);
    CHECK(sion_get_sizeof(sid, &count, &files) == 1 && count > 0 && files >= 1);
    CHECK(sion_seek(sid, 2, 0, 20) == 1);
    sion_int64 *positions, *blocks;
    CHECK(sion_get_current_locations(sid, &count, &positions, &blocks) == 1 && count == 3);
    CHECK(positions[0] == 3 * UNIT && positions[2] == 5 * UNIT + 20 && blocks[2] == 0);
    sion_io_stat_t *stat = sion_get_io_info(sid);
    CHECK(stat != NULL && stat->nfiles == 1 && strcmp(stat->names[0], path) == 0);
    CHECK(stat->sizes[0] == 1224 && stat->roles[0] == SION_ROLE_READER);
    CHECK(sion_free_io_info(stat) == 1 && sion_free_io_info(NULL) == 0);
    stat = sion_get_io_info_by_spec(sid, SION_ROLE_WRITER, SION_GET_IO_INFO_FLAG_NONE);
    CHECK(stat != NULL && stat->nfiles == 0 && sion_free_io_info(stat) == 1);
    CHECK(sion_close(sid) == 1);
    free(path);
}

static void wrong_arguments_are_refused(const char *folder) {
    char *path = in_folder(folder, "none.sion"), byte = 0;
    int ntasks = 1, nfiles = 1, rank = 0, *ranks = NULL;
    sion_int64 size = 1, *sizes = NULL;
    sion_int32 unit = -1;
    CHECK(sion_open(path, "r", &ntasks, &nfiles, &sizes, &unit, &ranks, NULL) == -1);
    CHECK_TEXT("none.sion");
    CHECK(sion_open(NULL, "r", &ntasks, &nfiles, &sizes, &unit, &ranks, NULL) == -1);
    CHECK(sion_open(path, "w", &ntasks, &nfiles, &sizes, &unit, &ranks, NULL) == -1);
    CHECK(sion_open(path, "w", &ntasks, &nfiles, NULL, &unit, NULL, NULL) == -1);
    ntasks = -1;
    sizes = &size;
    ranks = &rank;
    CHECK(sion_open(path, "w", &ntasks, &nfiles, &sizes, &unit, &ranks, NULL) == -1);
    ntasks = 1;
    size = -5;
    CHECK(sion_open(path, "w", &ntasks, &nfiles, &sizes, &unit, &ranks, NULL) == -1);
    CHECK_TEXT("-5");
    CHECK(access(path, F_OK) != 0 && _sion_stat_file(path) == 0);
    for (int sid = -1; sid < 100; sid += 50) {
        CHECK(sion_close(sid) == 0 && sion_feof(sid) == -1 && sion_flush(sid) == 0);
        CHECK(sion_seek(sid, 0, 0, 0) == 0 && sion_fwrite(&byte, 1, 1, sid) == 0);
        CHECK(sion_fread(&byte, 1, 1, sid) == 0 && sion_get_fp(sid) == NULL);
        CHECK(sion_bytes_avail_in_block(sid) == -1 && sion_ensure_free_space(sid, 1) == 0);
        CHECK(sion_get_number_of_files(sid) == -1 && sion_get_io_info(sid) == NULL);
        CHECK(sion_fwrite_key(&byte, 1, 1, 1, sid) == (size_t)-1);
        CHECK(sion_get_keyval_mode(sid) == SION_KEYVAL_UNKNOWN);
    }
    CHECK_TEXT("sid 99");
    int main_version, sub_version, patch, format;
    CHECK(sion_get_version(&main_version, &sub_version, &patch, &format) == 1);
    CHECK(main_version == 1 && sub_version == 7 && patch == 6 && format == 5);
    CHECK(sion_is_thread_safe() == 1 && sion_lock_user_callbacks_defined() == 0);
    free(path);
}

static void a_file_is_found_from_another_folder(const char *folder) {
    char here[4096], name[] = "here.sion";
    CHECK(getcwd(here, sizeof here) != NULL && chdir(folder) == 0);
    int sid = make(name, "bw", 1, NULL);
    CHECK(sid >= 0 && chdir("/") == 0);
    FILE *file = sion_get_fp(sid);
    CHECK(file != NULL && fwrite("stdio", 1, 5, file) == 5);
    CHECK(sion_close(sid) == 1 && chdir(folder) == 0);
    sid = open_to_read(name, "br,posix", NULL);
    int dup = sion_dup(sid, SION_DUP_ALL, 0, 0);
    CHECK(dup >= 0 && chdir("/") == 0);
    char bytes[5];
    CHECK(read(sion_get_fd(sid), bytes, 5) == 5 && memcmp(bytes, "stdio", 5) == 0);
    CHECK(read(sion_get_fd(dup), bytes, 5) == 5 && memcmp(bytes, "stdio", 5) == 0);
    CHECK(sion_dedup(dup) == 1 && sion_close(sid) == 1 && chdir(here) == 0);
}

static void values_are_swapped(void) {
    unsigned char bytes[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, to[12];
    sion_swap(to, bytes, 4, 3, 0);
    CHECK(memcmp(to, bytes, 12) == 0);
    sion_swap(to, bytes, 4, 3, 1);
    CHECK(memcmp(to, "\4\3\2\1\10\7\6\5\14\13\12\11", 12) == 0);
    sion_swap(bytes, bytes, 2, 6, 1);
    CHECK(memcmp(bytes, "\2\1\4\3\6\5\10\7\12\11\14\13", 12) == 0);
    sion_swap(bytes, NULL, 2, 6, 1);
    sion_swap(bytes, to, -2, 6, 1);
    sion_swap(bytes, to, 0, 6, 1);
    CHECK(memcmp(bytes, "\2\1\4\3\6\5\10\7\12\11\14\13", 12) == 0);
}

int main(int argc, char **argv) {
    CHECK(argc == 2);
    records_stay_in_one_chunk(argv[1]);
    positions_are_found_and_others_refused(argv[1]);
    the_program_writes_and_reads_with_stdio(argv[1]);
    the_program_writes_and_reads_with_descriptors(argv[1]);
    bytes_are_replaced(argv[1]);
    a_flush_makes_a_set_that_can_be_read(argv[1]);
    locations_are_those_of_the_file(argv[1]);
    wrong_arguments_are_refused(argv[1]);
    a_file_is_found_from_another_folder(argv[1]);
    values_are_swapped();
    puts("10 tests");
    return 0;
}
