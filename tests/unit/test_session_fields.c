/* SPDX-License-Identifier: MIT */
/* Every field of a new session and of its segment, and that nothing of it is left. */
#include "worker_fake.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "collector/config/probe.h"
#include "common/report.h"
#include "deny.h"

static struct fake fake;

static uint64_t clock_ns(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Those that a program would inherit are counted apart. */
static unsigned open_files(unsigned *ret_inherited)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;
    assert_non_null(dir);
    *ret_inherited = 0;
    for (const struct dirent *entry; (entry = readdir(dir)); count++)
        if (entry->d_name[0] != '.' && !(fcntl(atoi(entry->d_name), F_GETFD) & FD_CLOEXEC))
            ++*ret_inherited;
    closedir(dir);
    return count;
}

static uint32_t filters(void)
{
    char line[256];
    unsigned count = UINT32_MAX;
    FILE *file = fopen("/proc/self/status", "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        sscanf(line, "Seccomp_filters: %u", &count);
    fclose(file);
    return count;
}

static void header_says_what_the_session_is(void **state)
{
    static struct pinject_segment wanted;
    struct stat namespace;
    (void)state;
    fake_open(&fake);
    const struct session *session = &fake.session;
    memset(&wanted, 0, sizeof(wanted));
    assert_int_equal(stat("/proc/self/ns/pid", &namespace), 0);
    wanted.magic = PINJECT_WIRE_MAGIC;
    wanted.version = PINJECT_WIRE_VERSION;
    wanted.users_count = 1;
    wanted.users[0] = session->segment->users[0]; /* its name is by chance */
    assert_int_equal(wanted.users[0].user, geteuid());
    assert_true(wanted.users[0].name != 0);
    wanted.size = sizeof(wanted);
    memcpy(wanted.id, session->id, sizeof(wanted.id));
    wanted.pid_namespace = namespace.st_ino;
    assert_int_equal(stat("/proc/self/ns/user", &namespace), 0);
    wanted.user_namespace = namespace.st_ino;
    wanted.flags = session->segment->flags; /* below */
    wanted.doorbells_used = session->doorbells;
    wanted.wait_us = PINJECT_WAIT_US;
    wanted.collector = getpid();
    wanted.user = geteuid();
    wanted.filters = filters();
    const char *end = strrchr(session->path, '/');
    assert_non_null(end);
    snprintf(wanted.path, sizeof(wanted.path), "%.*s/pinject-%016" PRIx64 "%016" PRIx64, (int)(end - session->path),
             session->path, session->id[0], session->id[1]);
    strcpy(wanted.preload, "/nowhere/libpinject.so");
    memcpy(wanted.doorbell_of_cpu, session->segment->doorbell_of_cpu, sizeof(wanted.doorbell_of_cpu));
    assert_memory_equal(session->segment, &wanted, sizeof(wanted));
    assert_string_equal(session->path, wanted.path);
    fake_close(&fake);
}

/* The kernel opens probes slowly; tracepoints are not probes. */
static void tasks_wait_longer_for_probes(void **state)
{
    static struct event_spec probe = {.traces = true};
    (void)state;
    static const struct {
        unsigned probes, points;
        uint32_t wait_us;
    } rows[] = {{0, 2, 50000}, {1, 1, 1000000}, {3, 0, 1000000}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        static struct session session;
        struct settings settings = {.frequency = 999};
        assert_int_equal(event_config_init(&fake.config, &settings), 0);
        const unsigned before = fake.config.count;
        for (unsigned j = 0; j < rows[i].probes + rows[i].points; j++) {
            struct config_event *event = &fake.config.events[fake.config.count++];
            *event = (struct config_event){.spec = &probe};
            event->attr.type = j < rows[i].probes ? 9 : PERF_TYPE_TRACEPOINT;
        }
        assert_int_equal(service_init(&session, &settings, &fake.config, "/x"), 0);
        assert_int_equal(session.segment->wait_us, rows[i].wait_us);
        service_release(&session);
        fake.config.count = before;
        event_config_release(&fake.config);
    }
}

static void session_begins_now(void **state)
{
    (void)state;
    uint64_t start = clock_ns(CLOCK_MONOTONIC), real = clock_ns(CLOCK_REALTIME);
    fake_open(&fake);
    struct session *session = &fake.session;
    assert_in_range(session->start_ns, start, clock_ns(CLOCK_MONOTONIC));
    assert_in_range(session->start_realtime_ns, real, clock_ns(CLOCK_REALTIME));
    assert_int_equal(session->cpus, sysconf(_SC_NPROCESSORS_CONF));
    assert_true(session->open && session->guarded && session->inherited_sets && session->own);
    assert_ptr_equal(session->settings, &fake.settings);
    assert_ptr_equal(session->config, &fake.config);
    assert_true(session->tree_fd == -1 && session->tree_end_fd == -1 && !session->tree_end_ring);
    assert_null(session->dumps.predictor);
    assert_int_equal(session->dumps.now, 0);
    assert_int_equal(session->self, 0);
    assert_true(session->ring_budget == service_ring_budget(session->old_memlock.rlim_max));
    assert_true(session->ring_bytes == 0 && session->refused == 0 && session->malformed == 0 && session->ended == 0);
    assert_int_equal(session->denied, 0);
    fake_close(&fake);
}

static void nothing_is_left(void **state)
{
    unsigned inherited, before_inherited;
    (void)state;
    fake_open(&fake); /* what is opened once in a process stays */
    fake_close(&fake);
    unsigned before = open_files(&before_inherited);
    for (int i = 0; i < 2; i++) {
        fake_open(&fake);
        assert_int_equal(service_start_workers(&fake.session), 0);
        assert_int_equal(rings_need(&fake.session), 0);
        assert_true(open_files(&inherited) > before);
        assert_int_equal(inherited, before_inherited); /* no program gets any of it */
        fake_close(&fake);
        assert_int_equal(open_files(&inherited), before);
        assert_false(fake.session.open || fake.session.guarded);
        assert_null(fake.session.segment);
        assert_null(fake.session.inherited_sets);
        assert_null(fake.session.dumps.predictor);
        assert_int_equal(fake.session.segment_fd, -1);
        assert_string_equal(fake.session.path, "");
    }
}

static void flags_follow_the_settings(void **state)
{
    enum {
        FORK = PINJECT_SESSION_FORK,
        VFORK = PINJECT_SESSION_VFORK,
        THREADS = PINJECT_SESSION_PTHREAD,
        EXEC = PINJECT_SESSION_EXEC,
        SNAPSHOT = PINJECT_SESSION_SNAPSHOT,
        REAPED = PINJECT_SESSION_REAPED,
        DUMPS = PINJECT_SESSION_DUMPS,
    };
    static const struct {
        unsigned follow;
        bool split, dumps;
        unsigned flags;
    } rows[] = {
        {0, false, false, SNAPSHOT},
        {FORK, false, false, FORK | SNAPSHOT | REAPED},
        {VFORK, false, false, VFORK | SNAPSHOT | REAPED},
        {THREADS, false, false, THREADS | SNAPSHOT},
        {EXEC, false, false, EXEC},
        {EXEC, true, false, EXEC | SNAPSHOT},
        {EXEC, false, true, EXEC | DUMPS},
        {EXEC | VFORK | 0x10000, false, false, EXEC | VFORK | REAPED},
        {PINJECT_SESSION_ALL, true, true, PINJECT_SESSION_ALL | SNAPSHOT | REAPED | DUMPS},
    };
    (void)state;
    fake_open(&fake);
    uint32_t timer = fake.config.source == PINJECT_SOURCE_TIMER ? PINJECT_SESSION_TIMER : 0;
    service_release(&fake.session);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fake.settings.follow = rows[i].follow;
        fake.settings.split = rows[i].split;
        fake.config.dump = rows[i].dumps ? 4096 : 0;
        assert_int_equal(service_init(&fake.session, &fake.settings, &fake.config, "/x"), 0);
        assert_int_equal(fake.session.segment->flags, rows[i].flags | timer | PINJECT_SESSION_LOCKED);
        assert_int_equal(fake.session.dumps.now, fake.config.dump);
        assert_int_equal(fake.session.dumps.predictor != NULL, rows[i].dumps);
        assert_true(!rows[i].dumps || fake.session.ring_budget <= 1u << 30);
        service_release(&fake.session);
    }
    fake_close(&fake);
}

/* Others see by it that we are there. */
static void segment_is_locked(void **state)
{
    (void)state;
    fake_open(&fake);
    fflush(NULL);
    pid_t child = fork(), holder = 0;
    assert_true(child >= 0);
    if (child == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        int fd = open(fake.session.path, O_RDWR);
        holder = fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK ? lock.l_pid : 0;
        _exit(holder == getppid() ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    fake_close(&fake);
}

static void rings_of_timers_are_made_once(void **state)
{
    (void)state;
    fake_open(&fake);
    if (fake.config.source != PINJECT_SOURCE_PERF) {
        fake_close(&fake);
        skip();
    }
    assert_false(rings_are_needed(&fake.session));
    assert_int_equal(rings_need(&fake.session), 0);
    assert_true(rings_are_needed(&fake.session));
    const void *map = fake.session.rings.map;
    assert_non_null(map);
    assert_int_equal(rings_need(&fake.session), 0);
    assert_ptr_equal(fake.session.rings.map, map);
    fake_close(&fake);
}

static bool reads_as_zeros_when_cut(int fd, const volatile void *map)
{
    return ftruncate(fd, 0) == 0 && *(const volatile uint64_t *)map == 0;
}

static int cut_all_files(void)
{
    for (int i = 0; i < 2; i++) {
        memset(&fake, 0, sizeof(fake));
        fake.settings = (struct settings){.frequency = 999, .follow = PINJECT_SESSION_ALL};
        MUST(event_config_init(&fake.config, &fake.settings) == 0);
        fake.config.source = i ? PINJECT_SOURCE_TIMER : PINJECT_SOURCE_PERF;
        struct session *session = &fake.session;
        MUST(service_init(session, &fake.settings, &fake.config, "/nowhere/libpinject.so") == 0);
        MUST(rings_need(session) == 0);
        *(uint64_t *)(void *)session->rings.map = 7;
        session->own->requests->dropped = 7;
        MUST(reads_as_zeros_when_cut(session->rings.fd, session->rings.map));
        MUST(reads_as_zeros_when_cut(session->own->fd, &session->own->requests->dropped));
        MUST(reads_as_zeros_when_cut(session->segment_fd, session->segment));
        fake_close(&fake);
    }
    return 0;
}

/* A follower can cut what the collector shares with it: rings made at once or late, requests, the segment. */
static void files_are_cut_by_somebody(void **state)
{
    (void)state;
    assert_int_equal(deny_in_child(cut_all_files), 0);
}

/* No file may be as large as the segment: each place is named, with its reason, and nothing stays. */
static void places_without_room(void **state)
{
    static struct session session;
    struct settings settings = {.frequency = 999};
    struct rlimit old, small;
    unsigned inherited;
    (void)state;
    assert_int_equal(event_config_init(&fake.config, &settings), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){4096, old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setenv("TMPDIR", "/nowhere", 1);
    unsigned before = open_files(&inherited);
    check_capture();
    setrlimit(RLIMIT_FSIZE, &small);
    int status = service_init(&session, &settings, &fake.config, "/x");
    setrlimit(RLIMIT_FSIZE, &old);
    const char *text = check_captured();
    unsetenv("TMPDIR");
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(status, -EFBIG);
    assert_string_equal(text, "pinject-run: cannot create the shared memory for profiling (/dev/shm: File too large, "
                              "/nowhere: No such file or directory, /tmp: File too large); set TMPDIR to a directory "
                              "with "
                              "2 MiB free, and allow files of that size (ulimit -f)\n");
    assert_int_equal(open_files(&inherited), before);
    assert_false(session.open);
    event_config_release(&fake.config);
}

static void check_budget(void)
{
    uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    int64_t kb = probe_read_sysctl("perf_event_mlock_kb", 516);
    if (probe_read_sysctl("perf_event_paranoid", 2) < 0)
        _exit(77);
    MUST(service_ring_budget(RLIM_INFINITY) == UINT64_MAX);
    MUST(service_ring_budget(0) == (uint64_t)kb * 1024 * cpus);
    MUST(service_ring_budget(65536) == (uint64_t)kb * 1024 * cpus + 65536);
}

static void users_have_a_budget(void **state)
{
    (void)state;
    fake_unprivileged(check_budget);
}

/* Filters that it was started under, its own tree has too: a preload object that finds more has been confined since. */
static int open_below_a_filter(void)
{
    deny_call(SYS_acct, NULL, EPERM);
    fake.settings = (struct settings){.frequency = 999, .follow = PINJECT_SESSION_ALL};
    MUST(event_config_init(&fake.config, &fake.settings) == 0);
    MUST(service_init(&fake.session, &fake.settings, &fake.config, "/x") == 0);
    MUST(filters() > 0 && fake.session.segment->filters == filters());
    fake_close(&fake);
    return 0;
}

static void filters_are_counted(void **state)
{
    (void)state;
    assert_int_equal(deny_in_child(open_below_a_filter), 0);
}

int main(void)
{
    report_program("pinject-run");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_says_what_the_session_is),
        cmocka_unit_test(tasks_wait_longer_for_probes),
        cmocka_unit_test(session_begins_now),
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(flags_follow_the_settings),
        cmocka_unit_test(segment_is_locked),
        cmocka_unit_test(rings_of_timers_are_made_once),
        cmocka_unit_test(files_are_cut_by_somebody),
        cmocka_unit_test(places_without_room),
        cmocka_unit_test(filters_are_counted),
        cmocka_unit_test(users_have_a_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
