/* SPDX-License-Identifier: MIT */
/*
 * Maps files that were replaced, or whose file system hangs.
 *
 *   strange-files replace FILE BY       maps FILE, moves BY to its place, prints "replaced"
 *   strange-files fuse DIRECTORY PIDS   mounts a file system at DIRECTORY whose server answers until its only file,
 *                                       "lib", is mapped, and never again; prints "mute", and ends at the end of its
 *                                       input. The server keeps running; its pid is in the file PIDS
 *   strange-files exec DIRECTORY PIDS   the same, but prints "ready" and waits for a line; then a child that libc does
 *                                       not know opens "lib" and executes a program, which closes it; the server
 *                                       never answers that. The kernel blocks access to a process at that point of
 *                                       its exec: reads of its maps, or opening events for it, hang. Prints
 *                                       "mute PID". The server ends after a minute
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static void map(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
        fail(path);
    close(fd);
}

static int replace(const char *path, const char *by)
{
    map(path);
    if (rename(by, path) < 0)
        fail(by);
    puts("replaced");
    return 0;
}

/* ---- The server ---- */

static volatile sig_atomic_t mute, mute_at_close;

static void be_mute(int number)
{
    mute = 1;
    mute_at_close = number == SIGUSR2;
}

static void answer(int fuse, uint64_t unique, int error, const void *bytes, size_t size)
{
    unsigned char out[4096];
    struct fuse_out_header header = {.unique = unique, .error = error, .len = (uint32_t)(sizeof(header) + size)};
    memcpy(out, &header, sizeof(header));
    if (size)
        memcpy(out + sizeof(header), bytes, size);
    if (write(fuse, out, header.len) < 0 && errno != ENOENT)
        _exit(3);
}

static struct fuse_attr attributes(uint64_t node)
{
    return (struct fuse_attr){
        .ino = node, .size = node == 1 ? 0 : 8192, .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0755, .nlink = 1};
}

static void serve_one(int fuse, const struct fuse_in_header *request)
{
    const struct fuse_init_in *init = (const void *)(request + 1);
    switch (request->opcode) {
    case FUSE_INIT: {
        struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION, .minor = init->minor, .max_write = 4096};
        answer(fuse, request->unique, 0, &out, sizeof(out));
        return;
    }
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT: return;
    case FUSE_FLUSH:
    case FUSE_RELEASE:
        if (mute_at_close) {
            int fd = open("held", O_WRONLY | O_CREAT | O_CLOEXEC, 0600); /* tells the test that the close hangs */
            if (fd >= 0)
                close(fd);
            return;
        }
        answer(fuse, request->unique, 0, NULL, 0);
        return;
    default: break;
    }
    if (mute)
        return;
    if (request->opcode == FUSE_LOOKUP) {
        struct fuse_entry_out out = {.nodeid = 2, .attr = attributes(2)};
        bool found = strcmp((const char *)(request + 1), "lib") == 0;
        answer(fuse, request->unique, found ? 0 : -ENOENT, &out, found ? sizeof(out) : 0);
    } else if (request->opcode == FUSE_GETATTR) {
        struct fuse_attr_out out = {.attr = attributes(request->nodeid)};
        answer(fuse, request->unique, 0, &out, sizeof(out));
    } else if (request->opcode == FUSE_OPEN) {
        struct fuse_open_out out = {.fh = 1};
        answer(fuse, request->unique, 0, &out, sizeof(out));
    } else {
        answer(fuse, request->unique, -ENOSYS, NULL, 0);
    }
}

/* Goes on reading while it is mute: a process that waits for the answer to a request that was read cannot be killed. */
static void serve(int fuse)
{
    static _Alignas(8) unsigned char in[65536 + 4096];
    for (;;) {
        ssize_t got = read(fuse, in, sizeof(in));
        if (got < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
            continue;
        if (got < (ssize_t)sizeof(struct fuse_in_header))
            _exit(0);
        serve_one(fuse, (const struct fuse_in_header *)(const void *)in);
    }
}

static pid_t start_server(int fuse, const char *pids)
{
    pid_t server = fork();
    if (server == 0) {
        struct sigaction action = {.sa_handler = be_mute, .sa_flags = SA_RESTART};
        sigaction(SIGUSR1, &action, NULL);
        sigaction(SIGUSR2, &action, NULL);
        for (int fd = 0; fd < 3; fd++) /* so that readers of our output do not wait for the server */
            close(fd);
        setsid();
        alarm(60);
        serve(fuse);
    }
    FILE *file = fopen(pids, "we");
    if (server < 0 || !file || fprintf(file, "%d\n", (int)server) < 0 || fclose(file))
        fail(pids);
    return server;
}

static pid_t exec_in_child(const char *path, pid_t server)
{
    char name[] = "true", *const program[] = {name, NULL};
    char *const none[] = {NULL};
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child < 0)
        fail("clone");
    if (child > 0)
        return child;
    /* Only the child opens it: a process that has it open cannot end either. */
    if (syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) >= 0 && syscall(SYS_kill, server, SIGUSR2) == 0)
        syscall(SYS_execve, "/bin/true", program, none);
    _exit(1);
}

static int hang(const char *directory, const char *pids, bool executes)
{
    char options[100], path[4096];
    int fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fuse < 0) {
        printf("skipped: /dev/fuse: %s\n", strerror(errno));
        return 77;
    }
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
    if (mount("strange", directory, "fuse", MS_NOSUID | MS_NODEV, options) < 0) {
        printf("skipped: mount: %s\n", strerror(errno));
        return 77;
    }
    pid_t server = start_server(fuse, pids);
    close(fuse);
    snprintf(path, sizeof(path), "%s/lib", directory);
    if (executes) {
        puts("ready");
        fflush(stdout);
        if (read(0, options, sizeof(options)) <= 0)
            return 1;
        printf("mute %d\n", (int)exec_in_child(path, server));
    } else {
        map(path);
        kill(server, SIGUSR1);
        puts("mute");
    }
    fflush(stdout);
    while (read(0, path, sizeof(path)) > 0)
        ;
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "replace") == 0)
        return replace(argv[2], argv[3]);
    if (argc == 4 && strcmp(argv[1], "fuse") == 0)
        return hang(argv[2], argv[3], false);
    if (argc == 4 && strcmp(argv[1], "exec") == 0)
        return hang(argv[2], argv[3], true);
    return 2;
}
