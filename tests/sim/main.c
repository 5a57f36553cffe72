/* SPDX-License-Identifier: MIT */
/*
 * sim [--seed S] [--count N] [--seconds N] [--all] [--verbose]: N sessions (default 1000), with the seeds S, S + 1 ...
 * (default 1). The first one that fails is named, and ends the run with status 1; with --all the others run too. A
 * session that crashes, or does not end, is named, and ends the run in any case.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"

struct sim sim;
struct sim_over sim_over;

/* splitmix64, by Sebastiano Vigna: public domain. */
uint64_t sim_random(void)
{
    uint64_t word = sim.random += 0x9e3779b97f4a7c15;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9;
    word = (word ^ word >> 27) * 0x94d049bb133111eb;
    return word ^ word >> 31;
}

uint64_t sim_below(uint64_t limit)
{
    const uint64_t word = sim_random();
    return limit ? word % limit : 0;
}

bool sim_chance(unsigned parts)
{
    return sim_below(1000) < parts;
}

__attribute__((format(printf, 1, 0))) static void print(const char *format, va_list arguments)
{
    printf("%12.3f ms  ", (double)sim.now_ns / SIM_MS - 10000);
    vprintf(format, arguments);
    putchar('\n');
}

void sim_say(const char *format, ...)
{
    va_list arguments;
    if (!sim.verbose)
        return;
    va_start(arguments, format);
    print(format, arguments);
    va_end(arguments);
}

void sim_fail(const char *format, ...)
{
    static char text[256];
    va_list arguments;
    if (!sim.failed) {
        va_start(arguments, format);
        vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        sim.failed = text;
    }
    sim_say("FAILED: %s", text);
}

/* ---- A session ---- */

static unsigned rate(unsigned most)
{
    return sim_chance(400) ? (unsigned)sim_below(most) : 0;
}

static void choose_faults(void)
{
    static const unsigned follows[] = {PINJECT_SESSION_ALL, PINJECT_SESSION_ALL & ~PINJECT_SESSION_EXEC, 0,
                                       PINJECT_SESSION_FORK | PINJECT_SESSION_VFORK, PINJECT_SESSION_PTHREAD};
    struct sim_faults *faults = &sim.faults;
    sim.clean = sim_chance(400);
    sim.follow = PINJECT_SESSION_ALL;
    sim.split = sim_chance(200);
    sim.has_status = sim_chance(500);
    sim.snapshots = sim.split || sim_chance(500);
    sim.pids = SIM_PIDS;
    faults->late = sim_chance(300) ? 100 : 0;
    faults->late_ns = 10 * SIM_MS;
    faults->stall = rate(50);
    faults->slow = sim_chance(200);
    if (sim.clean) {
        faults->static_program = rate(300);
        return;
    }
    if (sim_chance(100)) {
        faults->unreported_wait = 1 + (unsigned)sim_below(900);
        sim.only_waits = true;
        return;
    }
    if (sim_chance(250))
        sim.follow = follows[sim_below(5)];
    faults->late = rate(300);
    faults->late_ns = sim_below(400 * SIM_MS);
    faults->never = rate(100);
    faults->twice = rate(100);
    faults->refused = rate(200);
    faults->unasked = rate(200);
    faults->unreported_wait = rate(500);
    faults->raw_clone = rate(300);
    faults->no_wait = rate(500);
    faults->odd_program = rate(500);
    faults->failing_exec = rate(300);
    faults->lost_records = sim_chance(200) ? 20 : 0;
    faults->small_rings = sim_chance(100);
    sim.pids = sim_chance(300) ? SIM_FEW_PIDS : SIM_PIDS;
}

static const char *run_session(uint64_t seed, bool verbose)
{
    memset(&sim, 0, sizeof(sim));
    sim.seed = sim.random = seed;
    sim.verbose = verbose;
    choose_faults();
    sim.relief = sim.follow == PINJECT_SESSION_ALL && !sim.split && sim_chance(300);
    kernel_init();
    const struct sim_faults *faults = &sim.faults;
    sim_say("follow %x%s%s; of 1000: late %u by %" PRIu64 " ms, never %u, twice %u, refused %u, unasked %u, "
            "unreported waits %u, raw clones %u, no wait %u, odd programs %u, failing exec %u, stalls %u, "
            "static programs %u, lost records %u%s%s",
            sim.follow, sim.clean ? ", clean" : "", sim.split ? ", split" : "", faults->late, faults->late_ns / SIM_MS,
            faults->never, faults->twice, faults->refused, faults->unasked, faults->unreported_wait, faults->raw_clone,
            faults->no_wait, faults->odd_program, faults->failing_exec, faults->stall, faults->static_program,
            faults->lost_records, faults->small_rings ? ", small rings" : "", faults->slow ? ", slow" : "");
    collector_begin();
    script_begin();
    const uint64_t steps = 10 + sim_below(sim_chance(100) ? 1000 : 150);
    for (uint64_t i = 0; i < steps && !sim.failed; i++) {
        script_step();
        collector_step();
    }
    script_wind_down();
    collector_end();
    kernel_free();
    return sim.failed;
}

/* ---- Crashes ---- */

enum { SESSION_S = 20 }; /* of CPU time: most sessions take a millisecond */

static volatile uint64_t running;

static void put_failure(int signal)
{
    char text[80], digits[24];
    size_t count = 0, size = (size_t)(stpcpy(text, "FAILED: seed ") - text);
    uint64_t seed = running;
    do
        digits[count++] = (char)('0' + seed % 10);
    while (seed /= 10);
    while (count)
        text[size++] = digits[--count];
    size = (size_t)(stpcpy(text + size, signal == SIGPROF ? ": it does not end\n" : ": it crashes\n") - text);
    _exit(write(STDOUT_FILENO, text, size) == (ssize_t)size ? 1 : 2);
}

/* Where a sanitizer does not report them already. */
static void catch_crashes(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGPROF};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        struct sigaction old;
        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            signal(signals[i], put_failure);
    }
}

static const char *run_watched(uint64_t seed, bool verbose)
{
    const struct itimerval most = {.it_value.tv_sec = SESSION_S};
    running = seed;
    setitimer(ITIMER_PROF, &most, NULL);
    return run_session(seed, verbose);
}

static uint64_t number_of(const char *text)
{
    char *end;
    const uint64_t value = strtoull(text, &end, 0);
    if (*end || end == text) {
        fprintf(stderr, "sim: '%s' is no number\n", text);
        exit(2);
    }
    return value;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    uint64_t seed = 1, count = 1000, limit = UINT32_MAX, done = 0;
    uint64_t failures = 0;
    bool verbose = false, all = false;
    setvbuf(stdout, NULL, _IOLBF, 0); /* a failure is to be seen at once, also in a file */
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--verbose"))
            verbose = true;
        else if (!strcmp(argv[i], "--all"))
            all = true;
        else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
            seed = number_of(argv[++i]);
        else if (!strcmp(argv[i], "--count") && i + 1 < argc)
            count = number_of(argv[++i]);
        else if (!strcmp(argv[i], "--seconds") && i + 1 < argc)
            limit = number_of(argv[++i]), count = UINT64_MAX;
        else {
            fprintf(stderr, "usage: sim [--seed S] [--count N] [--seconds N] [--all] [--verbose]\n");
            return 2;
        }
    }
    const double start = seconds();
    catch_crashes();
    for (; done < count && seconds() - start < (double)limit; done++) {
        const char *failed = run_watched(seed + done, verbose);
        if (failed) {
            printf("FAILED: seed %" PRIu64 ": %s\nsim --seed %" PRIu64 " --count 1 --verbose shows it\n", seed + done,
                   failed, seed + done);
            failures++;
            if (!all)
                return 1;
        }
    }
    printf("sim: %" PRIu64 " sessions from seed %" PRIu64 ", %" PRIu64 " failed; inherited sets covered %" PRIu64
           " tasks; in %" PRIu64 " sessions tasks lost their events; in %" PRIu64
           " sessions guesses gave tasks up to %.1f ms too much\n",
           done, seed, failures, sim_over.covered, sim_over.relieved, sim_over.sessions,
           (double)sim_over.most_ns / SIM_MS);
    return failures > 0;
}
