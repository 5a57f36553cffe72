/* SPDX-License-Identifier: MIT */
#include "worker_fake.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct fake fake;

static void segment_is_private_and_complete(void **state)
{
    (void)state;
    fake_open(&fake);
    const struct pinject_segment *segment = fake.session.segment;
    struct stat file, namespace;
    assert_int_equal(stat(segment->path, &file), 0);
    assert_string_equal(segment->path, fake.session.path);
    assert_int_equal(file.st_mode & 07777, geteuid() == 0 ? 0644 : 0600);
    assert_int_equal(stat(fake.session.own->path, &file), 0);
    assert_int_equal(file.st_mode & 07777, 0600);
    assert_int_equal(file.st_size, sizeof(struct pinject_requests));
    assert_int_equal(stat(segment->path, &file), 0);
    assert_int_equal(file.st_size, sizeof(*segment));
    assert_true(file.st_blocks * 512 >= (off_t)sizeof(*segment)); /* no touch of a page can fail */
    assert_int_equal(stat("/proc/self/ns/pid", &namespace), 0);
    assert_true(segment->pid_namespace == namespace.st_ino);
    assert_true(segment->magic == PINJECT_WIRE_MAGIC);
    assert_int_equal(segment->version, PINJECT_WIRE_VERSION);
    assert_int_equal(segment->size, sizeof(*segment));
    assert_int_equal(segment->collector, getpid());
    assert_in_range(segment->doorbells_used, 1, PINJECT_DOORBELLS);
    assert_string_equal(segment->preload, "/nowhere/libpinject.so");
    for (unsigned i = 0; i < PINJECT_CPUS; i++)
        assert_true(segment->doorbell_of_cpu[i] < segment->doorbells_used);
    assert_true(fcntl(fake.session.segment_fd, F_GETFD) & FD_CLOEXEC);
    char path[PINJECT_PATH];
    memcpy(path, segment->path, sizeof(path));
    fake_close(&fake);
    assert_int_equal(access(path, F_OK), -1);
}

/* Lines of /proc/self/maps, and descriptors, that have PATH in their names: the session's files. */
static unsigned held_of(const char *path)
{
    char line[PINJECT_PATH + 256], link[64];
    unsigned count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps))
        count += strstr(line, path) != NULL;
    fclose(maps);
    for (int fd = 0; fd < 1024; fd++) {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        ssize_t size = readlink(link, line, sizeof(line) - 1);
        line[size > 0 ? size : 0] = '\0';
        count += size > 0 && strstr(line, path);
    }
    return count;
}

static unsigned descriptors(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* A session that ends leaves no mapping and no descriptor, nor a file. */
static void nothing_stays(void **state)
{
    char path[PINJECT_PATH], own[PINJECT_PATH];
    (void)state;
    fake_open(&fake); /* what is opened once in a process is there */
    fake_close(&fake);
    unsigned before = descriptors();
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
    memcpy(path, fake.session.path, sizeof(path));
    memcpy(own, fake.session.own->path, sizeof(own));
    assert_true(held_of(path) >= 4);
    fake_close(&fake);
    assert_int_equal(held_of(path), 0);
    assert_int_equal(descriptors(), before);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access(own, F_OK), -1);
    assert_null(fake.session.segment);
    assert_int_equal(fake.session.segment_fd, -1);
    assert_false(fake.session.open);
}

static void two_sessions_differ(void **state)
{
    (void)state;
    static struct fake other;
    fake_open(&fake);
    fake_open(&other);
    assert_string_not_equal(fake.session.path, other.session.path);
    assert_memory_not_equal(fake.session.id, other.session.id, sizeof(fake.session.id));
    fake_close(&other);
    fake_close(&fake);
}

static void flags_follow_the_settings(void **state)
{
    (void)state;
    fake_open(&fake);
    assert_int_equal(fake.session.segment->flags,
                     PINJECT_SESSION_ALL | PINJECT_SESSION_REAPED | PINJECT_SESSION_LOCKED);
    service_release(&fake.session);
    fake.settings.follow = PINJECT_SESSION_PTHREAD;
    assert_int_equal(service_init(&fake.session, &fake.settings, &fake.config, "/x"), 0);
    assert_int_equal(fake.session.segment->flags,
                     PINJECT_SESSION_PTHREAD | PINJECT_SESSION_SNAPSHOT | PINJECT_SESSION_LOCKED);
    fake_close(&fake);
}

static void limits_are_raised_and_restored(void **state)
{
    (void)state;
    struct rlimit old, low, now;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = (struct rlimit){100, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    fake_open(&fake);
    getrlimit(RLIMIT_NOFILE, &now);
    assert_true(now.rlim_cur == old.rlim_max);
    assert_true(fake.session.fd_limit == old.rlim_max);
    service_restore_limits(&fake.session);
    getrlimit(RLIMIT_NOFILE, &now);
    assert_int_equal(now.rlim_cur, 100);
    fake_close(&fake);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

static void a_path_too_long_is_refused(void **state)
{
    (void)state;
    static char path[PINJECT_PATH + 100];
    memset(path, 'x', sizeof(path) - 1);
    struct settings settings = {.frequency = 999};
    assert_int_equal(event_config_init(&fake.config, &settings), 0);
    check_capture();
    int status = service_init(&fake.session, &settings, &fake.config, path);
    assert_non_null(strstr(check_captured(), "too long"));
    assert_int_equal(status, -ENAMETOOLONG);
    assert_int_equal(fake.session.segment_fd, -1);
    event_config_release(&fake.config);
}

/* No file may be as large as the segment: as on a full file system. */
static void check_full(void)
{
    struct settings settings = {.frequency = 999};
    struct rlimit none = {4096, 4096};
    static struct session session;
    signal(SIGXFSZ, SIG_IGN);
    MUST(event_config_init(&fake.config, &settings) == 0);
    MUST(setrlimit(RLIMIT_FSIZE, &none) == 0);
    setenv("TMPDIR", "/nowhere", 1);
    int ends[2];
    MUST(pipe(ends) == 0 && dup2(ends[1], 2) == 2);
    MUST(service_init(&session, &settings, &fake.config, "/x") == -EFBIG);
    char text[4096] = "";
    MUST(read(ends[0], text, sizeof(text) - 1) > 0);
    MUST(strstr(text, "/dev/shm") && strstr(text, "/nowhere: No such file") && strstr(text, "set TMPDIR"));
}

static void a_full_disk_is_told(void **state)
{
    (void)state;
    fake_unprivileged(check_full);
}

static uint32_t size_of_table(void)
{
    char line[256];
    unsigned size = 0;
    FILE *file = fopen("/proc/self/status", "re");
    MUST(file);
    while (fgets(line, sizeof(line), file))
        sscanf(line, "FDSize: %u", &size);
    fclose(file);
    return size;
}

/* The kernel's table of descriptors is large from the start: up to the limit, if there is one before 16384. */
static void check_table(void)
{
    struct rlimit limit = {1024, 1024};
    MUST(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    fake_open(&fake);
    MUST(fake.session.fd_limit == 1024);
    MUST(size_of_table() >= 1024);
    MUST(fcntl(1023, F_GETFD) < 0); /* nothing stays there */
    fake_close(&fake);
}

static void check_large_table(void)
{
    struct rlimit limit;
    MUST(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (limit.rlim_max < 16384)
        return;
    fake_open(&fake);
    MUST(size_of_table() == 16384);
    fake_close(&fake);
}

static void table_of_descriptors_is_made_once(void **state)
{
    (void)state;
    fake_unprivileged(check_table);
    fake_unprivileged(check_large_table);
}

/* The events of a bare program's tree: also where their descriptor is the first of all. */
static void events_of_a_tree_are_closed(void **state)
{
    (void)state;
    fake_open(&fake);
    fake_close(&fake);
    int saved = dup(0);
    for (int turn = 0; turn < 2; turn++) {
        fake_open(&fake);
        struct session *session = &fake.session;
        close(0);
        int *first = turn ? &session->tree_end_fd : &session->tree_fd;
        int *second = turn ? &session->tree_fd : &session->tree_end_fd;
        *first = open("/dev/null", O_RDONLY | O_CLOEXEC);
        *second = open("/dev/null", O_RDONLY | O_CLOEXEC);
        assert_int_equal(*first, 0);
        int other = *second;
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        unsigned char there;
        void *ring = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        session->tree_end_ring = ring;
        service_release(session);
        assert_true(fcntl(0, F_GETFD) < 0 && fcntl(other, F_GETFD) < 0);
        assert_int_equal(mincore(ring, page, &there), -1);
        assert_true(session->tree_fd == -1 && session->tree_end_fd == -1 && !session->tree_end_ring);
        fake_close(&fake);
        if (saved >= 0)
            dup2(saved, 0);
    }
    close(saved);
}

static const char *segment_to_go; /* it goes behind the others of its session... */
static char others_to_go[2][sizeof(fake.session.rings.path)];
static unsigned segments_gone;

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
    if (segment_to_go && strcmp(path, segment_to_go) == 0) {
        segments_gone++;
        for (unsigned i = 0; i < 2; i++)
            MUST(access(others_to_go[i], F_OK) < 0);
    }
    return __real_unlink(path);
}

/* ... as nobody would find them any more if we were killed in between. */
static void check_order(bool hangs)
{
    char path[PINJECT_PATH];
    fake_open(&fake);
    struct session *session = &fake.session;
    MUST(session->config->source == PINJECT_SOURCE_TIMER || rings_need(session) == 0);
    memcpy(path, session->path, sizeof(path));
    snprintf(others_to_go[0], sizeof(others_to_go[0]), "%s", session->own->path);
    snprintf(others_to_go[1], sizeof(others_to_go[1]), "%s", session->rings.path);
    MUST(access(others_to_go[0], F_OK) == 0 && access(others_to_go[1], F_OK) == 0);
    segment_to_go = path;
    segments_gone = 0;
    session->hangs = hangs;
    service_release(session);
    MUST(segments_gone == 1);
    segment_to_go = NULL;
}

static void check_both_orders(void)
{
    check_order(false);
    check_order(true);
}

static void the_segments_file_goes_last(void **state)
{
    (void)state;
    fake_unprivileged(check_both_orders);
}

/* Threads that hang may come back: what they use stays, but no file. */
static void check_hanging(void)
{
    char path[PINJECT_PATH], own[PINJECT_PATH], rings[PINJECT_PATH];
    fake_open(&fake);
    struct session *session = &fake.session;
    memcpy(path, session->path, sizeof(path));
    memcpy(own, session->own->path, sizeof(own));
    MUST(session->config->source == PINJECT_SOURCE_TIMER || rings_need(session) == 0);
    memcpy(rings, session->rings.path, sizeof(rings));
    MUST(access(path, F_OK) == 0 && access(own, F_OK) == 0 && access(rings, F_OK) == 0);
    session->hangs = true;
    service_release(session);
    MUST(access(path, F_OK) < 0 && access(own, F_OK) < 0 && access(rings, F_OK) < 0);
    MUST(!session->open && session->segment->closed == 1 && session->segment->magic == PINJECT_WIRE_MAGIC);
    MUST(fcntl(session->segment_fd, F_GETFD) >= 0 && session->own->requests && session->rings.map);
}

static void what_hangs_keeps_its_memory(void **state)
{
    (void)state;
    fake_unprivileged(check_hanging);
}

/* A session of timers has their rings from the start. */
static void sessions_of_timers_have_rings(void **state)
{
    (void)state;
    fake_open(&fake);
    service_release(&fake.session);
    uint32_t source = fake.config.source;
    fake.config.source = PINJECT_SOURCE_TIMER;
    assert_int_equal(service_init(&fake.session, &fake.settings, &fake.config, "/x"), 0);
    assert_true(fake.session.segment->flags & PINJECT_SESSION_TIMER);
    assert_non_null(fake.session.rings.map);
    assert_int_equal(access(fake.session.rings.path, R_OK | W_OK), 0);
    assert_int_equal(rings_need(&fake.session), 0);
    assert_false(rings_are_needed(&fake.session)); /* nobody had to ask for them */
    fake.config.source = source;
    fake_close(&fake);
}

static void workers_open_and_close_again(void **state)
{
    (void)state;
    fake_open(&fake);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(service_start_workers(&fake.session), 0);
        service_stop_workers(&fake.session);
    }
    service_stop_workers(&fake.session);
    assert_int_equal(fake.session.segment->closed, 1);
    fake_close(&fake);
    service_release(&fake.session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segment_is_private_and_complete),
        cmocka_unit_test(nothing_stays),
        cmocka_unit_test(two_sessions_differ),
        cmocka_unit_test(flags_follow_the_settings),
        cmocka_unit_test(limits_are_raised_and_restored),
        cmocka_unit_test(a_path_too_long_is_refused),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(workers_open_and_close_again),
        cmocka_unit_test(table_of_descriptors_is_made_once),
        cmocka_unit_test(events_of_a_tree_are_closed),
        cmocka_unit_test(what_hangs_keeps_its_memory),
        cmocka_unit_test(the_segments_file_goes_last),
        cmocka_unit_test(sessions_of_timers_have_rings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
