/* SPDX-License-Identifier: MIT */
/* How objdump is run and what is taken of what it says; shell scripts stand for it. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sys/stat.h>

#include "analyze/sym/code.h"

static char directory[] = "/tmp/pinject-code-XXXXXX", objdump[64];
static char reason[200];

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(directory))
        return -1;
    snprintf(objdump, sizeof(objdump), "%s/objdump", directory);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(objdump);
    return rmdir(directory);
}

/* What SCRIPT says of the addresses START up to END. */
static int of_range(struct code *code, const char *script, uint64_t start, uint64_t end, bool no_demangle)
{
    const struct code_request request = {
        .objdump = objdump, .file = "/a file", .start = start, .end = end, .no_demangle = no_demangle};
    unlink(objdump);
    int fd = open(objdump, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    assert_true(fd >= 0);
    assert_true(dprintf(fd, "#!/bin/sh\n%s\n", script) > 0);
    close(fd);
    strcpy(reason, "of before");
    return code_init(code, &request, reason, sizeof(reason));
}

static int code_of(struct code *code, const char *script)
{
    return of_range(code, script, 0x1000, 0x2000, false);
}

static void expect_at(const struct code *code, size_t index, uint64_t address, const char *text)
{
    assert_true(index < code->count);
    assert_true(code->list[index].address == address);
    assert_string_equal(code->list[index].text, text);
}

static void test_words(void **state)
{
    struct code code;
    (void)state;
    assert_int_equal(code_of(&code, "n=1000; for word; do printf '    %d:\\t%s\\n' $n \"$word\"; n=$((n + 1)); done"),
                     0);
    assert_int_equal(code.count, 7);
    expect_at(&code, 0, 0x1000, "-dwz");
    expect_at(&code, 1, 0x1001, "--no-show-raw-insn");
    expect_at(&code, 2, 0x1002, "--start-address=0x1000");
    expect_at(&code, 3, 0x1003, "--stop-address=0x2000");
    expect_at(&code, 4, 0x1004, "-C");
    expect_at(&code, 5, 0x1005, "--");
    expect_at(&code, 6, 0x1006, "/a file");
    code_release(&code);
    assert_true(!code.list && !code.count);
    const char *script = "for word; do [ \"$word\" = -C ] && exit 3; done; printf '10:\\tnop'";
    assert_int_equal(of_range(&code, script, 0, UINT64_MAX, true), 0);
    expect_at(&code, 0, 0x10, "nop");
    code_release(&code);
}

/* All variables but for the language, which is English. */
static void test_environment(void **state)
{
    struct code code;
    size_t variables = 0;
    char count[24];
    (void)state;
    setenv("LC_ALL", "xx_YY", 1);
    setenv("LC_ALLY", "kept", 1);
    setenv("PINJECT_FIRST", "one", 1);
    setenv("PINJECT_SECOND", "two", 1);
    while (environ[variables])
        variables++;
    assert_int_equal(code_of(&code, "printf '1000:\\t%s %s %s %s\\n' $PINJECT_FIRST $PINJECT_SECOND $LC_ALLY $LC_ALL\n"
                                    "printf '1001:\\t%s\\n' $(tr '\\0' '\\n' < /proc/$$/environ | grep -c ^LC_ALL=)\n"
                                    "printf '1002:\\t%s\\n' $(tr -dc '\\0' < /proc/$$/environ | wc -c)"),
                     0);
    expect_at(&code, 0, 0x1000, "one two kept C");
    expect_at(&code, 1, 0x1001, "1");
    snprintf(count, sizeof(count), "%zu", variables);
    expect_at(&code, 2, 0x1002, count);
    code_release(&code);
    unsetenv("LC_ALL");
    assert_int_equal(code_of(&code, "printf '1000:\\t%s\\n' $LC_ALL"), 0);
    expect_at(&code, 0, 0x1000, "C");
    code_release(&code);
    unsetenv("LC_ALLY");
    unsetenv("PINJECT_FIRST");
    unsetenv("PINJECT_SECOND");
}

/* It reads nothing of ours, and ends when nobody reads it; what it writes to stderr is read as well. */
static void test_descriptors_and_signals(void **state)
{
    struct code code;
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    int ends[2], input = dup(0);
    (void)state;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "ours", 4), 4);
    assert_int_equal(dup2(ends[0], 0), 0);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(code_of(&code, "printf '1000:\\t%s\\n' $(wc -c)\n"
                                    "printf '1001:\\t%s\\n' $(readlink /proc/self/fd/0)\n"
                                    "printf '1002:\\tto stderr\\n' >&2\n"
                                    "mask=0x$(sed -n 's/^SigIgn:.*\\(....\\)$/\\1/p' /proc/self/status)\n"
                                    "printf '1003:\\t%d\\n' $(($mask & 0x1000))"),
                     0);
    expect_at(&code, 0, 0x1000, "0");
    expect_at(&code, 1, 0x1001, "/dev/null");
    expect_at(&code, 2, 0x1002, "to stderr");
    expect_at(&code, 3, 0x1003, "0");
    code_release(&code);
    signal(SIGPIPE, before);
    dup2(input, 0);
    close(input);
}

static void test_lines(void **state)
{
    struct code code;
    char text[500], script[600];
    (void)state;
    assert_int_equal(code_of(&code, "cat <<'END'\n"
                                    "\n"
                                    "a.out:     file format elf64-x86-64\n"
                                    "0000000000001000 <main>:\n"
                                    "     fff:\tbefore\n"
                                    "    1000:\tpush   %rbp\n"
                                    "1001:\t \tmov\t%rsp,%rbp \t\n"
                                    "    1001:\tagain\n"
                                    "    1000:\tbackwards\n"
                                    "    1004 \tno colon\n"
                                    "    1005: no tab\n"
                                    "\t1006:\ta tab in front\n"
                                    "    10G6:\tno digit\n"
                                    "    ABC0:\tlarge letters\n"
                                    "    :\tnothing\n"
                                    "    1a0f:\t\n"
                                    "    1fff:\tlast\n"
                                    "    2000:\tbehind\n"
                                    "END"),
                     0);
    assert_int_equal(code.count, 4);
    expect_at(&code, 0, 0x1000, "push   %rbp");
    expect_at(&code, 1, 0x1001, "mov %rsp,%rbp");
    expect_at(&code, 2, 0x1a0f, "");
    expect_at(&code, 3, 0x1fff, "last");
    code_release(&code);
    memset(text, 'x', sizeof(text));
    snprintf(script, sizeof(script), "printf '1000:\\t%.*s'", (int)sizeof(text) - 1, text); /* no newline at its end */
    assert_int_equal(code_of(&code, script), 0);
    assert_int_equal(strlen(code.list[0].text), 400);
    code_release(&code);
}

static void test_many_lines(void **state)
{
    struct code code;
    (void)state;
    assert_int_equal(code_of(&code, "n=0; while [ $n -lt 1000 ]\n"
                                    "do printf '%x:\\tat %d\\n' $((n + 4096)) $n; n=$((n + 1)); done"),
                     0);
    assert_int_equal(code.count, 1000);
    for (size_t i = 0; i < code.count; i++) {
        char text[32];
        snprintf(text, sizeof(text), "at %zu", i);
        expect_at(&code, i, 0x1000 + i, text);
    }
    code_release(&code);
}

/* More than could be one function is damage; it is not read to its end. */
static void test_too_many_lines(void **state)
{
    struct code code;
    (void)state;
    const char *endless = "exec awk 'BEGIN { for (;;) printf \"%x:\\tnop\\n\", n++ }'",
               *most = "exec awk 'BEGIN { for (; n < 1000000;) printf \"%x:\\tnop\\n\", n++ }'";
    assert_int_equal(of_range(&code, endless, 0, UINT64_MAX, false), -EFBIG);
    assert_true(*reason && !code.list && !code.count);
    assert_int_equal(of_range(&code, most, 0, UINT64_MAX, false), 0);
    assert_int_equal(code.count, 1000000);
    code_release(&code);
}

static void test_failures(void **state)
{
    static const struct {
        const char *script;
        int status;
        const char *reason;
    } cases[] = {
        {"exit 0", -ENODATA, "objdump finds no code at these addresses"},
        {"echo objdump: it complains; exit 0", -ENODATA, "objdump finds no code at these addresses"},
        {"exit 3", -EIO, "objdump ended with status 3"},
        {"kill -9 $$", -EIO, "objdump was ended by signal 9"},
        {"exit 127", -ENOENT, ""},
        {"echo objdump: a: not an ELF file; exit 1", -EIO, "a: not an ELF file"},
        {"echo objdump:without a blank; exit 1", -EIO, "objdump:without a blank"},
        {"echo /usr/bin/x86_64-linux-gnu-objdump: b: truncated >&2; exit 1", -EIO, "b: truncated"},
        {"echo dead: objdump is no instruction; exit 1", -EIO, "objdump is no instruction"},
        {"echo it: says other things; exit 2", -EIO, "objdump ended with status 2"},
        {"echo objdump: a: one; echo objdump: a: two; exit 1", -EIO, "a: two"},
        {"printf '1000:\\tnop\\n'; exit 1", -EIO, "objdump ended with status 1"},
        {"printf '2000:\\tnop\\n'", -ENODATA, "objdump finds no code at these addresses"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct code code;
        int status = code_of(&code, cases[i].script);
        if (status != cases[i].status || strcmp(reason, cases[i].reason) != 0)
            fail_msg("%s: %d, '%s'", cases[i].script, status, reason);
        assert_true(!code.list && !code.count);
    }
}

static void test_no_such_program(void **state)
{
    struct code code;
    struct code_request request = {.objdump = "/no/such/objdump", .file = "/a", .start = 1, .end = 2};
    char path[4096];
    (void)state;
    assert_int_equal(code_init(&code, &request, reason, sizeof(reason)), -ENOENT);
    assert_string_equal(reason, "");
    request.objdump = "/dev/null"; /* it is there, but cannot be run */
    assert_int_equal(code_init(&code, &request, reason, sizeof(reason)), -EACCES);
    assert_string_equal(reason, strerror(EACCES));
    /* Without a name it is the one in PATH. */
    assert_int_equal(of_range(&code, "printf '1:\\tof PATH\\n'", 1, 2, false), 0);
    code_release(&code);
    snprintf(path, sizeof(path), "%s", getenv("PATH"));
    setenv("PATH", directory, 1);
    request.objdump = NULL;
    assert_int_equal(code_init(&code, &request, reason, sizeof(reason)), 0);
    expect_at(&code, 0, 1, "of PATH");
    setenv("PATH", path, 1);
    code_release(&code);
}

/* ---- memory that ends */

static long allocations, allowed = -1; /* -1: as much as there is */

static bool there_is_memory(void)
{
    return allowed < 0 || allocations++ < allowed;
}

void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strndup(const char *text, size_t size);
FILE *__real_fdopen(int fd, const char *mode);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strndup(const char *text, size_t size);
FILE *__wrap_fdopen(int fd, const char *mode);

void *__wrap_calloc(size_t count, size_t size)
{
    return there_is_memory() ? __real_calloc(count, size) : NULL;
}

void *__wrap_realloc(void *old, size_t size)
{
    return there_is_memory() ? __real_realloc(old, size) : NULL;
}

char *__wrap_strndup(const char *text, size_t size)
{
    return there_is_memory() ? __real_strndup(text, size) : NULL;
}

FILE *__wrap_fdopen(int fd, const char *mode)
{
    return there_is_memory() ? __real_fdopen(fd, mode) : NULL;
}

/* The variables, the stream, the list, three instructions: each fails in turn. */
static void test_no_memory(void **state)
{
    const char *script = "printf '%s:\\tnop\\n' 1000 1001 1002";
    struct code code;
    (void)state;
    for (long i = 0; i < 6; i++) {
        allocations = 0;
        allowed = i;
        int status = code_of(&code, script);
        allowed = -1;
        assert_int_equal(status, -ENOMEM);
        assert_true(!code.list && !code.count);
        if (i != 1) /* then objdump meets a closed pipe, or has ended before */
            assert_string_equal(reason, strerror(ENOMEM));
    }
    allocations = 0;
    allowed = 6;
    assert_int_equal(code_of(&code, script), 0);
    allowed = -1;
    assert_int_equal(code.count, 3);
    code_release(&code);
}

/* Nothing is left open, whether it worked or not. */
static void test_no_descriptor_is_left(void **state)
{
    static const char *const scripts[] = {"printf '1000:\\tnop\\n'", "exit 3", "exit 127"};
    struct code code;
    int before = dup(0), after;
    (void)state;
    close(before);
    for (size_t i = 0; i < sizeof(scripts) / sizeof(*scripts); i++) {
        code_of(&code, scripts[i]);
        code_release(&code);
    }
    const struct code_request request = {.objdump = "/no/such/objdump", .file = "/a", .start = 1, .end = 2};
    code_init(&code, &request, reason, sizeof(reason));
    after = dup(0);
    close(after);
    assert_int_equal(after, before);
}

static void test_at(void **state)
{
    static char text[] = "nop";
    struct code_instruction list[] = {{0x10, text}, {0x13, text}, {0x14, text}, {0x20, text}};
    const struct code code = {list, 4, 4}, empty = {0};
    static const struct {
        uint64_t address;
        int index;
    } cases[] = {{0, -1},   {0xf, -1}, {0x10, 0}, {0x12, 0},  {0x13, 1},       {0x14, 2},
                 {0x1f, 2}, {0x20, 3}, {0x21, 3}, {0x22, -1}, {UINT64_MAX, -1}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct code_instruction *at = code_at(&code, cases[i].address, 0x22);
        if (at != (cases[i].index < 0 ? NULL : &list[cases[i].index]))
            fail_msg("0x%" PRIx64, cases[i].address);
    }
    assert_null(code_at(&empty, 5, 10));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_descriptors_and_signals),
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_many_lines),
        cmocka_unit_test(test_too_many_lines),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_no_such_program),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_no_descriptor_is_left),
        cmocka_unit_test(test_at),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
