/* SPDX-License-Identifier: MIT */
/*
 * A process takes our variables out of its own environment. The test executes itself with one, so that the strings and
 * the auxiliary vector lie as the kernel puts them, and looks at what the kernel then shows of it.
 */
#include "check.h"

#include "preload/own_environ.h"
#include "preload/sys.h"

#include <errno.h>
#include <linux/auxvec.h>
#include <linux/prctl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define SESSION "PINJECT_SESSION=/s"
#define PRELOAD "LD_PRELOAD=/p/libpinject.so"

static const struct pinject_ours ours = {SESSION, "/p/libpinject.so"};

#define MUST(condition)                                                               \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stdout, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            fflush(NULL);                                                             \
            _exit(1);                                                                 \
        }                                                                             \
    } while (0)

/* ---- What the child does ---- */

/* NAME of /proc/self: its size. */
static size_t read_proc(const char *name, char *out, size_t room)
{
    FILE *file = fopen(name, "r");
    MUST(file);
    size_t size = fread(out, 1, room - 1, file);
    out[size] = 0;
    fclose(file);
    return size;
}

/* The addresses in /proc/self/stat: code, data, heap, arguments; env_end is left out, and what root alone sees. */
static void read_addresses(char *out, size_t room)
{
    char stat[4096];
    size_t at = 0;
    read_proc("/proc/self/stat", stat, sizeof(stat));
    char *field = strrchr(stat, ')') + 2;
    for (int number = 3; number <= 50; number++) {
        char *end = strchr(field, ' ');
        if (number == 26 || number == 27 || number == 28 || number >= 45)
            at += (size_t)snprintf(out + at, room - at, "%d %.*s\n", number, (int)(end - field), field);
        field = end + 1;
    }
}

/* Whether the kernel lets a process say where its environment ends. */
static bool can_set_end(void)
{
    unsigned size = 0;
    return prctl(PR_SET_MM, PR_SET_MM_MAP_SIZE, &size, 0, 0) == 0;
}

static void *wait_for_ever(void *mutex)
{
    pthread_mutex_lock(mutex);
    return NULL;
}

/* argv: ..., how, the names that are left as "A=b C=d". */
static int leave(char **argv, char **envp)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static char before[2048], after[2048], shown[65536], expected[65536];
    static char *copy[64];
    const char *how = argv[2], *left = argv[3];
    pthread_t thread;
    size_t entries = 0, kept = 0, size = 0;
    if (strcmp(how, "threads") == 0) {
        pthread_mutex_lock(&mutex);
        MUST(pthread_create(&thread, NULL, wait_for_ever, &mutex) == 0);
    }
    for (; envp[entries]; entries++)
        copy[entries] = envp[entries];
    size_t whole = read_proc("/proc/self/environ", shown, sizeof(shown));
    if (strcmp(how, "copy") == 0)
        environ = copy;
    read_addresses(before, sizeof(before));
    pinject_own_environ_leave(envp, ours);
    read_addresses(after, sizeof(after));
    MUST(strcmp(before, after) == 0);
    for (; envp[kept]; kept++) {
        char *end = stpcpy(expected + size, envp[kept]);
        size = (size_t)(end - expected) + 1;
        if (kept > 0 && environ != copy)
            MUST(envp[kept] == envp[kept - 1] + strlen(envp[kept - 1]) + 1);
    }
    /* LEFT has blanks where NULs lie. */
    char joined[65536];
    memcpy(joined, expected, size);
    for (size_t i = 0; i + 1 < size; i++)
        joined[i] = joined[i] ? joined[i] : ' ';
    joined[size ? size - 1 : 0] = 0;
    if (strcmp(joined, left) != 0)
        printf("left '%s' instead of '%s'\n", joined, left);
    MUST(strcmp(joined, left) == 0);
    for (size_t i = 0; i < kept; i++)
        MUST(environ[i] == envp[i] && strlen(environ[i]) > 0);
    MUST(!environ[kept]);
    /* What the kernel shows: no more than that, or zeros behind it. Strings with pointers from elsewhere stay. */
    size_t found = read_proc("/proc/self/environ", shown, sizeof(shown));
    MUST(environ == copy || memcmp(shown, expected, size) == 0);
    if (environ == copy || strcmp(how, "threads") == 0)
        MUST(found == whole);
    else if (can_set_end())
        MUST(found == size);
    for (size_t i = size; environ != copy && i < found; i++)
        MUST(shown[i] == 0);
    /* Who goes on behind the vector finds the auxiliary vector, over pairs that say "ignore". */
    size_t removed = entries - kept;
    MUST(removed == (size_t)atoi(argv[4]));
    unsigned long *pair = (unsigned long *)(envp + kept + 1);
    for (size_t i = 0; removed % 2 == 0 && i < removed / 2; i++, pair += 2)
        MUST(pair[0] == AT_IGNORE);
    for (; removed % 2 == 0 && pair[0] != AT_PAGESZ; pair += 2)
        MUST(pair[0] != AT_NULL);
    return 0;
}

/* A vector that is none of the kernel's: the strings are not moved. */
static int leave_another_vector(void)
{
    static char a[] = "A=b", session[] = SESSION, c[] = "C=d", end[] = "E=f";
    char *vector[] = {a, session, c, NULL, NULL}, *empty[] = {NULL}, *gone[] = {end, NULL};
    static char shown[2][65536];
    size_t size = read_proc("/proc/self/environ", shown[0], sizeof(shown[0]));
    pinject_own_environ_leave(vector, ours);
    MUST(vector[0] == a && vector[1] == c && !vector[2]);
    MUST(strcmp(a, "A=b") == 0 && strcmp(c, "C=d") == 0);
    pinject_own_environ_leave(empty, ours);
    environ = NULL;
    pinject_own_environ_leave(gone, ours);
    MUST(gone[0] == end && !gone[1]);
    MUST(read_proc("/proc/self/environ", shown[1], sizeof(shown[1])) == size);
    MUST(memcmp(shown[0], shown[1], size) == 0);
    return 0;
}

/* ---- The test ---- */

static void run(const char *how, const char *left, const char *removed, char *const *envp)
{
    char *const argv[] = {(char *)"test",
                          (char *)"child",
                          (char *)(uintptr_t)how,
                          (char *)(uintptr_t)left,
                          (char *)(uintptr_t)removed,
                          NULL};
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        /* The loader complains about what it cannot load. */
        dup2(open("/dev/null", O_WRONLY), 2);
        execve("/proc/self/exe", argv, envp);
        _exit(2);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

#define ENV(...) ((char *const[]){__VA_ARGS__, NULL})
#define S(text)  ((char *)(uintptr_t)(text))

static void test_leave(void **state)
{
    (void)state;
    run("plain", "A=b", "2", ENV(S("A=b"), S(SESSION), S(PRELOAD)));
    run("plain", "A=b C=d", "2", ENV(S("A=b"), S(SESSION), S("C=d"), S(PRELOAD)));
    run("plain", "A=b C=d", "1", ENV(S(SESSION), S("A=b"), S("C=d")));
    run("plain", "LD_PRELOAD=/x.so A=b", "1", ENV(S("LD_PRELOAD=/p/libpinject.so:/x.so"), S(SESSION), S("A=b")));
    run("plain", "A=b", "0", ENV(S("A=b")));
    run("plain", "", "2", ENV(S(SESSION), S(PRELOAD)));
    run("plain", "", "1", ENV(S(SESSION)));
    run("plain", "", "1", ENV(S(PRELOAD)));
    run("plain", "LD_PRELOAD=/x.so", "0", ENV(S("LD_PRELOAD=/p/libpinject.so:/x.so")));
    run("plain", "", "0", (char *const[]){NULL});
    run("plain", "A=b", "4", ENV(S(SESSION), S(SESSION), S("A=b"), S(SESSION), S(PRELOAD)));
}

static void test_leave_with_threads(void **state)
{
    (void)state;
    run("threads", "A=b", "2", ENV(S("A=b"), S(SESSION), S(PRELOAD)));
    run("threads", "A=b", "1", ENV(S(SESSION), S("A=b")));
}

/* Somebody has made environ another vector. */
static void test_leave_a_copy_too(void **state)
{
    (void)state;
    run("copy", "A=b C=d", "2", ENV(S("A=b"), S(SESSION), S("C=d"), S(PRELOAD)));
}

static void test_leave_another_vector(void **state)
{
    (void)state;
    run("another", "", "", ENV(S("A=b"), S(SESSION)));
}

/* In a child of fork: environ alone, and strings that nobody may write to. */
static void test_forget(void **state)
{
    (void)state;
    char **before = environ;
    size_t page = 4096;
    char *text = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true((void *)text != MAP_FAILED);
    strcpy(text, "LD_PRELOAD=/x.so:/p/libpinject.so:/y.so");
    assert_int_equal(mprotect(text, page, PROT_READ), 0);
    char *vector[] = {S("A=b"), S(SESSION), text, NULL};
    environ = vector;
    pinject_own_environ_forget(ours);
    assert_string_equal(environ[0], "A=b");
    assert_string_equal(environ[1], "LD_PRELOAD=/x.so:/y.so");
    assert_null(environ[2]);
    environ = NULL;
    pinject_own_environ_forget(ours);
    assert_null(environ);
    environ = before;
    munmap(text, page);
}

/* A vector that has none of ours is not written to: it may be one of constants. */
static void test_forget_nothing(void **state)
{
    (void)state;
    char **before = environ;
    size_t page = 4096;
    char **vector = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true((void *)vector != MAP_FAILED);
    vector[0] = S("A=b");
    vector[1] = S("LD_PRELOAD=/x.so");
    assert_int_equal(mprotect(vector, page, PROT_READ), 0);
    environ = vector;
    pinject_own_environ_forget(ours);
    assert_string_equal(environ[0], "A=b");
    assert_string_equal(environ[1], "LD_PRELOAD=/x.so");
    assert_null(environ[2]);
    environ = before;
    munmap(vector, page);
}

static void test_join(void **state)
{
    (void)state;
    char **before = environ, *vector[] = {S("A=b"), NULL}, *wild[] = {(char *)8, NULL};
    environ = vector;
    pinject_own_environ_join(ours);
    assert_true(environ != vector);
    assert_string_equal(environ[0], "A=b");
    assert_string_equal(environ[1], SESSION);
    assert_string_equal(environ[2], PRELOAD);
    assert_null(environ[3]);
    char **joined = environ;
    pinject_own_environ_join(ours);
    assert_ptr_equal(environ, joined);
    environ = wild;
    pinject_own_environ_join(ours);
    assert_ptr_equal(environ, wild);
    environ = before;
}

int main(int argc, char **argv, char **envp)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leave),
        cmocka_unit_test(test_leave_with_threads),
        cmocka_unit_test(test_leave_a_copy_too),
        cmocka_unit_test(test_leave_another_vector),
        cmocka_unit_test(test_forget),
        cmocka_unit_test(test_forget_nothing),
        cmocka_unit_test(test_join),
    };
    if (argc > 4 && strcmp(argv[1], "child") == 0) {
        int status = strcmp(argv[2], "another") == 0 ? leave_another_vector() : leave(argv, envp);
        fflush(NULL);
        _exit(status);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
