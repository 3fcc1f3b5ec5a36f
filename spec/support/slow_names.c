/* Has the search for the address of a host take its time, as of a name server that does not answer: 20 seconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

int getaddrinfo(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  if (!real) real = (int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
  if (host && strstr(host, "slow.example")) {
    sleep(20);
    return EAI_AGAIN;
  }
  return real(host, service, hints, found);
}
