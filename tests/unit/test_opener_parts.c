/* SPDX-License-Identifier: MIT */
/* Lists of questions, and how long a user's files may keep helpers waiting. */
#define _GNU_SOURCE
#include "check.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "collector/system/opener_helper.h"

static void (*at_rest)(void); /* what happens while the end waits */
static unsigned rests;

int __real_nanosleep(const struct timespec *rest, struct timespec *left);
int __wrap_nanosleep(const struct timespec *rest, struct timespec *left);
int __wrap_nanosleep(const struct timespec *rest, struct timespec *left)
{
    rests++;
    if (at_rest)
        at_rest();
    return __real_nanosleep(rest, left);
}

static struct job jobs[5];

static void expect(struct jobs *list, const char *wanted)
{
    char text[16] = "";
    struct job **end = &list->first;
    for (struct job *at = list->first; at; end = &at->next, at = at->next) {
        char name[2] = {(char)('a' + (at - jobs)), '\0'};
        strcat(text, name);
    }
    assert_string_equal(text, wanted);
    assert_ptr_equal(list->end, end);
}

static void questions_stand_in_rows(void **state)
{
    struct jobs one, two;
    (void)state;
    jobs_init(&one);
    jobs_init(&two);
    expect(&one, "");
    jobs_put_in_front(&one, &two);
    expect(&one, "");
    for (unsigned i = 0; i < 3; i++)
        jobs_put(&one, &jobs[i]);
    expect(&one, "abc");
    assert_ptr_equal(jobs_take(&one, &one.first->next), &jobs[1]);
    expect(&one, "ac");
    assert_ptr_equal(jobs_take(&one, &one.first->next), &jobs[2]);
    expect(&one, "a");
    jobs_put(&two, &jobs[3]);
    jobs_put(&two, &jobs[4]);
    jobs_put_in_front(&one, &two);
    expect(&one, "dea");
    expect(&two, "");
    jobs_put(&one, &jobs[1]);
    expect(&one, "deab");
    jobs_put_in_front(&one, &two); /* nothing */
    expect(&one, "deab");
    jobs_put_in_front(&two, &one); /* in front of nothing */
    expect(&two, "deab");
    expect(&one, "");
    jobs_put(&two, &jobs[2]);
    expect(&two, "deabc");
    for (unsigned i = 0; i < 5; i++)
        jobs_take(&two, &two.first);
    expect(&two, "");
}

static void patience_comes_back(void **state)
{
    struct user user = {.patience_ns = OPENER_PATIENCE_NS, .patience_at_ns = 1000};
    (void)state;
    assert_true(user_has_patience(&user, 1000));
    assert_true(user_has_patience(&user, 1000000000000));
    assert_int_equal(user.patience_ns, OPENER_PATIENCE_NS); /* and no more */
    assert_int_equal(user.patience_at_ns, 1000000000000);
    user.patience_ns = -100;
    assert_false(user_has_patience(&user, 1000000000000));
    uint64_t now = 1000000000000, waited = 0;
    while (!user_has_patience(&user, now)) {
        now += 100;
        waited += 100;
        assert_true(waited < 1000000);
    }
    assert_int_equal(waited, 5100); /* a fiftieth of the time */
}

static void users_have_entries(void **state)
{
    static struct opener opener;
    (void)state;
    struct user *own = user_find(&opener, getpid()), *unknown = user_find(&opener, 0);
    assert_int_equal(own->uid, geteuid());
    assert_int_equal(own->patience_ns, OPENER_PATIENCE_NS);
    assert_true(own->patience_at_ns > 0);
    assert_int_equal(unknown->uid, (uid_t)-1);
    assert_int_equal(opener.user_count, 2);
    assert_ptr_equal(user_find(&opener, getpid()), own);
    assert_ptr_equal(user_find(&opener, -1), unknown);
    assert_int_equal(opener.user_count, 2);
    /* Where all are busy, the last one stands for further ones too. */
    for (unsigned i = 0; i < OPENER_USERS; i++)
        opener.users[i] = (struct user){
            .uid = 4000000 + i, .asked_ns = 1000 - i, .queued = i % 3 == 0, .slow = i % 3 == 1, .hung = i % 3 == 2};
    opener.user_count = OPENER_USERS;
    assert_ptr_equal(user_find(&opener, getpid()), &opener.users[OPENER_USERS - 1]);
    assert_int_equal(opener.users[OPENER_USERS - 1].uid, 4000000 + OPENER_USERS - 1);
    assert_int_equal(opener.user_count, OPENER_USERS);
    /* Else the one who asked longest ago of those who have nothing to do with any helper. */
    opener.users[3].queued = opener.users[7].slow = opener.users[5].hung = 0;
    assert_ptr_equal(user_find(&opener, getpid()), &opener.users[7]);
    assert_int_equal(opener.users[7].uid, geteuid());
    assert_int_equal(opener.users[7].patience_ns, OPENER_PATIENCE_NS);
    assert_ptr_equal(user_find(&opener, 0), &opener.users[5]);
    assert_int_equal(opener.users[3].uid, 4000003);
    assert_ptr_equal(user_find(&opener, getpid()), &opener.users[7]);
}

/* ---- The end ---- */

static pid_t child;
static int held[2]; /* the child ends with the last writer */

static pid_t start_child(void)
{
    char byte;
    assert_int_equal(pipe(held), 0);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(held[1]);
        _exit(read(held[0], &byte, 1) == 0 ? 0 : 1);
    }
    close(held[0]);
    return pid;
}

/* No zombie is left by the third look. */
static void end_child_later(void)
{
    siginfo_t info;
    if (rests != 2)
        return;
    close(held[1]);
    assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
}

/* An opener in whose LAST entry CHILD is, given up for USER (NULL: for nobody). */
static struct opener *with_child(unsigned entry, struct user *user)
{
    struct opener *opener = opener_new();
    child = start_child();
    opener->helpers[entry] = (struct helper){.pid = child, .fd = -1, .apart = true, .user = user};
    jobs_init(&opener->helpers[entry].flying);
    rests = 0;
    return opener;
}

static void end_waits_for_who_is_about_to_go(void **state)
{
    struct user user = {.hung = 1};
    (void)state;
    rests = 0;
    opener_free(opener_new()); /* there was none */
    assert_int_equal(rests, 0);
    for (unsigned entry = 0; entry < OPENER_HELPERS; entry += OPENER_HELPERS - 1) {
        at_rest = end_child_later;
        bool met = false;
        for (unsigned i = 0; i < 100 && !met; i++) {
            opener_free(with_child(entry, NULL));
            if (rests != 2)
                close(held[1]); /* the machine is busy: the 50 ms were over before the second look ... */
            pid_t left = waitpid(child, NULL, 0);
            assert_true(left == child || (left == -1 && rests == 2)); /* ... or before the third */
            met = left == -1;
        }
        assert_true(met);
        /* One that hangs is left behind. */
        at_rest = NULL;
        opener_free(with_child(entry, &user));
        assert_int_equal(rests, 0);
        assert_int_equal(user.hung, 1);
        close(held[1]);
        assert_int_equal(waitpid(child, NULL, 0), child);
        /* One that does not go, though it was told to, for 50 ms. */
        struct opener *opener = with_child(entry, NULL);
        uint64_t start = opener_now_ns();
        opener_free(opener);
        assert_true(opener_now_ns() - start >= 50000000);
        assert_true(rests > 0);
        close(held[1]);
        assert_int_equal(waitpid(child, NULL, 0), child);
    }
}

/* Those who are asked still are told to go, and their CPU time counts. */
static void end_lets_go(void **state)
{
    int status, pair[2];
    char byte;
    (void)state;
    struct opener *opener = with_child(1, NULL);
    assert_int_equal(pipe(pair), 0);
    opener->helpers[1].fd = pair[1];
    opener->helpers[1].apart = false;
    opener_free(opener);
    assert_int_equal(read(pair[0], &byte, 1), 0); /* its end is closed */
    close(pair[0]);
    assert_true(waitpid(child, &status, 0) == -1 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    close(held[1]);
}

static void gone_helpers_have_cpu_time(void **state)
{
    struct user user = {.hung = 3};
    (void)state;
    struct opener *opener = with_child(0, &user);
    struct helper *helper = &opener->helpers[0];
    opener->cpu_ns = 5;
    assert_false(helper_reap(opener, helper));
    assert_true(helper->pid == child && user.hung == 3);
    assert_int_equal(opener->cpu_ns, 5);
    assert_in_range(opener_cpu_ns(opener), 5, 40000000000);
    rests = 2;
    end_child_later();
    assert_true(helper_reap(opener, helper));
    assert_true(helper->pid == 0 && user.hung == 2);
    assert_in_range(opener->cpu_ns, 5, 40000000000);
    assert_int_equal(opener_cpu_ns(opener), opener->cpu_ns); /* no entry has one */
    /* Somebody else has met it. */
    uint64_t used = opener->cpu_ns;
    helper->pid = child;
    helper->user = NULL;
    assert_true(helper_reap(opener, helper));
    assert_true(helper->pid == 0 && user.hung == 2 && opener->cpu_ns == used);
    opener_free(opener);
}

/* A helper that computes makes others wait as one that sleeps does; one that waits for a CPU cannot help it. */
static void who_computes_is_slow(void **state)
{
    int ready[2];
    char byte;
    (void)state;
    assert_int_equal(pipe(ready), 0);
    fflush(NULL);
    struct helper helper = {.pid = fork()};
    assert_true(helper.pid >= 0);
    if (helper.pid == 0) {
        alarm(120); /* where the test fails it ends too */
        for (bool told = false;;)
            told = told || write(ready[1], "", 1) == 1;
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    while (helper_cpu_ns(&helper) == 0) /* the kernel counts later than it runs */
        poll(NULL, 0, 1);
    assert_false(helper_is_slow(&helper, UINT64_MAX));
    uint64_t start = helper.since_cpu_ns, now = opener_now_ns(), end = now + UINT64_C(60000000000);
    assert_true(start > 0);
    while (!helper_is_slow(&helper, 1000000) && now < end)
        now = opener_now_ns();
    assert_true(helper_cpu_ns(&helper) - start >= 1000000);
    assert_int_equal(helper.since_cpu_ns, start);
    /* What it used is what is charged, and no more than there was. */
    assert_int_equal(helper_busy_ns(&helper, 1000, start), 1000);
    assert_true(helper_busy_ns(&helper, UINT64_MAX / 2, start) < UINT64_C(600000000000));
    int status;
    assert_int_equal(kill(helper.pid, SIGSTOP), 0);
    assert_int_equal(waitpid(helper.pid, &status, WUNTRACED), helper.pid);
    assert_int_equal(helper_busy_ns(&helper, UINT64_MAX / 2, start), UINT64_MAX / 2);
    assert_true(helper_is_slow(&helper, UINT64_MAX));
    assert_int_equal(kill(helper.pid, SIGKILL), 0);
    assert_int_equal(waitpid(helper.pid, &status, 0), helper.pid);
    close(ready[0]);
    close(ready[1]);
}

/* ---- Questions ---- */

static struct mapped_file wanted; /* what the helper is to be asked: it is a copy of this process */

/* Says which part of a question did not get through. */
static int open_compared(const struct mapped_file *file, struct stat *ret)
{
    (void)ret;
    return file->pid != wanted.pid           ? -101
           : file->maj != wanted.maj         ? -102
           : file->min != wanted.min         ? -103
           : file->ino != wanted.ino         ? -104
           : file->start != wanted.start     ? -105
           : file->size != wanted.size       ? -106
           : strcmp(file->path, wanted.path) ? -107
                                             : -100;
}

static unsigned answered, answered_fds;
static uint64_t answered_ticket;
static int answered_status;

static void note(void *context, uint64_t ticket, const struct opener_answer *answer)
{
    assert_ptr_equal(context, jobs);
    answered++;
    answered_fds += answer->fd >= 0;
    answered_ticket = ticket;
    answered_status = answer->status;
}

static void questions_get_through(void **state)
{
    static char path[4000];
    (void)state;
    at_rest = NULL;
    memset(path, 'x', sizeof(path) - 1);
    path[0] = '/';
    struct opener *opener = opener_new();
    opener_replace(opener, open_compared);
    wanted = (struct mapped_file){getpid(), 7, 9, UINT64_MAX - 3, 0x7f0000001000, 0x2000, path};
    uint64_t ticket = opener_ask(opener, OPENER_ID, &wanted, note, jobs);
    answered = 0;
    for (int i = 0; i < 100000 && !answered; i++) {
        opener_take(opener);
        usleep(200);
    }
    assert_int_equal(answered, 1);
    assert_int_equal(answered_status, -100);
    assert_int_equal(answered_ticket, ticket);
    assert_int_equal(answered_fds, 0);
    assert_int_equal(opener->queued, 0);
    assert_int_equal(opener->users[0].queued, 0);
    opener_free(opener);
}

/* No helper can be started for a moment: the answer is that. */
static struct opener *without_helpers(void)
{
    struct opener *opener = opener_new();
    opener_replace(opener, open_compared);
    opener->again_ns = UINT64_MAX;
    answered = 0;
    return opener;
}

static void questions_without_a_helper(void **state)
{
    (void)state;
    struct opener *opener = without_helpers();
    wanted = (struct mapped_file){.pid = getpid(), .path = "/x"};
    assert_int_equal(opener_ask(opener, OPENER_TABLES, &wanted, note, jobs), 1);
    assert_int_equal(opener_ask(opener, OPENER_TABLES, &wanted, note, jobs), 2);
    assert_int_equal(answered, 0); /* not before it is asked for */
    assert_true(opener->queued == 2 && opener->users[0].queued == 2);
    opener_take(opener);
    assert_true(answered == 2 && answered_ticket == 2);
    assert_int_equal(answered_status, -EAGAIN);
    assert_true(opener->queued == 0 && opener->users[0].queued == 0);
    assert_true(opener_counts(opener).asked == 2 && opener_counts(opener).failed == 2);
    assert_int_equal(opener_counts(opener).refused + opener_counts(opener).hung, 0);
    assert_true(opener_settle(opener, 2)); /* it is over */
    opener_free(opener);
}

/* A user whose files hang is not served for ever, others are. */
static void questions_of_slow_users(void **state)
{
    (void)state;
    struct opener *opener = without_helpers();
    wanted = (struct mapped_file){.pid = getpid(), .path = "/x"};
    struct user *user = user_find(opener, getpid());
    const struct mapped_file others = {.pid = 0, .path = "/x"};
    user->slow = 1;
    for (int i = 0; i < 64; i++)
        assert_int_equal(opener_ask(opener, OPENER_ID, &wanted, note, jobs), i + 1);
    assert_int_equal(opener_ask(opener, OPENER_ID, &wanted, note, jobs), 0);
    assert_true(user->queued == 64 && opener->queued == 64);
    assert_int_equal(opener_counts(opener).refused, 1);
    opener_take(opener);
    assert_int_equal(answered, 0); /* they wait */
    assert_false(opener_settle(opener, 1));
    assert_int_equal(opener_ask(opener, OPENER_ID, &others, note, jobs), 65);
    opener_take(opener);
    assert_true(answered == 1 && answered_ticket == 65 && answered_status == -EAGAIN);
    user->slow = 0;
    user->hung = 1; /* one may hang for long */
    assert_int_equal(opener_ask(opener, OPENER_ID, &wanted, note, jobs), 0);
    user->hung = OPENER_SHARE;
    opener_take(opener);
    assert_true(answered == 65 && answered_status == -ETIMEDOUT && user->queued == 0);
    assert_int_equal(opener_counts(opener).refused, 2 + 64);
    assert_int_equal(opener_ask(opener, OPENER_ID, &wanted, note, jobs), 0);
    assert_int_equal(opener_counts(opener).refused, 2 + 64 + 1);
    assert_int_equal(opener->queued, 0);
    user->hung = 1;
    assert_int_equal(opener_ask(opener, OPENER_ID, &wanted, note, jobs), 66);
    user->hung = 0;
    opener_free(opener);
}

/* Who fills his part of the queue has no more of it, others have theirs, up to the whole. */
static void questions_of_many(void **state)
{
    (void)state;
    struct opener *opener = without_helpers();
    wanted = (struct mapped_file){.pid = getpid(), .path = "/x"};
    const struct mapped_file others = {.pid = 0, .path = "/x"};
    user_find(opener, getpid())->slow = 1; /* so that they wait */
    user_find(opener, 0)->slow = 1;
    user_find(opener, getpid())->queued = OPENER_QUEUE_SHARE - 1;
    user_find(opener, getpid())->slow = 0;
    assert_int_equal(opener_ask(opener, OPENER_ID, &wanted, note, jobs), 1);
    assert_int_equal(opener_ask(opener, OPENER_ID, &wanted, note, jobs), 0);
    assert_int_equal(opener_counts(opener).refused, 1);
    assert_int_equal(opener_ask(opener, OPENER_ID, &others, note, jobs), 2);
    opener->queued = OPENER_QUEUE + 4;
    opener->nobody.queued = 5; /* of which nobody's are not */
    assert_int_equal(opener_ask(opener, OPENER_ID, &others, note, jobs), 3);
    assert_int_equal(opener_ask(opener, OPENER_ID, &others, note, jobs), 0);
    assert_int_equal(opener_counts(opener).refused, 2);
    opener_free(opener);
}

/* Files on local disks are answered whatever waits, but so many at a time. */
static void local_files_do_not_queue(void **state)
{
    char exe[4096];
    struct stat status;
    (void)state;
    ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    assert_true(length > 0);
    exe[length] = '\0';
    assert_int_equal(stat(exe, &status), 0);
    const struct mapped_file file = {
        .pid = getpid(), .maj = major(status.st_dev), .min = minor(status.st_dev), .ino = status.st_ino, .path = exe};
    int fd = mapped_file_open_local(&file, &status);
    if (fd < 0)
        skip(); /* this lies on no disk, or the kernel is older than 5.12 */
    close(fd);
    struct opener *opener = opener_new();
    opener->again_ns = UINT64_MAX;
    opener->queued = OPENER_QUEUE;
    user_find(opener, getpid())->queued = OPENER_QUEUE_SHARE;
    answered = 0;
    for (unsigned i = 0; i < OPENER_LOCAL; i++)
        assert_int_equal(opener_ask(opener, OPENER_ID, &file, note, jobs), i + 1);
    assert_int_equal(opener->nobody.queued, OPENER_LOCAL);
    assert_int_equal(opener_ask(opener, OPENER_ID, &file, note, jobs), 0);
    opener_take(opener);
    assert_true(answered == OPENER_LOCAL && answered_status == 0);
    assert_int_equal(opener->nobody.queued, 0);
    opener_free(opener);
}

/* What has no room is refused: the longest path that a question can have, and one more byte. */
static void questions_that_are_too_long(void **state)
{
    static char path[sizeof(((struct opener_wire *)NULL)->path) + 1];
    (void)state;
    struct opener *opener = without_helpers();
    memset(path, 'x', sizeof(path) - 1);
    wanted = (struct mapped_file){.path = path};
    assert_int_equal(opener_ask(opener, OPENER_ID, &wanted, note, jobs), 0);
    assert_int_equal(opener_counts(opener).refused, 1);
    path[sizeof(path) - 2] = '\0';
    assert_int_equal(opener_ask(opener, OPENER_ID, &wanted, note, jobs), 1);
    opener_take(opener);
    assert_int_equal(answered, 1);
    assert_int_equal(opener_counts(opener).refused, 1);
    opener_free(opener);
}

/* Whoever takes none, or has gone, keeps nobody waiting, and kills nobody. */
static void questions_to_who_takes_none(void **state)
{
    struct job *job = calloc(1, sizeof(*job));
    int pair[2];
    (void)state;
    assert_non_null(job);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    struct helper helper = {.fd = pair[0]};
    unsigned sent = 0;
    alarm(120);
    while (sent < 1000000 && helper_send(&helper, job))
        sent++;
    alarm(0);
    assert_in_range(sent, 1, 999999);
    close(pair[1]);
    assert_false(helper_send(&helper, job));
    close(pair[0]);
    free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(questions_stand_in_rows),
        cmocka_unit_test(patience_comes_back),
        cmocka_unit_test(users_have_entries),
        cmocka_unit_test(end_waits_for_who_is_about_to_go),
        cmocka_unit_test(end_lets_go),
        cmocka_unit_test(gone_helpers_have_cpu_time),
        cmocka_unit_test(who_computes_is_slow),
        cmocka_unit_test(questions_to_who_takes_none),
        cmocka_unit_test(questions_get_through),
        cmocka_unit_test(questions_without_a_helper),
        cmocka_unit_test(questions_of_slow_users),
        cmocka_unit_test(questions_that_are_too_long),
        cmocka_unit_test(questions_of_many),
        cmocka_unit_test(local_files_do_not_queue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
