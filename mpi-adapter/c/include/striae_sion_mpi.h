/*
 * striae_sion_mpi.h - the part of sion.h for several processes, over striae.
 *
 * The functions of SIONlib 1.7.6 for MPI, and those of its generic interface. Programs include
 * sion.h, which includes this, and are linked with libstriae_mpi_c, which has all functions of
 * sion.h and gsd.h as well. README.md says what differs.
 *
 * A set that several processes have opened has a sid in each of them. All functions of sion.h take
 * it: they read, write and ask for this process alone. The functions here are for all processes of
 * a communicator, which call them in the same order.
 *
 * An error of one process is an error of all of them: what opens and closes returns the same at all
 * of them, and does not wait for a process that cannot take part. With STRIAE_MPI_DEADLINE=SECONDS
 * in the environment a process waits so long for another one; else it waits until the launcher ends
 * the job. An error of sion_fwrite is that of all processes when they close the set.
 *
 * License: MIT or Apache-2.0.
 */
#ifndef STRIAE_SION_MPI_H
#define STRIAE_SION_MPI_H

#include "sion.h"

#if defined(MPI_VERSION) || defined(SION_MPI)
#include <mpi.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The exported names are those of SIONlib 1.7. */
#define sion_coll_fwrite lsion_coll_fwrite
#define sion_coll_fread lsion_coll_fread
#define sion_coll_fwrite_mpi lsion_coll_fwrite_mpi
#define sion_coll_fread_mpi lsion_coll_fread_mpi
#define sion_paropen_mpi lsion_paropen_mpi
#define sion_parclose_mpi lsion_parclose_mpi
#define sion_parreinit_mpi lsion_parreinit_mpi
#define sion_paropen_mapped_mpi lsion_paropen_mapped_mpi
#define sion_parclose_mapped_mpi lsion_parclose_mapped_mpi
#define sion_paropen_comms_mpi lsion_paropen_comms_mpi
#define sion_paropen_multi_mpi lsion_paropen_multi_mpi
#define sion_file_check_par_args_init_mpi lsion_file_check_par_args_init_mpi
#define sion_file_check_par_args_free_mpi lsion_file_check_par_args_free_mpi
#define sion_file_check_par_cb_mpi lsion_file_check_par_cb_mpi
#define sion_generic_create_api lsion_generic_create_api
#define sion_generic_free_api lsion_generic_free_api
#define sion_generic_register_create_local_commgroup_cb \
    lsion_generic_register_create_local_commgroup_cb
#define sion_generic_register_free_local_commgroup_cb lsion_generic_register_free_local_commgroup_cb
#define sion_generic_register_barrier_cb lsion_generic_register_barrier_cb
#define sion_generic_register_bcastr_cb lsion_generic_register_bcastr_cb
#define sion_generic_register_gatherr_cb lsion_generic_register_gatherr_cb
#define sion_generic_register_gathervr_cb lsion_generic_register_gathervr_cb
#define sion_generic_register_scatterr_cb lsion_generic_register_scatterr_cb
#define sion_generic_register_scattervr_cb lsion_generic_register_scattervr_cb
#define sion_generic_register_get_multi_filename_cb lsion_generic_register_get_multi_filename_cb
#define sion_generic_register_gather_and_execute_cb lsion_generic_register_gather_and_execute_cb
#define sion_generic_register_execute_and_scatter_cb lsion_generic_register_execute_and_scatter_cb
#define sion_generic_register_get_capability_cb lsion_generic_register_get_capability_cb
#define sion_generic_paropen lsion_generic_paropen
#define sion_generic_parclose lsion_generic_parclose
#define sion_generic_paropen_mapped lsion_generic_paropen_mapped
#define sion_generic_parclose_mapped lsion_generic_parclose_mapped
#define sion_generic_parreinit lsion_generic_parreinit

#if defined(MPI_VERSION) || defined(SION_MPI)

#define SION_MPI_INT32 MPI_INT
#define SION_MPI_INT64 MPI_LONG_LONG

/* ---- a task of each process ---- */

/*
 * Opens a set with a task of each process of gComm; returns its sid, or -1 at all processes.
 *
 * file_mode has the words of sion_open, and also:
 *   collective            few processes write for all, in sion_coll_fwrite
 *   collsize=N            as many processes as have a writer in common; -1 for as many as is good
 *   cmerge                with collective: into the stream of the writer
 *   buddy, buddy=N        with copies of each stream in files that other processes keep
 *
 * To write: chunksize is rounded up to fsblksize, which is that of the file system if it is not
 * positive. numFiles is the number of physical files; if it is not positive, the processes of each
 * lComm have one, in the order that they have in gComm. An existing set is emptied. Nobody can read
 * the set before sion_parclose_mpi.
 *
 * To read: the set must have as many tasks as gComm has processes. lComm is not used.
 *
 * numFiles, chunksize, fsblksize are set to what the set has (with cmerge, chunksize stays when the
 * set is written), and globalrank to the rank in gComm.
 * fileptr may be null; else it is set to the FILE * of this process, as by sion_get_fp, which costs
 * system calls in each call. newfname may be null; else it is set to the name of the physical file,
 * which the caller frees by free().
 */
int lsion_paropen_mpi(const char *fname, const char *file_mode, int *numFiles, MPI_Comm gComm,
                      const MPI_Comm *lComm, sion_int64 *chunksize, sion_int32 *fsblksize,
                      int *globalrank, FILE **fileptr, char **newfname);

/*
 * Closes a set; all processes call this. After an error, which is that of all of them, it is closed
 * as well, and the file is as if it was never closed, unless the error came after it was complete.
 * Of a set of several files without seals, each is closed by itself.
 */
int lsion_parclose_mpi(int sid);

/*
 * Gives the chunks of each process another size; all processes call this, each with its own size,
 * before any of them has written.
 */
int lsion_parreinit_mpi(int sid, sion_int64 chunksize);

/* ---- any tasks of each process ---- */

/*
 * Opens a set with nlocaltasks tasks of this process of gComm; returns its sid, or -1 at all of
 * them. The task of the first file is the current one; sion_seek goes to another one by its global
 * rank.
 *
 * To write, the pointers point to arrays of nlocaltasks values: global rank, chunk size, number of
 * the file and rank in the file of each task. Over all processes, global ranks are 0, 1, 2 and so
 * on, and so are the ranks in each of the numFiles files.
 *
 * To read, globalranks says which tasks, or nlocaltasks is -1: then each process gets as many, in
 * order, the last one also the rest. numFiles and fsblksize are set. The arrays of values that are
 * null are made by malloc, and freed by the caller; others must have nlocaltasks values. With -1,
 * globalranks, mapping_filenrs and mapping_lranks must point to null.
 */
int lsion_paropen_mapped_mpi(char *fname, const char *file_mode, int *numFiles, MPI_Comm gComm,
                             int *nlocaltasks, int **globalranks, sion_int64 **chunksizes,
                             int **mapping_filenrs, int **mapping_lranks, sion_int32 *fsblksize,
                             FILE **fileptr);

/* Closes such a set, as sion_parclose_mpi does. */
int lsion_parclose_mapped_mpi(int sid);

/* ---- as older programs call it ---- */

/* sion_paropen_mpi with a file of each lComm. newfname is not used. */
int lsion_paropen_comms_mpi(char *fname, const char *file_mode, int *numFiles, MPI_Comm gComm,
                            MPI_Comm lComm, sion_int64 *chunksize, sion_int32 *fsblksize,
                            int *globalrank, FILE **fileptr, char *newfname);

/* sion_paropen_mpi. newfname is not used. */
int lsion_paropen_multi_mpi(char *fname, const char *file_mode, int *numFiles, MPI_Comm gComm,
                            MPI_Comm *lComm, sion_int64 *chunksize, sion_int32 *fsblksize,
                            int *globalrank, FILE **fileptr, char *newfname);

/* Whether all processes can open a set with such arguments; all of them call the last one. */
typedef struct _sion_file_check_par_args_mpi_struct sion_file_check_par_args_mpi;
sion_file_check_par_args_mpi *lsion_file_check_par_args_init_mpi(const char *file_mode,
                                                                 MPI_Comm gComm, int numfiles,
                                                                 MPI_Comm lComm);
int lsion_file_check_par_args_free_mpi(sion_file_check_par_args_mpi *args);
int lsion_file_check_par_cb_mpi(char *fname, void *args);

size_t lsion_coll_fwrite_mpi(const void *data, size_t size, size_t nitems, int sid);
size_t lsion_coll_fread_mpi(void *data, size_t size, size_t nitems, int sid);

#endif /* MPI */

/* ---- reading and writing by all processes of a file ---- */

/*
 * Writes nitems values of size bytes of each process, which may be none. In a set that is
 * collective all processes of a file call this, in one with buddy sets all processes of the set;
 * most calls take no message. In others, and in mapped sets, it is sion_fwrite to the current task.
 * Returns nitems, or 0: then this process, or when the processes meet another one, has failed.
 */
size_t lsion_coll_fwrite(const void *data, size_t size, size_t nitems, int sid);

/* As sion_fread: reading takes no message in any set. */
size_t lsion_coll_fread(void *data, size_t size, size_t nitems, int sid);

/* ---- communication by callbacks of the program ---- */

/* Kinds of values of callbacks. */
#define _SION_INT32 10
#define _SION_INT64 11
#define _SION_CHAR 12

/*
 * Makes an API, and returns its number, or -1; the callbacks of it are registered then, each once.
 * Sets that it has opened keep its callbacks when it is freed.
 */
int lsion_generic_create_api(char *name);
int lsion_generic_free_api(int aid);

/*
 * A callback returns 0, or another number after an error, which then is one of all processes. All
 * processes of a group call the same callbacks in the same order. A group is memory of the program:
 * the first one is passed to the open, others are made by create_lcg_cb for processes with the same
 * filenumber, in the order of lrank, and are given back by free_lcg_cb.
 */
int lsion_generic_register_create_local_commgroup_cb(
    int aid, int create_lcg_cb(void **local_commgroup, void *global_commgroup, int grank, int gsize,
                               int lrank, int lsize, int filenumber, int numfiles));
int lsion_generic_register_free_local_commgroup_cb(int aid, int free_lcg_cb(void *local_commgroup));
int lsion_generic_register_barrier_cb(int aid, int barrier_cb(void *commgroup));

/* The nelem values of root, at all processes. */
int lsion_generic_register_bcastr_cb(int aid, int bcastr_cb(void *data, void *commgroup, int dtype,
                                                            int nelem, int root));

/* At root, the nelem values of all processes; with vr, counts[i] of process i. */
int lsion_generic_register_gatherr_cb(int aid, int gatherr_cb(void *indata, void *outdata,
                                                              void *commgroup, int dtype, int nelem,
                                                              int root));
int lsion_generic_register_gathervr_cb(int aid,
                                       int gathervr_cb(void *indata, void *outdata, void *commgroup,
                                                       int dtype, int *counts, int nelem, int root));

/* From root, nelem values for each process. scattervr_cb is needed, but is not called. */
int lsion_generic_register_scatterr_cb(int aid, int scatterr_cb(void *indata, void *outdata,
                                                                void *commgroup, int dtype,
                                                                int nelem, int root));
int lsion_generic_register_scattervr_cb(int aid, int scattervr_cb(void *outdata, void *indata,
                                                                  void *commgroup, int dtype,
                                                                  int *counts, int nelem, int root));

/* The name of a physical file, in memory of malloc. Only names as those of SIONlib are accepted. */
int lsion_generic_register_get_multi_filename_cb(int aid,
                                                 char *get_multi_filename_cb(const char *, int));

/* Accepted, and not called: each process writes and reads by itself. */
int lsion_generic_register_gather_and_execute_cb(
    int aid, int gather_execute_cb(const void *, sion_int64 *, int, sion_int64, void *, int, int,
                                   int, int, int process_cb(const void *, sion_int64 *, int)));
int lsion_generic_register_execute_and_scatter_cb(
    int aid, int execute_scatter_cb(void *, sion_int64 *, int, sion_int64, void *, int, int, int,
                                    int, int process_cb(void *, sion_int64 *, int)));
int lsion_generic_register_get_capability_cb(int aid, int get_capability_cb(void *));

/*
 * As sion_paropen_mpi, sion_paropen_mapped_mpi and so on, by callbacks. gcommgroup has gsize
 * processes, of which this one is grank. To write several files, filenumber is that of this process;
 * files are numbered in the order of their first processes, and have them in the order of grank.
 * lrank and lsize are not used.
 */
int lsion_generic_paropen(int aid, const char *fname, const char *file_mode, sion_int64 *chunksize,
                          sion_int32 *fsblksize, void *gcommgroup, int grank, int gsize,
                          int *filenumber, int *numfiles, const int *lrank, const int *lsize,
                          FILE **fileptr, char **newfname);
int lsion_generic_parclose(int sid);
int lsion_generic_paropen_mapped(int aid, char *fname, const char *file_mode, int *numFiles,
                                 void *gcommgroup, int grank, int gsize, int *nlocaltasks,
                                 int **globalranks, sion_int64 **chunksizes, int **mapping_filenrs,
                                 int **mapping_lranks, sion_int32 *fsblksize, FILE **fileptr);
int lsion_generic_parclose_mapped(int sid);
int lsion_generic_parreinit(int sid, sion_int64 chunksize);

#ifdef __cplusplus
}
#endif

#endif /* STRIAE_SION_MPI_H */
