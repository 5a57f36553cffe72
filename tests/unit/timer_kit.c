/* SPDX-License-Identifier: MIT */
#include "timer_kit.h"

#include "preload/timer_signal.h"

enum { NUMBER = 52 };

struct pinject_preload pinject_preload;
struct timer_seen *seen;
bool masked, taken;
void (*when_counted)(void), (*when_taken)(void);
int rings_fd;

static char directory[64];

const char *rings_path(void)
{
    static char path[128];
    snprintf(path, sizeof(path), "%s/s.rings.18446744073709551615", directory);
    return path;
}

/* ---- The signal and the samples ---- */

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    if (number == NUMBER && info->si_code == SI_TIMER && info->si_value.sival_ptr == pinject_sampler_find())
        seen->expired++;
    else
        seen->foreign++;
}

int pinject_signal_take(void)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    if (when_taken)
        when_taken();
    if (seen->take_error)
        return seen->take_error;
    taken = true;
    return sigaction(NUMBER, &action, NULL);
}

int pinject_timer_signal(void)
{
    return seen->take_fails_late ? 99 : NUMBER;
}

int pinject_signal_number(void)
{
    return taken ? NUMBER : 0;
}

void pinject_signal_open(void)
{
    seen->opened++;
}

void pinject_signal_forget(void)
{
    seen->forgotten++;
}

void pinject_signal_release(void)
{
    seen->released++;
}

bool pinject_signal_masked(void)
{
    return masked;
}

void pinject_signal_set_masked(bool to)
{
    seen->set_masked += to ? 1 : 100;
}

uint64_t pinject_sampler_count(struct pinject_sampler *sampler)
{
    seen->counts++;
    MUST(sampler == pinject_sampler_find());
    if (when_counted)
        when_counted();
    return 0;
}

/* ---- The rings ---- */

struct pinject_timer_head *head_of(int ring)
{
    static char *map;
    if (!map)
        map = mmap(NULL, (size_t)RINGS * PINJECT_RING_STRIDE, PROT_READ | PROT_WRITE, MAP_SHARED, rings_fd, 0);
    MUST(map != MAP_FAILED);
    return (struct pinject_timer_head *)(void *)(map + (size_t)ring * PINJECT_RING_STRIDE + PINJECT_TIMER_HEAD);
}

struct perf_event_mmap_page *page_of(int ring)
{
    return (struct perf_event_mmap_page *)(void *)((char *)head_of(ring) - PINJECT_TIMER_HEAD);
}

unsigned rings_mapped(void)
{
    char line[512];
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof(line), maps))
        count += strstr(line, directory) != NULL;
    fclose(maps);
    return count - 1;
}

unsigned descriptors(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 64; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Timers of this process, as the kernel knows them. */
static unsigned timers(void)
{
    char line[256];
    unsigned count = 0;
    FILE *file = fopen("/proc/self/timers", "r");
    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file))
        count += strncmp(line, "ID:", 3) == 0;
    fclose(file);
    return count;
}

bool has_timers(unsigned count)
{
    return access("/proc/self/timers", R_OK) != 0 || timers() == count;
}

void compute_until(unsigned more)
{
    unsigned until = seen->expired + more;
    while (__atomic_load_n(&seen->expired, __ATOMIC_RELAXED) < until)
        for (volatile int i = 0; i < 10000; i++)
            continue;
}

void compute(int ms)
{
    uint64_t until = sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) + (uint64_t)ms * 1000000;
    while (sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
        for (volatile int i = 0; i < 10000; i++)
            continue;
}

static void begin(void)
{
    memset(seen, 0, sizeof(*seen));
    unlink(rings_path());
    rings_fd = open(rings_path(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    MUST(rings_fd >= 0 && ftruncate(rings_fd, (off_t)RINGS * PINJECT_RING_STRIDE) == 0);
    snprintf(pinject_preload.session, sizeof(pinject_preload.session), "PINJECT_SESSION=%s/s", directory);
    static struct pinject_segment segment = {.rings = UINT64_MAX};
    pinject_preload.channel.segment = &segment;
    pinject_preload.state = PINJECT_FOLLOWED;
    pinject_preload.pid = getpid();
    for (int ring = 0; ring < RINGS; ring++)
        *head_of(ring) = (struct pinject_timer_head){.interval_ns = 1000000, .id = 40 + (uint64_t)ring, .flags = 3};
}

void in_child(void (*test)(void))
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(120);
        begin();
        test();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void *run(void *data)
{
    ((void (*)(void))data)();
    return NULL;
}

void in_thread(void (*test)(void))
{
    pthread_t thread;
    void *data;
    memcpy(&data, &test, sizeof(data));
    MUST(pthread_create(&thread, NULL, run, data) == 0);
    MUST(pthread_join(thread, NULL) == 0);
}

int set_up(void **state)
{
    (void)state;
    snprintf(directory, sizeof(directory), "/tmp/pinject-timer-XXXXXX");
    seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return (void *)seen == MAP_FAILED || !mkdtemp(directory);
}

int tear_down(void **state)
{
    (void)state;
    unlink(rings_path());
    return rmdir(directory);
}
