/* SPDX-License-Identifier: MIT */
/* Can the command be profiled? It is examined, not run. */
#include <elf.h>
#include <errno.h>
#include <pinject/wire.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "collector/doctor/doctor_probe.h"
#include "common/report.h"

enum { LISTED = 64 << 10 };

static bool is_seen(const struct doctor_executable *executable)
{
    return executable->kind != DOCTOR_EXECUTABLE_MISSING && executable->kind != DOCTOR_EXECUTABLE_LOOP;
}

static void explain_missing(const struct doctor_executable *executable, struct doctor_finding *finding, bool direct)
{
    struct statvfs place;
    finding->level = DOCTOR_REFUSED;
    bool noexec = statvfs(executable->path, &place) == 0 && place.f_flag & ST_NOEXEC;
    if (executable->kind == DOCTOR_EXECUTABLE_LOOP)
        DOCTOR_TEXT(finding->value, "the '#!' lines of this script and of its interpreters form a loop");
    else if (executable->error == ENOENT && direct && !strchr(executable->path, '/')) {
        DOCTOR_TEXT(finding->value, "command not found: '%s'", executable->path);
        doctor_remedy(finding, "export PATH=\"$PATH:DIRECTORY\"    # the directory of the program");
    } else if (executable->error == EACCES && noexec) {
        DOCTOR_TEXT(finding->value, "'%s' is on a file system mounted noexec", executable->path);
        doctor_remedy(finding, "mount -o remount,exec \"$(findmnt -no TARGET -T %s)\"    # as root",
                      doctor_word(executable->path));
    } else {
        DOCTOR_TEXT(finding->value, "'%s' cannot be executed: %s", executable->path, strerror(executable->error));
        if (executable->error == EACCES)
            doctor_remedy(finding, "chmod a+rx %s", doctor_word(executable->path));
    }
    if (!direct)
        DOCTOR_TEXT(finding->meaning, "the command is a script; this file is its interpreter: %s", executable->chain);
}

void doctor_command_file(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    const struct doctor_executable *executable = &facts->executable;
    bool follows = facts->args->settings->follow & PINJECT_SESSION_EXEC;
    bool direct = !strstr(executable->chain, " -> ");
    if (!is_seen(executable)) {
        explain_missing(executable, finding, direct);
        return;
    }
    DOCTOR_TEXT(finding->value, "%s", executable->chain);
    if (!executable->env || follows)
        return;
    finding->level = DOCTOR_LIMITED;
    DOCTOR_TEXT(finding->value, "only /usr/bin/env is profiled, not the program that it starts (%s)",
                executable->chain);
    doctor_remedy(finding, "pinject-run --follow=exec ...    # or without --follow, to profile everything");
}

static const char *name_machine(const struct doctor_executable *executable, char *ret, size_t size)
{
    const char *known = executable->machine == EM_386       ? "32-bit x86"
                        : executable->machine == EM_X86_64  ? executable->elf_class == ELFCLASS32 ? "x32" : "x86-64"
                        : executable->machine == EM_ARM     ? "32-bit ARM"
                        : executable->machine == EM_AARCH64 ? "64-bit ARM"
                                                            : NULL;
    if (known)
        snprintf(ret, size, "%s", known);
    else
        snprintf(ret, size, "ELF machine %u, %s-bit", executable->machine,
                 executable->elf_class == ELFCLASS64 ? "64" : "32");
    return ret;
}

/* Common to all programs that take no preload object. */
static void say_not_injected(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    finding->level = DOCTOR_LIMITED;
    if (facts->shared->inherited < 0)
        DOCTOR_TEXT(
            finding->meaning,
            "the program ignores LD_PRELOAD, and inherited events are refused: %s; only the first thread of the "
            "program is profiled",
            strerror(-facts->shared->inherited));
    else
        DOCTOR_TEXT(
            finding->meaning,
            "the program ignores LD_PRELOAD; inherited events profile the program, its threads and its children, "
            "except their CPU time during exit; pinject_active() returns false in this program");
}

static void explain_executable(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    const struct doctor_executable *executable = &facts->executable;
    char text[64];
    say_not_injected(facts, finding);
    switch (executable->kind) {
    case DOCTOR_EXECUTABLE_OTHER:
        DOCTOR_TEXT(finding->value, "built for another machine: %s", name_machine(executable, text, sizeof(text)));
        doctor_remedy(finding, "cc -m%d ...    # build it for this machine", (int)sizeof(void *) * 8);
        break;
    case DOCTOR_EXECUTABLE_BROKEN:
        finding->level = DOCTOR_REFUSED;
        DOCTOR_TEXT(finding->value, "the file is not an executable ELF file, or it is damaged");
        finding->meaning[0] = '\0';
        break;
    case DOCTOR_EXECUTABLE_STATIC:
    case DOCTOR_EXECUTABLE_STATIC_PIE:
        DOCTOR_TEXT(finding->value, "statically linked%s%s",
                    executable->kind == DOCTOR_EXECUTABLE_STATIC_PIE ? " (static-pie)" : "",
                    executable->go ? ", written in Go" : "");
        doctor_remedy(finding, "%s",
                      executable->go ? "go build -ldflags=-linkmode=external ...    # links it dynamically"
                                     : "cc ...    # link it without -static and -static-pie");
        break;
    case DOCTOR_EXECUTABLE_FOREIGN:
        DOCTOR_TEXT(finding->value, "not linked with glibc: %s", executable->loader);
        doctor_remedy(finding, "cc ...    # build it with glibc, which the preload object needs");
        break;
    default:
        finding->level = DOCTOR_REFUSED;
        DOCTOR_TEXT(finding->value, "the loader of the program does not exist: %s", executable->loader);
        finding->meaning[0] = '\0';
        break;
    }
}

void doctor_command_executable(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    const struct doctor_executable *executable = &facts->executable;
    if (!is_seen(executable)) {
        finding->level = DOCTOR_NOTE;
        DOCTOR_TEXT(finding->value, "not checked: the file cannot be executed");
    } else if (executable->kind == DOCTOR_EXECUTABLE_UNREADABLE) {
        finding->level = DOCTOR_NOTE;
        DOCTOR_TEXT(finding->value, "not checked: the file cannot be read");
    } else if (executable->kind == DOCTOR_EXECUTABLE_DYNAMIC)
        DOCTOR_TEXT(finding->value, "dynamically linked with glibc, for this machine");
    else
        explain_executable(facts, finding);
}

/* Does the kernel give the program other rights than its caller has? */
static bool gains_rights(const struct doctor_facts *facts, const char **ret_why)
{
    const struct doctor_executable *executable = &facts->executable;
    struct statvfs place;
    *ret_why = NULL;
    if (facts->uid == 0 || facts->status.no_new_privileges ||
        (statvfs(executable->path, &place) == 0 && place.f_flag & ST_NOSUID))
        return false;
    if (executable->mode & S_ISUID && executable->uid != facts->uid)
        *ret_why = "is setuid";
    else if (executable->mode & S_ISGID && executable->mode & S_IXGRP)
        *ret_why = "is setgid";
    else if (executable->capabilities)
        *ret_why = "has file capabilities";
    return *ret_why;
}

void doctor_command_rights(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    const struct doctor_executable *executable = &facts->executable;
    const char *why;
    if (!is_seen(executable)) {
        finding->level = DOCTOR_NOTE;
        DOCTOR_TEXT(finding->value, "not checked: the file cannot be executed");
    } else if (gains_rights(facts, &why)) {
        finding->level = DOCTOR_LIMITED;
        DOCTOR_TEXT(finding->value, "'%s' %s", executable->path, why);
        DOCTOR_TEXT(
            finding->meaning,
            "the kernel closes the program's events, and ld.so ignores LD_PRELOAD: the program's CPU time is counted, "
            "not sampled");
        doctor_remedy(finding, "sudo pinject-run ...    # root can profile it");
    } else if (executable->kind == DOCTOR_EXECUTABLE_UNREADABLE && facts->uid != 0) {
        finding->level = DOCTOR_LIMITED;
        DOCTOR_TEXT(finding->value, "'%s' cannot be read, only executed", executable->path);
        DOCTOR_TEXT(
            finding->meaning,
            "the kernel ends the events when the program starts: only the program's CPU time is known, from its "
            "parent's wait()");
        doctor_remedy(finding, "chmod a+r %s", doctor_word(executable->path));
    } else
        DOCTOR_TEXT(
            finding->value,
            "the program's file gives no extra rights (it is not setuid or setgid, and has no file capabilities)");
}

/* glibc's, by its name: another one would take "--list" for something else. */
static bool is_glibc_loader(const char *path)
{
    const char *name = strrchr(path, '/');
    name = name ? name + 1 : path;
    return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld-2.", 5) == 0 || strncmp(name, "ld64.so", 7) == 0;
}

static void judge_list(const struct doctor_facts *facts, struct doctor_finding *finding, const char *list,
                       const struct doctor_guarded *guarded)
{
    const char *preload = facts->args->preload;
    if (strstr(list, preload)) {
        DOCTOR_TEXT(finding->value, "the program loads the preload object (checked without running the program)");
    } else {
        finding->level = DOCTOR_LIMITED;
        DOCTOR_TEXT(finding->value, "the program does not load the preload object%s%s", guarded->said[0] ? ": " : "",
                    guarded->said);
        say_not_injected(facts, finding);
        doctor_remedy(finding, "LD_PRELOAD=%s %s --list %s    # shows the error", preload, facts->executable.loader,
                      doctor_word(facts->executable.path));
    }
}

/* The loader lists what it would load, and runs nothing of it. */
void doctor_command_loader(const struct doctor_facts *facts, struct doctor_finding *finding)
{
    const struct doctor_executable *executable = &facts->executable;
    const char *why, *const argv[] = {executable->loader, "--list", executable->path, NULL};
    struct doctor_guarded guarded;
    bool asked = executable->kind == DOCTOR_EXECUTABLE_DYNAMIC && !gains_rights(facts, &why) &&
                 facts->args->preload[0] && is_glibc_loader(executable->loader);
    char *list = asked ? malloc(LISTED) : NULL;
    if (list) {
        doctor_guard_program(argv, facts->args->preload, &guarded, list, LISTED);
        judge_list(facts, finding, list, &guarded);
    } else {
        finding->level = DOCTOR_NOTE;
        DOCTOR_TEXT(finding->value, "not checked%s", asked ? ": out of memory" : "");
    }
    free(list);
}
