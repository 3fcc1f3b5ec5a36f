/* Has the thread "profiler" take its time after it has looked who handles SIGPROF: SLOW_LOOK milliseconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int sigaction(int number, const struct sigaction *new, struct sigaction *old) {
  static int (*real)(int, const struct sigaction *, struct sigaction *);
  if (!real) real = (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
  int result = real(number, new, old);
  char name[16] = "";
  if (number == SIGPROF && !new && !prctl(PR_GET_NAME, name) && !strcmp(name, "profiler")) {
    usleep(1000 * (useconds_t)atoi(getenv("SLOW_LOOK")));
  }
  return result;
}
