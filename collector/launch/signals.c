/* SPDX-License-Identifier: MIT */
#include "collector/launch/signals.h"

#include <dirent.h>
#include <errno.h>
#include <pinject/kernel.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/system/procfs.h"
#include "common/report.h"

enum { STATUS_SIZE = 16384, LOOKS = 16, LOOK_NS = 1000000 };

static const int ending_signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

/* A signal of our own faults must find its handler: a blocked one ends us. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

int signals_init(struct signals *signals)
{
    sigset_t all, some;
    *signals = (struct signals){.ends = -1, .others = -1, .leads = getsid(0) == getpid()};
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&all, faults[i]);
    sigprocmask(SIG_BLOCK, &all, &signals->old_mask);
    sigemptyset(&some);
    for (size_t i = 0; i < sizeof ending_signals / sizeof ending_signals[0]; i++) {
        sigaddset(&some, ending_signals[i]);
        sigdelset(&all, ending_signals[i]);
    }
    signals->ends = signalfd(-1, &some, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals->ends >= 0)
        signals->others = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals->others >= 0)
        return 0;
    int error = errno;
    report_error("cannot receive signals: %s", strerror(error));
    signals_release(signals);
    return -error;
}

void signals_set_root(struct signals *signals, pid_t root, bool apart)
{
    signals->root = root;
    signals->apart = apart;
    witness_start(&signals->witness);
}

/* With the value that its sender put into it, if there is one. */
static void send_on(pid_t to, const struct signalfd_siginfo *info)
{
    siginfo_t copy = {.si_signo = (int)info->ssi_signo, .si_code = SI_QUEUE};
    copy.si_pid = (pid_t)info->ssi_pid;
    copy.si_uid = info->ssi_uid;
    copy.si_value.sival_ptr = (void *)(uintptr_t)info->ssi_ptr;
    if (info->ssi_code == SI_QUEUE && to > 0 && !syscall(SYS_rt_sigqueueinfo, to, (int)info->ssi_signo, &copy))
        return;
    kill(to, (int)info->ssi_signo);
}

enum quit {
    QUIT_ENDS, /* it would end the process in a thread */
    QUIT_HELD, /* it is blocked, or awaited by sigwait(), which does not show as blocked */
    QUIT_HANDLED,
};

static bool has_quit(const char *status, const char *key)
{
    const char *at = strstr(status, key);
    return !at || strtoull(at + strlen(key), NULL, 16) >> (SIGQUIT - 1) & 1;
}

static enum quit quit_of_thread(pid_t root, const char *tid)
{
    char name[64];
    snprintf(name, sizeof(name), "task/%.20s/status", tid);
    char *status = procfs_read(root, name, STATUS_SIZE, NULL);
    snprintf(name, sizeof(name), "task/%.20s/syscall", tid);
    char *call = procfs_read(root, name, STATUS_SIZE, NULL), *end = call;
    bool waits = call && strtol(call, &end, 10) == SYS_rt_sigtimedwait && end != call;
    bool held = !status || has_quit(status, "\nSigBlk:") || waits; /* no status: it has ended */
    enum quit quit = status && has_quit(status, "\nSigCgt:") ? QUIT_HANDLED : held ? QUIT_HELD : QUIT_ENDS;
    free(status);
    free(call);
    return quit;
}

static enum quit quit_of(pid_t root)
{
    char path[48];
    struct dirent *entry;
    enum quit quit = QUIT_HELD;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)root);
    DIR *threads = opendir(path);
    while (quit == QUIT_HELD && threads && (entry = readdir(threads)))
        if (entry->d_name[0] != '.')
            quit = quit_of_thread(root, entry->d_name);
    if (threads)
        closedir(threads);
    return quit;
}

/*
 * Does the command handle SIGQUIT, wait for it, or block it? Then the signal is the command's. libc blocks all signals
 * for a moment whenever it makes a process or a thread: that is over at the next look.
 */
static bool takes_quit(pid_t root)
{
    enum quit quit = QUIT_HELD;
    for (unsigned i = 0; i < LOOKS && quit == QUIT_HELD; i++) {
        if (i)
            nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
        quit = quit_of(root);
    }
    return quit != QUIT_ENDS;
}

static bool is_terminal_stop(int number)
{
    return number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

/*
 * A SIGCONT takes back the stop signals that wait, and a stop signal the SIGCONTs: the kernel does so for each process,
 * the witness too, but not for the one that we have read already. If it went on, the command would run on though it was
 * stopped last, or stop though it was continued.
 */
static bool is_taken_back(int number)
{
    sigset_t pending;
    if (sigpending(&pending))
        return false;
    if (is_terminal_stop(number))
        return sigismember(&pending, SIGCONT) > 0;
    return number == SIGCONT && (sigismember(&pending, SIGTSTP) > 0 || sigismember(&pending, SIGTTIN) > 0 ||
                                 sigismember(&pending, SIGTTOU) > 0);
}

bool signals_pass(struct signals *signals, const struct signalfd_siginfo *info, bool from_tree)
{
    /* Asked in any case: what the witness has now must not count for a later signal. */
    bool group = witness_has(&signals->witness, info);
    bool hangup = info->ssi_signo == SIGHUP || info->ssi_signo == SIGCONT;
    if (from_tree || (pid_t)info->ssi_pid == getpid())
        return false;
    /* When a terminal is lost the kernel signals only the session's leader, otherwise the foreground group. */
    if (info->ssi_code > 0 && !(hangup && signals->leads && !signals->apart && !group))
        return false;
    if ((group && !signals->apart) || is_taken_back((int)info->ssi_signo))
        return false;
    if (signals->stacks && info->ssi_signo == SIGQUIT && !group && !takes_quit(signals->root))
        return true;
    send_on(group ? -signals->root : signals->root, info);
    return false;
}

void signals_stop_with_root(const struct signals *signals)
{
    static const struct sigaction defaults = {.sa_handler = SIG_DFL};
    const struct timespec none = {0};
    struct sigaction old;
    siginfo_t info = {.si_pid = 0};
    sigset_t set, before;
    if (!signals->root || waitid(P_PID, (id_t)signals->root, &info, WSTOPPED | WNOHANG) || info.si_pid == 0)
        return;
    int number = info.si_status;
    if (!is_terminal_stop(number)) {
        raise(SIGSTOP);
        return;
    }
    sigemptyset(&set);
    sigaddset(&set, number);
    sigaction(number, &defaults, &old);
    while (sigtimedwait(&set, NULL, &none) > 0) /* the terminal's, which the command obeyed: else we stop twice */
        ;
    kill(getpid(), number);
    pthread_sigmask(SIG_UNBLOCK, &set, &before); /* here we stop */
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sigaction(number, &old, NULL);
}

void signals_release(struct signals *signals)
{
    witness_end(&signals->witness);
    if (signals->ends >= 0)
        close(signals->ends);
    if (signals->others >= 0)
        close(signals->others);
    signals->ends = signals->others = -1;
}
