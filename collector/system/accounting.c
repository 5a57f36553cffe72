/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "collector/system/accounting.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/clock.h"

enum {
    QUEUE = 64 << 20,           /* bytes: of some forty thousand tasks */
    CPUS_MAX = 4096,            /* bytes of the list of CPUs */
    ANSWER_MAX = 8192,          /* bytes of a message: it has two struct taskstats at most */
    TICK_NS = 10 * 1000 * 1000, /* at most */
    TEST_NS = 200 * 1000,
    NESTED = 0x3fff, /* the type of an attribute, without its flags */
};

struct request {
    struct nlmsghdr header;
    struct genlmsghdr command;
    struct nlattr attribute;
    char value[CPUS_MAX];
};

struct answer {
    _Alignas(NLMSG_ALIGNTO) unsigned char bytes[ANSWER_MAX];
};

static int send_request(const struct accounting *accounting, uint16_t family, uint8_t command, uint16_t attribute,
                        const void *value, size_t size)
{
    struct request request = {
        .header = {.nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST},
        .command = {.cmd = command, .version = 1},
        .attribute = {.nla_type = attribute, .nla_len = (uint16_t)(NLA_HDRLEN + size)},
    };
    if (size > sizeof(request.value))
        return -E2BIG;
    memcpy(request.value, value, size);
    request.header.nlmsg_len = (uint32_t)(NLMSG_LENGTH(GENL_HDRLEN) + NLA_ALIGN(request.attribute.nla_len));
    /* What is asked for is the answer; this command has none. */
    if (command == TASKSTATS_CMD_GET)
        request.header.nlmsg_flags |= NLM_F_ACK;
    const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    if (sendto(accounting->fd, &request, request.header.nlmsg_len, 0, (const struct sockaddr *)&kernel,
               sizeof(kernel)) < 0)
        return -errno;
    return 0;
}

/* The length of the next message; 0: there is none; -errno, also of the kernel's answer if that is an error. */
static ssize_t receive(const struct accounting *accounting, struct answer *answer)
{
    struct sockaddr_nl from = {0};
    struct iovec place = {.iov_base = answer->bytes, .iov_len = sizeof(answer->bytes)};
    struct msghdr message = {.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &place, .msg_iovlen = 1};
    ssize_t got;
    do
        got = recvmsg(accounting->fd, &message, MSG_DONTWAIT);
    while ((got < 0 && errno == EINTR) || (got >= 0 && from.nl_pid != 0)); /* other senders: not the kernel */
    if (got < 0)
        return errno == EAGAIN ? 0 : -errno;
    const struct nlmsghdr *header = (const struct nlmsghdr *)(const void *)answer->bytes;
    if (message.msg_flags & MSG_TRUNC || (size_t)got < NLMSG_LENGTH(GENL_HDRLEN) || header->nlmsg_len > (size_t)got)
        return -EPROTO;
    if (header->nlmsg_type == NLMSG_ERROR) {
        const struct nlmsgerr *error = (const struct nlmsgerr *)NLMSG_DATA(header);
        return error->error ? error->error : got;
    }
    return got;
}

/*
 * The length of the answer of the TYPE, or -errno. What is not the answer is skipped: tasks that end are told until the
 * kernel notices that a listener is gone, and a new socket of this process has the number of the last one.
 */
static ssize_t receive_answer(const struct accounting *accounting, uint16_t type, struct answer *answer)
{
    ssize_t got;
    do
        got = receive(accounting, answer);
    while (got > 0 && ((const struct nlmsghdr *)(const void *)answer->bytes)->nlmsg_type != type);
    return got != 0 ? got : -EPROTO;
}

/* The next of the attributes from *AT to END: its type, and what it has; 0: there is none. */
static unsigned next_attribute(const unsigned char **at, const unsigned char *end, const unsigned char **ret,
                               size_t *ret_size)
{
    struct nlattr attribute;
    if ((size_t)(end - *at) < sizeof(attribute))
        return 0;
    memcpy(&attribute, *at, sizeof(attribute));
    if (attribute.nla_len < NLA_HDRLEN || attribute.nla_len > end - *at)
        return 0;
    *ret = *at + NLA_HDRLEN;
    *ret_size = attribute.nla_len - NLA_HDRLEN;
    const size_t whole = NLA_ALIGN(attribute.nla_len);
    *at = whole < (size_t)(end - *at) ? *at + whole : end;
    return attribute.nla_type & NESTED;
}

/* What the attribute TYPE of the message of SIZE bytes has, or NULL. */
static const unsigned char *find_attribute(const struct answer *answer, size_t size, unsigned type, size_t *ret_size)
{
    const unsigned char *at = answer->bytes + NLMSG_LENGTH(GENL_HDRLEN), *end = answer->bytes + size, *value;
    unsigned found;
    while ((found = next_attribute(&at, end, &value, ret_size)))
        if (found == type)
            return value;
    return NULL;
}

static int find_family(struct accounting *accounting)
{
    struct answer answer;
    size_t size;
    int status = send_request(accounting, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, CTRL_ATTR_FAMILY_NAME, TASKSTATS_GENL_NAME,
                              sizeof(TASKSTATS_GENL_NAME));
    const ssize_t got = status == 0 ? receive_answer(accounting, GENL_ID_CTRL, &answer) : status;
    if (got < 0)
        return (int)got;
    const unsigned char *value = find_attribute(&answer, (size_t)got, CTRL_ATTR_FAMILY_ID, &size);
    if (!value || size < sizeof(accounting->family))
        return -EPROTO;
    memcpy(&accounting->family, value, sizeof(accounting->family));
    return 0;
}

/* The tasks that end on any CPU. */
static int listen_to_all(struct accounting *accounting)
{
    struct buffer cpus = BUFFER_INIT;
    struct answer answer;
    const int size = QUEUE;
    (void)setsockopt(accounting->fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
    int status = buffer_read_file(&cpus, "/sys/devices/system/cpu/possible", CPUS_MAX - 1);
    buffer_append(&cpus, "", 1);
    if (status == 0 && buffer_failed(&cpus))
        status = -ENOMEM;
    if (status == 0) {
        cpus.data[strcspn((const char *)cpus.data, "\n")] = '\0';
        status = send_request(accounting, accounting->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_REGISTER_CPUMASK,
                              cpus.data, strlen((const char *)cpus.data) + 1);
    }
    buffer_release(&cpus);
    const ssize_t got = status == 0 ? receive_answer(accounting, NLMSG_ERROR, &answer) : status;
    return got < 0 ? (int)got : 0;
}

int accounting_open_to_ask(struct accounting *accounting)
{
    accounting->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
    if (accounting->fd < 0)
        return -errno;
    const int status = find_family(accounting);
    if (status < 0)
        accounting_close(accounting);
    return status;
}

/* Uses some CPU time, and ends. */
static void *run_test(void *ret_tid)
{
    *(pid_t *)ret_tid = (pid_t)syscall(SYS_gettid);
    for (const uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + TEST_NS; clock_ns(CLOCK_THREAD_CPUTIME_ID) < end;)
        ;
    return NULL;
}

/* The kernel takes a listener of any network namespace, and sends its messages to the first one. */
static int test(struct accounting *accounting)
{
    struct accounting_task task;
    pthread_t thread;
    pid_t tid = 0;
    const int error = pthread_create(&thread, NULL, run_test, &tid);
    if (error)
        return -error;
    pthread_join(thread, NULL);
    int status;
    do
        status = accounting_next(accounting, &task);
    while (status == 1 && task.tid != tid);
    return status < 0 ? status : status == 1 && task.ran_ns > 0 ? 0 : -EOPNOTSUPP;
}

int accounting_open(struct accounting *accounting)
{
    int status = accounting_open_to_ask(accounting);
    if (status < 0)
        return status;
    status = listen_to_all(accounting);
    if (status == 0)
        status = test(accounting);
    if (status < 0)
        accounting_close(accounting);
    return status;
}

void accounting_close(struct accounting *accounting)
{
    if (accounting->fd >= 0)
        close(accounting->fd); /* the kernel forgets it with the next task that ends */
    accounting->fd = -1;
}

/*
 * The kernel adds to the CPU time of a running task in each tick, and when it switches. Of a task that has never slept
 * all is known: it was running when it did not wait for a CPU.
 */
static uint64_t ran_ns(const struct taskstats *stats)
{
    const uint64_t known = stats->cpu_run_virtual_total, alive = stats->ac_etime * 1000;
    const uint64_t ran = alive > stats->cpu_delay_total ? alive - stats->cpu_delay_total : 0;
    return stats->nvcsw == 0 && ran > known && ran - known < TICK_NS ? ran : known;
}

/* Of the attribute TYPE_AGGR_PID: false, if it has no task. */
static bool read_task(const unsigned char *at, size_t size, struct accounting_task *ret)
{
    const unsigned char *end = at + size, *value;
    struct taskstats stats = {0};
    uint32_t tid = 0;
    unsigned type;
    while ((type = next_attribute(&at, end, &value, &size))) {
        if (type == TASKSTATS_TYPE_PID && size >= sizeof(tid))
            memcpy(&tid, value, sizeof(tid));
        if (type == TASKSTATS_TYPE_STATS) /* newer kernels add to its end */
            memcpy(&stats, value, size < sizeof(stats) ? size : sizeof(stats));
    }
    *ret = (struct accounting_task){.tid = (pid_t)tid,
                                    .cpu_ns = stats.cpu_run_virtual_total,
                                    .alive_ns = stats.ac_etime * 1000,
                                    .ran_ns = ran_ns(&stats),
                                    .switches = stats.nvcsw + stats.nivcsw,
                                    .minor_faults = stats.ac_minflt,
                                    .major_faults = stats.ac_majflt};
    return tid > 0 && stats.version > 0;
}

static bool parse(const struct accounting *accounting, const struct answer *answer, size_t got,
                  struct accounting_task *ret)
{
    size_t size;
    const struct nlmsghdr *header = (const struct nlmsghdr *)(const void *)answer->bytes;
    const unsigned char *value = header->nlmsg_type == accounting->family
                                     ? find_attribute(answer, got, TASKSTATS_TYPE_AGGR_PID, &size)
                                     : NULL;
    return value && read_task(value, size, ret);
}

int accounting_next(struct accounting *accounting, struct accounting_task *ret)
{
    struct answer answer;
    for (;;) {
        const ssize_t got = receive(accounting, &answer);
        if (got <= 0)
            return (int)got;
        if (parse(accounting, &answer, (size_t)got, ret))
            return 1;
    }
}

int accounting_ask(struct accounting *accounting, pid_t tid, struct accounting_task *ret)
{
    struct answer answer;
    const uint32_t number = (uint32_t)tid;
    int status = send_request(accounting, accounting->family, TASKSTATS_CMD_GET, TASKSTATS_CMD_ATTR_PID, &number,
                              sizeof(number));
    /* An error, or the answer, and then the acknowledgement. */
    bool found = false;
    while (status == 0) {
        const ssize_t got = receive(accounting, &answer);
        if (got <= 0)
            return got < 0 ? (int)got : found ? 0 : -EPROTO;
        found |= parse(accounting, &answer, (size_t)got, ret) && ret->tid == tid;
    }
    return status;
}
