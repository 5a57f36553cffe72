/* SPDX-License-Identifier: MIT */
/* analyze/read/standard_input.h. Each case has a process of its own, since the standard input is read once. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "analyze/read/file.h"
#include "analyze/read/standard_input.h"
#include "perfdata_writer.h"

static char directory[] = "/tmp/pinject-standard-XXXXXX";
static struct buffer recording = BUFFER_INIT;

static void in_child(void (*test)(void))
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        test();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* In the children, where cmocka's checks cannot report. */
static void must(bool condition, int line)
{
    if (condition)
        return;
    fprintf(stderr, "line %d\n", line);
    _exit(1);
}
#define MUST(condition) must(condition, __LINE__)

/* A pipe with BYTES[SIZE], of which a writer of its own gives one piece after the other. */
static void pipe_in(const void *bytes, size_t size)
{
    int ends[2];
    MUST(pipe2(ends, O_CLOEXEC) == 0);
    if (fork() == 0) {
        for (size_t at = 0; at < size; at += 7)
            if (write(ends[1], (const char *)bytes + at, size - at < 7 ? size - at : 7) < 0)
                break;
        _exit(0);
    }
    close(ends[1]);
    MUST(dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
}

static void file_in(off_t at)
{
    int fd = memfd_create("recording", MFD_CLOEXEC);
    MUST(write(fd, "12345678", 8) == 8 || fd < 0);
    MUST(pwrite(fd, recording.data, recording.size, at) == (ssize_t)recording.size);
    MUST(lseek(fd, at, SEEK_SET) == at && dup2(fd, STDIN_FILENO) == STDIN_FILENO);
}

static int count_sample(void *context, const struct record *record)
{
    *(unsigned *)context += record->type == PERF_RECORD_SAMPLE;
    return 0;
}

/* Opened twice, it is the same file with the same records. */
static void expect_recording(void)
{
    struct file files[2];
    struct problem problem = {""};
    for (int i = 0; i < 2; i++) {
        unsigned samples = 0;
        MUST(file_open(&files[i], "-", &problem) == 0);
        MUST(files[i].source.size == recording.size);
        MUST(file_records(&files[i], UINT64_MAX, count_sample, &samples) == 0 && samples == 2);
    }
    MUST(files[0].source.inode == files[1].source.inode && files[0].source.device == files[1].source.device);
    MUST(fcntl(files[1].source.fd, F_GETFD) == FD_CLOEXEC);
    file_release(&files[0]);
    file_release(&files[1]);
}

static void expect_refused(int error, const char *text)
{
    struct file file;
    struct problem problem = {""};
    int status = file_open(&file, "-", &problem);
    if (status == error && strstr(problem.text, text))
        return;
    fprintf(stderr, "%d, %s\n", status, problem.text);
    _exit(1);
}

static void of_pipe(void)
{
    pipe_in(recording.data, recording.size);
    expect_recording();
}

static void of_file(void)
{
    file_in(0);
    expect_recording();
    MUST(lseek(STDIN_FILENO, 0, SEEK_CUR) == 0);
}

/* What was read before is no part of it. */
static void of_rest(void)
{
    file_in(8);
    expect_recording();
}

static void of_nothing(void)
{
    pipe_in("", 0);
    expect_refused(-ENODATA, "the standard input is empty");
}

static void of_endless(void)
{
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    MUST(dup2(fd, STDIN_FILENO) == STDIN_FILENO);
    expect_refused(-ENOEXEC, "is not a perf.data file");
}

static void of_short(void)
{
    pipe_in("PERF", 4);
    expect_refused(-ENOEXEC, "is not a perf.data file");
}

static void of_closed(void)
{
    close(STDIN_FILENO);
    expect_refused(-EBADF, "the standard input cannot be read: Bad file descriptor");
}

static void of_directory(void)
{
    int fd = open("/", O_RDONLY | O_CLOEXEC);
    MUST(dup2(fd, STDIN_FILENO) == STDIN_FILENO);
    expect_refused(-EISDIR, "the standard input cannot be read: Is a directory");
}

static void of_terminal(void)
{
    int ours, theirs;
    MUST(openpty(&ours, &theirs, NULL, NULL, NULL) == 0 && dup2(theirs, STDIN_FILENO) == STDIN_FILENO);
    expect_refused(-EINVAL, "the standard input is a terminal");
}

static void without_room(void)
{
    setenv("TMPDIR", "/proc/self", 1);
    pipe_in(recording.data, recording.size);
    expect_refused(-ENOENT, "cannot create one in '/proc/self'");
}

/* Only "-" is the standard input. */
static void of_named(void)
{
    MUST(chdir(directory) == 0);
    pipe_in(recording.data, recording.size);
    MUST(!standard_input_is("./-") && !standard_input_is("") && !standard_input_is("--"));
    struct file file;
    struct problem problem = {""};
    MUST(file_open(&file, "./-", &problem) == -ENOENT);
}

static void test_cases(void **state)
{
    (void)state;
    void (*const cases[])(void) = {of_pipe,   of_file,      of_rest,     of_nothing,   of_endless, of_short,
                                   of_closed, of_directory, of_terminal, without_room, of_named};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        in_child(cases[i]);
}

static int set_up(void **state)
{
    (void)state;
    struct writer writer;
    writer_init(&writer, false, true);
    writer_attr(&writer, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 1, NULL);
    writer_sample(&writer, 0, PERF_RECORD_MISC_USER, 0x1000, 1, NULL, 0);
    writer_sample(&writer, 0, PERF_RECORD_MISC_USER, 0x1000, 1, NULL, 0);
    writer_finish(&writer, &recording);
    writer_release(&writer);
    return mkdtemp(directory) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    buffer_release(&recording);
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
