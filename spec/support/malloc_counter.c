/* Preloaded into a Ruby: counts the allocations made while the SIGPROF handler runs.
 *
 * It slips its own handler in front of whoever installs one, so what is tested is the extension as it
 * is built, with everything that the handler calls: Rust's allocator, libc's and the VM's are all
 * malloc in the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static __thread int in_handler __attribute__((tls_model("initial-exec")));
static volatile unsigned long handled, allocations;
static int self_test;
static void (*wrapped)(int, siginfo_t *, void *);

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static void note(void) { if (in_handler) __sync_fetch_and_add(&allocations, 1); }

/* More than there can be is refused here: newer libcs take a lock before they refuse it. */
void *malloc(size_t size) { note(); return size == SIZE_MAX ? NULL : __libc_malloc(size); }
void *calloc(size_t count, size_t size) { note(); return __libc_calloc(count, size); }
void *realloc(void *old, size_t size) { note(); return __libc_realloc(old, size); }
void free(void *old) { if (old) note(); __libc_free(old); }
void *memalign(size_t alignment, size_t size) { note(); return __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
  *out = memalign(alignment, size);
  return *out ? 0 : 12;
}

static void counting(int signal, siginfo_t *info, void *context) {
  in_handler = 1;
  wrapped(signal, info, context);
  if (self_test) {
    /* More than there can be: it is refused without a lock, for the program may be inside malloc right
     * now. Volatile, or the compiler leaves it out. */
    volatile size_t huge = SIZE_MAX;
    int before = errno;
    void *volatile none = malloc(huge);
    (void)none;
    errno = before;
  }
  in_handler = 0;
  __sync_fetch_and_add(&handled, 1);
}

int sigaction(int signal, const struct sigaction *action, struct sigaction *old) {
  static int (*real)(int, const struct sigaction *, struct sigaction *);
  if (!real) real = dlsym(RTLD_NEXT, "sigaction");
  if (signal != SIGPROF || !action || !(action->sa_flags & SA_SIGINFO)) return real(signal, action, old);
  self_test = getenv("MALLOC_COUNTER_SELF_TEST") != NULL;
  struct sigaction ours = *action;
  wrapped = action->sa_sigaction;
  ours.sa_sigaction = counting;
  return real(signal, &ours, old);
}

__attribute__((destructor)) static void report(void) {
  char line[96];
  int length = snprintf(line, sizeof line, "malloc_counter handled=%lu allocations=%lu\n", handled, allocations);
  if (handled) (void)!write(2, line, length);
}
