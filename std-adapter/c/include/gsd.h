/*
 * gsd.h - read and write GSD files, over striae.
 *
 * The functions, types and constants of gsd 5.0.1: programs for its gsd.h are compiled with this
 * header as they are, and linked with libstriae_c. Functions that gsd does not have start with
 * striae_. README.md says what differs.
 *
 * A file is a series of frames, and a frame has named chunks: arrays of N rows and M columns.
 *
 * Several threads may use different handles. On one handle, several threads may find and read at
 * once; one thread at a time writes, and nothing else runs meanwhile. An error never leaves a
 * part of a change behind, so that the call can be repeated, but for gsd_write_chunk with a name
 * that the frame has, and for gsd_create and gsd_create_and_open over an existing file, which is
 * emptied first.
 *
 * License: MIT or Apache-2.0.
 */
#ifndef STRIAE_GSD_H
#define STRIAE_GSD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Type of the values of a chunk. */
enum gsd_type {
    GSD_TYPE_UINT8 = 1,
    GSD_TYPE_UINT16 = 2,
    GSD_TYPE_UINT32 = 3,
    GSD_TYPE_UINT64 = 4,
    GSD_TYPE_INT8 = 5,
    GSD_TYPE_INT16 = 6,
    GSD_TYPE_INT32 = 7,
    GSD_TYPE_INT64 = 8,
    GSD_TYPE_FLOAT = 9,
    GSD_TYPE_DOUBLE = 10,
    GSD_TYPE_CHARACTER = 11 /* a byte of UTF-8 text; in files of layer 2 only */
};

/* How a file is opened. */
enum gsd_open_flag {
    GSD_OPEN_READWRITE = 1,
    GSD_OPEN_READONLY = 2,
    GSD_OPEN_APPEND = 3 /* as READWRITE; the file may also be read */
};

/* What functions return. striae_last_error() has the reason as a text, with file and offset. */
enum gsd_error {
    GSD_SUCCESS = 0,
    GSD_ERROR_IO = -1, /* an error of the system: see errno */
    GSD_ERROR_INVALID_ARGUMENT = -2,
    GSD_ERROR_NOT_A_GSD_FILE = -3,
    GSD_ERROR_INVALID_GSD_FILE_VERSION = -4,
    GSD_ERROR_FILE_CORRUPT = -5,
    GSD_ERROR_MEMORY_ALLOCATION_FAILED = -6,
    GSD_ERROR_NAMELIST_FULL = -7, /* a file has at most 65535 names */
    GSD_ERROR_FILE_MUST_BE_WRITABLE = -8,
    GSD_ERROR_FILE_MUST_BE_READABLE = -9 /* never returned: all files can be read */
};

enum { GSD_NAME_SIZE = 64 };      /* bytes of a label with its NUL, and of a name in layer 1 */
enum { GSD_RESERVED_BYTES = 80 }; /* bytes at the end of a header */

/* The first 256 bytes of a file. Programs only read it. */
struct gsd_header {
    uint64_t magic;
    uint64_t index_location;
    uint64_t index_allocated_entries;
    uint64_t namelist_location;
    uint64_t namelist_allocated_entries; /* in units of 64 bytes */
    uint32_t schema_version;             /* see gsd_make_version */
    uint32_t gsd_version;
    char application[GSD_NAME_SIZE];
    char schema[GSD_NAME_SIZE];
    char reserved[GSD_RESERVED_BYTES]; /* striae keeps its commit record here */
};

/* Where a chunk is. Programs only read it. */
struct gsd_index_entry {
    uint64_t frame;
    uint64_t N;       /* rows */
    int64_t location; /* offset of the first byte in the file */
    uint32_t M;       /* columns */
    uint16_t id;      /* number of the name */
    uint8_t type;     /* enum gsd_type */
    uint8_t flags;    /* 0 */
};

/*
 * An open file, in memory of the caller. The fields that are named here are where gsd 5.0.1 has
 * them, and the structure is as long as gsd's. Programs only read them. fd is a descriptor of the
 * file to ask about it (fstat); do not write to it or close it.
 */
struct gsd_handle {
    int fd;
    struct gsd_header header;
    void *striae_state;
    uint64_t striae_unused[20];
    uint64_t buffer_frame; /* number of the frame that is written */
    uint64_t file_frame;   /* number of flushed frames */
    int64_t file_size;     /* at the last flush */
    enum gsd_open_flag open_flags;
    uint64_t striae_unused_map[2];
    uint64_t pending_index_entries; /* chunks of the frame that is written */
    uint64_t maximum_write_buffer_size;
};

/* A version as files have it: major << 16 | minor. */
uint32_t gsd_make_version(unsigned int major, unsigned int minor);

/*
 * Makes an empty file. An existing file is emptied and used: its inode and links stay. Labels are
 * UTF-8 texts, of which the first 63 bytes are kept.
 * Errors: IO, INVALID_ARGUMENT for a null pointer.
 */
int gsd_create(const char *fname, const char *application, const char *schema,
               uint32_t schema_version);

/*
 * Makes an empty file and opens it. If exclusive_create is not 0, the file must not exist.
 * Errors: as gsd_create; FILE_MUST_BE_WRITABLE for GSD_OPEN_READONLY.
 */
int gsd_create_and_open(struct gsd_handle *handle, const char *fname, const char *application,
                        const char *schema, uint32_t schema_version, enum gsd_open_flag flags,
                        int exclusive_create);

/*
 * Opens a file. A handle that never writes does not change the file in any way.
 * Errors: IO, NOT_A_GSD_FILE, INVALID_GSD_FILE_VERSION, FILE_CORRUPT, INVALID_ARGUMENT. The handle
 * is closed then.
 */
int gsd_open(struct gsd_handle *handle, const char *fname, enum gsd_open_flag flags);

/* Removes all frames and names. Errors: FILE_MUST_BE_WRITABLE, IO. */
int gsd_truncate(struct gsd_handle *handle);

/*
 * Flushes all ended frames and closes the file. A frame that was not ended is dropped. After an
 * error the handle is still open. A forked child that has ended no frame leaves what its parent has
 * not flushed to the parent; after one, all frames of the handle are the child's, and only one of
 * both may write. Errors: IO; INVALID_ARGUMENT for a closed handle.
 */
int gsd_close(struct gsd_handle *handle);

/* Ends the frame. The next flush makes it part of the file. Errors: FILE_MUST_BE_WRITABLE, IO. */
int gsd_end_frame(struct gsd_handle *handle);

/*
 * Makes all ended frames part of the file, in one step, also if the machine crashes meanwhile.
 * Pointers that gsd_find_chunk and gsd_find_matching_chunk_name have returned end here.
 * Errors: FILE_MUST_BE_WRITABLE, IO.
 */
int gsd_flush(struct gsd_handle *handle);

/*
 * Adds a chunk to the frame. A second chunk of one name replaces the first one, which is gone from
 * the frame also if there is no room for the second one (IO). Names are UTF-8
 * and of any length; a file of layer 1 keeps the first 63 bytes. N may be 0, and data null then.
 * Errors: INVALID_ARGUMENT (M is 0, flags are not 0, no such type, an empty name, a text in a file
 * of layer 1), FILE_MUST_BE_WRITABLE, NAMELIST_FULL, MEMORY_ALLOCATION_FAILED, IO.
 */
int gsd_write_chunk(struct gsd_handle *handle, const char *name, enum gsd_type type, uint64_t N,
                    uint32_t M, uint8_t flags, const void *data);

/*
 * Finds a chunk of a flushed frame. The pointer is valid until the next gsd_flush, gsd_truncate,
 * gsd_upgrade or gsd_close of this handle. Null: there is none, or its entry is damaged.
 */
const struct gsd_index_entry *gsd_find_chunk(struct gsd_handle *handle, uint64_t frame,
                                             const char *name);

/*
 * Reads all values of a chunk: N * M values of its type. A chunk without rows reads nothing.
 * Errors: INVALID_ARGUMENT for a null pointer, FILE_CORRUPT, IO.
 */
int gsd_read_chunk(struct gsd_handle *handle, void *data, const struct gsd_index_entry *chunk);

/* Number of flushed frames; 0 for a null pointer. */
uint64_t gsd_get_nframes(struct gsd_handle *handle);

/* Bytes of a value; 0 if there is no such type. */
size_t gsd_sizeof_type(enum gsd_type type);

/*
 * The next name that starts with match, after prev, which was returned before, or is null to begin.
 * Null if there is no other one. Pointers are valid as those of gsd_find_chunk.
 */
const char *gsd_find_matching_chunk_name(struct gsd_handle *handle, const char *match,
                                         const char *prev);

/*
 * Turns a file of layer 1 into one of layer 2.1. At any time, the file is one or the other.
 * Errors: INVALID_ARGUMENT if the file was opened to read or has unflushed chunks; IO.
 */
int gsd_upgrade(struct gsd_handle *handle);

/* Bytes that are gathered before a write, 1 MiB by default. Errors: INVALID_ARGUMENT for 0. */
uint64_t gsd_get_maximum_write_buffer_size(struct gsd_handle *handle);
int gsd_set_maximum_write_buffer_size(struct gsd_handle *handle, uint64_t size);

/*
 * Of gsd 3: the number of chunks after which gsd_end_frame also flushes, at which pointers of
 * gsd_find_chunk end. By default it never does,
 * as since gsd 4. Errors: INVALID_ARGUMENT for 0.
 */
uint64_t gsd_get_index_entries_to_buffer(struct gsd_handle *handle);
int gsd_set_index_entries_to_buffer(struct gsd_handle *handle, uint64_t number);

/* ---- what gsd does not have ---- */

/* Options of a file. Set them by striae_gsd_options_init, then change some. */
struct striae_gsd_options {
    size_t size;    /* of this structure */
    uint64_t align; /* of chunks in a new file, in bytes; a power of two; 1 */
    int checksums;  /* whether a new file has checksums of its chunks; 0 */
    int checked;    /* whether what is read is compared with its checksum; 0 */
    int durable;    /* whether a flush survives a power cut; 1 */
    int one_sync;   /* 1: a flush takes one sync in place of two where possible; -1: it does not;
                       0: as in the file, and not in a new one; 0 */
    int lock;       /* whether the first write fails if another writer with a lock has written:
                       GSD_ERROR_IO, errno EWOULDBLOCK; a writer without a lock is not seen; 0 */
};

/* Sets the options to what gsd does with a file of its own. */
void striae_gsd_options_init(struct striae_gsd_options *options);

/*
 * gsd_create_and_open and gsd_open with options. gsd reads and appends to all of these files. What
 * gsd has appended has no checksums and is not aligned, nor is what is written after that: only
 * striae_gsd_verify says so. After a power cut, gsd may not see the last one or two flushes of a
 * file with one_sync, and if it appends then, they are lost; this library has them.
 */
int striae_gsd_create_and_open(struct gsd_handle *handle, const char *fname,
                               const char *application, const char *schema,
                               uint32_t schema_version, enum gsd_open_flag flags,
                               int exclusive_create, const struct striae_gsd_options *options);
int striae_gsd_open(struct gsd_handle *handle, const char *fname, enum gsd_open_flag flags,
                    const struct striae_gsd_options *options);

/* What a check has found. */
struct striae_gsd_findings {
    uint64_t damages;  /* what makes the file wrong, or unreadable in part */
    uint64_t warnings; /* what is unusual, but loses nothing */
};

/*
 * Checks all of a file, and its data against their checksums, if there are any. The first damage
 * is the text of striae_last_error. findings may be null. Errors: IO. Damage is not an error.
 */
int striae_gsd_verify(const char *fname, struct striae_gsd_findings *findings);

/*
 * The reason of the last error of this thread: file, field, offset and value. Empty if there was
 * none. The text is valid until the next call of this library by this thread.
 */
const char *striae_last_error(void);

/*
 * For programs of gsd 3, where all that reads flushes first, and gsd_get_nframes counts all ended
 * frames: define STRIAE_GSD_3 before this header is included. So after gsd_end_frame, pointers that
 * were returned before end at the next of these calls that finds, reads or matches.
 */
uint64_t striae_gsd3_get_nframes(struct gsd_handle *handle);
const struct gsd_index_entry *striae_gsd3_find_chunk(struct gsd_handle *handle, uint64_t frame,
                                                     const char *name);
int striae_gsd3_read_chunk(struct gsd_handle *handle, void *data,
                           const struct gsd_index_entry *chunk);
const char *striae_gsd3_find_matching_chunk_name(struct gsd_handle *handle, const char *match,
                                                 const char *prev);
#ifdef STRIAE_GSD_3
#define gsd_get_nframes striae_gsd3_get_nframes
#define gsd_find_chunk striae_gsd3_find_chunk
#define gsd_read_chunk striae_gsd3_read_chunk
#define gsd_find_matching_chunk_name striae_gsd3_find_matching_chunk_name
#endif

#ifdef __cplusplus
}
#endif

#endif /* STRIAE_GSD_H */
