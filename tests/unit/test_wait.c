/* SPDX-License-Identifier: MIT */
/* What a start sweeps away of sessions that were killed, and what it leaves alone, whoever has put it there. */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <ftw.h>
#include <pinject/wire.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "collector/launch/wait.h"
#include "collector/system/paths.h"

/* Only a sweep that hangs takes that long. */
enum { PATIENCE_S = 40 };

static char directory[] = "/tmp/pinject-wait-XXXXXX";

static const char *name_of(unsigned number)
{
    static char names[4][128];
    char *name = names[number % 4];
    snprintf(name, sizeof(names[0]), "%s/%s%032x", directory, PATHS_SEGMENT_PREFIX, number);
    return name;
}

static bool is_there(const char *path)
{
    struct stat status;
    return lstat(path, &status) == 0;
}

/* The head of a segment of COLLECTOR, which had it locked. */
static void write_segment(const char *path, pid_t collector)
{
    static struct pinject_segment segment;
    memset(&segment, 0, sizeof(segment));
    segment.magic = PINJECT_WIRE_MAGIC;
    segment.version = PINJECT_WIRE_VERSION;
    segment.size = sizeof(segment);
    segment.flags = PINJECT_SESSION_LOCKED;
    segment.collector = collector;
    snprintf(segment.outfile, sizeof(segment.outfile), "%s/out", directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, &segment, sizeof(segment)), sizeof(segment));
    close(fd);
}

static pid_t ended_process(void)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    return pid;
}

/* NUMBER: what the segment says of its collector, which may have another number here, or none. */
static void check_dead_and_live(pid_t dead_number, pid_t live_number)
{
    int ready[2];
    char byte, rings[160];
    const char *dead = name_of(1), *live = name_of(2);
    write_segment(dead, dead_number);
    snprintf(rings, sizeof(rings), "%.127s%s.18446744073709551615", dead, PINJECT_RINGS_SUFFIX);
    write_segment(rings, 1);
    assert_int_equal(pipe(ready), 0);
    /* A collector: it holds the lock on its segment. */
    pid_t collector = fork();
    if (collector == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        write_segment(live, live_number);
        int fd = open(live, O_RDWR);
        fcntl(fd, F_SETLK, &lock);
        if (write(ready[1], "r", 1) == 1)
            pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    wait_sweep();
    assert_false(is_there(dead));
    assert_false(is_there(rings));
    assert_true(is_there(live));
    kill(collector, SIGKILL);
    assert_int_equal(waitpid(collector, NULL, 0), collector);
    wait_sweep();
    assert_false(is_there(live));
    close(ready[0]);
    close(ready[1]);
}

static void test_dead_and_live(void **state)
{
    (void)state;
    check_dead_and_live(ended_process(), getpid());
}

/* The lock alone tells: the dead one's number was given out again, the live one's is of another namespace. */
static void test_numbers_say_nothing(void **state)
{
    (void)state;
    check_dead_and_live(getpid(), ended_process());
}

/* Between the head and the lock there is a moment, in which nobody may sweep. */
static void test_not_locked_yet(void **state)
{
    (void)state;
    const char *path = name_of(1);
    const uint32_t none = 0;
    for (int seconds = 0; seconds < 200; seconds += 100) {
        const struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
        write_segment(path, ended_process());
        int fd = open(path, O_WRONLY);
        assert_int_equal(pwrite(fd, &none, sizeof(none), offsetof(struct pinject_segment, flags)), sizeof(none));
        assert_int_equal(futimens(fd, times), 0);
        close(fd);
        wait_sweep();
        assert_int_equal(is_there(path), seconds == 0);
    }
}

/* The channels of a dead session go with it, and nothing else that has its name in front. */
static void test_channels(void **state)
{
    (void)state;
    static const struct {
        const char *end;
        bool swept;
    } files[] = {{".0", true},     {".65534", true}, {".65534.1234567890", true},
                 {".", false},     {".x", false},    {".1x", false},
                 {".1.2x", false}, {"7", false},     {"-1", false}};
    char path[160];
    write_segment(name_of(1), 1);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%.127s%s", name_of(1), files[i].end);
        write_segment(path, 1);
        int fd = open(path, O_WRONLY | O_TRUNC); /* no segment */
        close(fd);
    }
    snprintf(path, sizeof(path), "%.127s.5", name_of(2)); /* of another one */
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    close(fd);
    wait_sweep();
    assert_false(is_there(name_of(1)));
    assert_true(is_there(path));
    unlink(path);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        snprintf(path, sizeof(path), "%.127s%s", name_of(1), files[i].end);
        assert_int_equal(is_there(path), !files[i].swept);
        unlink(path);
    }
}

/* Who waits for results waits for the end of the sessions that write there, and no others. */
static void test_waiting(void **state)
{
    (void)state;
    int ready[2], done[2];
    char byte, base[160];
    const char *live = name_of(1);
    snprintf(base, sizeof(base), "%s/out", directory);
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(done), 0);
    pid_t collector = fork();
    if (collector == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
        write_segment(live, getpid());
        int fd = open(live, O_RDWR);
        fcntl(fd, F_SETLK, &lock);
        close(done[1]);
        if (write(ready[1], "r", 1) == 1)
            (void)!read(done[0], &byte, 1);
        _exit(0);
    }
    close(done[0]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    check_capture();
    int status = wait_for("/tmp/pinject-no-session-writes-that", NULL); /* not waited for: it would never end */
    const char *text = check_captured();
    assert_int_equal(status, 0);
    assert_non_null(strstr(text, "no profile is being written to /tmp/pinject-no-session-writes-that"));
    fflush(NULL);
    pid_t waiter = fork();
    if (waiter == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(done[1]);
        alarm(PATIENCE_S);
        close(2);
        int fd = open("/dev/null", O_WRONLY);
        (void)fd;
        _exit(wait_for(base, NULL) == 0 ? 0 : 1);
    }
    /* As long as the lock is held it does not come back. */
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int fd = open(live, O_RDWR), exit_status;
    assert_true(fd >= 0);
    char syscall[64] = "", path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", waiter);
    for (int looks = 0; looks < 20000; looks++) { /* until it sleeps: who came back is a zombie */
        FILE *file = fopen(path, "re");
        assert_non_null(file);
        assert_int_equal(fscanf(file, "%*d %*s %1s", syscall), 1);
        fclose(file);
        if (syscall[0] == 'Z')
            break;
        if (syscall[0] == 'S' && looks > 200)
            break;
        usleep(500);
    }
    assert_int_equal(syscall[0], 'S');
    assert_int_equal(waitpid(waiter, NULL, WNOHANG), 0);
    close(done[1]); /* the collector ends */
    assert_int_equal(waitpid(collector, NULL, 0), collector);
    assert_int_equal(waitpid(waiter, &exit_status, 0), waiter);
    assert_int_equal(exit_status, 0);
    assert_int_equal(fcntl(fd, F_OFD_GETLK, &lock), 0);
    assert_int_equal(lock.l_type, F_UNLCK);
    close(fd);
    close(ready[0]);
    close(ready[1]);
    unlink(live);
    check_capture();
    status = wait_for(".", NULL);
    text = check_captured();
    assert_int_equal(status, 125);
    assert_non_null(strstr(text, "'.' cannot be used as a name for result files: Invalid argument"));
}

/* A file without a head, SECONDS old. */
static void write_ruin(const char *path, time_t seconds)
{
    struct timespec times[2] = {{.tv_sec = time(NULL) - seconds}, {.tv_sec = time(NULL) - seconds}};
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

/* Killed before it had a head: old ones are swept, unless they have another name beside, or are no file of ours. */
static void test_ruins(void **state)
{
    (void)state;
    const char *old = name_of(1), *young = name_of(2), *linked = name_of(3);
    char other[160], upper[160];
    write_ruin(old, 3600);
    write_ruin(young, 1);
    write_ruin(linked, 3600);
    snprintf(other, sizeof(other), "%s/other", directory);
    assert_int_equal(link(linked, other), 0);
    snprintf(upper, sizeof(upper), "%s/%s%032X", directory, PATHS_SEGMENT_PREFIX, 0xabcdef);
    write_ruin(upper, 3600);
    /* Where they usually are, too. */
    char shared[160];
    snprintf(shared, sizeof(shared), "/dev/shm/%s%032x", PATHS_SEGMENT_PREFIX, (unsigned)getpid());
    if (access("/dev/shm", W_OK) == 0)
        write_ruin(shared, 3600);
    wait_sweep();
    assert_false(is_there(shared));
    assert_false(is_there(old));
    assert_true(is_there(young));
    assert_true(is_there(linked));
    assert_true(is_there(upper));
    unlink(young);
    unlink(linked);
    unlink(other);
    unlink(upper);
}

/* Channels and rings whose segment is gone are swept if they are old; not those of a segment that is there. */
static void test_orphans(void **state)
{
    (void)state;
    static const struct {
        unsigned segment;
        const char *end;
        time_t age_s;
        bool swept;
    } files[] = {
        {7, ".65534.17", 3600, true}, {7, PINJECT_RINGS_SUFFIX ".3", 3600, true},
        {7, ".0.18", 1, false},       {7, ".txt", 3600, false},
        {7, ".0.19", 3600, false},    {6, ".0.1", 3600, false},
    };
    enum { FILES = sizeof(files) / sizeof(files[0]), LINKED = 4 };
    char paths[FILES][640], other[160];
    write_ruin(name_of(6), 1); /* a session that starts */
    for (unsigned i = 0; i < FILES; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s%s", name_of(files[i].segment), files[i].end);
        write_ruin(paths[i], files[i].age_s);
    }
    snprintf(other, sizeof(other), "%s/other", directory);
    assert_int_equal(link(paths[LINKED], other), 0);
    wait_sweep();
    for (unsigned i = 0; i < FILES; i++) {
        assert_int_equal(is_there(paths[i]), !files[i].swept);
        unlink(paths[i]);
    }
    unlink(other);
    unlink(name_of(6));
}

/* Everybody can put something there. Nothing of it is waited for, followed or removed. */
static void test_what_is_no_segment(void **state)
{
    (void)state;
    const char *fifo = name_of(1), *symlinked = name_of(2), *dir = name_of(3);
    char truth[160];
    snprintf(truth, sizeof(truth), "%s/truth", directory);
    write_segment(truth, ended_process());
    assert_int_equal(mkfifo(fifo, 0666), 0);
    assert_int_equal(symlink(truth, symlinked), 0);
    assert_int_equal(mkdir(dir, 0700), 0);
    wait_sweep();
    assert_int_equal(wait_for("/tmp/pinject-no-session-writes-that", NULL), 0);
    assert_true(is_there(fifo));
    assert_true(is_there(symlinked));
    assert_true(is_there(dir));
    assert_true(is_there(truth));
    unlink(fifo);
    unlink(symlinked);
    unlink(truth);
    rmdir(dir);
}

/* A head that cannot be says nothing of a session. */
static void test_wrong_heads(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint32_t value;
    } wrong[] = {
        {offsetof(struct pinject_segment, magic), 1},
        {offsetof(struct pinject_segment, version), PINJECT_WIRE_VERSION + 1},
        {offsetof(struct pinject_segment, size), sizeof(struct pinject_segment) - 1},
        {offsetof(struct pinject_segment, collector), 0},
        {offsetof(struct pinject_segment, collector), (uint32_t)-5},
    };
    const char *path = name_of(1);
    const unsigned before = check_open_fds();
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        write_segment(path, ended_process());
        int fd = open(path, O_WRONLY);
        assert_int_equal(pwrite(fd, &wrong[i].value, 4, (off_t)wrong[i].at), 4);
        close(fd);
        wait_sweep();
        assert_true(is_there(path));
        assert_int_equal(check_open_fds(), before);
    }
    unlink(path);
}

static int set_up(void **state)
{
    (void)state;
    alarm(PATIENCE_S); /* an open() that waits for a writer never ends */
    return mkdtemp(directory) && setenv("TMPDIR", directory, 1) == 0 ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dead_and_live),
        cmocka_unit_test(test_numbers_say_nothing),
        cmocka_unit_test(test_not_locked_yet),
        cmocka_unit_test(test_ruins),
        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_what_is_no_segment),
        cmocka_unit_test(test_wrong_heads),
        cmocka_unit_test(test_orphans),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
