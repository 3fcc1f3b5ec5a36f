/* Refuses what REFUSED_CALLS names, as containers and sandboxes do: "perf", "signals" that are queued to a thread, and
   "locks" of files. Every other system call goes through. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

long syscall(long number, ...);

static int refuses(const char *name) {
  const char *names = getenv("REFUSED_CALLS");
  return names && strstr(names, name);
}

int flock(int file, int operation) {
  if (refuses("locks")) {
    errno = EPERM;
    return -1;
  }
  return (int)syscall(SYS_flock, file, operation);
}

long syscall(long number, ...) {
  static long (*real)(long, ...);
  long argument[6];
  va_list given;
  if (number == SYS_perf_event_open && refuses("perf")) {
    errno = EACCES;
    return -1;
  }
  if (number == SYS_rt_tgsigqueueinfo && refuses("signals")) {
    errno = EPERM;
    return -1;
  }
  if (!real) real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  va_start(given, number);
  for (int place = 0; place < 6; place++) argument[place] = va_arg(given, long);
  va_end(given);
  return real(number, argument[0], argument[1], argument[2], argument[3], argument[4], argument[5]);
}
