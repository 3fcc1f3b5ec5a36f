/* The floor: the cheapest possible profiler. It has the same engines as the gem, and a handler that does as little as
 * requested. Nothing is kept, named or written.
 *
 * The buffers are shared by all threads and never read, so it does not matter who overwrites whom. */
#define _GNU_SOURCE
#include "engines.h"
#include <ruby.h>
#include <ruby/debug.h>
#include <ruby/thread.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define MAX_FRAMES 10000 /* as many as the gem walks */

enum { WALK = 1, THREAD_CLOCK = 2, TIMED = 4, GVL = 8 };

static VALUE handles[MAX_FRAMES];
static int lines[MAX_FRAMES];

static int what;
static unsigned long ticks, handler_ns;
static const struct engine *const engines[] = { &floor_timer, &floor_perf, &floor_ticker };
static const struct engine *armed;
static struct sigaction before;

static void
on_tick(int signal, siginfo_t *info, void *context)
{
    unsigned long begun = what & TIMED ? floor_now_ns(CLOCK_MONOTONIC) : 0;

    __atomic_fetch_add(&ticks, 1, __ATOMIC_RELAXED);
    if (what & THREAD_CLOCK) floor_now_ns(CLOCK_THREAD_CPUTIME_ID);
    if (what & WALK) rb_profile_frames(0, MAX_FRAMES, handles, lines);
    if (what & TIMED) __atomic_fetch_add(&handler_ns, floor_now_ns(CLOCK_MONOTONIC) - begun, __ATOMIC_RELAXED);
}

/* Hooks on the GVL that do the least by which waits can be measured: they read the clock. */
#ifdef HAVE_RB_INTERNAL_THREAD_SPECIFIC_KEY_CREATE
static rb_internal_thread_event_hook_t *gvl_hook;

static void
on_gvl(rb_event_flag_t event, const rb_internal_thread_event_data_t *data, void *nothing)
{
    floor_now_ns(CLOCK_MONOTONIC);
}

static void
hook_gvl(int wanted)
{
    rb_event_flag_t events = RUBY_INTERNAL_THREAD_EVENT_READY | RUBY_INTERNAL_THREAD_EVENT_RESUMED | RUBY_INTERNAL_THREAD_EVENT_SUSPENDED;

    if (gvl_hook) rb_internal_thread_remove_event_hook(gvl_hook);
    gvl_hook = wanted ? rb_internal_thread_add_event_hook(on_gvl, events, NULL) : NULL;
}
#else
static void
hook_gvl(int wanted)
{
}
#endif

/* A signal that is on its way must not meet the default, which ends the process. */
static void
disarm(void)
{
    armed->disarm();
    armed = NULL;
    hook_gvl(0);
    if (!(before.sa_flags & SA_SIGINFO) && before.sa_handler == SIG_DFL) before.sa_handler = SIG_IGN;
    sigaction(SIGPROF, &before, NULL);
}

/* Floor.start(what, interval_us, native_thread_ids, TIMER | PERF | TICKER) */
static VALUE
floor_start(VALUE self, VALUE parts, VALUE interval_us, VALUE native_ids, VALUE engine)
{
    long interval_ns = NUM2LONG(interval_us) * 1000, count;
    struct sigaction ours;

    Check_Type(native_ids, T_ARRAY);
    count = RARRAY_LEN(native_ids);
    if (armed) rb_raise(rb_eRuntimeError, "the floor is running");
    if (count > MAX_THREADS) rb_raise(rb_eArgError, "%ld threads are too many", count);

    what = NUM2INT(parts);
    ticks = handler_ns = 0;
    hook_gvl(what & GVL);
    memset(&ours, 0, sizeof ours);
    ours.sa_sigaction = on_tick;
    ours.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGPROF, &ours, &before);

    armed = engines[NUM2INT(engine) % 3];
    for (long i = 0; i < count; i++) {
        if (armed->arm(NUM2INT(RARRAY_AREF(native_ids, i)), interval_ns) != 0) {
            int failure = errno;
            disarm();
            rb_syserr_fail(failure, "engine");
        }
    }
    return Qnil;
}

/* Floor.stop -> [ticks, ns in the handler (0 unless TIMED)] */
static VALUE
floor_stop(VALUE self)
{
    if (armed) disarm();
    return rb_ary_new_from_args(2, ULONG2NUM(ticks), ULONG2NUM(handler_ns));
}

/* Floor.loop(what, rounds) -> [ns of one such tick in a tight loop, frames that a walk sees]. Nothing may be running. */
static VALUE
floor_loop(VALUE self, VALUE parts, VALUE rounds)
{
    long count = NUM2LONG(rounds);
    unsigned long begun;
    double each;

    if (armed) rb_raise(rb_eRuntimeError, "the floor is running");
    what = NUM2INT(parts);
    begun = floor_now_ns(CLOCK_MONOTONIC);
    for (long i = 0; i < count; i++) on_tick(SIGPROF, NULL, NULL);
    each = (double)(floor_now_ns(CLOCK_MONOTONIC) - begun) / (double)count;
    return rb_ary_new_from_args(2, DBL2NUM(each), INT2NUM(rb_profile_frames(0, MAX_FRAMES, handles, lines)));
}

/* Hooks on objects that do nothing: the VM's cost of calling one. */
static void
on_object(VALUE data, const rb_trace_arg_t *what)
{
}

static int walk_every, until_walk;

static void
walk_at_object(VALUE data, const rb_trace_arg_t *what)
{
    if (--until_walk > 0) return;
    until_walk = walk_every;
    rb_profile_frames(0, MAX_FRAMES, handles, lines);
}

static void
hook_objects(void (*hook)(VALUE, const rb_trace_arg_t *), rb_event_flag_t event)
{
    rb_add_event_hook2((rb_event_hook_func_t)hook, event, Qnil, RUBY_EVENT_HOOK_FLAG_SAFE | RUBY_EVENT_HOOK_FLAG_RAW_ARG);
}

/* Floor.objects(made, freed, walk): whether there is a hook on allocated objects, whether there is one on freed objects, and the
 * number of allocations per walk in the former; 0 for no walk. */
static VALUE
floor_objects(VALUE self, VALUE made, VALUE freed, VALUE walk)
{
    rb_remove_event_hook((rb_event_hook_func_t)on_object);
    rb_remove_event_hook((rb_event_hook_func_t)walk_at_object);
    walk_every = until_walk = NUM2INT(walk);
    if (RTEST(made)) hook_objects(walk_every ? walk_at_object : on_object, RUBY_INTERNAL_EVENT_NEWOBJ);
    if (RTEST(freed)) hook_objects(on_object, RUBY_INTERNAL_EVENT_FREEOBJ);
    return Qnil;
}

void
Init_floor(void)
{
    VALUE module = rb_define_module("Floor");

    rb_define_const(module, "WALK", INT2NUM(WALK));
    rb_define_const(module, "THREAD_CLOCK", INT2NUM(THREAD_CLOCK));
    rb_define_const(module, "TIMED", INT2NUM(TIMED));
    rb_define_const(module, "GVL", INT2NUM(GVL));
    rb_define_const(module, "TIMER", INT2NUM(0));
    rb_define_const(module, "PERF", INT2NUM(1));
    rb_define_const(module, "TICKER", INT2NUM(2));
    rb_define_singleton_method(module, "start", floor_start, 4);
    rb_define_singleton_method(module, "stop", floor_stop, 0);
    rb_define_singleton_method(module, "loop", floor_loop, 2);
    rb_define_singleton_method(module, "objects", floor_objects, 3);
}
