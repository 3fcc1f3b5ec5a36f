// A resolver that is gone, for LD_PRELOAD: while the file NO_NAMES exists, no name can be resolved.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <unistd.h>

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!real) real = (int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
    const char *gone = getenv("NO_NAMES");
    int numeric = hints && (hints->ai_flags & AI_NUMERICHOST);
    if (gone && !numeric && access(gone, F_OK) == 0) return EAI_AGAIN;
    return real(name, service, hints, found);
}
