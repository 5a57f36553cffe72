/* SPDX-License-Identifier: MIT */
#include "collector/show_stacks.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/report.h"

#ifdef PINJECT_PSTACK
#include "pstack/pstack.h"

/* 0: it is no number of a process; that was reported. */
static pid_t parse_pid(const char *text, const char *option)
{
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && !*end && !errno && number > 0 && number <= INT_MAX)
        return (pid_t)number;
    if (text[0] == '-')
        report_error("option '%s' must precede the first PID; type: pinject-run %s --%s PID...", text, text, option);
    else
        report_error("'%s' is not a PID; 'pgrep %s' may find it", text, text);
    return 0;
}

int show_stacks(const struct settings_line *line)
{
    struct pstack_options options = {.tree = line->tree, .json = line->json, .unwinder = line->settings.unwinder};
    char *const *names = line->settings.command;
    size_t count = 0;
    while (names[count])
        count++;
    pid_t *pids = calloc(count + 1, sizeof(*pids));
    int status = pids ? 0 : -ENOMEM;
    for (; !status && options.pid_count < count; options.pid_count++)
        if (!(pids[options.pid_count] = parse_pid(names[options.pid_count], line->tree ? "tree" : "stacks")))
            status = -EINVAL;
    options.pids = pids;
    if (!status)
        status = pstack_print(&options, stdout);
    if (status < 0 && status != -EINVAL && status != -EIO) /* these are reported already, here and at stdout's flush */
        report_error("cannot inspect processes: %s", strerror(-status));
    free(pids);
    return status;
}

/* ---- Of a tree that is profiled ---- */

static struct {
    pthread_t thread;
    struct pstack_options options;
    pid_t *pids; /* owned */
    bool done;   /* atomic: the thread has written */
} look;

static void *look_at_tree(void *argument)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    (void)argument;
    if (to)
        fputs("pinject-run: stacks of the command and its descendants:\n\n", to);
    int status = to ? pstack_print(&look.options, to) : -ENOMEM;
    if (to)
        fputs("\npinject-run: the command continues\n", to);
    if (to && fclose(to) && status >= 0)
        status = -ENOMEM;
    if (status < 0)
        report_warning("cannot show stacks: %s", strerror(-status));
    else
        buffer_write(STDERR_FILENO, text, size);
    free(text);
    __atomic_store_n(&look.done, true, __ATOMIC_RELEASE);
    return NULL;
}

static int begin_look(pid_t *pids, size_t count, int unwinder)
{
    look.options = (struct pstack_options){.pids = pids, .pid_count = count, .tree = true, .unwinder = unwinder};
    look.pids = pids;
    look.done = false;
    int error = pthread_create(&look.thread, NULL, look_at_tree, NULL);
    if (error)
        free(pids);
    return -error;
}

static bool is_look_over(void)
{
    if (!__atomic_load_n(&look.done, __ATOMIC_ACQUIRE))
        return false;
    pthread_join(look.thread, NULL);
    free(look.pids);
    return true;
}

const struct collect_stacks *show_stacks_of_tree(void)
{
    static const struct collect_stacks stacks = {begin_look, is_look_over};
    return &stacks;
}

#else

const struct collect_stacks *show_stacks_of_tree(void)
{
    return NULL;
}

int show_stacks(const struct settings_line *line)
{
    report_error("option '--%s' works on x86-64 and AArch64 only; 'gdb -p PID' shows stacks here",
                 line->tree ? "tree" : "stacks");
    return -ENOSYS;
}

#endif
