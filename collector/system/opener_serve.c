/* SPDX-License-Identifier: MIT */
/* The process that reads what targets have mapped. Whatever such a file does affects only this process. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pinject/kernel.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/system/opener_serve.h"
#include "collector/system/build_id.h"
#include "collector/system/priority.h"
#include "unwind/unwind.h"

enum { SOCKET = 3, CLOSED_ONE_BY_ONE = 65536 };

/*
 * If it hangs it may outlive the session. So it must keep nothing of ours: no directory, no descriptor (events would go
 * on, a reader of our output would wait), no shared memory.
 */
static void let_go_of_descriptors(int socket)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < SOCKET && null >= 0; fd++)
        dup2(null, fd);
    if (socket != SOCKET)
        dup2(socket, SOCKET);
    if (syscall(SYS_close_range, SOCKET + 1, ~0u, 0) < 0) /* before Linux 5.9 */
        for (int fd = SOCKET + 1; fd < CLOSED_ONE_BY_ONE; fd++)
            close(fd);
    if (chdir("/") < 0)
        return;
}

static void let_go_of_memory(void)
{
    char line[4352];
    unsigned long start, end;
    char access[5];
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof(line), maps))
        if (sscanf(line, "%lx-%lx %4s", &start, &end, access) == 3 && access[3] == 's')
            munmap((void *)start, end - start); /* NOLINT: an address by nature */
    if (maps)
        fclose(maps);
}

static int64_t nanoseconds(const struct timespec *time)
{
    return (int64_t)((uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec);
}

static void read_id(int fd, struct opener_answer *answer)
{
    struct buildid id = {0};
    if (!buildid_of_file(fd, &id))
        return;
    answer->id_size = id.size;
    memcpy(answer->id, id.bytes, id.size);
}

/* Sealed: reading it never waits. */
static int copy_tables(int fd, uint64_t size)
{
    int copy = memfd_create("pinject-tables", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (copy < 0)
        return -errno;
    int status = size <= INT64_MAX && ftruncate(copy, (off_t)size) == 0 ? unwind_copy_tables(fd, size, copy) : -EFBIG;
    if (status == 0 && fcntl(copy, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
        status = -errno;
    if (status == 0)
        return copy;
    close(copy);
    return status;
}

void opener_answer_file(enum opener_kind kind, int fd, const struct stat *status, struct opener_answer *answer)
{
    *answer = (struct opener_answer){.dev = status->st_dev,
                                     .ino = status->st_ino,
                                     .size = (uint64_t)status->st_size,
                                     .mtime_ns = nanoseconds(&status->st_mtim),
                                     .ctime_ns = nanoseconds(&status->st_ctim),
                                     .fd = kind == OPENER_TABLES ? fd : -1};
    if (kind == OPENER_ID)
        read_id(fd, answer);
    if (answer->fd < 0)
        close(fd);
}

static void answer_question(const struct opener_wire *wire, opener_open *open_file, struct opener_answer *answer)
{
    const struct mapped_file file = {.pid = wire->pid,
                                     .maj = wire->maj,
                                     .min = wire->min,
                                     .ino = wire->ino,
                                     .start = wire->start,
                                     .size = wire->size,
                                     .path = wire->path};
    struct stat status;
    int fd = open_file(&file, &status);
    if (fd < 0) {
        *answer = (struct opener_answer){.status = fd, .fd = -1};
        return;
    }
    opener_answer_file(wire->kind, fd, &status, answer);
    if (answer->fd < 0)
        return;
    answer->fd = copy_tables(fd, answer->size);
    answer->status = answer->fd < 0 ? answer->fd : 0;
    close(fd);
}

static bool send_reply(struct opener_reply *reply)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {reply, sizeof(*reply)};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    int fd = reply->answer.fd;
    if (fd >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof(control);
        control.header = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(fd))};
        memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
    }
    ssize_t sent = sendmsg(SOCKET, &message, MSG_NOSIGNAL);
    if (fd >= 0)
        close(fd);
    return sent == (ssize_t)sizeof(*reply);
}

_Noreturn void opener_serve(int socket, opener_open *open_file)
{
    static struct opener_wire wire;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    let_go_of_descriptors(socket);
    let_go_of_memory();
    priority_ask_for_short_slices(); /* the loop waits for its answers */
    prctl(PR_SET_NAME, "pinject-files");
    for (;;) {
        ssize_t got = recv(SOCKET, &wire, sizeof(wire), 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= (ssize_t)offsetof(struct opener_wire, path))
            _exit(0);
        struct opener_reply reply = {.ticket = wire.ticket};
        wire.path[(size_t)got - offsetof(struct opener_wire, path) - 1] = '\0';
        answer_question(&wire, open_file, &reply.answer);
        if (!send_reply(&reply))
            _exit(0);
    }
}
