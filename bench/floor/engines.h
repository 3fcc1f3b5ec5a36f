/* An engine fires once each interval, for the threads that it was armed for. `arm` gives 0, or -1 and an errno. */
#define MAX_THREADS 256

struct engine {
    int (*arm)(int native_id, long interval_ns);
    void (*disarm)(void);
};

extern const struct engine floor_timer, floor_perf, floor_ticker;

unsigned long floor_now_ns(int clock);
