/* SPDX-License-Identifier: MIT */
/*
 * end-modes MODE MS: burns MS of CPU time, prints "pid N tid N cpu_ns N MODE" (flushed), and ends by MODE:
 *   return | exit | _exit (status 3) | quick_exit | abort | kill (SIGKILL to itself) | term (SIGTERM) | segv
 *   exec (itself as "return MS") | thread-exit (exit() in another thread) | pthread_exit (of main; another thread burns
 *   MS more) | thread-exec (another thread execs itself as "return MS")
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "burn.h"

static const char *program, *text_ms;
static uint64_t ns;

static void say(const char *mode)
{
    printf("pid %d tid %d cpu_ns %llu %s\n", (int)getpid(), burn_tid(), (unsigned long long)burn_cpu(), mode);
    fflush(stdout);
}

static void exec_self(void)
{
    execl(program, program, "return", text_ms, (char *)NULL);
    perror("exec");
    _exit(9);
}

static void *other(void *mode)
{
    spin_both(ns);
    say(mode);
    if (strcmp(mode, "thread-exec") == 0)
        exec_self();
    if (strcmp(mode, "thread-exit") == 0)
        exit(4);
    return NULL;
}

static int in_thread(char *mode)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, other, mode) != 0)
        return 1;
    if (strcmp(mode, "pthread_exit") == 0)
        pthread_exit(NULL);
    for (;;)
        pause();
}

static int end(char *mode)
{
    if (strcmp(mode, "return") == 0)
        return 0;
    if (strcmp(mode, "exit") == 0)
        exit(2);
    if (strcmp(mode, "_exit") == 0)
        _exit(3);
    if (strcmp(mode, "quick_exit") == 0)
        quick_exit(5);
    if (strcmp(mode, "abort") == 0)
        abort();
    if (strcmp(mode, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(mode, "term") == 0)
        raise(SIGTERM);
    if (strcmp(mode, "segv") == 0)
        raise(SIGSEGV);
    if (strcmp(mode, "exec") == 0)
        exec_self();
    if (strcmp(mode, "thread-exit") == 0 || strcmp(mode, "pthread_exit") == 0 || strcmp(mode, "thread-exec") == 0)
        return in_thread(mode);
    fprintf(stderr, "unknown mode %s\n", mode);
    return 64;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 64;
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    program = argv[0];
    text_ms = argv[2];
    ns = burn_number(argv[2], "MS") * MS;
    spin_both(ns);
    say(argv[1]);
    return end(argv[1]);
}
