/* SPDX-License-Identifier: MIT */
/* The exec family and posix_spawn: what is passed on, in which environment, and what the collector is told before. */
#include "hook_kit.h"

#include "preload/spawn_directory.h"
#include "preload/sys.h"

#include <sched.h>
#include <sys/wait.h>

int hook_execve(const char *path, char *const argv[], char *const envp[]);
int hook_execv(const char *path, char *const argv[]);
int hook_execvpe(const char *file, char *const argv[], char *const envp[]);
int hook_execvp(const char *file, char *const argv[]);
int hook_fexecve(int fd, char *const argv[], char *const envp[]);
int hook_execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags);
int hook_execl(const char *path, const char *first, ...);
int hook_execlp(const char *file, const char *first, ...);
int hook_execle(const char *path, const char *first, ...);
long pinject_exec_by_syscall(long number, long a, long b, long c, long d, long e);
int hook_posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                     const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);
int hook_posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);
int hook_pidfd_spawn(int *pidfd, const char *path, const posix_spawn_file_actions_t *actions,
                     const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);
int hook_pidfd_spawnp(int *pidfd, const char *file, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);

#define OURS "PINJECT_SESSION=/s,LD_PRELOAD=/p/libpinject.so"

static char *const arguments[] = {(char *)"name", (char *)"one", NULL};
static char *const empty_env[] = {NULL};
static char *const other_env[] = {(char *)"A=b", NULL};
static char *const joined_env[] = {(char *)"A=b", (char *)"PINJECT_SESSION=/s", (char *)"LD_PRELOAD=/p/libpinject.so",
                                   NULL};

/* ---- The next functions ---- */

static int next_execve(const char *path, char *const argv[], char *const envp[])
{
    hook_note("execve %s %s", hook_text(path), hook_vector(argv));
    hook_note("  in %s", hook_vector(envp));
    return (int)hook_answer();
}

static int next_execvpe(const char *file, char *const argv[], char *const envp[])
{
    hook_note("execvpe %s %s", hook_text(file), hook_vector(argv));
    hook_note("  in %s", hook_vector(envp));
    return (int)hook_answer();
}

static int next_fexecve(int fd, char *const argv[], char *const envp[])
{
    hook_note("fexecve %d %s", fd, hook_vector(argv));
    hook_note("  in %s", hook_vector(envp));
    return (int)hook_answer();
}

static int next_execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
    hook_note("execveat %d %s %s %#x", fd, hook_text(path), hook_vector(argv), (unsigned)flags);
    hook_note("  in %s", hook_vector(envp));
    return (int)hook_answer();
}

static long next_syscall(long number, ...)
{
    va_list list;
    va_start(list, number);
    if (number == SYS_execveat) {
        int fd = (int)va_arg(list, long);
        const char *path = va_arg(list, const char *);
        hook_note("syscall execveat %d %s %s", fd, hook_text(path), hook_vector(va_arg(list, char *const *)));
    } else {
        const char *path = va_arg(list, const char *);
        hook_note("syscall %s %s %s", number == SYS_execve ? "execve" : "?", hook_text(path),
                  hook_vector(va_arg(list, char *const *)));
    }
    hook_note("  in %s", hook_vector(va_arg(list, char *const *)));
    if (number == SYS_execveat)
        hook_note("  flags %#lx", (unsigned long)va_arg(list, long));
    va_end(list);
    return hook_answer();
}

long (*pinject_next_syscall)(long, ...) = next_syscall;

static int spawned_pid;
static bool no_pid;

static int next_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    hook_note("spawn %s%s%s %s", hook_text(path), actions ? " actions" : "", attr ? " attr" : "", hook_vector(argv));
    hook_note("  in %s", hook_vector(envp));
    no_pid = !pid;
    if (pid && !hook_kit.error_once)
        *pid = spawned_pid;
    int once = hook_kit.error_once;
    long result = hook_answer();
    return once ? once : (int)result; /* the error is what it returns */
}

static int next_spawn_of_much(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                              const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    bool ours = false;
    (void)path, (void)actions, (void)attr, (void)argv;
    for (; *envp; envp++)
        ours |= strncmp(*envp, "PINJECT_SESSION=", 16) == 0;
    hook_note("spawn with%s ours", ours ? "" : "out");
    *pid = spawned_pid;
    return 0;
}

static int next_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    hook_note("by name:");
    return next_spawn(pid, file, actions, attr, argv, envp);
}

static int next_pidfd(int *pidfd, const char *path, const posix_spawn_file_actions_t *actions,
                      const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    hook_note("pidfd:");
    return next_spawn(pidfd, path, actions, attr, argv, envp);
}

static int next_pidfd_by_name(int *pidfd, const char *file, const posix_spawn_file_actions_t *actions,
                              const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
    hook_note("pidfd by name:");
    return next_spawn(pidfd, file, actions, attr, argv, envp);
}

/* ---- Its working directory ---- */

static struct pinject_spawn_directory directory;
static int directory_error;

int pinject_spawn_directory_find(const posix_spawn_file_actions_t *actions,
                                 struct pinject_spawn_directory *ret_directory)
{
    (void)actions;
    *ret_directory = directory;
    return directory_error;
}

void pinject_spawn_directory_close(struct pinject_spawn_directory *it)
{
    hook_note("close directory %d", it->fd == AT_FDCWD ? -1 : it->fd);
}

bool pinject_spawn_names_descriptor(const char *path)
{
    return strcmp(path, "/dev/fd/3") == 0;
}

static void begin(uint32_t flags)
{
    hook_kit_begin(flags);
    hook_kit.envp = other_env;
    hook_kit.result = -1;
    hook_kit.error = ENOENT;
    hook_next.execve = next_execve;
    hook_next.execvpe = next_execvpe;
    hook_next.fexecve = next_fexecve;
    hook_next.execveat = next_execveat;
    hook_next.posix_spawn = next_spawn;
    hook_next.posix_spawnp = next_spawnp;
    hook_next.pidfd_spawn = next_pidfd;
    hook_next.pidfd_spawnp = next_pidfd_by_name;
    hook_next.pidfd_spawns = true;
    directory = (struct pinject_spawn_directory){AT_FDCWD, false, false};
    directory_error = 0;
    spawned_pid = 4321;
}

/* ---- exec ---- */

/* No session: nothing happens but the call. */
static void test_without_a_session(void **state)
{
    (void)state;
    begin(PINJECT_SESSION_ALL);
    pinject_object.standing = PINJECT_NOTHING;
    pinject_object.begun = 0;
    assert_int_equal(hook_execve("/x", arguments, other_env), -1);
    assert_int_equal(errno, ENOENT);
    assert_notes("init\nexecve /x {name,one}\n  in same\n");
    assert_int_equal(hook_execve(NULL, NULL, NULL), -1);
    assert_notes("execve null null\n  in null\n");
    spawned_pid = 77;
    pid_t pid = 0;
    hook_kit.result = 0;
    pinject_object.begun = 0;
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, other_env), 0);
    assert_int_equal(pid, 77);
    assert_notes("init\nspawn /x {name,one}\n  in same\n");
    assert_int_equal(hook_posix_spawn(NULL, "/x", NULL, NULL, arguments, NULL), 0);
    assert_true(no_pid);
    assert_notes("spawn /x {name,one}\n  in null\n");
}

#define FRAME "room\n%ssignal before\ntimer before\n%s  in {%s}\n%stimer after\nsignal after\nrelease\n"

/* Each function looks where the kernel will look, calls its own next function, and joins the environment. */
static void test_each_function(void **state)
{
    char expected[1024];
    (void)state;
    begin(PINJECT_SESSION_ALL);
    hook_kit.covered = true;
#define TRY(call, look, next, env, more)                                               \
    do {                                                                               \
        errno = 0;                                                                     \
        assert_int_equal(call, -1);                                                    \
        assert_int_equal(errno, ENOENT);                                               \
        snprintf(expected, sizeof(expected), FRAME, look "\n", next "\n", env, more);  \
        assert_notes(expected);                                                        \
    } while (0)
    TRY(hook_execve("/x", arguments, other_env), "look at -1 /x", "execve /x {name,one}", "A=b," OURS, "");
    TRY(hook_execvpe("x", arguments, other_env), "search -1 x", "execvpe x {name,one}", "A=b," OURS, "");
    TRY(hook_fexecve(7, arguments, other_env), "look at 7 ", "fexecve 7 {name,one}", "A=b," OURS, "");
    TRY(hook_execveat(7, "y", arguments, other_env, 0x1000), "look at 7 y", "execveat 7 y {name,one} 0x1000",
        "A=b," OURS, "");
    TRY((int)pinject_exec_by_syscall(SYS_execve, (long)"/x", (long)arguments, (long)other_env, 4, 5), "look at -1 /x",
        "syscall execve /x {name,one}", "A=b," OURS, "");
    TRY((int)pinject_exec_by_syscall(SYS_execveat, 7, (long)"y", (long)arguments, (long)other_env, 0x1000),
        "look at 7 y", "syscall execveat 7 y {name,one}", "A=b," OURS, "  flags 0x1000\n");
    char **environ_before = environ;
    environ = (char **)(uintptr_t)empty_env;
    TRY(hook_execv("/x", arguments), "look at -1 /x", "execve /x {name,one}", OURS, "");
    TRY(hook_execvp("x", arguments), "search -1 x", "execvpe x {name,one}", OURS, "");
    TRY(hook_execl("/x", "a", "b", (char *)NULL), "look at -1 /x", "execve /x {a,b}", OURS, "");
    TRY(hook_execl("/x", (char *)NULL), "look at -1 /x", "execve /x {}", OURS, "");
    TRY(hook_execlp("x", "a", (char *)NULL), "search -1 x", "execvpe x {a}", OURS, "");
    TRY(hook_execle("/x", "a", "b", "c", (char *)NULL, other_env), "look at -1 /x", "execve /x {a,b,c}",
        "A=b," OURS, "");
    environ = environ_before;
#undef TRY
}

/* libc refuses it without an environment, so that it gets none of ours. */
static void test_fexecve_without_environment(void **state)
{
    (void)state;
    begin(PINJECT_SESSION_EXEC);
    hook_kit.error = EINVAL;
    assert_int_equal(hook_fexecve(7, arguments, NULL), -1);
    assert_int_equal(errno, EINVAL);
    assert_notes("fexecve 7 {name,one}\n  in null\n");
}

/* What is said before the exec, by what the session follows, what the task has, and what the program is. */
static void test_announcements(void **state)
{
    enum { OWN = 1, COVERED = 2, TIMED = 4 };
    static const struct {
        uint32_t flags;
        int task;
        enum pinject_image image;
        const char *said;
        bool joined;
    } cases[] = {
        /* A task with events goes on with them. */
        {PINJECT_SESSION_EXEC, OWN | COVERED, PINJECT_IMAGE_TAKES, "", true},
        {PINJECT_SESSION_EXEC | PINJECT_SESSION_SNAPSHOT, OWN | COVERED, PINJECT_IMAGE_TAKES, "snapshot\n", true},
        {PINJECT_SESSION_SNAPSHOT, OWN | COVERED, PINJECT_IMAGE_TAKES, "snapshot\n", false},
        {PINJECT_SESSION_VFORK, OWN | COVERED, PINJECT_IMAGE_TAKES, "", false},
        {PINJECT_SESSION_EXEC, COVERED, PINJECT_IMAGE_TAKES, "", false},
        {PINJECT_SESSION_VFORK, COVERED, PINJECT_IMAGE_TAKES, "", true},
        /* One without gets them. */
        {PINJECT_SESSION_VFORK, 0, PINJECT_IMAGE_TAKES, "arm /x\n", true},
        {PINJECT_SESSION_EXEC, 0, PINJECT_IMAGE_TAKES, "", false},
        {PINJECT_SESSION_EXEC | PINJECT_SESSION_SNAPSHOT, OWN, PINJECT_IMAGE_TAKES, "arm /x\n", true},
        {PINJECT_SESSION_SNAPSHOT, 0, PINJECT_IMAGE_TAKES, "", false},
        /* Programs that the object cannot enter. */
        {PINJECT_SESSION_EXEC, OWN | COVERED, PINJECT_IMAGE_STATIC, "net covered /x {name,one}\n", false},
        {PINJECT_SESSION_EXEC, OWN | COVERED, PINJECT_IMAGE_REFUSES, "net covered /x {name,one}\n", false},
        {PINJECT_SESSION_EXEC, OWN | COVERED, PINJECT_IMAGE_UNKNOWN, "net covered /x {name,one}\n", false},
        {PINJECT_SESSION_VFORK, 0, PINJECT_IMAGE_STATIC, "net /x {name,one}\n", false},
        {PINJECT_SESSION_EXEC, OWN | COVERED, PINJECT_IMAGE_SECURE, "net covered secure /x {name,one}\n", true},
        {PINJECT_SESSION_VFORK, 0, PINJECT_IMAGE_SECURE, "net secure /x {name,one}\n", true},
        {PINJECT_SESSION_VFORK, 0, PINJECT_IMAGE_SECURE_CLOSED, "net secure /x {name,one}\n", false},
        {PINJECT_SESSION_EXEC, COVERED, PINJECT_IMAGE_STATIC, "", false},
        /* What is not there is not worth a request. */
        {PINJECT_SESSION_EXEC | PINJECT_SESSION_SNAPSHOT, OWN | COVERED, PINJECT_IMAGE_MISSING, NULL, false},
        {PINJECT_SESSION_VFORK, 0, PINJECT_IMAGE_MISSING, NULL, false},
        /* Timers end with the image; the next one asks for its own. */
        {PINJECT_SESSION_TIMER | PINJECT_SESSION_EXEC, OWN | TIMED, PINJECT_IMAGE_TAKES, "", true},
        {PINJECT_SESSION_TIMER, OWN | TIMED, PINJECT_IMAGE_TAKES, "net covered /x {name,one}\n", false},
        {PINJECT_SESSION_TIMER | PINJECT_SESSION_EXEC, OWN | TIMED, PINJECT_IMAGE_STATIC, "net covered /x {name,one}\n",
         false},
        {PINJECT_SESSION_TIMER | PINJECT_SESSION_VFORK, 0, PINJECT_IMAGE_TAKES, "", true},
        {PINJECT_SESSION_TIMER | PINJECT_SESSION_VFORK, 0, PINJECT_IMAGE_STATIC, "net /x {name,one}\n", false},
        {PINJECT_SESSION_TIMER, OWN | COVERED, PINJECT_IMAGE_TAKES, "net covered /x {name,one}\n", false},
        /* A thread with a timer in a session with events. */
        {PINJECT_SESSION_EXEC, OWN | TIMED, PINJECT_IMAGE_TAKES, "", true},
        {0, OWN | TIMED, PINJECT_IMAGE_TAKES, "net covered /x {name,one}\n", false},
        {PINJECT_SESSION_SNAPSHOT | PINJECT_SESSION_EXEC, OWN | TIMED, PINJECT_IMAGE_TAKES, "snapshot\n", true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char said[256], expected[1024];
        begin(cases[i].flags);
        pinject_object.pid += cases[i].task & OWN ? 0 : 1;
        hook_kit.covered = cases[i].task & COVERED;
        hook_kit.timer_runs = cases[i].task & TIMED;
        hook_kit.image = cases[i].image;
        bool follows = cases[i].flags & (cases[i].task & OWN ? PINJECT_SESSION_EXEC : PINJECT_SESSION_VFORK);
        snprintf(said, sizeof(said), "%s%s", follows ? "look at -1 /x\n" : "", cases[i].said ? cases[i].said : "");
        snprintf(expected, sizeof(expected), "room\n%ssignal before\ntimer before\nexecve /x {name,one}\n  in %s\n"
                 "timer after\nsignal after\nrelease\n", said, cases[i].joined ? "{A=b," OURS "}" : "same");
        assert_int_equal(hook_execve("/x", arguments, other_env), -1);
        const char *found = hook_notes();
        if (strcmp(found, expected) != 0)
            fail_msg("case %zu:\n%sinstead of\n%s", i, found, expected);
    }
}

/* An image that could not open the session is as closed as a static one. */
static void test_unreachable(void **state)
{
    (void)state;
    begin(PINJECT_SESSION_EXEC);
    hook_kit.covered = hook_kit.unreachable = true;
    hook_execve("/x", arguments, joined_env);
    assert_notes("room\nlook at -1 /x\nnet covered /x {name,one}\nsignal before\ntimer before\nexecve /x {name,one}\n"
                 "  in {A=b}\ntimer after\nsignal after\nrelease\n");
}

/* The session is over, or the process left it: our variables go, and nothing is said. */
static void test_left(void **state)
{
    static const char expected[] = "room\nsignal before\ntimer before\nexecve /x {name,one}\n  in {A=b}\n"
                                   "timer after\nsignal after\nrelease\n";
    (void)state;
    begin(PINJECT_SESSION_ALL);
    hook_segment.closed = 1;
    hook_execve("/x", arguments, joined_env);
    assert_notes(expected);
    begin(PINJECT_SESSION_ALL);
    pinject_object.standing = PINJECT_LEFT;
    hook_execve("/x", arguments, joined_env);
    assert_notes(expected);
    assert_int_equal(hook_requests.sealed, 0);
    /* Sealed by a filter: counted, where it would have been followed. */
    begin(PINJECT_SESSION_EXEC);
    pinject_object.sealed = 1;
    hook_execve("/x", arguments, joined_env);
    assert_notes(expected);
    assert_int_equal(hook_requests.sealed, 1);
    pinject_object.flags = PINJECT_SESSION_VFORK;
    hook_execve("/x", arguments, joined_env);
    assert_int_equal(hook_requests.sealed, 2);
    pinject_object.flags = PINJECT_SESSION_FORK | PINJECT_SESSION_PTHREAD;
    hook_execve("/x", arguments, joined_env);
    assert_int_equal(hook_requests.sealed, 2);
    /* And so for posix_spawn. */
    hook_posix_spawn(NULL, "/x", NULL, NULL, arguments, joined_env);
    assert_int_equal(hook_requests.sealed, 2);
    pinject_object.flags = PINJECT_SESSION_VFORK;
    hook_posix_spawn(NULL, "/x", NULL, NULL, arguments, joined_env);
    assert_int_equal(hook_requests.sealed, 3);
}

/* The exec fails with what the kernel said, and what was changed for it is put back. */
static void test_failure_is_undone(void **state)
{
    (void)state;
    begin(PINJECT_SESSION_EXEC);
    hook_kit.covered = hook_kit.signal_changes = hook_kit.timer_tells = true;
    hook_kit.error = EACCES;
    assert_int_equal(hook_execve("/x", arguments, joined_env), -1);
    assert_int_equal(errno, EACCES);
    assert_notes("room\nlook at -1 /x\nsignal before\ntimer before\nexecve /x {name,one}\n  in "
                 "{A=b," OURS "}\ntimer after told\nsignal after changed\nrelease\n");
}

/* With ours it is too long for the kernel: then without them. */
static void test_too_long_with_ours(void **state)
{
    (void)state;
    begin(PINJECT_SESSION_EXEC);
    hook_kit.covered = true;
    hook_kit.error_once = E2BIG;
    assert_int_equal(hook_execve("/x", arguments, joined_env), -1);
    assert_int_equal(errno, ENOENT);
    assert_notes("room\nlook at -1 /x\nsignal before\ntimer before\nexecve /x {name,one}\n  in {A=b," OURS "}\n"
                 "execve /x {name,one}\n  in {A=b}\ntimer after\nsignal after\nrelease\n");
    /* It was too long by itself: once is enough. */
    begin(0);
    hook_kit.covered = true;
    hook_kit.error_once = E2BIG;
    assert_int_equal(hook_execve("/x", arguments, other_env), -1);
    assert_int_equal(errno, E2BIG);
    assert_notes("room\nsignal before\ntimer before\nexecve /x {name,one}\n  in same\ntimer after\nsignal after\n"
                 "release\n");
}

static void test_no_memory(void **state)
{
    (void)state;
    begin(PINJECT_SESSION_EXEC);
    hook_kit.no_room = true;
    hook_execve("/x", arguments, other_env);
    assert_notes("room: none\nsignal before\ntimer before\nexecve /x {name,one}\n  in same\ntimer after\n"
                 "signal after\nrelease none\n");
    assert_int_equal(hook_requests.dropped, 1);
    pinject_object.standing = PINJECT_LEFT; /* nobody misses it */
    hook_execve("/x", arguments, other_env);
    assert_int_equal(hook_requests.dropped, 1);
    /* No memory for the vector: the program's own, and counted where ours were to be in it. */
    begin(PINJECT_SESSION_EXEC);
    hook_kit.covered = hook_kit.no_vector = true;
    hook_notes();
    hook_execve("/x", arguments, other_env);
    assert_non_null(strstr(hook_notes(), "  in same\n"));
    assert_int_equal(hook_requests.dropped, 1);
    pinject_object.flags = 0;
    hook_kit.envp = joined_env;
    hook_execve("/x", arguments, joined_env);
    assert_non_null(strstr(hook_notes(), "  in same\n"));
    assert_int_equal(hook_requests.dropped, 1);
    /* A wild vector is the kernel's matter, and no loss of ours. */
    pinject_object.flags = PINJECT_SESSION_EXEC;
    hook_kit.no_vector = false;
    char *const *volatile wild = (char *const *)8;
    hook_kit.envp = wild;
    hook_execve("/x", arguments, wild);
    assert_non_null(strstr(hook_notes(), "  in same\n"));
    assert_int_equal(hook_requests.dropped, 1);
    /* Nothing to change: the program's very own. */
    hook_kit.envp = joined_env;
    hook_kit.no_vector = true;
    hook_execve("/x", arguments, joined_env);
    assert_non_null(strstr(hook_notes(), "  in same\n"));
    assert_int_equal(hook_requests.dropped, 1);
}

/* The first child in another pid namespace has no parent that it could name: it says nothing. */
static void test_parent_outside(void **state)
{
    int status;
    (void)state;
    begin(PINJECT_SESSION_VFORK);
    pid_t outer = fork();
    if (outer == 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
            _exit(77);
        pid_t inner = fork();
        if (inner == 0) {
            hook_execve("/x", arguments, other_env);
            _exit(0);
        }
        _exit(waitpid(inner, &status, 0) == inner && status == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(outer, &status, 0), outer);
    if (status == 77 << 8)
        return; /* no user namespaces here */
    assert_int_equal(status, 0);
    assert_notes("room\nlook at -1 /x\nsignal before\ntimer before\nexecve /x {name,one}\n  in {A=b," OURS "}\n"
                 "timer after\nsignal after\nrelease\n");
}

/* ---- posix_spawn ---- */

#define SPAWN "signal before\nspawn /x {name,one}\n"

static void test_spawn(void **state)
{
    pid_t pid = 0;
    (void)state;
    begin(PINJECT_SESSION_VFORK);
    hook_kit.result = 0;
    hook_kit.error = 0;
    errno = ERANGE;
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, other_env), 0);
    assert_int_equal(pid, 4321);
    assert_int_equal(errno, ERANGE);
    assert_notes("room\nlook at -1 /x\nclose directory -1\n" SPAWN "  in {A=b," OURS "}\nsignal after\nrelease\n");
    hook_kit.signal_changes = true;
    assert_int_equal(hook_posix_spawnp(&pid, "/x", NULL, NULL, arguments, other_env), 0);
    assert_notes("room\nsearch -1 /x\nclose directory -1\nsignal before\nby name:\nspawn /x {name,one}\n"
                 "  in {A=b," OURS "}\nsignal after changed\nrelease\n");
    /* No place for the child's number: one of ours. */
    hook_kit.signal_changes = false;
    hook_kit.image = PINJECT_IMAGE_STATIC;
    assert_int_equal(hook_posix_spawn(NULL, "/x", NULL, NULL, arguments, other_env), 0);
    assert_notes("room\nlook at -1 /x\nclose directory -1\n" SPAWN "  in same\nsignal after\nrelease\nspawned 4321\n");
    assert_int_equal(errno, ERANGE);
    /* Not followed. */
    begin(PINJECT_SESSION_EXEC);
    hook_kit.result = 0;
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, joined_env), 0);
    assert_notes("room\n" SPAWN "  in {A=b}\nsignal after\nrelease\n");
    begin(PINJECT_SESSION_VFORK);
    hook_kit.result = 0;
    hook_segment.closed = 1;
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, joined_env), 0);
    assert_notes("room\n" SPAWN "  in {A=b}\nsignal after\nrelease\n");
    /* No room: as it is. */
    begin(PINJECT_SESSION_VFORK);
    hook_kit.no_room = true;
    hook_kit.result = EAGAIN;
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, other_env), EAGAIN);
    assert_notes("room: none\nspawn /x {name,one}\n  in same\n");
}

/* The same by the functions that return a descriptor. What cannot be announced afterwards is covered before. */
static void test_spawn_of_a_descriptor(void **state)
{
    int pidfd = -1;
    (void)state;
    begin(PINJECT_SESSION_VFORK);
    hook_kit.result = 0;
    hook_kit.error = 0;
    spawned_pid = 9;
    assert_int_equal(hook_pidfd_spawn(&pidfd, "/x", NULL, NULL, arguments, other_env), 0);
    assert_int_equal(pidfd, 9);
    assert_notes("room\nlook at -1 /x\nclose directory -1\nsignal before\npidfd:\nspawn /x {name,one}\n"
                 "  in {A=b," OURS "}\nsignal after\nrelease\n");
    assert_int_equal(hook_pidfd_spawnp(&pidfd, "/x", NULL, NULL, arguments, other_env), 0);
    assert_notes("room\nsearch -1 /x\nclose directory -1\nsignal before\npidfd by name:\nspawn /x {name,one}\n"
                 "  in {A=b," OURS "}\nsignal after\nrelease\n");
    hook_kit.image = PINJECT_IMAGE_REFUSES;
    assert_int_equal(hook_pidfd_spawn(&pidfd, "/x", NULL, NULL, arguments, joined_env), 0);
    assert_notes("room\nlook at -1 /x\nclose directory -1\ninherit\nsignal before\npidfd:\nspawn /x {name,one}\n"
                 "  in {A=b}\nsignal after\nrelease\n");
    /* Not followed: nothing is covered. */
    begin(PINJECT_SESSION_EXEC);
    hook_kit.result = EACCES;
    assert_int_equal(hook_pidfd_spawnp(&pidfd, "/x", NULL, NULL, arguments, joined_env), EACCES);
    assert_notes("room\nsignal before\npidfd by name:\nspawn /x {name,one}\n  in {A=b}\nsignal after\nrelease\n");
    /* Where libc has none: no look at the program, no request. */
    hook_kit.image = PINJECT_IMAGE_STATIC;
    hook_next.pidfd_spawns = false;
    pidfd = -1;
    assert_int_equal(hook_pidfd_spawn(&pidfd, "/x", NULL, NULL, arguments, joined_env), ENOSYS);
    assert_int_equal(hook_pidfd_spawnp(&pidfd, "/x", NULL, NULL, arguments, joined_env), ENOSYS);
    assert_int_equal(pidfd, -1);
    assert_notes("");
}

static void test_spawn_fails(void **state)
{
    pid_t pid = 0;
    (void)state;
    begin(PINJECT_SESSION_VFORK);
    hook_kit.image = PINJECT_IMAGE_STATIC;
    hook_kit.result = EACCES;
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, other_env), EACCES);
    assert_notes("room\nlook at -1 /x\nclose directory -1\n" SPAWN "  in same\nsignal after\nrelease\n");
    /* Too long with ours. */
    hook_kit.image = PINJECT_IMAGE_TAKES;
    hook_kit.error_once = E2BIG;
    hook_kit.result = 0;
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, joined_env), 0);
    assert_int_equal(pid, 4321);
    assert_notes("room\nlook at -1 /x\nclose directory -1\n" SPAWN "  in {A=b," OURS "}\nspawn /x {name,one}\n"
                 "  in {A=b}\nsignal after\nrelease\n");
    hook_kit.image = PINJECT_IMAGE_STATIC;
    hook_kit.error_once = E2BIG;
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, other_env), E2BIG);
    hook_kit.image = PINJECT_IMAGE_TAKES;
    hook_kit.error_once = EACCES;
    hook_notes();
    assert_int_equal(hook_posix_spawn(&pid, "/x", NULL, NULL, arguments, other_env), EACCES);
    assert_notes("room\nlook at -1 /x\nclose directory -1\n" SPAWN "  in {A=b," OURS "}\nsignal after\nrelease\n");
}

/* Near the limit of what exec takes ours are left out at once: a child that fails would do its file actions twice. */
static void test_spawn_near_the_limit(void **state)
{
    enum { MOST = 6 << 20, PIECE = 100000 };
    static char large[PIECE + 1], last[PIECE + 1];
    static const struct {
        size_t stack, taken;
        bool joined;
    } cases[] = {
        {8 << 20, 1 << 20, true}, {8 << 20, (2 << 20) - 20000, true}, {8 << 20, (2 << 20) - 2000, false},
        {RLIM_INFINITY, MOST - 20000, true}, {RLIM_INFINITY, MOST - 2000, false}, {RLIM_INFINITY, MOST + 200000, false},
        {64 << 10, 100000, true}, {64 << 10, 131000, false},
    };
    struct rlimit before, limit;
    (void)state;
    memset(large, 'a', PIECE);
    assert_int_equal(getrlimit(RLIMIT_STACK, &before), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (before.rlim_max != RLIM_INFINITY && cases[i].stack > before.rlim_max)
            continue;
        char *vector[80] = {large};
        size_t count = 0, rest = cases[i].taken;
        for (; rest > PIECE + 9; rest -= PIECE + 9)
            vector[count++] = large;
        memset(last, 'b', PIECE);
        last[rest > 9 ? rest - 9 : 0] = 0;
        vector[count] = last;
        begin(PINJECT_SESSION_VFORK);
        hook_kit.result = 0;
        hook_next.posix_spawn = next_spawn_of_much;
        limit = (struct rlimit){cases[i].stack, before.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_STACK, &limit), 0);
        int error = hook_posix_spawn(NULL, "/x", NULL, NULL, i % 2 ? vector : arguments, i % 2 ? other_env : vector);
        assert_int_equal(setrlimit(RLIMIT_STACK, &before), 0);
        assert_int_equal(error, 0);
        bool joined = strstr(hook_notes(), "with ours\nsignal after\nrelease\n") != NULL;
        if (joined != cases[i].joined)
            fail_msg("case %zu: %d", i, joined);
    }
}

static void seal(void)
{
    pinject_object.sealed = 1;
}

/* What may change until libc looks, or be seen from elsewhere, is not judged, and gets a net. */
static void test_spawn_judges(void **state)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    (void)state;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    begin(PINJECT_SESSION_VFORK);
    hook_kit.result = 0;
    hook_kit.image = PINJECT_IMAGE_MISSING;
    hook_posix_spawn(NULL, "/x", &actions, &attr, arguments, other_env);
    assert_notes("room\nlook at -1 /x\nclose directory -1\nsignal before\nspawn /x actions attr {name,one}\n  in same\n"
                 "signal after\nrelease\nspawned 4321\n");
    hook_kit.image = PINJECT_IMAGE_TAKES;
    hook_kit.unreachable = true;
    hook_posix_spawn(NULL, "/x", NULL, NULL, arguments, other_env);
    assert_notes("room\nlook at -1 /x\nclose directory -1\n" SPAWN "  in same\nsignal after\nrelease\nspawned 4321\n");
    hook_kit.meanwhile = seal; /* by another thread */
    hook_posix_spawn(NULL, "/x", NULL, NULL, arguments, other_env);
    assert_notes("room\nlook at -1 /x\nclose directory -1\n" SPAWN "  in same\nsignal after\nrelease\n");
    hook_kit.meanwhile = NULL;
    pinject_object.sealed = 0;
    hook_kit.unreachable = false;
    directory_error = -EMFILE;
    hook_posix_spawn(NULL, "/x", NULL, NULL, arguments, other_env);
    assert_notes("room\n" SPAWN "  in same\nsignal after\nrelease\nspawned 4321\n");
    directory_error = 0;
    directory = (struct pinject_spawn_directory){9, true, true};
    hook_posix_spawn(NULL, "/x", NULL, NULL, arguments, other_env);
    assert_notes("room\nlook at 9 /x elsewhere\nclose directory 9\n" SPAWN "  in {A=b," OURS "}\nsignal after\n"
                 "release\n");
    hook_posix_spawnp(NULL, "/x", NULL, NULL, arguments, other_env);
    assert_notes("room\nsearch 9 /x elsewhere\nclose directory 9\nsignal before\nby name:\nspawn /x {name,one}\n"
                 "  in {A=b," OURS "}\nsignal after\nrelease\n");
    /* The child's descriptor 3 is another one. */
    hook_posix_spawn(NULL, "/dev/fd/3", NULL, NULL, arguments, other_env);
    assert_notes("room\nclose directory 9\nsignal before\nspawn /dev/fd/3 {name,one}\n  in same\nsignal after\n"
                 "release\nspawned 4321\n");
    directory.descriptors = false;
    hook_posix_spawn(NULL, "/dev/fd/3", NULL, NULL, arguments, other_env);
    assert_notes("room\nlook at 9 /dev/fd/3 elsewhere\nclose directory 9\nsignal before\nspawn /dev/fd/3 {name,one}\n"
                 "  in {A=b," OURS "}\nsignal after\nrelease\n");
    /* The same rights, as there is one user: judged as ever. */
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_RESETIDS);
    hook_posix_spawn(NULL, "/x", NULL, &attr, arguments, other_env);
    assert_notes("room\nlook at 9 /x elsewhere\nclose directory 9\nsignal before\nspawn /x attr {name,one}\n"
                 "  in {A=b," OURS "}\nsignal after\nrelease\n");
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&actions);
}

/* A child that takes back its real user may enter where the caller may not: not judged. As root alone. */
static void test_spawn_resets_ids(void **state)
{
    int status;
    (void)state;
    if (geteuid() != 0)
        return;
    for (int group = 0; group < 2; group++) {
        begin(PINJECT_SESSION_VFORK);
        hook_kit.result = 0;
        pid_t pid = fork();
        if (pid == 0) {
            posix_spawnattr_t attr;
            posix_spawnattr_init(&attr);
            int error = (int)(group ? SYS_3(SYS_setresgid, -1, 65534, -1) : SYS_3(SYS_setresuid, -1, 65534, -1));
            hook_posix_spawn(NULL, "/x", NULL, &attr, arguments, other_env);
            posix_spawnattr_setflags(&attr, POSIX_SPAWN_RESETIDS | POSIX_SPAWN_SETSIGMASK);
            hook_posix_spawn(NULL, "/x", NULL, &attr, arguments, other_env);
            _exit(error ? 1 : 0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_notes("room\nlook at -1 /x\nclose directory -1\nsignal before\nspawn /x attr {name,one}\n"
                     "  in {A=b," OURS "}\nsignal after\nrelease\n"
                     "room\nsignal before\nspawn /x attr {name,one}\n  in same\nsignal after\nrelease\nspawned 4321\n");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_a_session),
        cmocka_unit_test(test_each_function),
        cmocka_unit_test(test_fexecve_without_environment),
        cmocka_unit_test(test_announcements),
        cmocka_unit_test(test_unreachable),
        cmocka_unit_test(test_left),
        cmocka_unit_test(test_failure_is_undone),
        cmocka_unit_test(test_too_long_with_ours),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_parent_outside),
        cmocka_unit_test(test_spawn),
        cmocka_unit_test(test_spawn_of_a_descriptor),
        cmocka_unit_test(test_spawn_fails),
        cmocka_unit_test(test_spawn_near_the_limit),
        cmocka_unit_test(test_spawn_judges),
        cmocka_unit_test(test_spawn_resets_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
