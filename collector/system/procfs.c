/* SPDX-License-Identifier: MIT */
#include "collector/system/procfs.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buffer.h"

enum { MAPS_MAX = 8 << 20, MAPS_PIECE = 4096, CMDLINE_MAX = 1 << 20 };

char *procfs_read(pid_t pid, const char *name, size_t limit, size_t *ret_size)
{
    char path[64];
    struct buffer buffer = BUFFER_INIT;
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    if (buffer_read_file(&buffer, path, limit) < 0 || !buffer.data) {
        buffer_release(&buffer);
        return NULL;
    }
    if (ret_size)
        *ret_size = buffer.size;
    return (char *)buffer.data;
}

/* If it is larger than MAPS_MAX, the first lines: a target can have as many mappings as it likes. */
char *procfs_maps(pid_t pid)
{
    char path[32];
    struct buffer text = BUFFER_INIT;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t got = fd < 0 ? -1 : 1;
    while (got > 0 && text.size < MAPS_MAX) {
        unsigned char *to = buffer_extend(&text, MAPS_PIECE);
        got = to ? read(fd, to, MAPS_PIECE) : -1;
        if (to)
            text.size -= got > 0 ? MAPS_PIECE - (size_t)got : MAPS_PIECE;
    }
    if (fd >= 0)
        close(fd);
    while (got > 0 && text.size > 0 && text.data[text.size - 1] != '\n')
        text.size--;
    buffer_append(&text, "", 1);
    if (got >= 0 && text.size > 1 && !buffer_failed(&text))
        return (char *)text.data;
    buffer_release(&text);
    return NULL;
}

char *procfs_cmdline(pid_t pid, size_t *ret_size)
{
    char *text = procfs_read(pid, "cmdline", CMDLINE_MAX, ret_size);
    if (text && *ret_size == 0) { /* it is ending */
        free(text);
        return NULL;
    }
    return text;
}

char *procfs_exec(pid_t pid)
{
    char path[64], exec[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    ssize_t size = readlink(path, exec, sizeof(exec) - 1);
    if (size <= 0)
        return NULL;
    exec[size] = '\0';
    return strdup(exec);
}

void procfs_comm(pid_t pid, pid_t tid, char ret[16])
{
    char name[48];
    size_t size = 0;
    snprintf(name, sizeof(name), "task/%d/comm", (int)tid);
    char *text = procfs_read(pid, name, 64, &size);
    size_t length = text ? strcspn(text, "\n") : 0;
    length = length < 15 ? length : 15;
    if (text)
        memcpy(ret, text, length);
    ret[length] = '\0';
    free(text);
}

/* The first two figures of a task's schedstat. */
static void read_schedstat(pid_t pid, pid_t tid, uint64_t *ret_used, uint64_t *ret_waited)
{
    char name[48], *end = NULL;
    snprintf(name, sizeof(name), "task/%d/schedstat", (int)tid);
    char *text = procfs_read(pid, name, 256, NULL);
    *ret_used = text ? strtoull(text, &end, 10) : 0;
    *ret_waited = text ? strtoull(end, NULL, 10) : 0;
    free(text);
}

uint64_t procfs_scheduled_ns(pid_t pid, pid_t tid)
{
    uint64_t used, waited;
    read_schedstat(pid, tid, &used, &waited);
    return used;
}

uint64_t procfs_waited_ns(pid_t pid, pid_t tid)
{
    uint64_t used, waited;
    read_schedstat(pid, tid, &used, &waited);
    return waited;
}

uid_t procfs_uid(pid_t pid)
{
    char *text = procfs_read(pid, "status", 65536, NULL);
    const char *line = text ? strstr(text, "\nUid:") : NULL;
    uid_t uid = line ? (uid_t)strtoul(line + 5, NULL, 10) : (uid_t)-1;
    free(text);
    return uid;
}
