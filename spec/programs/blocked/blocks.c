/* Functions that wait in the system and keep the GVL, as many extensions do. Each counts the nanoseconds that its calls took, by the
 * clock right around them, and of these the ones that it waited: in the others it could have run and had no CPU. None starts a call
 * again that a signal has ended: that is counted. */
#include <poll.h>
#include <ruby.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

enum { USLEEP, NANOSLEEP, CLOCK_NANOSLEEP, POLL, SELECT, EPOLL_WAIT, FAILING, COMPUTING, YIELDING, KINDS };

static long long took[KINDS], waited[KINDS];
static long early;
static int epoll;

static long long clock_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

/* The time for which this thread could have run and had no CPU, as the kernel counts it. */
static long long run_delay_ns(void) {
    unsigned long long on_cpu = 0, delay = 0;
    FILE *file = fopen("/proc/thread-self/schedstat", "re");
    if (!file) return 0;
    if (fscanf(file, "%llu %llu", &on_cpu, &delay) != 2) delay = 0;
    fclose(file);
    return delay;
}

static void call(int kind, long us) {
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    struct timeval interval = {us / 1000000, us % 1000000};
    struct epoll_event event;
    switch (kind) {
    case USLEEP: usleep(us); break;
    case CLOCK_NANOSLEEP: clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL); break;
    case POLL: poll(NULL, 0, us / 1000); break;
    case SELECT: select(0, NULL, NULL, NULL, &interval); break;
    case EPOLL_WAIT: epoll_wait(epoll, &event, 1, us / 1000); break;
    default: nanosleep(&time, NULL);
    }
}

/* Waits for whole milliseconds, which is all that poll and epoll can. */
static VALUE wait(int kind, VALUE ms) {
    long us = NUM2LONG(ms) * 1000;
    long long delay = run_delay_ns(), before = clock_ns(CLOCK_MONOTONIC);
    call(kind, us);
    long long passed = clock_ns(CLOCK_MONOTONIC) - before;
    took[kind] += passed;
    waited[kind] += passed - (run_delay_ns() - delay);
    early += passed < us * 1000LL;
    return LL2NUM(passed);
}

static VALUE by_usleep(VALUE self, VALUE ms) { return wait(USLEEP, ms); }
static VALUE by_nanosleep(VALUE self, VALUE ms) { return wait(NANOSLEEP, ms); }
static VALUE by_clock_nanosleep(VALUE self, VALUE ms) { return wait(CLOCK_NANOSLEEP, ms); }
static VALUE by_poll(VALUE self, VALUE ms) { return wait(POLL, ms); }
static VALUE by_select(VALUE self, VALUE ms) { return wait(SELECT, ms); }
static VALUE by_epoll_wait(VALUE self, VALUE ms) { return wait(EPOLL_WAIT, ms); }

/* Waits, and raises an exception. */
static VALUE failing(VALUE self, VALUE ms) {
    wait(FAILING, ms);
    rb_raise(rb_eRuntimeError, "it took too long");
}

/* Computes for as long as it then waits. */
static VALUE computing(VALUE self, VALUE ms) {
    long long till = clock_ns(CLOCK_THREAD_CPUTIME_ID) + NUM2LONG(ms) * 1000000LL;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < till) {}
    return wait(COMPUTING, ms);
}

/* Waits, and calls a block. */
static VALUE yielding(VALUE self, VALUE ms) {
    wait(YIELDING, ms);
    return rb_yield(Qnil);
}

static VALUE by_name(const long long *times) {
    static const char *names[] = {"usleep", "nanosleep", "clock_nanosleep", "poll", "select", "epoll_wait", "failing", "computing", "yielding"};
    VALUE sums = rb_hash_new();
    for (int kind = 0; kind < KINDS; kind++) {
        if (took[kind]) rb_hash_aset(sums, rb_str_new_cstr(names[kind]), LL2NUM(times[kind]));
    }
    return sums;
}

static VALUE all_waited(VALUE self) { return by_name(waited); }

static VALUE all_took(VALUE self) { return by_name(took); }

static VALUE ended_early(VALUE self) { return LONG2NUM(early); }

void Init_blocks(void) {
    VALUE module = rb_define_module("Blocks");
    epoll = epoll_create1(EPOLL_CLOEXEC);
    rb_define_module_function(module, "usleep", by_usleep, 1);
    rb_define_module_function(module, "nanosleep", by_nanosleep, 1);
    rb_define_module_function(module, "clock_nanosleep", by_clock_nanosleep, 1);
    rb_define_module_function(module, "poll", by_poll, 1);
    rb_define_module_function(module, "select", by_select, 1);
    rb_define_module_function(module, "epoll_wait", by_epoll_wait, 1);
    rb_define_module_function(module, "failing", failing, 1);
    rb_define_module_function(module, "computing", computing, 1);
    rb_define_module_function(module, "yielding", yielding, 1);
    rb_define_module_function(module, "waited", all_waited, 0);
    rb_define_module_function(module, "took", all_took, 0);
    rb_define_module_function(module, "early", ended_early, 0);
}
