/* What the tests share. A test gets an empty folder as its argument. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *striae_last_error(void);

/* Ends the test if the condition does not hold. */
#define CHECK(condition)                                                                      \
    do {                                                                                      \
        if (!(condition)) {                                                                   \
            fprintf(stderr, "%s:%d: not so: %s; last error: %s\n", __FILE__, __LINE__,        \
                    #condition, striae_last_error());                                         \
            exit(1);                                                                          \
        }                                                                                     \
    } while (0)

/* Whether the text of the last error has these words. */
#define CHECK_TEXT(words) CHECK(strstr(striae_last_error(), words) != NULL)

/* The path of a file in the folder of the test. */
static inline char *in_folder(const char *folder, const char *name) {
    size_t len = strlen(folder) + strlen(name) + 2;
    char *path = malloc(len);
    CHECK(path != NULL);
    snprintf(path, len, "%s/%s", folder, name);
    return path;
}

/* All bytes of a file; the caller frees them. */
static inline unsigned char *bytes_of(const char *path, size_t *len) {
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    CHECK(fseek(file, 0, SEEK_END) == 0);
    long size = ftell(file);
    CHECK(size >= 0);
    rewind(file);
    unsigned char *bytes = malloc((size_t)size + 1);
    CHECK(bytes != NULL);
    CHECK(fread(bytes, 1, (size_t)size, file) == (size_t)size);
    fclose(file);
    *len = (size_t)size;
    return bytes;
}

#endif
