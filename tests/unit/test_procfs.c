/* SPDX-License-Identifier: MIT */
/* What /proc says of a child that does nothing but wait. */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "collector/system/procfs.h"

static pid_t child;
static int gate[2], ready[2];

static int set_up(void **state)
{
    char byte;
    (void)state;
    if (pipe(gate) || pipe(ready))
        return -1;
    child = fork();
    if (child == 0) {
        close(gate[1]);
        prctl(PR_SET_NAME, "a name of 15 xx");
        (void)!write(ready[1], "r", 1);
        (void)!read(gate[0], &byte, 1);
        _exit(0);
    }
    return child < 0 || read(ready[0], &byte, 1) != 1;
}

static int tear_down(void **state)
{
    (void)state;
    close(gate[1]);
    int wrong = waitpid(child, NULL, 0) != child;
    close(gate[0]);
    close(ready[0]);
    close(ready[1]);
    return wrong;
}

/* The same as the shell's tools say. */
static char *said(const char *command)
{
    static char text[4 << 20];
    char number[16];
    snprintf(number, sizeof(number), "%d", (int)child);
    setenv("CHILD", number, 1);
    FILE *from = popen(command, "r");
    assert_non_null(from);
    text[fread(text, 1, sizeof(text) - 1, from)] = '\0';
    assert_int_equal(pclose(from), 0);
    return text;
}

static void child_that_waits(void **state)
{
    char comm[16], wanted[64];
    size_t size = 0;
    (void)state;
    char *maps = procfs_maps(child);
    assert_string_equal(maps, said("cat /proc/$CHILD/maps"));
    assert_int_equal(maps[strlen(maps) - 1], '\n');
    free(maps);
    char *exec = procfs_exec(child);
    assert_string_equal(exec, said("printf %s \"$(readlink /proc/$CHILD/exe)\""));
    free(exec);
    char *line = procfs_cmdline(child, &size), *tool = said("tr '\\0' '\\n' < /proc/$CHILD/cmdline");
    assert_int_equal(size, strlen(tool));
    for (size_t i = 0; i < size; i++)
        assert_int_equal(line[i], tool[i] == '\n' ? '\0' : tool[i]);
    free(line);
    procfs_comm(child, child, comm);
    assert_string_equal(comm, "a name of 15 xx");
    uint64_t used = procfs_scheduled_ns(child, child);
    assert_true(used > 0);
    assert_int_equal(used, strtoull(said("cat /proc/$CHILD/schedstat"), NULL, 10));
    assert_int_equal(procfs_waited_ns(child, child),
                     strtoull(said("cut -d ' ' -f 2 /proc/$CHILD/schedstat"), NULL, 10));
    assert_int_equal(procfs_uid(child), geteuid());
    char *read = procfs_read(child, "comm", 64, &size);
    assert_string_equal(read, "a name of 15 xx\n");
    assert_int_equal(size, 16);
    free(read);
    assert_null(procfs_read(child, "comm", 15, NULL)); /* more than what is wanted */
    snprintf(wanted, sizeof(wanted), "task/%d/comm", (int)child);
    free(procfs_read(child, wanted, 64, NULL));
}

/* Of more than there is room for: whole lines, the first ones. */
static void very_many_mappings(void **state)
{
    enum { PAGES = 50000, NAME = 200, ROOM = 8 << 20 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = PAGES * page;
    char path[NAME + 32] = "/tmp/pinject-unit-";
    (void)state;
    memset(path + strlen(path), 'n', NAME - strlen(path));
    strcpy(path + NAME, "-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    char *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE, fd, 0);
    bool enough = at != MAP_FAILED;
    for (size_t i = 0; i < PAGES && enough; i += 2)
        enough = mprotect(at + i * page, page, PROT_READ) == 0;
    char *maps = enough ? procfs_maps(getpid()) : NULL;
    if (at != MAP_FAILED)
        munmap(at, size);
    close(fd);
    unlink(path);
    if (!enough)
        skip();
    assert_non_null(maps);
    const size_t got = strlen(maps);
    const bool whole = got > 0 && maps[got - 1] == '\n';
    free(maps);
    assert_in_range(got, ROOM - 4096, ROOM + 4096);
    assert_true(whole);
}

static void nobody_there(void **state)
{
    char comm[16] = "x";
    size_t size = 5;
    pid_t pid = fork();
    (void)state;
    if (pid == 0)
        _exit(0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    /* A zombie has a name, and nothing else. */
    assert_null(procfs_maps(pid));
    assert_null(procfs_cmdline(pid, &size));
    assert_null(procfs_exec(pid));
    procfs_comm(pid, pid, comm);
    assert_true(comm[0] != '\0' && strlen(comm) <= 15);
    assert_int_equal(procfs_uid(pid), geteuid());
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_null(procfs_maps(pid));
    assert_null(procfs_cmdline(pid, &size));
    assert_null(procfs_exec(pid));
    procfs_comm(pid, pid, comm);
    assert_string_equal(comm, "");
    assert_int_equal(procfs_scheduled_ns(pid, pid), 0);
    assert_int_equal(procfs_waited_ns(pid, pid), 0);
    assert_int_equal(procfs_uid(pid), (uid_t)-1);
    assert_null(procfs_read(pid, "stat", 64, &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(child_that_waits, set_up, tear_down),
        cmocka_unit_test(very_many_mappings),
        cmocka_unit_test(nobody_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
