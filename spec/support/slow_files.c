/* A file system that takes its time, for LD_PRELOAD: each open, stat, readdir and read of what lies below the directory SLOW_FILES
 * sleeps for SLOW_FILES_US microseconds first. It gives up when a signal ends the sleep, as network file systems do: the call fails
 * with EINTR. Counts the calls, those that a signal ended, and the nanoseconds, in what the functions at the end return. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { OPEN, STAT, READDIR, READ, KINDS };

static atomic_long calls[KINDS], interrupted[KINDS], slept[KINDS];

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int is_slow(const char *path) {
    const char *directory = getenv("SLOW_FILES");
    return directory && path && strncmp(path, directory, strlen(directory)) == 0;
}

static int is_slow_file(int file) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return is_slow(path);
}

/* Sleeps, and returns whether a signal ended that. */
static int gives_up(int kind) {
    long us = atol(getenv("SLOW_FILES_US"));
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    long long before = now();
    int ended = nanosleep(&time, NULL) != 0;
    calls[kind]++;
    slept[kind] += now() - before;
    if (!ended) return 0;
    interrupted[kind]++;
    errno = EINTR;
    return 1;
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define MODE_OF(flags) \
    mode_t mode = 0; \
    if ((flags) & (O_CREAT | O_TMPFILE)) { \
        va_list rest; \
        va_start(rest, flags); \
        mode = va_arg(rest, mode_t); \
        va_end(rest); \
    }

#define SLOW_OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        MODE_OF(flags); \
        if (is_slow(path) && gives_up(OPEN)) return -1; \
        return real(path, flags, mode); \
    }
SLOW_OPEN(open)
SLOW_OPEN(open64)

#define SLOW_OPENAT(name) \
    int name(int directory, const char *path, int flags, ...) { \
        REAL(name); \
        MODE_OF(flags); \
        if ((is_slow(path) || (path[0] != '/' && directory != AT_FDCWD && is_slow_file(directory))) && gives_up(OPEN)) return -1; \
        return real(directory, path, flags, mode); \
    }
SLOW_OPENAT(openat)
SLOW_OPENAT(openat64)

#define SLOW_STAT(name, type) \
    int name(const char *path, struct type *into) { \
        REAL(name); \
        if (is_slow(path) && gives_up(STAT)) return -1; \
        return real(path, into); \
    }
SLOW_STAT(stat, stat)
SLOW_STAT(lstat, stat)
SLOW_STAT(stat64, stat64)
SLOW_STAT(lstat64, stat64)

#define SLOW_FSTATAT(name, type) \
    int name(int directory, const char *path, struct type *into, int flags) { \
        REAL(name); \
        if ((is_slow(path) || (path[0] != '/' && directory != AT_FDCWD && is_slow_file(directory))) && gives_up(STAT)) return -1; \
        return real(directory, path, into, flags); \
    }
SLOW_FSTATAT(fstatat, stat)
SLOW_FSTATAT(fstatat64, stat64)

int statx(int directory, const char *path, int flags, unsigned mask, struct statx *into) {
    REAL(statx);
    if (is_slow(path) && gives_up(STAT)) return -1;
    return real(directory, path, flags, mask, into);
}

#define SLOW_READDIR(name, type) \
    struct type *name(DIR *directory) { \
        REAL(name); \
        if (is_slow_file(dirfd(directory)) && gives_up(READDIR)) return NULL; \
        return real(directory); \
    }
SLOW_READDIR(readdir, dirent)
SLOW_READDIR(readdir64, dirent64)

ssize_t read(int file, void *into, size_t size) {
    REAL(read);
    if (is_slow_file(file) && gives_up(READ)) return -1;
    return real(file, into, size);
}

long slow_files_calls(int kind) { return calls[kind]; }
long slow_files_interrupted(int kind) { return interrupted[kind]; }
long slow_files_slept(int kind) { return slept[kind]; }
