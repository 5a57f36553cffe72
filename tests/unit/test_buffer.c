/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common/buffer.h"

static void test_append(void **state)
{
    (void)state;
    struct buffer buffer = BUFFER_INIT;
    for (uint32_t i = 0; i < 5000; i++)
        buffer_u32(&buffer, i);
    buffer_u64(&buffer, UINT64_C(0x1122334455667788));
    assert_int_equal(buffer.size, 5000 * 4 + 8);
    uint32_t value;
    memcpy(&value, buffer.data + 4999 * 4, 4);
    assert_int_equal(value, 4999);
    buffer_append(&buffer, NULL, 0);
    assert_int_equal(buffer.size, 5000 * 4 + 8);
    size_t capacity = buffer.capacity;
    buffer_clear(&buffer);
    assert_int_equal(buffer.size, 0);
    assert_int_equal(buffer.capacity, capacity);
    buffer_release(&buffer);
    assert_null(buffer.data);
    buffer_release(&buffer);
}

static void test_text(void **state)
{
    (void)state;
    struct buffer buffer;
    buffer_init(&buffer);
    buffer_printf(&buffer, "%s-%d", "abc", 42);
    assert_int_equal(buffer.size, 6);
    assert_string_equal((char *)buffer.data, "abc-42");
    buffer_string(&buffer, "de");
    assert_int_equal(buffer.size, 9);
    assert_memory_equal(buffer.data, "abc-42de", 9);
    static char text[1000];
    memset(text, 'x', sizeof(text) - 1);
    buffer_printf(&buffer, "%s", text);
    assert_int_equal(buffer.size, 9 + 999);
    buffer_release(&buffer);
}

static void test_extend_and_align(void **state)
{
    (void)state;
    struct buffer buffer = BUFFER_INIT;
    assert_non_null(buffer_extend(&buffer, 0));
    assert_int_equal(buffer.size, 0);
    buffer_align(&buffer, 8);
    assert_int_equal(buffer.size, 0);
    memset(buffer_extend(&buffer, 300), 0xff, 300);
    buffer_clear(&buffer);
    buffer_append(&buffer, "a", 1);
    buffer_align(&buffer, 8);
    assert_int_equal(buffer.size, 8);
    assert_memory_equal(buffer.data, "a\0\0\0\0\0\0\0", 8);
    buffer_align(&buffer, 8);
    assert_int_equal(buffer.size, 8);
    buffer_release(&buffer);
}

static void test_failure_sticks(void **state)
{
    (void)state;
    struct buffer buffer = BUFFER_INIT;
    buffer_string(&buffer, "kept");
    assert_null(buffer_extend(&buffer, SIZE_MAX - 2));
    assert_true(buffer_failed(&buffer));
    buffer_string(&buffer, "ignored");
    buffer_printf(&buffer, "ignored");
    assert_int_equal(buffer.size, 5);
    buffer_clear(&buffer);
    assert_false(buffer_failed(&buffer));
    buffer_string(&buffer, "again");
    assert_string_equal((char *)buffer.data, "again");
    buffer_release(&buffer);
}

static void test_files(void **state)
{
    (void)state;
    char path[] = "/tmp/pinject-unit-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(buffer_write(fd, "0123456789", 10), 0);
    assert_int_equal(buffer_pwrite(fd, "ab", 2, 4), 0);
    assert_int_equal(buffer_pwrite(fd, NULL, 0, 4), 0);
    struct buffer buffer = BUFFER_INIT;
    assert_int_equal(buffer_read_file(&buffer, path, 10), 0);
    assert_int_equal(buffer.size, 10);
    assert_string_equal((char *)buffer.data, "0123ab6789");
    assert_int_equal(buffer_read_file(&buffer, path, 9), -EFBIG);
    assert_int_equal(buffer.size, 10);
    buffer_clear(&buffer);
    assert_int_equal(buffer_read_file(&buffer, "/proc/self/stat", 65536), 0);
    assert_true(buffer.size > 10);
    assert_int_equal(strtol((char *)buffer.data, NULL, 10), getpid());
    assert_int_equal(buffer_read_file(&buffer, "/nonexistent/file", 10), -ENOENT);
    assert_int_equal(buffer_read_file(&buffer, "/", 10), -EISDIR);
    close(fd);
    assert_int_equal(buffer_write(fd, "x", 1), -EBADF);
    assert_int_equal(buffer_pwrite(fd, "x", 1, 0), -EBADF);
    unlink(path);
    buffer_release(&buffer);
}

/* A pipe takes only part of it at a time. */
/* What is written in pieces goes on where the last one ended. */
static void test_write_in_pieces(void **state)
{
    int status;
    (void)state;
    char path[] = "/tmp/pinject-buffer-XXXXXX", bytes[16];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    unlink(path);
    pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit limit = {10, 10};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
        _exit(-buffer_pwrite(fd, "0123456789abcdef", 16, 3));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), EFBIG);
    assert_int_equal(pread(fd, bytes, sizeof(bytes), 0), 10);
    assert_memory_equal(bytes,
                        "\0\0\0"
                        "0123456",
                        10);
    close(fd);
}

static void test_write_all(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        char *bytes = calloc(1, SIZE);
        int status = bytes ? buffer_write(ends[1], bytes, SIZE) : -ENOMEM;
        free(bytes);
        _exit(status != 0);
    }
    close(ends[1]);
    static char chunk[4096];
    size_t total = 0;
    for (ssize_t got; (got = read(ends[0], chunk, sizeof(chunk))) > 0;)
        total += (size_t)got;
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(total, SIZE);
    close(ends[0]);
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full >= 0) {
        assert_int_equal(buffer_write(full, "x", 1), -ENOSPC);
        close(full);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append),         cmocka_unit_test(test_text),  cmocka_unit_test(test_extend_and_align),
        cmocka_unit_test(test_failure_sticks), cmocka_unit_test(test_files), cmocka_unit_test(test_write_in_pieces),
        cmocka_unit_test(test_write_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
