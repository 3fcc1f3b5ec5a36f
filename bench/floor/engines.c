/* The gem's engines, reduced to what makes them fire. */
#define _GNU_SOURCE
#include "engines.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id /* glibc before 2.35 has the field but not the name */
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define THREAD_CPU_CLOCK(native_id) ((int)(((unsigned)~(native_id) << 3) | 6)) /* as the scheduler counts */

unsigned long
floor_now_ns(int clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (unsigned long)time.tv_sec * 1000000000UL + (unsigned long)time.tv_nsec;
}

static struct timespec
timespec(long ns)
{
    struct timespec time = { ns / 1000000000, ns % 1000000000 };
    return time;
}

/* A timer on each thread's CPU clock. */
static timer_t timers[MAX_THREADS];
static int timers_armed;

static int
arm_timer(int native_id, long interval_ns)
{
    struct itimerspec times = { timespec(interval_ns), timespec(interval_ns) };
    struct sigevent event;

    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGPROF;
    event.sigev_notify_thread_id = native_id;
    if (timer_create(THREAD_CPU_CLOCK(native_id), &event, &timers[timers_armed]) != 0) return -1;
    return timer_settime(timers[timers_armed++], 0, &times, NULL);
}

static void
disarm_timers(void)
{
    while (timers_armed > 0) timer_delete(timers[--timers_armed]);
}

const struct engine floor_timer = { arm_timer, disarm_timers };

/* The kernel's counter of each thread's CPU time. */
static int counters[MAX_THREADS];
static int counters_armed;

static int
arm_counter(int native_id, long interval_ns)
{
    struct perf_event_attr attributes;
    struct f_owner_ex owner = { F_OWNER_TID, native_id };
    int counter;

    memset(&attributes, 0, sizeof attributes);
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.size = sizeof attributes;
    attributes.config = PERF_COUNT_SW_TASK_CLOCK;
    attributes.sample_period = (unsigned long)interval_ns;
    attributes.wakeup_events = 1;
    attributes.disabled = attributes.exclude_kernel = attributes.exclude_hv = 1;
    counter = (int)syscall(SYS_perf_event_open, &attributes, native_id, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (counter < 0) return -1;
    counters[counters_armed++] = counter;
    if (fcntl(counter, F_SETFL, O_ASYNC | O_NONBLOCK) != 0 || fcntl(counter, F_SETSIG, SIGPROF) != 0) return -1;
    if (fcntl(counter, F_SETOWN_EX, &owner) != 0) return -1;
    return ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
}

static void
disarm_counters(void)
{
    while (counters_armed > 0) close(counters[--counters_armed]);
}

const struct engine floor_perf = { arm_counter, disarm_counters };

/* A thread that signals the threads whose CPU clocks have moved, at a random instant of each interval. */
static int ticked[MAX_THREADS];
static int to_tick;
static long tick_ns;
static pthread_t ticker;
static atomic_int ticking;

static void *
tick(void *nothing)
{
    unsigned long slot_ns = floor_now_ns(CLOCK_MONOTONIC), went_ns = 0, cpu_ns[MAX_THREADS] = { 0 };
    long enough_ns = tick_ns / 8 > 20000 ? tick_ns / 8 : 20000;
    unsigned seed = (unsigned)slot_ns;

    prctl(PR_SET_TIMERSLACK, 1);
    while (ticking) {
        /* before this no thread can have run enough since the last round */
        long first_ns = (long)(went_ns + (unsigned long)enough_ns > slot_ns ? went_ns + (unsigned long)enough_ns : slot_ns);
        long room_ns = (long)slot_ns + tick_ns - first_ns;
        struct timespec then = timespec(first_ns + (room_ns > 0 ? rand_r(&seed) % room_ns : 0));
        unsigned long late_ns;
        siginfo_t info;

        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &then, NULL);
        went_ns = floor_now_ns(CLOCK_MONOTONIC);
        slot_ns += (unsigned long)tick_ns;
        late_ns = went_ns - slot_ns;
        if ((long)late_ns > 0) slot_ns += late_ns - late_ns % (unsigned long)tick_ns; /* missed rounds are not made up for */
        memset(&info, 0, sizeof info);
        info.si_code = SI_QUEUE;
        for (int i = 0; i < to_tick; i++) {
            unsigned long now_ns = floor_now_ns(THREAD_CPU_CLOCK(ticked[i]));
            if (now_ns - cpu_ns[i] < (unsigned long)enough_ns) continue;
            cpu_ns[i] = now_ns;
            syscall(SYS_rt_tgsigqueueinfo, getpid(), ticked[i], SIGPROF, &info);
        }
    }
    return nothing;
}

static int
arm_ticker(int native_id, long interval_ns)
{
    sigset_t all, before;
    int failure;

    ticked[to_tick++] = native_id;
    if (ticking) return 0;
    tick_ns = interval_ns;
    ticking = 1;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failure = pthread_create(&ticker, NULL, tick, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure == 0) return 0;
    ticking = 0;
    errno = failure;
    return -1;
}

static void
disarm_ticker(void)
{
    if (atomic_exchange(&ticking, 0)) pthread_join(ticker, NULL);
    to_tick = 0;
}

const struct engine floor_ticker = { arm_ticker, disarm_ticker };
