/* SPDX-License-Identifier: MIT */
/* Programs that change who they are and where they live. */
#include "see.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/capability.h>

static void own_session(void)
{
    if (getpgrp() == getpid())
        setpgid(0, getppid()); /* may be refused */
    pid_t pid = fork();
    if (pid == 0) {
        see_result("setsid", setsid() == getpid());
        see_exercise();
        _exit(0);
    }
    see_child("session", pid);
}

static void double_fork(void)
{
    int ends[2];
    char byte;
    if (pipe(ends))
        return;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        see_exercise();
        close(ends[0]);
        _exit(write(ends[1], "x", 1) != 1);
    }
    close(ends[1]);
    see_result("second", read(ends[0], &byte, 1)); /* the first may end while the second still prints */
    see_child("first", pid);
}

static void as_daemon(void)
{
    int ends[2], out = dup(1);
    char byte;
    if (pipe(ends))
        return;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        int failed = daemon(0, 0);
        dup2(out, 1);
        see_result("daemon", failed);
        see_open_numbers("daemon");
        see_exercise();
        _exit(0);
    }
    close(ends[1]);
    see_result("end", read(ends[0], &byte, 1)); /* when the daemon is gone: its lines and ours keep their order */
    see_child("parent of it", pid);
}

static void new_umask(void)
{
    umask(0777);
    see_exercise();
    printf("umask %o\n", (unsigned)umask(0));
}

static void deleted_directory(void)
{
    char name[] = "gone.XXXXXX";
    if (!mkdtemp(name) || chdir(name) || rmdir("../gone.XXXXXX") == 0)
        return;
    char path[64];
    snprintf(path, sizeof(path), "../%s", name);
    see_result("rmdir", rmdir(path));
    see_result("getcwd", getcwd(path, sizeof(path)) ? 0 : -1);
    see_exercise();
}

static void locked_directory(void)
{
    mkdir("locked", 0700);
    see_result("chdir", chdir("locked"));
    chmod(".", 0500);
    see_exercise();
    chmod(".", 0);
    see_exercise();
}

/* Nothing is reachable there, not even this program. */
static void empty_root(void)
{
    mkdir("root", 0700);
    if (chroot("root") != 0) {
        see_result("unshare", unshare(CLONE_NEWUSER));
        see_result("chroot", chroot("root"));
    }
    see_result("chdir", chdir("/"));
    see_exercise();
}

static void in_namespaces(int flags)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int wanted = geteuid() == 0 ? flags : flags | CLONE_NEWUSER;
        int refused = unshare(wanted);
        see_result("unshare", refused);
        see_exercise();
        pid = fork();
        if (pid == 0) {
            printf("own number %d\n", flags & CLONE_NEWPID && refused == 0 ? getpid() : 0);
            see_exercise();
            exit(0);
        }
        see_child("inner", pid);
        exit(0);
    }
    see_child("unshared", pid);
}

static void namespaces(void)
{
    in_namespaces(CLONE_NEWUSER);
    in_namespaces(CLONE_NEWNS);
    in_namespaces(CLONE_NEWNET);
    in_namespaces(CLONE_NEWIPC | CLONE_NEWUTS);
    in_namespaces(CLONE_FILES | CLONE_FS | CLONE_SYSVSEM);
}

static void pid_namespace(void)
{
    in_namespaces(CLONE_NEWPID);
}

static void another_user(void)
{
    see_result("setgroups", setgroups(0, NULL));
    see_result("setresgid", setresgid(65534, 65534, 65534));
    see_result("setresuid", setresuid(65534, 65534, 65534));
    see_exercise();
    see_result("back", setuid(0));
}

static void effective_user(void)
{
    see_result("seteuid", seteuid(65534));
    see_exercise();
    see_result("back", seteuid(0));
    see_exercise();
}

static void without_capabilities(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0, 0, 0}, {0, 0, 0}};
    see_result("securebits", prctl(PR_SET_SECUREBITS, 0x2f));
    see_result("capset", syscall(SYS_capset, &header, none));
    see_exercise();
}

static void not_dumpable(void)
{
    see_result("set", prctl(PR_SET_DUMPABLE, 0));
    see_exercise();
    see_result("get", prctl(PR_GET_DUMPABLE));
}

static void with_privileges_closed(void)
{
    see_result("set", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    see_exercise();
    see_result("get", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
}

static void adopting(void)
{
    int adopts = 0;
    see_result("set", prctl(PR_SET_CHILD_SUBREAPER, 1));
    see_exercise();
    prctl(PR_GET_CHILD_SUBREAPER, &adopts);
    printf("adopts %d\n", adopts);
    see_result("nobody", waitpid(-1, NULL, WNOHANG | __WALL));
}

static void low_priority(void)
{
    struct sched_param none = {0};
    see_result("nice", setpriority(PRIO_PROCESS, 0, 19));
    see_result("idle", sched_setscheduler(0, SCHED_IDLE, &none));
    see_exercise();
    see_result("policy", sched_getscheduler(0));
}

static void fixed_layout(void)
{
    see_result("personality", personality(ADDR_NO_RANDOMIZE) >= 0);
    see_exercise();
    printf("personality %x\n", (unsigned)personality(0xffffffff));
}

static void named(void)
{
    char name[16];
    prctl(PR_SET_NAME, "a ) name \n");
    see_exercise();
    prctl(PR_GET_NAME, name);
    printf("name %s\n", name);
    see_file("comm");
}

/* A child that is traced stops at each exec; its tracer lets it go on. */
static void traced(void)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        execl(see_me, see_me, "leaf", (char *)NULL);
        _exit(1);
    }
    int status = 0, stops = 0;
    while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
        printf("stop %d: %d\n", stops++, WSTOPSIG(status));
        ptrace(PTRACE_CONT, pid, 0, WSTOPSIG(status) == SIGSTOP || WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
    }
    printf("end %x\n", (unsigned)status);
}

int main(int argc, char **argv)
{
    static const struct see_case cases[] = {
        {"session", own_session},
        {"double-fork", double_fork},
        {"daemon", as_daemon},
        {"umask", new_umask},
        {"deleted-directory", deleted_directory},
        {"locked-directory", locked_directory},
        {"root", empty_root},
        {"namespaces", namespaces},
        {"pid-namespace", pid_namespace},
        {"user", another_user},
        {"effective-user", effective_user},
        {"capabilities", without_capabilities},
        {"dumpable", not_dumpable},
        {"no-new-privileges", with_privileges_closed},
        {"adopting", adopting},
        {"priority", low_priority},
        {"layout", fixed_layout},
        {"name", named},
        {"traced", traced},
    };
    return see_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
