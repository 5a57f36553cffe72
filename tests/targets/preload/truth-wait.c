/* SPDX-License-Identifier: MIT */
/* truth-wait: the wait family, what it tells and what it refuses. Prints no pids and no times. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t child_that(int how)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid != 0)
        return pid;
    if (how < 0)
        kill(getpid(), -how);
    if (how == 1000)
        for (;;)
            pause();
    if (how == 2000)
        raise(SIGSTOP);
    _exit(how & 0xff);
}

static int status; /* of the last wait */

static void show(const char *what, pid_t pid, pid_t got)
{
    printf("%s: %s %x errno %d\n", what,
           got == pid ? "it"
           : got < 0  ? "error"
           : got == 0 ? "nothing"
                      : "another",
           (unsigned)status, got < 0 ? errno : 0);
}

static void plain(void)
{
    struct rusage usage;
    pid_t pid = child_that(1);
    show("wait", pid, wait(&status));
    pid = child_that(2);
    show("waitpid", pid, waitpid(pid, &status, 0));
    pid = child_that(-SIGKILL);
    memset(&usage, 0xff, sizeof(usage));
    show("wait3", pid, wait3(&status, 0, &usage));
    printf("rusage %d\n", usage.ru_maxrss > 0 && usage.ru_nswap == 0);
    pid = child_that(-SIGTERM);
    memset(&usage, 0xff, sizeof(usage));
    show("wait4", pid, wait4(pid, &status, 0, &usage));
    printf("rusage %d\n", usage.ru_maxrss > 0 && usage.ru_nswap == 0);
    pid = child_that(3);
    show("no status", pid, wait(NULL));
    pid = child_that(1000);
    status = 5;
    show("running", pid, waitpid(pid, &status, WNOHANG));
    kill(pid, SIGKILL);
    show("group", pid, waitpid(0, &status, 0));
    status = 5;
    show("none", 0, wait(&status));
    show("options", 0, waitpid(-1, &status, 0x12345678));
}

static void stopped(void)
{
    pid_t pid = child_that(2000);
    show("stopped", pid, waitpid(pid, &status, WUNTRACED));
    kill(pid, SIGCONT);
    show("continued or ended", pid, waitpid(pid, &status, 0));
}

static void wild(void)
{
    pid_t pid = child_that(4);
    show("wild status", pid, waitpid(pid, (int *)8, 0));
    show("afterwards", pid, waitpid(pid, &status, WNOHANG));
    pid = child_that(4);
    show("wild usage", pid, wait4(pid, &status, 0, (struct rusage *)8));
    show("afterwards", pid, waitpid(pid, &status, WNOHANG));
}

static void show_info(const char *what, pid_t pid, int result, const siginfo_t *info)
{
    printf("%s: result %d errno %d", what, result, result < 0 ? errno : 0);
    printf(" pid %s uid %d code %d status %d signal %d\n",
           info->si_pid == pid ? "it"
           : info->si_pid == 0 ? "0"
                               : "another",
           info->si_uid == getuid(), info->si_code, info->si_status, info->si_signo);
}

static void by_waitid(void)
{
    siginfo_t info;
    pid_t pid = child_that(6);
    memset(&info, 0, sizeof(info));
    show_info("peek", pid, waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), &info);
    show_info("peek again", pid, waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), &info);
    show_info("exited", pid, waitid(P_ALL, 0, &info, WEXITED), &info);
    memset(&info, 0, sizeof(info));
    show_info("none", pid, waitid(P_ALL, 0, &info, WEXITED), &info);
    pid = child_that(-SIGKILL);
    show_info("killed", pid, waitid(P_PGID, (id_t)getpgrp(), &info, WEXITED), &info);
    pid = child_that(1000);
    memset(&info, 0, sizeof(info));
    show_info("running", pid, waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG), &info);
    kill(pid, SIGSTOP);
    show_info("stopped", pid, waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED), &info);
    kill(pid, SIGCONT);
    show_info("continued", pid, waitid(P_PID, (id_t)pid, &info, WEXITED | WCONTINUED), &info);
    kill(pid, SIGKILL);
    printf("no info: %d\n", waitid(P_PID, (id_t)pid, NULL, WEXITED));
    show_info("no options", pid, waitid(P_ALL, 0, &info, 0), &info);
    pid = child_that(7);
    show("wait after waitid", pid, wait(&status));
}

/* Which bytes are written, of those that the kernel leaves alone none. */
static void show_bytes(const char *what, pid_t pid, int result, siginfo_t *info)
{
    unsigned char bytes[sizeof(*info)];
    int failed = result < 0 ? errno : 0;
    if (info->si_pid == pid)
        info->si_pid = 1;
    if (info->si_uid == getuid())
        info->si_uid = 1;
    memcpy(bytes, info, sizeof(bytes));
    printf("%s: result %d errno %d", what, result, failed);
    for (size_t i = 0; i < sizeof(bytes); i++)
        printf("%s%02x", i % 8 ? "" : " ", bytes[i]);
    puts("");
    memset(info, 0xa5, sizeof(*info));
}

static void bytes_of_waitid(void)
{
    siginfo_t info;
    memset(&info, 0xa5, sizeof(info));
    pid_t pid = child_that(6);
    show_bytes("exited", pid, waitid(P_PID, (id_t)pid, &info, WEXITED), &info);
    show_bytes("none", pid, waitid(P_ALL, 0, &info, WEXITED), &info);
    show_bytes("none at once", pid, waitid(P_ALL, 0, &info, WEXITED | WNOHANG), &info);
    pid = child_that(1000);
    show_bytes("running", pid, waitid(P_ALL, 0, &info, WEXITED | WNOHANG), &info);
    kill(pid, SIGKILL);
    show_bytes("killed", pid, waitid(P_ALL, 0, &info, WEXITED), &info);
}

static void wild_waitid(void)
{
    siginfo_t *wild = (siginfo_t *)8,
              *constant = (siginfo_t *)(uintptr_t) "only to be read; nobody may write to it at all";
    pid_t pid = child_that(7);
    printf("wild: %d %d\n", waitid(P_PID, (id_t)pid, wild, WEXITED), errno);
    printf("afterwards: %d %d\n", waitid(P_PID, (id_t)pid, NULL, WEXITED), errno);
    pid = child_that(7);
    printf("constant: %d %d\n", waitid(P_PID, (id_t)pid, constant, WEXITED), errno);
    printf("afterwards: %d %d\n", waitid(P_PID, (id_t)pid, NULL, WEXITED), errno);
    printf("wild and none: %d %d\n", waitid(P_ALL, 0, wild, WEXITED), errno);
    pid = child_that(1000);
    printf("wild and running: %d %d\n", waitid(P_ALL, 0, wild, WEXITED | WNOHANG), errno);
    kill(pid, SIGKILL);
    printf("afterwards: %d\n", waitid(P_PID, (id_t)pid, NULL, WEXITED));
}

static sem_t ready;

static void *wait_until_cancelled(void *data)
{
    siginfo_t info;
    sem_post(&ready);
    if (data)
        waitid(P_ALL, 0, &info, WEXITED);
    else
        waitpid(-1, NULL, 0);
    return NULL;
}

static void cancelled(void *data)
{
    pthread_t thread;
    void *result;
    pid_t pid = child_that(1000);
    sem_init(&ready, 0, 0);
    pthread_create(&thread, NULL, wait_until_cancelled, data);
    sem_wait(&ready);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("cancelled %d\n", result == PTHREAD_CANCELED);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void on_alarm(int number)
{
    (void)number;
}

static void interrupted(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    /* Again and again: the first one may come before the wait has begun. */
    const struct itimerval often = {{1, 0}, {1, 0}}, never = {{0, 0}, {0, 0}};
    siginfo_t info = {.si_pid = 0};
    pid_t pid = child_that(1000);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    pid_t got = waitpid(pid, &status, 0);
    setitimer(ITIMER_REAL, &never, NULL);
    show("interrupted", pid, got);
    setitimer(ITIMER_REAL, &often, NULL);
    int result = waitid(P_PID, (id_t)pid, &info, WEXITED);
    setitimer(ITIMER_REAL, &never, NULL);
    show_info("interrupted", pid, result, &info);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

int main(void)
{
    plain();
    stopped();
    wild();
    by_waitid();
    bytes_of_waitid();
    wild_waitid();
    cancelled(NULL);
    cancelled(&ready);
    interrupted();
    printf("system %x\n", (unsigned)system("exit 9"));
    return 0;
}
