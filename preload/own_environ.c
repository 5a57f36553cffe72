/* SPDX-License-Identifier: MIT */
#include "own_environ.h"
#include "sys.h"

#include <errno.h>
#include <linux/auxvec.h>
#include <linux/prctl.h>
#include "text.h"
#include <unistd.h>

/* The initial strings: contiguous, in the order of the vector, from the kernel's env_start to its env_end. */
struct block {
    char *start;
    char *end;
};

static bool find_block(char *const *initial, struct block *ret_block)
{
    if (!initial[0])
        return false;
    char *at = initial[0];
    for (size_t i = 0; initial[i]; i++) {
        if (initial[i] != at)
            return false;
        at += strlen(at) + 1;
    }
    *ret_block = (struct block){initial[0], at};
    return true;
}

/* The numbers of /proc/self/stat after the command's name, which may contain anything. Returns how many there are. */
static size_t read_stat(uint64_t *fields, size_t limit)
{
    char text[2048];
    int fd = sys_open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    long size = sys_read(fd, text, sizeof(text) - 1);
    sys_close(fd);
    if (size <= 0)
        return 0;
    text[size] = 0;
    const char *at = strrchr(text, ')');
    size_t count = 0;
    if (!at)
        return 0;
    for (at += 2; *at && count < limit; count++) {
        uint64_t value = 0;
        for (; *at && *at != ' '; at++)
            value = value * 10 + (uint64_t)(*at >= '0' && *at <= '9' ? *at - '0' : 0);
        fields[count] = value;
        at += *at == ' ';
    }
    return count;
}

/* Field numbers of proc(5), which begin with 1, as indices into what read_stat() gives, which begins with the third. */
enum {
    STAT_THREADS = 20 - 3,
    STAT_CODE = 26 - 3,
    STAT_STACK = 28 - 3,
    STAT_DATA = 45 - 3,
    STAT_BRK = 47 - 3,
    STAT_ARGUMENTS = 48 - 3,
    STAT_ENVIRONMENT = 50 - 3,
    STAT_COUNT = 52 - 3,
};

/*
 * Tells the kernel where the environment ends now, so that /proc/PID/environ has no trailing zeros. Needs no privilege
 * where CONFIG_CHECKPOINT_RESTORE is set (any distribution); if refused, the zeros stay. The call sets the heap's end
 * as well: if a second thread moved it meanwhile, memory would be lost, so nothing is done if there is one.
 */
static void set_environ_end(struct block block, char *end)
{
    uint64_t stat[STAT_COUNT];
    if (read_stat(stat, STAT_COUNT) < STAT_COUNT - 1 || stat[STAT_THREADS] != 1 ||
        stat[STAT_ENVIRONMENT] != (uintptr_t)block.start || stat[STAT_ENVIRONMENT + 1] != (uintptr_t)block.end)
        return;
    struct prctl_mm_map map = {
        .start_code = stat[STAT_CODE],
        .end_code = stat[STAT_CODE + 1],
        .start_data = stat[STAT_DATA],
        .end_data = stat[STAT_DATA + 1],
        .start_brk = stat[STAT_BRK],
        .brk = (uint64_t)SYS_1(SYS_brk, 0),
        .start_stack = stat[STAT_STACK],
        .arg_start = stat[STAT_ARGUMENTS],
        .arg_end = stat[STAT_ARGUMENTS + 1],
        .env_start = (uintptr_t)block.start,
        .env_end = (uintptr_t)end,
        .exe_fd = (uint32_t)-1,
    };
    SYS_5(SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, &map, sizeof(map), 0);
}

/*
 * Moves the remaining strings together, from the first gap on. Without an LD_PRELOAD of the user's own, our strings are
 * the last ones, and nothing moves at all.
 */
static void close_gaps(char **initial, struct block block)
{
    char *out = block.start;
    for (size_t i = 0; initial[i]; i++) {
        size_t size = strlen(initial[i]) + 1;
        if (initial[i] != out)
            memmove(out, initial[i], size);
        initial[i] = out;
        out += size;
    }
    if (out == block.end)
        return;
    memset(out, 0, (size_t)(block.end - out));
    set_environ_end(block, out);
}

/* Code that walks over the vector's end to the auxiliary vector (Go does) finds entries AT_IGNORE in between. */
static void bridge_to_auxv(char **initial, size_t removed)
{
    size_t end = 0;
    while (initial[end])
        end++;
    if (removed % 2 == 0)
        for (size_t i = 1; i <= removed; i += 2)
            initial[end + i] = (char *)(uintptr_t)AT_IGNORE;
}

void pinject_own_environ_leave(char **initial, struct pinject_ours ours)
{
    struct block block;
    bool contiguous = find_block(initial, &block), copied = environ && environ != initial;
    if (copied)
        pinject_env_leave_in_place(environ, ours, NULL, 0);
    size_t removed = pinject_env_leave_in_place(initial, ours, NULL, 0);
    if (!contiguous)
        return;  /* another DSO changed it before us */
    if (!copied) /* else the copy points to the strings */
        close_gaps(initial, block);
    bridge_to_auxv(initial, removed);
}

void pinject_own_environ_forget(struct pinject_ours ours)
{
    /* The value may be in read-only memory; one copy is enough, as nothing puts our name in again. */
    static char value[4096];
    if (environ)
        pinject_env_leave_in_place(environ, ours, value, sizeof(value));
}

void pinject_own_environ_join(struct pinject_ours ours)
{
    struct pinject_env_layout layout;
    if (pinject_env_layout(&layout, environ, ours, true) < 0 || !layout.changes)
        return;
    void *memory = sys_map(layout.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (!sys_failed(memory))
        environ = pinject_env_build(&layout, memory);
}
