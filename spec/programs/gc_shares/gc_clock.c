/* The CPU time that the calling thread spends in garbage collections: the thread's clock from the event that begins each step to the
 * one that ends it. */
#include <ruby.h>
#include <ruby/debug.h>
#include <time.h>

static long long used_ns, since_ns;

static long long cpu_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void on_gc(VALUE point, void *data) {
    if (rb_tracearg_event_flag(rb_tracearg_from_tracepoint(point)) == RUBY_INTERNAL_EVENT_GC_ENTER)
        since_ns = cpu_ns();
    else
        used_ns += cpu_ns() - since_ns;
}

static VALUE gc_cpu_ns(VALUE self) {
    return LL2NUM(used_ns);
}

void Init_gc_clock(void) {
    VALUE point = rb_tracepoint_new(0, RUBY_INTERNAL_EVENT_GC_ENTER | RUBY_INTERNAL_EVENT_GC_EXIT, on_gc, NULL);
    rb_gc_register_mark_object(point);
    rb_tracepoint_enable(point);
    rb_define_singleton_method(rb_define_module("GCClock"), "cpu_ns", gc_cpu_ns, 0);
}
