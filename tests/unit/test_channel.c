/* SPDX-License-Identifier: MIT */
/* Channels, what their requests may cost, and the listener that hands them out. */
#include "worker_fake.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "collector/service/budget.h"
#include "collector/system/guard.h"
#include "common/clock.h"
#include "preload/peer.h"

enum { WINDOW = BUDGET_WINDOW_NS, OTHER = 12345 };

static struct fake fake;
static unsigned threads_left = UINT32_MAX; /* that can be made */

static bool no_such_user;

int __real_fchown(int fd, uid_t user, gid_t group);
int __wrap_fchown(int fd, uid_t user, gid_t group);
int __wrap_fchown(int fd, uid_t user, gid_t group)
{
    errno = EINVAL;
    return no_such_user ? -1 : __real_fchown(fd, user, group);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *argument)
{
    if (threads_left == UINT32_MAX)
        return __real_pthread_create(thread, attr, run, argument);
    if (threads_left == 0)
        return EAGAIN;
    threads_left--;
    return __real_pthread_create(thread, attr, run, argument);
}

static void a_user_has_one_channel(void **state)
{
    (void)state;
    int error;
    fake_open(&fake);
    assert_ptr_equal(channels_get(&fake.session, geteuid(), &error), fake.session.own);
    assert_true(fake.session.own->own);
    assert_non_null(strstr(fake.session.own->mapping, ":"));
    fake_close(&fake);
}

static void another_user_has_a_file_of_his_own(void **state)
{
    (void)state;
    int error;
    struct stat file;
    if (geteuid() != 0)
        skip();
    fake_open(&fake);
    struct channel *channel = channels_get(&fake.session, OTHER, &error);
    assert_non_null(channel);
    assert_false(channel->own);
    assert_int_equal(stat(channel->path, &file), 0);
    assert_int_equal(file.st_uid, OTHER);
    assert_int_equal(file.st_mode & 07777, 0600);
    char path[PINJECT_PATH];
    memcpy(path, channel->path, sizeof(path));
    fake_close(&fake);
    assert_int_equal(access(path, F_OK), -1);
}

/* A user that a file cannot be given to has none; that is no reason to rest. */
static void a_user_that_is_none_here(void **state)
{
    (void)state;
    int error;
    fake_open(&fake);
    no_such_user = true;
    threads_left = 0;
    assert_int_equal(channels_prepare(&fake.session, OTHER), -EINVAL);
    assert_null(channels_get(&fake.session, OTHER, &error));
    assert_int_equal(error, -EINVAL);
    no_such_user = false;
    threads_left = UINT32_MAX;
    assert_int_equal(fake.session.channels->again_ns, 0);
    fake_close(&fake);
}

/* There is no descriptor for another user's file: he has no channel, which is told, and nothing else changes. */
static void check_no_descriptors(void)
{
    int error = 0;
    fake_open(&fake);
    const struct rlimit none = {0, 0};
    MUST(setrlimit(RLIMIT_NOFILE, &none) == 0);
    MUST(!channels_get(&fake.session, OTHER, &error) && error == -EMFILE);
    MUST(__atomic_load_n(&fake.session.users_refused, __ATOMIC_RELAXED) == 1);
    MUST(fake.session.channels->count == 1);
    fake_close(&fake);
}

static void no_descriptors_no_channel(void **state)
{
    (void)state;
    fake_unprivileged(check_no_descriptors);
}

/* Files of the session but the segment and its own channel. */
static unsigned count_files(void)
{
    char directory[PINJECT_PATH];
    const struct dirent *entry;
    unsigned count = 0;
    snprintf(directory, sizeof(directory), "%s", fake.session.path);
    char *name = strrchr(directory, '/');
    *name++ = '\0';
    DIR *files = opendir(directory);
    assert_non_null(files);
    while ((entry = readdir(files)))
        count += strncmp(entry->d_name, name, strlen(name)) == 0;
    closedir(files);
    return count - 2;
}

/* Nobody can take its name before: nobody knows it. */
static void channels_have_names_by_chance(void **state)
{
    (void)state;
    int error;
    char path[PINJECT_PATH + 64];
    uint64_t names[2];
    if (geteuid() != 0)
        skip();
    for (int i = 0; i < 2; i++) {
        fake_open(&fake);
        struct channel *channel = channels_get(&fake.session, OTHER, &error);
        assert_non_null(channel);
        snprintf(path, sizeof(path), "%s.%d.%" PRIu64, fake.session.path, OTHER, channel->name);
        assert_string_equal(channel->path, path);
        names[i] = channel->name;
        assert_int_equal(count_files(), 1);
        fake_close(&fake);
        assert_int_equal(access(path, F_OK), -1);
    }
    assert_true(names[0] && names[1] && names[0] != names[1]);
}

/* No file of its own can be made: it has a channel without a name, which the listener gives. */
static void a_channel_without_a_name(void **state)
{
    (void)state;
    int error;
    if (geteuid() != 0)
        skip();
    fake_open(&fake);
    char *end = fake.session.path + strlen(fake.session.path);
    strcpy(end, "/x"); /* below a file */
    struct channel *channel = channels_get(&fake.session, OTHER, &error);
    *end = '\0';
    assert_non_null(channel);
    assert_string_equal(channel->path, "");
    struct stat file;
    assert_int_equal(fstat(channel->fd, &file), 0);
    assert_int_equal(file.st_uid, OTHER);
    assert_int_equal(fake.session.segment->users_count, 2);
    assert_int_equal(fake.session.segment->users[1].name, 0);
    fake_close(&fake);
}

/* A file that its user can open is complete, and is told to the preload objects. */
static void preload_objects_are_told_who_has_a_channel(void **state)
{
    (void)state;
    int error;
    fake_open(&fake);
    const struct pinject_segment *segment = fake.session.segment;
    assert_int_equal(segment->users_count, 1);
    assert_int_equal(segment->users[0].user, geteuid());
    assert_int_equal(segment->users[0].name, fake.session.own->name);
    if (geteuid() == 0) {
        assert_non_null(channels_get(&fake.session, OTHER, &error));
        assert_int_equal(segment->users_count, 2);
        assert_int_equal(segment->users[1].user, OTHER);
        assert_int_equal(segment->users[1].name, fake.session.channels->list[1]->name);
    }
    fake_close(&fake);
}

/* The session ends: whoever comes then gets nothing that nobody would remove. */
static void none_is_made_at_the_end(void **state)
{
    (void)state;
    int error;
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
    service_stop_workers(&fake.session);
    assert_null(channels_get(&fake.session, OTHER, &error));
    assert_int_equal(error, -ESHUTDOWN);
    assert_int_equal(channels_prepare(&fake.session, OTHER), -ESHUTDOWN);
    assert_ptr_equal(channels_get(&fake.session, geteuid(), &error), fake.session.own);
    fake_close(&fake);
}

/*
 * There are no threads for its workers: it is not there, and nothing of it stays, however often that is. When there are
 * some again it is made, and whoever cuts it short harms himself alone.
 */
static void without_threads_there_is_no_channel(void **state)
{
    (void)state;
    int error;
    if (geteuid() != 0)
        skip();
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
    const unsigned before = check_open_fds();
    for (int i = 0; i < 3 * CHANNELS_MAX; i++) {
        threads_left = (unsigned)i % fake.session.doorbells;
        assert_null(channels_get(&fake.session, OTHER, &error));
        assert_int_equal(error, -EAGAIN);
        assert_int_equal(threads_left, 0);
    }
    assert_int_equal(check_open_fds(), before);
    assert_int_equal(count_files(), 0);
    assert_int_equal(fake.session.segment->users_count, 1);
    /* Who asks for others rests after a failure, and keeps no user waiting who has come. */
    threads_left = 0;
    assert_int_equal(channels_prepare(&fake.session, OTHER), -EAGAIN);
    threads_left = 100;
    assert_in_range(fake.session.channels->again_ns, clock_ns(CLOCK_MONOTONIC) - FAKE_PATIENCE_S * UINT64_C(1000000000),
                    clock_ns(CLOCK_MONOTONIC) + 1000000000);
    fake.session.channels->again_ns = UINT64_MAX; /* however busy the machine is */
    assert_int_equal(channels_prepare(&fake.session, OTHER), -EAGAIN);
    assert_int_equal(threads_left, 100);
    struct channel *channel = channels_get(&fake.session, OTHER, &error);
    assert_non_null(channel);
    fake.session.channels->again_ns = 1;
    assert_int_equal(channels_prepare(&fake.session, OTHER + 1), 0);
    threads_left = UINT32_MAX;
    service_stop_workers(&fake.session);
    assert_int_equal(ftruncate(channel->fd, 0), 0);
    assert_int_equal(__atomic_load_n(&channel->requests->hint, __ATOMIC_RELAXED), 0);
    fake_close(&fake);
}

/* Nobody could say that his file was cut short: he has none. */
static void a_channel_that_cannot_be_guarded(void **state)
{
    (void)state;
    int error;
    static char place[sizeof(struct pinject_requests)];
    if (geteuid() != 0)
        skip();
    fake_open(&fake);
    while (guard_add(place, sizeof(place)))
        ;
    assert_null(channels_get(&fake.session, OTHER, &error));
    assert_int_equal(error, -ENOSPC);
    assert_int_equal(count_files(), 0);
    guard_remove(place, sizeof(place));
    assert_non_null(channels_get(&fake.session, OTHER, &error));
    fake_close(&fake);
}

static void users_are_limited_and_counted(void **state)
{
    (void)state;
    int error;
    if (geteuid() != 0)
        skip();
    fake_open(&fake);
    for (unsigned i = 1; i < CHANNELS_MAX; i++)
        assert_non_null(channels_get(&fake.session, OTHER + i, &error));
    assert_null(channels_get(&fake.session, OTHER, &error));
    assert_int_equal(error, -EUSERS);
    assert_int_equal(fake.session.users_refused, 1);
    assert_non_null(channels_get(&fake.session, OTHER + 1, &error));
    fake_close(&fake);
}

/* ---- Users of whom there is no process yet ---- */

static int ask_as(pid_t pid, uint32_t user, uint32_t sender)
{
    struct channel *own = fake.session.own;
    const uid_t me = own->user;
    struct pinject_slot *slot = fake_claim(own->requests, 3, PINJECT_BECOME);
    slot->user = user;
    slot->pid = slot->tid = pid;
    own->user = sender;
    fake_post(own->requests, 3);
    int answer = fake_answer(slot);
    own->user = me;
    return answer;
}

static int ask_for(uint32_t user, uint32_t sender)
{
    return ask_as(getpid(), user, sender);
}

static void root_asks_for_a_users_channel(void **state)
{
    (void)state;
    int error;
    if (geteuid() != 0)
        skip();
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
    assert_int_equal(ask_for(OTHER, 0), 0);
    assert_int_equal(ask_for(OTHER, 0), 0);
    assert_int_equal(ask_for(0, 0), 0);
    assert_int_equal(fake.session.channels->count, 2);
    struct channel *channel = channels_get(&fake.session, OTHER, &error);
    assert_int_equal(fake.session.channels->count, 2);
    assert_int_equal(access(channel->path, F_OK), 0);
    assert_int_equal(channel->user, OTHER);
    /* It has workers: what is no user's is answered there too. */
    struct pinject_slot *slot = fake_claim(channel->requests, 3, PINJECT_BECOME);
    slot->user = UINT32_MAX;
    fake_post(channel->requests, 3);
    assert_int_equal(fake_answer(slot), -EINVAL);
    service_stop_workers(&fake.session);
    fake_close(&fake);
}

/* Root's channel in the hands of one that is not root any more, and of one that is gone. */
static void only_root_asks(void **state)
{
    (void)state;
    int ready[2];
    char byte = 0;
    if (geteuid() != 0)
        skip();
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
    assert_int_equal(pipe(ready), 0);
    for (int way = 0; way < 3; way++) {
        pid_t child = fork();
        if (child == 0) {
            /* The second may come back. */
            if ((way < 2 && setresuid(OTHER, OTHER, way ? 0 : OTHER) < 0) || write(ready[1], &byte, 1) != 1)
                _exit(1);
            pause();
        }
        assert_int_equal(read(ready[0], &byte, 1), 1);
        if (way < 2)
            assert_int_equal(ask_as(child, OTHER + 1, 0), way ? 0 : -EPERM);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        if (way == 2)
            assert_int_equal(ask_as(child, OTHER + 2, 0), -ESRCH);
    }
    close(ready[0]);
    close(ready[1]);
    assert_int_equal(fake.session.channels->count, 2);
    service_stop_workers(&fake.session);
    fake_close(&fake);
}

/* Whoever can write to root's channel and is not root takes not all that there are. */
static void users_to_come_leave_room_for_those_that_came(void **state)
{
    (void)state;
    int error;
    if (geteuid() != 0)
        skip();
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
    for (unsigned i = 1; i < CHANNELS_ASKED; i++)
        assert_int_equal(ask_for(OTHER + i, 0), 0);
    assert_int_equal(ask_for(OTHER, 0), -EUSERS);
    assert_int_equal(ask_for(OTHER + 1, 0), 0);
    assert_int_equal(fake.session.users_refused, 0); /* they have not come */
    for (unsigned i = CHANNELS_ASKED; i < CHANNELS_MAX; i++)
        assert_non_null(channels_get(&fake.session, OTHER + i, &error));
    assert_null(channels_get(&fake.session, OTHER, &error));
    service_stop_workers(&fake.session);
    fake_close(&fake);
}

static void nobody_else_asks_for_users(void **state)
{
    (void)state;
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
    assert_int_equal(ask_for(OTHER, OTHER), -EPERM);
    assert_int_equal(ask_for(getuid(), 65534), -EPERM);
    assert_int_equal(fake.session.channels->count, 1);
    assert_int_equal(fake.session.denied + fake.session.users_refused, 0);
    service_stop_workers(&fake.session);
    fake_close(&fake);
}

static void *close_workers(void *argument)
{
    pid_t *tid = argument;
    __atomic_store_n(tid, fake_tid(), __ATOMIC_SEQ_CST);
    service_stop_workers(&fake.session);
    return NULL;
}

/* It waits for the lock: there is no listener to wait for. */
static void await_sleep(const pid_t *tid)
{
    char state = 0;
    for (int i = 0; i < FAKE_PATIENCE_S * 1000 && state != 'S'; i++) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/self/task/%d/stat", __atomic_load_n(tid, __ATOMIC_SEQ_CST));
        FILE *file = fopen(path, "re");
        if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = 0;
        if (file)
            fclose(file);
        poll(NULL, 0, 1);
    }
    assert_int_equal(state, 'S');
}

/* Whoever ends the workers waits for this one, and so may not have what it waits for. */
static void workers_end_while_one_makes_a_channel(void **state)
{
    (void)state;
    pthread_t closer;
    pid_t tid = 0;
    if (geteuid() != 0)
        skip();
    fake_open(&fake);
    assert_int_equal(service_start_workers(&fake.session), 0);
    listener_stop(fake.session.listener);
    pthread_mutex_lock(&fake.session.channels->lock);
    assert_int_equal(pthread_create(&closer, NULL, close_workers, &tid), 0);
    await_sleep(&tid);
    struct pinject_slot *slot = fake_claim(fake.session.own->requests, 3, PINJECT_BECOME);
    slot->user = OTHER;
    fake_post(fake.session.own->requests, 3);
    fake_await(slot, PINJECT_TAKEN);
    pthread_mutex_unlock(&fake.session.channels->lock);
    pthread_join(closer, NULL);
    assert_false(fake.session.hangs);
    const int answer = fake_answer(slot); /* by who got the lock first */
    assert_int_equal(answer, fake.session.channels->count == 2 ? 0 : -ESHUTDOWN);
    assert_in_range(fake.session.channels->count, 1, 2);
    fake_close(&fake);
}

static void check_no_right(void)
{
    int error;
    static struct fake own = {.settings = {.frequency = 999}};
    MUST(event_config_init(&own.config, &own.settings) == 0);
    MUST(service_init(&own.session, &own.settings, &own.config, "/x") == 0);
    MUST(channels_get(&own.session, OTHER, &error) == NULL && error < 0);
    MUST(own.session.users_refused == 1);
    service_release(&own.session);
}

static void without_the_right_there_is_no_channel(void **state)
{
    (void)state;
    fake_unprivileged(check_no_right);
}

static void what_comes_to_nothing_is_bounded(void **state)
{
    (void)state;
    struct budget budget = {0};
    assert_int_equal(budget_wait_ns(&budget, 5 * (uint64_t)WINDOW, 2), 0);
    budget_waste(&budget, 10 * (uint64_t)WINDOW, BUDGET_WASTED_NS);
    assert_int_equal(budget_wait_ns(&budget, 10 * (uint64_t)WINDOW + 1, 2), 0);
    budget_waste(&budget, 10 * (uint64_t)WINDOW + 5, 1);
    assert_int_equal(budget_wait_ns(&budget, 10 * (uint64_t)WINDOW + 10, 2), WINDOW - 10);
    assert_int_equal(budget.held, 1);
    /* With the next window a part of it is forgotten, so that what goes on has that part alone... */
    assert_int_equal(budget_wait_ns(&budget, 11 * (uint64_t)WINDOW, 2), 0);
    budget_waste(&budget, 11 * (uint64_t)WINDOW, BUDGET_REFILL_NS - 1);
    assert_int_equal(budget_wait_ns(&budget, 11 * (uint64_t)WINDOW + 1, 2), 0);
    budget_waste(&budget, 11 * (uint64_t)WINDOW + 1, 1);
    assert_int_equal(budget_wait_ns(&budget, 11 * (uint64_t)WINDOW + 1, 2), WINDOW - 1);
    /* ... and after a rest all. */
    budget_waste(&budget, 16 * (uint64_t)WINDOW, BUDGET_WASTED_NS);
    assert_int_equal(budget_wait_ns(&budget, 16 * (uint64_t)WINDOW, 2), 0);
    budget_waste(&budget, 1000 * (uint64_t)WINDOW, BUDGET_WASTED_NS);
    assert_int_equal(budget.wasted_ns, BUDGET_WASTED_NS);
    assert_int_equal(budget_wait_ns(&budget, 1000 * (uint64_t)WINDOW, 2), 0);
}

static void what_is_told_is_bounded_by_the_cpus(void **state)
{
    (void)state;
    struct budget budget = {0};
    for (unsigned i = 0; i < 2 * BUDGET_TOLD_PER_CPU; i++)
        budget_tell(&budget, 3 * (uint64_t)WINDOW);
    assert_int_equal(budget_wait_ns(&budget, 3 * (uint64_t)WINDOW, 2), 0);
    budget_tell(&budget, 3 * (uint64_t)WINDOW);
    assert_int_equal(budget_wait_ns(&budget, 3 * (uint64_t)WINDOW, 2), WINDOW);
    assert_int_equal(budget_wait_ns(&budget, 3 * (uint64_t)WINDOW, 3), 0);
}

/*
 * The preload object's side asks; it is this process, or none of the session's. A preload object gives up after 50 ms;
 * this one asks again, as the machine may be busy.
 */
static int ask_listener(uint32_t user, int fds[2])
{
    struct pinject_segment known = {.filters = fake.session.segment->filters};
    int status = -EAGAIN;
    for (unsigned i = 0; i < 1000 && status == -EAGAIN; i++)
        status = pinject_peer_ask(fake.session.path, &known, user, fds);
    return status;
}

static void the_listener_hands_out_both_files(void **state)
{
    (void)state;
    int fds[2];
    struct stat got, segment, requests;
    fake_open(&fake);
    fake.session.self = getppid();
    fake.session.segment->root = getpid();
    assert_int_equal(service_start_workers(&fake.session), 0);
    assert_int_equal(ask_listener(geteuid(), fds), 0);
    /* The name is taken: a second one has none, and leaves nothing open. */
    const unsigned before = check_open_fds();
    struct listener *second = listener_new();
    assert_non_null(second);
    listener_open(second, &fake.session);
    assert_int_equal(second->socket, -1);
    assert_int_equal(check_open_fds(), before + 2); /* the segment, and what stops it */
    listener_free(second);
    assert_int_equal(check_open_fds(), before);
    assert_int_equal(fstat(fake.session.segment_fd, &segment), 0);
    assert_int_equal(fstat(fake.session.own->fd, &requests), 0);
    assert_int_equal(fstat(fds[0], &got), 0);
    assert_int_equal(got.st_ino, segment.st_ino);
    assert_int_equal(fcntl(fds[0], F_GETFL) & O_ACCMODE, O_RDONLY);
    assert_true(fcntl(fds[0], F_GETFD) & FD_CLOEXEC);
    assert_int_equal(fstat(fds[1], &got), 0);
    assert_int_equal(got.st_ino, requests.st_ino);
    assert_true(fcntl(fds[1], F_GETFD) & FD_CLOEXEC);
    close(fds[0]);
    close(fds[1]);
    service_stop_workers(&fake.session);
    const struct pinject_segment known = {.filters = fake.session.segment->filters};
    assert_true(pinject_peer_ask(fake.session.path, &known, geteuid(), fds) < 0);
    fake_close(&fake);
    assert_int_equal(pinject_peer_ask("/nowhere/pinject-none", NULL, geteuid(), fds) < 0, 1);
}

/* However busy the machine is, they take that long: 180 of 200 at least are two milliseconds apart. */
static void a_flood_is_answered_slowly(void **state)
{
    (void)state;
    int fds[2];
    struct timespec begun, over;
    fake_open(&fake);
    fake.session.self = getppid();
    fake.session.segment->root = getpid();
    fake.session.listener->free_ns = 10000;
    assert_int_equal(service_start_workers(&fake.session), 0);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (unsigned i = 0; i < 200; i++) {
        assert_int_equal(ask_listener(geteuid(), fds), 0);
        close(fds[0]);
        close(fds[1]);
    }
    clock_gettime(CLOCK_MONOTONIC, &over);
    int64_t ms = (over.tv_sec - begun.tv_sec) * 1000 + (over.tv_nsec - begun.tv_nsec) / 1000000;
    assert_in_range(ms, 350, INT32_MAX);
    service_stop_workers(&fake.session);
    fake_close(&fake);
}

static void the_listener_answers_nobody_elses(void **state)
{
    (void)state;
    int fds[2];
    fake_open(&fake);
    fake.session.self = getpid(); /* which is not its own child */
    assert_int_equal(service_start_workers(&fake.session), 0);
    assert_int_equal(ask_listener(geteuid(), fds), -EPROTO);
    assert_true(fake.session.denied > 0);
    service_stop_workers(&fake.session);
    fake_close(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_has_one_channel),
        cmocka_unit_test(another_user_has_a_file_of_his_own),
        cmocka_unit_test(a_user_that_is_none_here),
        cmocka_unit_test(no_descriptors_no_channel),
        cmocka_unit_test(channels_have_names_by_chance),
        cmocka_unit_test(a_channel_without_a_name),
        cmocka_unit_test(preload_objects_are_told_who_has_a_channel),
        cmocka_unit_test(none_is_made_at_the_end),
        cmocka_unit_test(without_threads_there_is_no_channel),
        cmocka_unit_test(a_channel_that_cannot_be_guarded),
        cmocka_unit_test(users_are_limited_and_counted),
        cmocka_unit_test(root_asks_for_a_users_channel),
        cmocka_unit_test(only_root_asks),
        cmocka_unit_test(users_to_come_leave_room_for_those_that_came),
        cmocka_unit_test(nobody_else_asks_for_users),
        cmocka_unit_test(workers_end_while_one_makes_a_channel),
        cmocka_unit_test(without_the_right_there_is_no_channel),
        cmocka_unit_test(what_comes_to_nothing_is_bounded),
        cmocka_unit_test(what_is_told_is_bounded_by_the_cpus),
        cmocka_unit_test(the_listener_hands_out_both_files),
        cmocka_unit_test(a_flood_is_answered_slowly),
        cmocka_unit_test(the_listener_answers_nobody_elses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
