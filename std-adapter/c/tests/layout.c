/*
 * The structures of the headers are those of the library: sizes and offsets are compared with what
 * the library exports. The job also compiles this with the header of gsd itself.
 */
#include <gsd.h>
#ifdef STRIAE_GSD_H
#include <sion.h>
#endif
#include <stddef.h>

#include "check.h"

extern const size_t striae_gsd_layout[27];

#if UINTPTR_MAX == UINT64_MAX
/* What gsd 5.0.1 has on a 64-bit machine. */
_Static_assert(sizeof(struct gsd_handle) == 496, "gsd_handle");
_Static_assert(offsetof(struct gsd_handle, header) == 8, "header");
_Static_assert(offsetof(struct gsd_handle, open_flags) == 456, "open_flags");
#endif
_Static_assert(sizeof(struct gsd_header) == 256, "gsd_header");
_Static_assert(sizeof(struct gsd_index_entry) == 32, "gsd_index_entry");
_Static_assert(GSD_NAME_SIZE == 64 && GSD_RESERVED_BYTES == 80, "sizes");
_Static_assert(GSD_TYPE_UINT8 == 1 && GSD_TYPE_FLOAT == 9 && GSD_TYPE_CHARACTER == 11, "types");
_Static_assert(GSD_OPEN_READWRITE == 1 && GSD_OPEN_APPEND == 3, "flags");
_Static_assert(GSD_ERROR_IO == -1 && GSD_ERROR_FILE_MUST_BE_READABLE == -9, "errors");

static void gsd_has_the_layout(void) {
    const size_t expected[27] = {
        sizeof(struct gsd_header),
        offsetof(struct gsd_header, magic),
        offsetof(struct gsd_header, index_location),
        offsetof(struct gsd_header, index_allocated_entries),
        offsetof(struct gsd_header, namelist_location),
        offsetof(struct gsd_header, namelist_allocated_entries),
        offsetof(struct gsd_header, schema_version),
        offsetof(struct gsd_header, gsd_version),
        offsetof(struct gsd_header, application),
        offsetof(struct gsd_header, schema),
        offsetof(struct gsd_header, reserved),
        sizeof(struct gsd_index_entry),
        offsetof(struct gsd_index_entry, frame),
        offsetof(struct gsd_index_entry, N),
        offsetof(struct gsd_index_entry, location),
        offsetof(struct gsd_index_entry, M),
        offsetof(struct gsd_index_entry, id),
        offsetof(struct gsd_index_entry, type),
        offsetof(struct gsd_index_entry, flags),
        sizeof(struct gsd_handle),
        offsetof(struct gsd_handle, header),
        offsetof(struct gsd_handle, buffer_frame),
        offsetof(struct gsd_handle, file_frame),
        offsetof(struct gsd_handle, file_size),
        offsetof(struct gsd_handle, open_flags),
        offsetof(struct gsd_handle, pending_index_entries),
        offsetof(struct gsd_handle, maximum_write_buffer_size),
    };
    CHECK(memcmp(expected, striae_gsd_layout, sizeof expected) == 0);
}

#ifdef STRIAE_GSD_H
extern const size_t striae_gsd_options_layout[9];
extern const size_t striae_sion_key_stat_layout[4];
extern const size_t striae_sion_io_stat_layout[5];

static void the_others_have_the_layout(void) {
    const size_t options[9] = {
        sizeof(struct striae_gsd_options),
        offsetof(struct striae_gsd_options, size),
        offsetof(struct striae_gsd_options, align),
        offsetof(struct striae_gsd_options, checksums),
        offsetof(struct striae_gsd_options, checked),
        offsetof(struct striae_gsd_options, durable),
        offsetof(struct striae_gsd_options, one_sync),
        offsetof(struct striae_gsd_options, lock),
        sizeof(struct striae_gsd_findings),
    };
    CHECK(memcmp(options, striae_gsd_options_layout, sizeof options) == 0);
    const size_t key_stat[4] = {
        sizeof(sion_key_stat_t),
        offsetof(sion_key_stat_t, key),
        offsetof(sion_key_stat_t, num_blocks),
        offsetof(sion_key_stat_t, total_size),
    };
    CHECK(memcmp(key_stat, striae_sion_key_stat_layout, sizeof key_stat) == 0);
    const size_t io_stat[5] = {
        sizeof(sion_io_stat_t),
        offsetof(sion_io_stat_t, nfiles),
        offsetof(sion_io_stat_t, names),
        offsetof(sion_io_stat_t, sizes),
        offsetof(sion_io_stat_t, roles),
    };
    CHECK(memcmp(io_stat, striae_sion_io_stat_layout, sizeof io_stat) == 0);
    _Static_assert(sizeof(sion_int32) == 4 && sizeof(sion_int64) == 8, "sion_int");
}
#endif

int main(void) {
    gsd_has_the_layout();
#ifdef STRIAE_GSD_H
    the_others_have_the_layout();
#endif
    return 0;
}
