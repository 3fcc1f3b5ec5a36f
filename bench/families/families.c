/* What a C function can do with its time: compute, wait while it holds the GVL, or wait without it. Each of the three exists under
 * many names, `compute0` to `compute39` and so on, so that a profile can be compared method by method. They take nanoseconds. A
 * wait that a signal ends goes on for what is left. */
#include <errno.h>
#include <ruby.h>
#include <ruby/thread.h>
#include <stdio.h>
#include <time.h>

enum { NAMES = 40 };

static long long cpu_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void *wait(void *left) {
    while (nanosleep(left, left) != 0 && errno == EINTR) {}
    return NULL;
}

static struct timespec duration(VALUE ns) {
    long long number = NUM2LL(ns);
    return (struct timespec){number / 1000000000, number % 1000000000};
}

static VALUE compute(VALUE self, VALUE ns) {
    long long till = cpu_ns() + NUM2LL(ns);
    while (cpu_ns() < till) {}
    return Qnil;
}

static VALUE wait_with_gvl(VALUE self, VALUE ns) {
    struct timespec left = duration(ns);
    wait(&left);
    return Qnil;
}

static VALUE wait_without_gvl(VALUE self, VALUE ns) {
    struct timespec left = duration(ns);
    rb_thread_call_without_gvl(wait, &left, RUBY_UBF_IO, NULL);
    return Qnil;
}

static void define(VALUE module, const char *name, VALUE (*function)(VALUE, VALUE)) {
    char numbered[32];
    for (int number = 0; number < NAMES; number++) {
        snprintf(numbered, sizeof numbered, "%s%d", name, number);
        rb_define_module_function(module, numbered, function, 1);
    }
}

void Init_families(void) {
    VALUE module = rb_define_module("InC");
    define(module, "compute", compute);
    define(module, "block", wait_with_gvl);
    define(module, "wait", wait_without_gvl);
}
