// A disk that takes its time, for LD_PRELOAD: each write to a file that ends in .tmp lasts SLOW_DISK seconds, whatever
// signals arrive, or fails if that is "full". The file SLOW_DISK_BEGAN appears when the first of them begins. If SLOW_DISK_WHILE is
// given, all that is so while that file exists.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int is_temporary(int file) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path);
    return length > 4 && memcmp(path + length - 4, ".tmp", 4) == 0;
}

ssize_t write(int file, const void *bytes, size_t length) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    const char *disk = getenv("SLOW_DISK"), *began = getenv("SLOW_DISK_BEGAN");
    const char *during = getenv("SLOW_DISK_WHILE");
    if (disk && is_temporary(file) && (!during || access(during, F_OK) == 0)) {
        if (began) close(open(began, O_CREAT | O_WRONLY, 0600));
        if (strcmp(disk, "full") == 0) {
            errno = ENOSPC;
            return -1;
        }
        struct timespec left = {atol(disk), 0};
        while (nanosleep(&left, &left) != 0 && errno == EINTR) {}
        // A write that has begun stays with its file, also if the program closes that meanwhile.
        if (!is_temporary(file)) return length;
    }
    return real(file, bytes, length);
}
