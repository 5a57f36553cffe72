/* SPDX-License-Identifier: MIT */
/*
 * Whether a new exec generation could open the session, and what becomes of the channel of a process that changes its
 * user.
 */
#include "session_kit.h"

#include "preload/sys.h"

#include <pthread.h>
#include <sys/resource.h>

static void test_reachable(void **state)
{
    char preload[160], gone[160];
    (void)state;
    reset();
    snprintf(preload, sizeof(preload), "%s/preload", directory);
    snprintf(gone, sizeof(gone), "%s/gone", directory);
    write_file(preload, "", 0, 1);
    assert_int_equal(pinject_preload_open(session_path), 0);
    snprintf(pinject_preload.preload, sizeof(pinject_preload.preload), "%s", preload);
    unsigned before = held();
    assert_true(pinject_preload_reachable());
    assert_int_equal(peer.asked, 0);
    snprintf(pinject_preload.preload, sizeof(pinject_preload.preload), "%s", gone);
    assert_false(pinject_preload_reachable());
    assert_int_equal(peer.asked, 0);
    snprintf(pinject_preload.preload, sizeof(pinject_preload.preload), "%s", preload);
    snprintf(pinject_preload.session + 16, sizeof(pinject_preload.session) - 16, "%s", gone);
    assert_false(pinject_preload_reachable());
    assert_int_equal(peer.asked, 1);
    assert_string_equal(peer.path, gone);
    assert_false(peer.with_segment);
    assert_int_equal(peer.user, geteuid());
    peer.error = 0;
    peer.files[0] = peer.files[1] = preload;
    assert_true(pinject_preload_reachable());
    assert_int_equal(held(), before);
    /* A FIFO of somebody's keeps nobody waiting. */
    assert_int_equal(unlink(preload), 0);
    assert_int_equal(mkfifo(preload, 0600), 0);
    assert_true(pinject_preload_reachable());
    /* No descriptor is free: whether the files are there has to do. */
    struct rlimit all, none = {0, 0};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
    none.rlim_max = all.rlim_max;
    peer.error = -EMFILE;
    snprintf(pinject_preload.session + 16, sizeof(pinject_preload.session) - 16, "%s", session_path);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    bool found = pinject_preload_reachable();
    snprintf(pinject_preload.preload, sizeof(pinject_preload.preload), "%s", gone);
    bool missed = !pinject_preload_reachable();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
    assert_true(found && missed);
    unlink(preload);
}

/* ---- Another user ---- */

static void followed(void)
{
    reset();
    assert_int_equal(pinject_preload_open(session_path), 0);
    pinject_preload.state = PINJECT_FOLLOWED;
    pinject_preload.pid = getpid();
    pinject_preload.channel.requests->stalled = 0;
}

static uint32_t stalled_in_file(const char *name)
{
    uint32_t word = 99;
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, &word, sizeof(word)), sizeof(word));
    close(fd);
    return word;
}

/* The process is another user's than its channel. Here it only believes so: the rest is the same. */
static void test_changed_user(void **state)
{
    char channel[192];
    (void)state;
    followed();
    struct pinject_requests *before = pinject_preload.channel.requests;
    unsigned held_before = held();
    pinject_preload.user = geteuid() + 1;
    pinject_preload_changed_user();
    assert_int_equal(pinject_preload.user, geteuid());
    assert_int_equal(timers_ended, 1);
    assert_int_equal(rings_given_up, 1);
    assert_ptr_equal(pinject_preload.channel.requests, before);
    /* No channel of the new user: nobody answers, and nothing is shared. */
    assert_int_equal(before->stalled, PINJECT_STALLED_FULL);
    assert_int_equal(stalled_in_file(requests_path), 0);
    assert_int_equal(held(), held_before - 1);
    assert_int_equal(peer.asked, 1);
    assert_true(peer.with_segment);
    /* One that has a file of its own goes on there. */
    followed();
    before = pinject_preload.channel.requests;
    write_channel(geteuid(), 0, channel);
    pinject_preload.user = geteuid() + 1;
    pinject_preload_changed_user();
    assert_ptr_equal(pinject_preload.channel.requests, before);
    before->stalled = 1;
    assert_int_equal(stalled_in_file(channel), 1);
    assert_int_equal(stalled_in_file(requests_path), 0);
    assert_int_equal(held(), held_before);
    assert_int_equal(peer.asked, 0);
    unlink(channel);
}

static void test_user_that_stays(void **state)
{
    (void)state;
    for (int way = 0; way < 6; way++) {
        followed();
        pinject_preload.user = geteuid() + (way > 0);
        pinject_preload.user_fixed = way == 1;
        pinject_preload.pid += way == 2;
        if (way == 3)
            pinject_preload.state = PINJECT_LEFT;
        pinject_preload.blocked = way == 4;
        pinject_preload_changed_user();
        if (timers_ended != (way == 5) || rings_given_up != (way == 5) ||
            pinject_preload.user != geteuid() + (way > 0 && way < 5))
            fail_msg("way %d", way);
        assert_int_equal(pinject_preload.channel.requests->stalled, way == 5 ? PINJECT_STALLED_FULL : 0);
    }
}

/* Whoever keeps the right to come back has not changed. As root alone. */
static void test_user_that_can_come_back(void **state)
{
    (void)state;
    if (geteuid() != 0)
        return;
    for (uint32_t user = 1200; user < 1204; user++) {
        followed();
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            pinject_preload.pid = getpid();
            pinject_preload.user = user;
            int error = (int)SYS_3(SYS_setresuid, 1200, 1201, 1202);
            pinject_preload_changed_user();
            _exit(error ? 9
                        : (int)timers_ended + 2 * (pinject_preload.user == 1201) + 4 * (pinject_preload.user == user));
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(WEXITSTATUS(status), user == 1203 ? 3 : user == 1201 ? 6 : 4);
    }
}

/* ---- What root asks for before ---- */

#define SAME UINT32_MAX

/* As root, which this process need not be. */
static void followed_root(void)
{
    reset();
    header.user = 0;
    header.users_count = 0;
    write_segment();
    write_channel(0, 0, requests_path);
    assert_int_equal(pinject_preload_open(session_path), 0);
    pinject_preload.state = PINJECT_FOLLOWED;
    pinject_preload.pid = getpid();
    pinject_preload.user = 0;
}

static bool as_setreuid;

static void write_users(uint32_t count, const struct pinject_user *users, size_t size)
{
    int fd = open(session_path, O_WRONLY | O_CLOEXEC);
    const off_t at = offsetof(struct pinject_segment, users);
    assert_int_equal(pwrite(fd, users, size * sizeof(*users), at), size * sizeof(*users));
    assert_int_equal(pwrite(fd, &count, sizeof(count), offsetof(struct pinject_segment, users_count)), sizeof(count));
    close(fd);
}

static uint32_t asks_for(uint32_t real, uint32_t effective, uint32_t saved)
{
    asked_for = 0;
    pinject_preload_changes_user(real, effective, saved, as_setreuid);
    return asked_for;
}

static void test_asks_before(void **state)
{
    char channel[170];
    (void)state;
    followed_root();
    assert_int_equal(asks_for(5, 5, 5), 5);
    assert_int_equal(asks_for(5, 1201, 7), 1201);
    assert_int_equal(asks_for(0, 5, 5), 0);
    assert_int_equal(asks_for(5, 0, 5), 0);
    assert_int_equal(asks_for(5, 5, 0), 0);
    assert_int_equal(asks_for(0, 0, 0), 0);
    assert_int_equal(asked_for_channels, 2);
    /* A file of its name is anybody's. */
    snprintf(channel, sizeof(channel), "%s.1201", session_path);
    write_requests(channel, 0);
    assert_int_equal(asks_for(5, 1201, 7), 1201);
    unlink(channel);
    assert_int_equal(symlink("/nowhere", channel), 0);
    assert_int_equal(asks_for(5, 1201, 7), 1201);
    unlink(channel);
    /* The collector says who has one: so many of them as it counts, however many that are. */
    const struct pinject_user two[] = {{.user = 1203}, {.user = 1201}};
    write_users(1, two, 2);
    assert_int_equal(asks_for(5, 1201, 7), 1201);
    assert_int_equal(asks_for(5, 1203, 7), 0);
    write_users(2, two, 2);
    assert_int_equal(asks_for(5, 1201, 7), 0);
    assert_int_equal(asks_for(5, 1202, 7), 1202);
    const struct pinject_user all[PINJECT_USERS] = {[PINJECT_USERS - 1] = {.user = 1204}};
    write_users(UINT32_MAX, all, PINJECT_USERS);
    assert_int_equal(asks_for(5, 1204, 7), 0);
    assert_int_equal(asks_for(5, 1205, 7), 1205);
}

/* What setreuid() saves: the new effective user, unless only the effective one changes, to the real one. */
static void test_asks_as_setreuid(void **state)
{
    int status;
    (void)state;
    if (geteuid() != 0)
        return;
    followed_root();
    as_setreuid = true;
    pid_t pid = fork();
    if (pid == 0) {
        pinject_preload.pid = getpid();
        bool right = asks_for(5, 5, SAME) == 5 && asks_for(5, SAME, SAME) == 0 && asks_for(SAME, 5, SAME) == 0;
        /* Real 1200, effective 1201, and root saved: it is forgotten by all but the last two. */
        right &= SYS_3(SYS_setresuid, 1200, 1201, 0) == 0 && asks_for(5, SAME, SAME) == 1201;
        right &= asks_for(SAME, 5, SAME) == 5 && asks_for(SAME, 1200, SAME) == 0 && asks_for(SAME, SAME, SAME) == 0;
        _exit(!right);
    }
    as_setreuid = false;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static bool become(uint32_t real, uint32_t effective, uint32_t saved)
{
    return SYS_3(SYS_setresuid, real, effective, saved) == 0;
}

/* By what it is, where it stays that. */
static void test_asks_by_what_stays(void **state)
{
    int status;
    (void)state;
    followed_root();
    pid_t pid = fork();
    if (pid == 0) {
        pinject_preload.pid = getpid();
        const bool root = geteuid() == 0;
        if (root &&
            !(become(0, 1201, 1202) && asks_for(SAME, 5, SAME) == 0 && become(SAME, 0, SAME) && become(1200, 1201, 0) &&
              asks_for(SAME, 5, SAME) == 0 && become(SAME, 0, SAME) && become(1200, 1201, 1202)))
            _exit(9);
        const uint32_t me = root ? 1201 : geteuid();
        _exit(asks_for(SAME, SAME, SAME) != me || asks_for(SAME, 5, SAME) != 5 || asks_for(0, SAME, SAME) != 0 ||
              asks_for(SAME, 0, SAME) != 0 || asks_for(SAME, SAME, 0) != 0 || asked_for_channels != 2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* There its numbers are others: it asks for nobody, and the next change gives up what it holds, whatever it becomes. */
static void test_another_user_namespace(void **state)
{
    (void)state;
    followed_root();
    header.user_namespace++;
    int fd = open(session_path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, &header, offsetof(struct pinject_segment, closed), 0),
                     offsetof(struct pinject_segment, closed));
    close(fd);
    assert_int_equal(asks_for(5, 5, 5), 0);
    followed_root();
    pinject_preload.user = geteuid();
    pinject_preload_changed_user();
    assert_int_equal(timers_ended, 0);
    assert_false(pinject_preload_user_moves(true));
    assert_int_equal(asks_for(5, 5, 5), 0);
    pinject_preload_look_at_user(); /* a child of fork called for nobody */
    assert_int_equal(timers_ended, 0);
    pinject_preload_changed_user();
    assert_int_equal(timers_ended, 1);
    assert_int_equal(pinject_preload.user, geteuid());
    /* Its numbers are those of one namespace again. */
    assert_false(pinject_preload_user_moves(false));
    pinject_preload_changed_user();
    assert_int_equal(timers_ended, 1);
    pinject_preload.user++; /* its parent's other thread had changed it */
    pinject_preload_look_at_user();
    assert_int_equal(timers_ended, 2);
}

/* ---- Memory that takes the channel's place ---- */

static long pages_mapped(void)
{
    char text[128] = "";
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    return strtol(text, NULL, 10);
}

/* It is there before the call that gives up the user, and goes where that fails. */
static void test_spare_memory(void **state)
{
    const long pages = (long)(sizeof(struct pinject_requests) / (size_t)sysconf(_SC_PAGESIZE));
    (void)state;
    followed_root();
    const long before = pages_mapped();
    assert_int_equal(asks_for(5, 5, 5), 5);
    assert_int_equal(pages_mapped(), before + pages);
    assert_int_equal(asks_for(5, 5, 5), 5); /* one is enough */
    assert_int_equal(pages_mapped(), before + pages);
    pinject_preload_keeps_user();
    assert_int_equal(pages_mapped(), before);
    assert_int_equal(asks_for(0, 5, 5), 0); /* it can come back */
    assert_int_equal(pages_mapped(), before);
    assert_int_equal(asks_for(5, 5, 5), 5);
    pinject_preload.user = geteuid();
    pinject_preload_changed_user(); /* to whom it was */
    assert_int_equal(pages_mapped(), before);
}

/* A daemon of root's with more memory locked than its next user may. */
static int give_up_with_locked_memory(void)
{
    const struct rlimit limit = {65536, 65536};
    pinject_preload.pid = getpid();
    const unsigned before = held();
    if (setrlimit(RLIMIT_MEMLOCK, &limit) < 0 || mlockall(MCL_CURRENT | MCL_FUTURE) < 0)
        return 77;
    struct pinject_requests *requests = pinject_preload.channel.requests;
    pinject_preload_changes_user(1200, 1200, 1200, false);
    if (SYS_3(SYS_setresuid, 1200, 1200, 1200) < 0)
        return 2;
    if (mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED)
        return 77; /* this kernel refuses nothing */
    pinject_preload_changed_user();
    if (pinject_preload.user != 1200 || pinject_preload.channel.requests != requests)
        return 3;
    if (requests->stalled != PINJECT_STALLED_FULL)
        return 4;
    if (munlockall() < 0)
        return 5;
    return held() == before - 1 ? 0 : 6;
}

static void test_gives_up_with_locked_memory(void **state)
{
    int status;
    (void)state;
    if (geteuid() != 0)
        return;
    followed_root();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        _exit(give_up_with_locked_memory());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status == 77 << 8)
        skip(); /* locked memory is not limited, or nobody may lock so much */
    assert_int_equal(status, 0);
}

/* Nobody but root; in the session's own user namespace; of a process that is followed. */
static void test_asks_nothing(void **state)
{
    (void)state;
    for (int way = 0; way < 7; way++) {
        followed_root();
        pinject_preload.user = way == 1 ? 3 : 0;
        pinject_preload.user_fixed = way == 2;
        pinject_preload.pid += way == 3;
        if (way == 4)
            pinject_preload.state = PINJECT_LEFT;
        pinject_preload.blocked = way == 5;
        if (way == 6) { /* what it has mapped is the file */
            header.user = 7000;
            int fd = open(session_path, O_WRONLY | O_CLOEXEC);
            assert_int_equal(pwrite(fd, &header, offsetof(struct pinject_segment, closed), 0),
                             offsetof(struct pinject_segment, closed));
            close(fd);
        }
        if (asks_for(5, 5, 5) != (way == 0 ? 5 : 0))
            fail_msg("way %d", way);
    }
}

/* Another thread is at it: this one waits for a moment, gives up what it holds all the same, and leaves the rest. */
static uint64_t waited_ns;

static void *change_too(void *data)
{
    (void)data;
    waited_ns = sys_clock_ns(CLOCK_MONOTONIC);
    pinject_preload_changed_user();
    waited_ns = sys_clock_ns(CLOCK_MONOTONIC) - waited_ns;
    const uint32_t user = pinject_preload.user;
    pinject_preload.user = 0;
    pinject_preload_changes_user(5, 5, 5, false);
    pinject_preload.user = user;
    return NULL;
}

static void meanwhile(void)
{
    pthread_t thread;
    if (timers_ended != 1)
        return;
    assert_int_equal(pthread_create(&thread, NULL, change_too, NULL), 0);
    pthread_join(thread, NULL);
}

static void test_one_at_a_time(void **state)
{
    (void)state;
    followed_root();
    unlink(requests_path); /* the new user has none of his own */
    when_timers_end = meanwhile;
    pinject_preload.user = geteuid() == 0 ? 1 : 0;
    pinject_preload_changed_user();
    when_timers_end = NULL;
    assert_int_equal(timers_ended, 2);
    assert_int_equal(rings_given_up, 2);
    assert_int_equal(peer.asked, 1);
    assert_int_equal(pinject_preload.user, geteuid());
    assert_true(waited_ns >= 9000000);
    assert_int_equal(asked_for_channels, 1); /* for that there are no turns */
    /* The turn is given back. */
    pinject_preload.user = geteuid() + 1;
    pinject_preload_changed_user();
    assert_int_equal(timers_ended, 3);
    assert_int_equal(peer.asked, 2);
}

/*
 * The thread that is at it never comes to its end: what this process holds of its old user's is given up all the same.
 */
static void stop_for_ever(void)
{
    if (timers_ended == 1)
        pinject_preload_changed_user();
}

static void test_gives_up_without_a_turn(void **state)
{
    (void)state;
    uint32_t word = 99;
    followed_root();
    int fd = open(requests_path, O_RDONLY | O_CLOEXEC);
    unlink(requests_path); /* the new user has none of his own */
    when_timers_end = stop_for_ever;
    pinject_preload.user = geteuid() == 0 ? 1 : 0;
    struct pinject_requests *before = pinject_preload.channel.requests;
    pinject_preload.channel.requests->stalled = 0;
    pinject_preload_changed_user(); /* as a handler's, in the middle of it */
    when_timers_end = NULL;
    assert_int_equal(timers_ended, 2);
    assert_int_equal(before->stalled, PINJECT_STALLED_FULL);
    assert_int_equal(read(fd, &word, sizeof(word)), sizeof(word));
    assert_int_equal(word, 0);
    close(fd);
}

/* In a child of fork the thread that had the turn is not there. */
static void fork_meanwhile(void)
{
    int status;
    if (timers_ended != 1)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        pinject_preload.pid = getpid();
        pinject_session_forked();
        waited_ns = sys_clock_ns(CLOCK_MONOTONIC);
        pinject_preload_changed_user();
        _exit(peer.asked != 1 || pinject_preload.user != geteuid());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_turn_of_a_forked_child(void **state)
{
    (void)state;
    followed_root();
    unlink(requests_path); /* the new user has none of his own */
    when_timers_end = fork_meanwhile;
    pinject_preload.user = geteuid() == 0 ? 1 : 0;
    pinject_preload_changed_user();
    when_timers_end = NULL;
    assert_int_equal(peer.asked, 1);
}

/* While it looked for the new channel another thread changed the user once more, or again and again. */
static unsigned changes_left;

static void another_one_too(void)
{
    if (changes_left > 0) {
        changes_left--;
        pinject_preload.user = geteuid() + 2;
    }
}

static void test_looks_again(void **state)
{
    (void)state;
    for (unsigned changes = 0; changes < 30; changes += changes < 3 ? 1 : 25) {
        followed_root();
        unlink(requests_path); /* the new user has none of his own */
        changes_left = changes;
        peer.when_asked = another_one_too;
        pinject_preload.user = geteuid() + 1;
        pinject_preload_changed_user();
        assert_int_equal(peer.asked, changes < 8 ? changes + 1 : 8);
        assert_int_equal(rings_given_up, peer.asked);
        if (changes < 8)
            assert_int_equal(pinject_preload.user, geteuid());
    }
}

/* No memory to take the channel's place: all stays. */
static void test_change_without_memory(void **state)
{
    int status;
    (void)state;
    followed();
    pid_t pid = fork();
    if (pid == 0) {
        struct rlimit limit = {1 << 20, 1 << 20};
        pinject_preload.pid = getpid();
        pinject_preload.user = geteuid() + 1;
        int error = setrlimit(RLIMIT_AS, &limit);
        pinject_preload_changed_user();
        _exit(error ? 9 : (int)(timers_ended + 2 * rings_given_up + 4 * (pinject_preload.user == geteuid())));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 1);
    pinject_preload.user = geteuid() + 1;
    pinject_preload_changed_user();
    assert_int_equal(rings_given_up, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reachable),
        cmocka_unit_test(test_changed_user),
        cmocka_unit_test(test_user_that_stays),
        cmocka_unit_test(test_user_that_can_come_back),
        cmocka_unit_test(test_asks_before),
        cmocka_unit_test(test_asks_by_what_stays),
        cmocka_unit_test(test_asks_as_setreuid),
        cmocka_unit_test(test_another_user_namespace),
        cmocka_unit_test(test_asks_nothing),
        cmocka_unit_test(test_one_at_a_time),
        cmocka_unit_test(test_gives_up_without_a_turn),
        cmocka_unit_test(test_turn_of_a_forked_child),
        cmocka_unit_test(test_looks_again),
        cmocka_unit_test(test_change_without_memory),
        cmocka_unit_test(test_spare_memory),
        cmocka_unit_test(test_gives_up_with_locked_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
