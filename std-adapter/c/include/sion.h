/*
 * sion.h - read and write SIONlib files in one process, over striae.
 *
 * The serial functions, types and constants of SIONlib 1.7.6: programs for its sion.h are compiled
 * with this header as they are, and linked with libstriae_c. Functions that SIONlib does not have
 * start with striae_. README.md says what differs.
 *
 * A set is one or several physical files with a stream for each task. The stream is in chunks of a
 * fixed size. A write or read of sion_fwrite and sion_fread is within one chunk.
 *
 * A set that is open has a number, its sid, from 0 on. Several threads may use one sid or several.
 * Unless stated otherwise, functions return 1 (SION_SUCCESS) or 0 (SION_NOT_SUCCESS). After an
 * error, there is a line on stderr, unless STRIAE_QUIET is in the environment;
 * striae_last_error() has it, too.
 *
 * License: MIT or Apache-2.0.
 */
#ifndef STRIAE_SION_H
#define STRIAE_SION_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- types and constants ---- */

#define sion_int32 int
#define sion_uint32 unsigned int
#define sion_int64 long long
#define sion_uint64 unsigned long long

/* Results. */
#define SION_SUCCESS 1
#define SION_NOT_SUCCESS 0
#define SION_STD_SUCCESS 0
#define SION_STD_NOT_SUCCESS 1
#define SION_SMALLEST_VALID_ID 0
#define SION_ID_UNDEF -1
#define SION_ID_NOT_VALID -1
#define SION_UNKNOWN -1
#define SION_AUTOMATIC -1
#define SION_SIZE_NOT_VALID -1
#define SION_ANSI_SIZE_NOT_VALID 0

/* The version of SIONlib whose interface this is, and of the files that are written. */
#define SION_MAIN_VERSION 1
#define SION_SUB_VERSION 7
#define SION_VERSION_PATCHLEVEL 6
#define SION_FILEFORMAT_VERSION 5
#define SION_GIT_VERSION "striae"
#define SION_SVN_VERSION SION_GIT_VERSION

#define SION_MAX_FSBLOCKSIZE (32 * 1024 * 1024)
#define SION_DEFAULT_FSBLOCKSIZE (2 * 1024 * 1024)
#define SION_FILENAME_LENGTH 1024

/* For sion_seek: the current rank, chunk or position; a position in the stream; one from its end. */
#define SION_CURRENT_RANK -101
#define SION_CURRENT_BLK -102
#define SION_CURRENT_CHUNK -102
#define SION_CURRENT_BLOCK -102
#define SION_CURRENT_POS -103
#define SION_ABSOLUTE_POS -104
#define SION_END_POS -105

/* For sion_dup. */
#define SION_DUP_ALL -201
#define SION_DUP_RANK -202
#define SION_DUP_RANK_KEY -203

/* What streams are: sion_get_keyval_mode. META and HASH were never implemented by anyone. */
#define SION_KEYVAL_NONE 50
#define SION_KEYVAL_INLINE 51
#define SION_KEYVAL_META 52
#define SION_KEYVAL_HASH 53
#define SION_KEYVAL_UNKNOWN 54
#define SION_KEYVAL_NOTSET 55

/* What a program does with a file: sion_get_io_info. */
#define SION_ROLE_NONE 0
#define SION_ROLE_COLLECTOR 1
#define SION_ROLE_SENDER 2
#define SION_ROLE_WRITER 4
#define SION_ROLE_NOWRITER 8
#define SION_ROLE_READER 16
#define SION_ROLE_NOREADER 32
#define SION_ROLE_COLLECTOR_READER 64
#define SION_GET_IO_INFO_FLAG_NONE 0

/* The records of a key. */
typedef struct _sion_key_stat_struct {
    uint64_t key;
    sion_int64 num_blocks; /* number of records */
    sion_int64 total_size; /* bytes of all records */
} sion_key_stat_t;

/* The files of a set. */
typedef struct _sion_io_stat_struct {
    int nfiles;
    const char **names;
    size_t *sizes; /* bytes of the streams of each file */
    int *roles;    /* SION_ROLE_WRITER or SION_ROLE_READER */
} sion_io_stat_t;

/* The exported names are those of SIONlib 1.7. */
#define sion_open lsion_open
#define sion_open_rank lsion_open_rank
#define sion_close lsion_close
#define sion_fwrite lsion_fwrite
#define sion_fread lsion_fread
#define sion_ensure_free_space lsion_ensure_free_space
#define sion_feof lsion_feof
#define sion_flush lsion_flush
#define sion_seek lsion_seek
#define sion_seek_fp lsion_seek_fp
#define sion_get_fp lsion_get_fp
#define sion_get_fd lsion_get_fd
#define sion_optimize_fp_buffer lsion_optimize_fp_buffer
#define sion_dup lsion_dup
#define sion_dedup lsion_dedup
#define sion_bytes_avail_in_block lsion_bytes_avail_in_block
#define sion_bytes_avail_in_chunk lsion_bytes_avail_in_chunk
#define sion_get_bytes_written lsion_get_bytes_written
#define sion_get_bytes_read lsion_get_bytes_read
#define sion_get_position lsion_get_position
#define sion_get_locations lsion_get_locations
#define sion_get_current_location lsion_get_current_location
#define sion_get_current_locations lsion_get_current_locations
#define sion_get_mapping lsion_get_mapping
#define sion_get_number_of_files lsion_get_number_of_files
#define sion_get_filenumber lsion_get_filenumber
#define sion_is_serial_opened lsion_is_serial_opened
#define sion_using_hints lsion_using_hints
#define sion_get_sizeof lsion_get_sizeof
#define sion_get_io_info lsion_get_io_info
#define sion_get_io_info_by_spec lsion_get_io_info_by_spec
#define sion_free_io_info lsion_free_io_info
#define sion_fwrite_key lsion_fwrite_key
#define sion_fread_key lsion_fread_key
#define sion_fread_key_iterator_reset lsion_fread_key_iterator_reset
#define sion_fread_key_iterator_next lsion_fread_key_iterator_next
#define sion_seek_key lsion_seek_key
#define sion_key_full_scan lsion_key_full_scan
#define sion_key_list_iterator_reset lsion_key_list_iterator_reset
#define sion_key_list_iterator_next lsion_key_list_iterator_next
#define sion_key_get_stat lsion_key_get_stat
#define sion_get_keyval_mode lsion_get_keyval_mode
#define sion_keyval_type_to_str lsion_keyval_type_to_str
#define sion_get_endianness lsion_get_endianness
#define sion_get_file_endianness lsion_get_file_endianness
#define sion_endianness_swap_needed lsion_endianness_swap_needed
#define sion_swap lsion_swap
#define sion_get_version lsion_get_version
#define sion_is_thread_safe lsion_is_thread_safe
#define sion_lock_register_lock_callbacks lsion_lock_register_lock_callbacks
#define sion_lock_user_callbacks_defined lsion_lock_user_callbacks_defined
#define sion_dclose lsion_dclose
#define sion_set_second_fp lsion_set_second_fp
#define sion_unset_second_fp lsion_unset_second_fp
#define sion_set_fp_closed lsion_set_fp_closed
#define _sion_stat_file _lsion_file_stat_file

/* ---- open and close ---- */

/*
 * Opens a set; returns its sid, or -1.
 *
 * file_mode has words with commas between them: w, wb, bw to write, else to read; posix for
 * descriptors in place of FILE *; keyval or keyval=inline for key-value records;
 * endianness=big or endianness=little for the byte order that is stated for the data, which are
 * never swapped. Other words of SIONlib (ansi, collective, buffered, ...) change nothing here.
 *
 * To write, all values are given. chunksizes and globalranks point to pointers to arrays of ntasks
 * values; chunks are rounded up to fsblksize, which is set to that of the file system if it is not
 * positive. An existing set is emptied. Nobody can read the set before sion_flush or sion_close.
 *
 * To read, ntasks, nfiles and fsblksize are set. chunksizes and globalranks may be null; if the
 * pointers to which they point are null, they are set to new arrays, which the caller frees by
 * free(); else the arrays must have a value for each task of the set.
 *
 * fileptr may be null; else it is set to the FILE * of task 0, as by sion_get_fp.
 */
int lsion_open(char *fname, const char *file_mode, int *ntasks, int *nfiles,
               sion_int64 **chunksizes, sion_int32 *fsblksize, int **globalranks, FILE **fileptr);

/*
 * Opens a set to read one task of it: rank is its place in the order of sion_open. Returns the sid,
 * or -1. chunksize and fsblksize are set. Also tasks of several chunks are read to their end.
 */
int lsion_open_rank(char *fname, const char *file_mode, sion_int64 *chunksize,
                    sion_int32 *fsblksize, int *rank, FILE **fileptr);

/*
 * Closes a set. After an error it is still open, and nothing of it is lost that sion_fwrite has
 * accepted: the close can be repeated. It is given up if its path is opened to write again. Bytes
 * that the program has written to the FILE * of the set may be lost when a write of them fails:
 * from then on calls for the set fail, until the program calls clearerr for that FILE *.
 *
 * While a set is written it is locked (flock), so that no other writer of striae empties it:
 * sion_open fails then, and errno is EWOULDBLOCK.
 */
int lsion_close(int sid);

/* ---- read and write ---- */

/*
 * Writes nitems values of size bytes to the current task, all into one chunk: if they do not fit,
 * the rest of the chunk is skipped. Returns nitems, or 0 if nothing was written.
 */
size_t lsion_fwrite(const void *data, size_t size, size_t nitems, int sid);

/*
 * Reads nitems values of size bytes, which must be in one chunk. Returns nitems, or 0 if nothing
 * was read; at the end of the stream, that is no error.
 */
size_t lsion_fread(void *data, size_t size, size_t nitems, int sid);

/* Skips the rest of the chunk unless it has room for so many bytes. */
int lsion_ensure_free_space(int sid, sion_int64 bytes);

/* 1 if there are no more bytes, else 0; at the end of a chunk it goes to the next one. */
int lsion_feof(int sid);

/*
 * Makes all that was written to any task part of the set, which can be read from then on. If
 * STRIAE_SION_DURABLE=1 is in the environment when the set is made, this and the close survive a
 * power cut.
 */
int lsion_flush(int sid);

/*
 * Goes to a rank, to a chunk of it, and to a position in that chunk. In place of the number of the
 * chunk, SION_ABSOLUTE_POS makes the position one in the stream, SION_END_POS one from its end,
 * which is negative or 0. A position that the stream does not have is refused.
 *
 * While writing, other positions than the end are for replacing bytes. Only the last chunk grows.
 */
int lsion_seek(int sid, int rank, int currentblocknr, sion_int64 posinblk);
int lsion_seek_fp(int sid, int rank, int currentblocknr, sion_int64 posinblk, FILE **fileptr);

/*
 * The FILE * of the physical file of the current task (in the mode posix the descriptor), at the
 * current position. The program may read and write there, within the current chunk; after
 * sion_ensure_free_space there is room for so many bytes. The next call takes its position over.
 * It is null (-1) in the other mode, is closed by sion_close, and must not be closed by others.
 */
FILE *lsion_get_fp(int sid);
int lsion_get_fd(int sid);
int lsion_optimize_fp_buffer(int sid);

/*
 * Opens the files of a set that is read once more, with the positions that it has; for one rank
 * alone unless mode is SION_DUP_ALL. Returns the new sid, or -1. It is closed by sion_dedup.
 */
int lsion_dup(int sid, int mode, int rank, uint64_t key);
int lsion_dedup(int sid);

/* ---- what is known of a set; -1 after an error, where the result is a number ---- */

sion_int64 lsion_bytes_avail_in_block(int sid); /* left in the current chunk */
sion_int64 lsion_bytes_avail_in_chunk(int sid); /* the same */
sion_int64 lsion_get_bytes_written(int sid);    /* by the current task */
sion_int64 lsion_get_bytes_read(int sid);       /* before the current position */
sion_int64 lsion_get_position(int sid);         /* as an offset in the physical file */

/*
 * Where the chunks of all tasks are. blocksizes has maxchunks rows of ntasks values: the used bytes
 * of each chunk. The arrays belong to the set; of one that is read, they are valid until the close,
 * of one that is written, until the next call for it.
 */
int lsion_get_locations(int sid, int *ntasks, int *maxchunks, sion_int64 *globalskip,
                        sion_int64 *start_of_varheader, sion_int64 **sion_chunksizes,
                        sion_int64 **sion_globalranks, sion_int64 **sion_blockcount,
                        sion_int64 **sion_blocksizes);

/* Position of the current task, its number of chunks, and their used bytes: until the next call. */
int lsion_get_current_location(int sid, int *currentblock, sion_int64 *currentpos,
                               int *maxchunks, sion_int64 **chunksizes);

/* Offsets in the physical files, and chunks, at which all tasks stand. */
int lsion_get_current_locations(int sid, int *ntasks, sion_int64 **sion_currentpos,
                                sion_int64 **sion_currentblocknr);

/* File number and local rank of each rank in a set of several files; else the size is -1. */
int lsion_get_mapping(int sid, int *mapping_size, sion_int32 **mapping, int *numfiles);

int lsion_get_number_of_files(int sid);
int lsion_get_filenumber(int sid);
int lsion_is_serial_opened(int sid); /* 0 if several processes have opened the set */
int lsion_using_hints(int sid);      /* 0 */
int lsion_get_sizeof(int sid, int *numbytes, int *numfds);

/* The files of a set, of those roles; null after an error. Freed by sion_free_io_info. */
sion_io_stat_t *lsion_get_io_info(int sid);
sion_io_stat_t *lsion_get_io_info_by_spec(int sid, int roles, int flag);
int lsion_free_io_info(sion_io_stat_t *info);

/* ---- key-value records of the current task ---- */

/* Writes a record, which may span chunks. Returns nitems, or (size_t)-1. */
size_t lsion_fwrite_key(const void *data, uint64_t key, size_t size, size_t nitems, int sid);

/* Reads values of a key from its current record, at most to its end. Returns their number. */
size_t lsion_fread_key(void *data, uint64_t key, size_t size, size_t nitems, int sid);

/* Goes through all records; each becomes the current one of its key. next returns 0 at the end. */
int lsion_fread_key_iterator_reset(int sid);
int lsion_fread_key_iterator_next(int sid, uint64_t *key, size_t *size);

/* Goes to a byte of a record of a key; with SION_ABSOLUTE_POS to one of all of its bytes. */
int lsion_seek_key(int sid, uint64_t key, int entrynum, sion_int64 posinentry);

/* Reads the headers of all records; the other functions do so themselves. */
int lsion_key_full_scan(int sid);

/* Goes through all keys, in the order of their first records. next returns 0 at the end. */
int lsion_key_list_iterator_reset(int sid);
int lsion_key_list_iterator_next(int sid, uint64_t *keyptr);

int lsion_key_get_stat(int sid, uint64_t key, sion_key_stat_t *stat);
int lsion_get_keyval_mode(int sid); /* SION_KEYVAL_NONE, _INLINE, or _UNKNOWN after an error */
char *lsion_keyval_type_to_str(int type);

/* ---- byte orders, versions, threads ---- */

int lsion_get_endianness(void);           /* of this machine: 1 is big-endian */
int lsion_get_file_endianness(int sid);   /* of the data; -1 after an error */
int lsion_endianness_swap_needed(int sid); /* whether the two differ; -1 after an error */

/* Copies n values of size bytes, reversed if do_swap is not 0; source may be target. */
void lsion_swap(void *target, void *source, int size, int n, int do_swap);

int lsion_get_version(int *main_version, int *sub_version, int *patch_level,
                      int *fileformat_version);
int lsion_is_thread_safe(void); /* 1 */

/* Accepted, and not needed. */
int lsion_lock_register_lock_callbacks(int lock(void *), int unlock(void *), void *lock_data);
int lsion_lock_user_callbacks_defined(void);
void lsion_dclose(void);
int _lsion_file_stat_file(const char *fname); /* whether there is such a file */

/* Refused: the FILE * of a set cannot be replaced, nor closed by others. */
int lsion_set_second_fp(int sid, FILE *fp);
int lsion_unset_second_fp(int sid);
int lsion_set_fp_closed(int sid);

/* The reason of the last error of this thread, as a text; see gsd.h. */
const char *striae_last_error(void);

#ifdef __cplusplus
}
#endif

/* The functions for several processes, where the library that has them is installed. */
#ifdef __has_include
#if __has_include("striae_sion_mpi.h")
#include "striae_sion_mpi.h"
#endif
#elif defined(MPI_VERSION) || defined(SION_MPI)
#include "striae_sion_mpi.h"
#endif

#endif /* STRIAE_SION_H */
