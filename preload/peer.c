/* SPDX-License-Identifier: MIT */
#include "peer.h"
#include "sys.h"

#include <errno.h>
#include "text.h"
#include <sys/socket.h>
#include <sys/un.h>

/* Takes one more character of a status file. False: the number is complete. */
static bool read_number(char c, const char *key, size_t *matched, uint32_t *ret_number)
{
    if (key[*matched]) {
        *matched = c == key[*matched] ? *matched + 1 : c == key[0];
        return true;
    }
    if (c < '0' || c > '9')
        return false;
    *ret_number = (*ret_number == UINT32_MAX ? 0 : *ret_number * 10) + (uint32_t)(c - '0');
    return true;
}

/* The number after KEY in /proc/self/status; UINT32_MAX: unknown. Reads in pieces, as stacks may be small. */
static uint32_t read_status(const char *key)
{
    char piece[256];
    size_t matched = 0;
    uint32_t number = UINT32_MAX;
    bool more = true;
    int fd = sys_open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return UINT32_MAX;
    for (long size; more && (size = sys_read(fd, piece, sizeof(piece))) > 0;)
        for (long i = 0; more && i < size; i++)
            more = read_number(piece[i], key, &matched, &number);
    sys_close(fd);
    return number;
}

uint32_t pinject_peer_own_user(void)
{
    return read_status("\nUid:\t");
}

/* A filter that is newer than the collector's may kill a process that makes a socket. */
static bool may_make_socket(const struct pinject_segment *segment)
{
    long mode = SYS_5(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0);
    if (mode == 0 || mode == -EINVAL) /* a kernel without filters */
        return true;
    return segment && segment->filters != UINT32_MAX && read_status("\nSeccomp_filters:\t") == segment->filters;
}

static socklen_t write_address(struct sockaddr_un *address, const char *path)
{
    const char *name = path;
    for (const char *at = path; *at; at++)
        if (*at == '/')
            name = at + 1;
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    if (!pinject_text_join(address->sun_path + 1, sizeof(address->sun_path) - 1, PINJECT_SOCKET_PREFIX, name))
        return 0;
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(address->sun_path + 1));
}

/* Both directions, since connect() waits if the queue is full. */
static void limit_waits(int fd)
{
    struct timeval limit = {0, PINJECT_WAIT_US};
    SYS_5(SYS_setsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    SYS_5(SYS_setsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

/* Checks who listens: anybody could use the name. */
static bool is_trusted(int fd, uint32_t user)
{
    struct {
        int32_t pid;
        uint32_t user, group;
    } peer = {0, UINT32_MAX, 0};
    uint32_t size = sizeof(peer);
    if (SYS_5(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return false;
    return peer.user == 0 || peer.user == user;
}

static int receive_files(int fd, int ret_fds[2])
{
    char byte;
    struct iovec part = {&byte, 1};
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    long size = SYS_3(SYS_recvmsg, fd, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (size <= 0 || !header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
        return size < 0 ? (int)size : -EPROTO;
    if (header->cmsg_len != CMSG_LEN(2 * sizeof(int))) { /* our descriptor table had no room for the second */
        int one;
        memcpy(&one, CMSG_DATA(header), sizeof(one));
        if (header->cmsg_len == CMSG_LEN(sizeof(int)))
            sys_close(one);
        return -EMFILE;
    }
    memcpy(ret_fds, CMSG_DATA(header), 2 * sizeof(int));
    return 0;
}

int pinject_peer_ask(const char *path, const struct pinject_segment *segment, uint32_t user, int ret_fds[2])
{
    struct sockaddr_un address;
    socklen_t size = write_address(&address, path);
    if (size == 0)
        return -ENAMETOOLONG;
    if (!may_make_socket(segment))
        return -EPERM;
    int fd = (int)SYS_3(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fd;
    limit_waits(fd);
    int error = (int)SYS_3(SYS_connect, fd, &address, size);
    if (error == 0)
        error = is_trusted(fd, user) ? receive_files(fd, ret_fds) : -EPERM;
    sys_close(fd);
    return error;
}
