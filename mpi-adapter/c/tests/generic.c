/*
 * The generic interface, with callbacks over MPI, and callbacks that fail. Argument: an empty
 * folder.
 */
#include "parallel.h"

/* ---- callbacks ---- */

struct group {
    MPI_Comm comm;
};

static int groups;      /* that were made and not given back */
static int calls;       /* of callbacks so far */
static int fails_at;    /* the number of the call that fails at all processes */

static int fails(void) { return ++calls == fails_at; }

static MPI_Comm comm_of(void *commgroup) { return ((struct group *)commgroup)->comm; }

static MPI_Datatype type_of(int dtype) {
    return dtype == _SION_INT32 ? MPI_INT : dtype == _SION_INT64 ? MPI_LONG_LONG : MPI_CHAR;
}

static int create_lcg(void **local, void *global, int grank, int gsize, int lrank, int lsize,
                      int filenumber, int numfiles) {
    CHECK(*local == NULL && grank == rank && gsize == size && filenumber < numfiles);
    if (fails()) return 1;
    struct group *group = malloc(sizeof *group);
    CHECK(MPI_Comm_split(comm_of(global), filenumber, lrank, &group->comm) == MPI_SUCCESS);
    int found;
    MPI_Comm_rank(group->comm, &found);
    CHECK(found == lrank);
    MPI_Comm_size(group->comm, &found);
    CHECK(found == lsize);
    *local = group;
    groups++;
    return 0;
}

static int free_lcg(void *local) {
    MPI_Comm_free(&((struct group *)local)->comm);
    free(local);
    groups--;
    return 0;
}

static int barrier(void *group) { return fails() || MPI_Barrier(comm_of(group)); }

static int bcastr(void *data, void *group, int dtype, int nelem, int root) {
    return fails() || MPI_Bcast(data, nelem, type_of(dtype), root, comm_of(group));
}

static int gatherr(void *in, void *out, void *group, int dtype, int nelem, int root) {
    MPI_Datatype type = type_of(dtype);
    return fails() || MPI_Gather(in, nelem, type, out, nelem, type, root, comm_of(group));
}

static int scatterr(void *in, void *out, void *group, int dtype, int nelem, int root) {
    MPI_Datatype type = type_of(dtype);
    return fails() || MPI_Scatter(in, nelem, type, out, nelem, type, root, comm_of(group));
}

/* Where the values of each process are, at root. */
static int *places_of(MPI_Comm comm, const int *counts, int root) {
    int own, count;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &count);
    int *places = calloc((size_t)count, sizeof *places);
    for (int i = 1; own == root && i < count; i++) places[i] = places[i - 1] + counts[i - 1];
    return places;
}

static int gathervr(void *in, void *out, void *group, int dtype, int *counts, int nelem, int root) {
    if (fails()) return 1;
    MPI_Datatype type = type_of(dtype);
    int *places = places_of(comm_of(group), counts, root);
    int code = MPI_Gatherv(in, nelem, type, out, counts, places, type, root, comm_of(group));
    free(places);
    return code;
}

static int scattervr(void *out, void *in, void *group, int dtype, int *counts, int nelem, int root) {
    (void)out, (void)in, (void)group, (void)dtype, (void)counts, (void)nelem, (void)root;
    return 1; /* it is never called */
}

static char *name_of(const char *fname, int number) {
    char *name = malloc(strlen(fname) + 16);
    if (number == 0) {
        strcpy(name, fname);
    } else {
        sprintf(name, "%s.%06d", fname, number);
    }
    return name;
}

static char *other_name_of(const char *fname, int number) {
    char *name = malloc(strlen(fname) + 16);
    sprintf(name, "%s-%d", fname, number);
    return name;
}

static int api_with(char *names(const char *, int)) {
    char name[] = "test";
    int aid = sion_generic_create_api(name);
    CHECK(aid >= 0);
    CHECK(sion_generic_register_create_local_commgroup_cb(aid, create_lcg) == SION_SUCCESS);
    CHECK(sion_generic_register_create_local_commgroup_cb(aid, create_lcg) == SION_NOT_SUCCESS);
    CHECK(sion_generic_register_free_local_commgroup_cb(aid, free_lcg) == SION_SUCCESS);
    CHECK(sion_generic_register_barrier_cb(aid, barrier) == SION_SUCCESS);
    CHECK(sion_generic_register_bcastr_cb(aid, bcastr) == SION_SUCCESS);
    CHECK(sion_generic_register_gatherr_cb(aid, gatherr) == SION_SUCCESS);
    CHECK(sion_generic_register_gathervr_cb(aid, gathervr) == SION_SUCCESS);
    CHECK(sion_generic_register_scatterr_cb(aid, scatterr) == SION_SUCCESS);
    CHECK(sion_generic_register_scattervr_cb(aid, scattervr) == SION_SUCCESS);
    if (names != NULL) CHECK(sion_generic_register_get_multi_filename_cb(aid, names) == 0);
    return aid;
}

/* ---- sets ---- */

static struct group world;
static int count;

static int paropen(int aid, const char *path, const char *mode, int nfiles) {
    sion_int64 chunksize = 600;
    sion_int32 fsblksize = 512;
    int number = rank * nfiles / size, lrank = 0, lsize = 1;
    return sion_generic_paropen(aid, path, mode, &chunksize, &fsblksize, &world, rank, size,
                                &number, &nfiles, &lrank, &lsize, NULL, NULL);
}

static void sets_of(int aid, const char *path, const char *mode, int nfiles) {
    unsigned char bytes[600];
    int sid = paropen(aid, path, mode, nfiles);
    CHECK(sid >= 0);
    CHECK(sion_get_number_of_files(sid) == nfiles);
    CHECK(sion_get_filenumber(sid) == rank * nfiles / size);
    for (int i = 0; i < 3; i++) {
        fill(bytes, rank, 500 * i, 500);
        CHECK(sion_coll_fwrite(bytes, 1, 500, sid) == 500);
    }
    CHECK(sion_parclose_mpi(sid) == SION_SUCCESS); /* another name of sion_generic_parclose */
    sid = paropen(aid, path, "br", nfiles);
    CHECK(sid >= 0);
    CHECK(check_stream(sid, rank) == 1500);
    CHECK(sion_generic_parclose(sid) == SION_SUCCESS);
    count++;
}

static void mapped(int aid, char *path) {
    int nlocal = 2, nfiles = 2;
    int ranks[2] = {2 * size - 1 - rank, rank}, files[2], locals[2];
    sion_int64 sizes[2] = {512, 512};
    for (int i = 0; i < 2; i++) {
        files[i] = ranks[i] % 2;
        locals[i] = ranks[i] / 2;
    }
    int *r = ranks, *f = files, *l = locals;
    sion_int64 *s = sizes;
    sion_int32 fsblksize = 512;
    int sid = sion_generic_paropen_mapped(aid, path, "bw", &nfiles, &world, rank, size, &nlocal, &r,
                                          &s, &f, &l, &fsblksize, NULL);
    CHECK(sid >= 0);
    unsigned char bytes[400];
    for (int i = 0; i < 2; i++) {
        CHECK(sion_seek(sid, ranks[i], SION_CURRENT_BLK, SION_CURRENT_POS) == SION_SUCCESS);
        fill(bytes, ranks[i], 0, 400);
        CHECK(sion_fwrite(bytes, 1, 400, sid) == 400);
    }
    CHECK(sion_generic_parclose_mapped(sid) == SION_SUCCESS);
    nlocal = -1;
    r = f = l = NULL;
    s = NULL;
    sid = sion_generic_paropen_mapped(aid, path, "br", &nfiles, &world, rank, size, &nlocal, &r, &s,
                                      &f, &l, &fsblksize, NULL);
    CHECK(sid >= 0 && nlocal == 2);
    for (int i = 0; i < 2; i++) {
        CHECK(r[i] == 2 * rank + i);
        CHECK(sion_seek(sid, r[i], 0, 0) == SION_SUCCESS);
        CHECK(check_stream(sid, r[i]) == 400);
    }
    CHECK(sion_generic_parclose_mapped(sid) == SION_SUCCESS);
    free(r);
    free(s);
    free(f);
    free(l);
    count++;
}

/* No process can send to another one alone, as merging needs it: an error at all. */
static void merged(int aid, const char *path) {
    int sid = paropen(aid, path, "bw,collective,cmerge,collsize=8", 1);
    CHECK(sid >= 0);
    size_t wrote = sion_coll_fwrite("record", 1, 6, sid);
    CHECK(wrote == (size == 1 ? 6 : 0) && is_equal_at_all((int)wrote));
    CHECK(sion_generic_parclose(sid) == (size == 1 ? SION_SUCCESS : SION_NOT_SUCCESS));
    if (size > 1) CHECK_TEXT("one process");
    count++;
}

/* Copies need messages between two processes, too: refused, and the old set stays. */
static void no_buddies(int aid, const char *path) {
    sets_of(aid, path, "bw", 1);
    CHECK(paropen(aid, path, "bw,buddy", 1) == -1);
    CHECK_TEXT("buddy sets");
    int sid = paropen(aid, path, "br", 1);
    CHECK(sid >= 0 && check_stream(sid, rank) > 0);
    CHECK(sion_generic_parclose(sid) == SION_SUCCESS);
    count++;
}

/* Each call of a callback fails once, of opening, writing and closing. */
static void failing(int aid, const char *path) {
    int last = 0;
    for (fails_at = 1; !last; fails_at++) {
        calls = 0;
        int sid = paropen(aid, path, "bw", 2), closed = 0;
        if (sid >= 0) closed = sion_generic_parclose(sid);
        last = calls < fails_at;
        CHECK(sid == -1 || closed == last);
        if (sid == -1) CHECK_TEXT("returned 1");
        CHECK(is_equal_at_all(sid < 0) && is_equal_at_all(closed));
        count++;
    }
    CHECK(fails_at > 10);
    fails_at = 0;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(argc == 2);
    world.comm = MPI_COMM_WORLD;
    char *path = in_folder(argv[1], "generic.sion");
    char name[] = "empty";
    int empty = sion_generic_create_api(name), aid = api_with(name_of), other;
    CHECK(paropen(empty, path, "bw", 1) == -1);
    CHECK_TEXT("not all callbacks");
    CHECK(paropen(aid + 100, path, "bw", 1) == -1);
    CHECK_TEXT("is no API");
    sets_of(aid, path, "bw", 1);
    sets_of(aid, path, "bw,collective,collsize=2", 1);
    sets_of(aid, path, "bw,posix", size > 1 ? 2 : 1);
    sets_of(aid, path, "bw", size);
    mapped(aid, path);
    merged(aid, path);
    no_buddies(aid, path);
    CHECK(groups == 0);
    other = api_with(other_name_of);
    if (size > 1) {
        CHECK(paropen(other, path, "bw", 2) == -1);
        CHECK_TEXT("another name");
        failing(aid, path);
    }
    CHECK(sion_generic_free_api(other) == SION_SUCCESS);
    CHECK(sion_generic_free_api(other) == SION_NOT_SUCCESS);
    CHECK(sion_generic_free_api(aid) == SION_SUCCESS);
    CHECK(sion_generic_free_api(empty) == SION_SUCCESS);
    if (rank == 0) printf("%d sets of callbacks of %d processes\n", count, size);
    free(path);
    MPI_Finalize();
    return 0;
}
