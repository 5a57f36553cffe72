/* SPDX-License-Identifier: MIT */
#include "collector/doctor/doctor_executable.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/report.h"

enum { STEPS = 8, HEAD = 256, PROGRAM_HEADERS = 64 };

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#elif defined(__riscv)
#define OWN_MACHINE EM_RISCV
#else
#define OWN_MACHINE EM_NONE
#endif
#define OWN_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)

/* ---- Finding ---- */

/* 0 or errno. */
static int check_executable(const char *path)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return errno;
    if (!S_ISREG(status.st_mode))
        return EACCES;
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? errno : 0;
}

/*
 * 0 or errno, almost as execvp() gives it: if a directory of PATH cannot be searched, and no file was seen, the command
 * was not found.
 */
static int search_path(const char *file, char *ret_path)
{
    const char *at = getenv("PATH");
    char forbidden[PATH_MAX] = "";
    if (strlen(file) >= PATH_MAX)
        return ENAMETOOLONG;
    if (!file[0] || strchr(file, '/')) {
        strcpy(ret_path, file);
        return file[0] ? check_executable(file) : ENOENT;
    }
    for (at = at ? at : "/bin:/usr/bin";; at++) {
        size_t size = strcspn(at, ":");
        int length = snprintf(ret_path, PATH_MAX, "%.*s%s%s", (int)(size < PATH_MAX ? size : PATH_MAX), at,
                              size ? "/" : "", file);
        int found = length < PATH_MAX ? check_executable(ret_path) : ENAMETOOLONG;
        if (found == 0)
            return 0;
        if (found == EACCES && !forbidden[0] && access(ret_path, F_OK) == 0)
            strcpy(forbidden, ret_path);
        at += size;
        if (!*at)
            break;
    }
    strcpy(ret_path, forbidden[0] ? forbidden : file);
    return forbidden[0] ? EACCES : ENOENT;
}

/* ---- Scripts ---- */

/* The word at *AT, or an empty one; *AT moves past it. */
static void take_word(const char **at, char *ret, size_t size)
{
    *at += strspn(*at, " \t");
    size_t length = strcspn(*at, " \t\n");
    snprintf(ret, size, "%.*s", (int)length, *at);
    *at += length;
}

/* The program that env is to run: "#!/usr/bin/env -S A=1 python3 -u". */
static bool find_env_program(const char *at, char *ret, size_t size)
{
    for (;;) {
        take_word(&at, ret, size);
        if (!ret[0])
            return false;
        if (ret[0] != '-' && !strchr(ret, '='))
            return true;
    }
}

static bool is_env(const char *path)
{
    const char *name = strrchr(path, '/');
    return strcmp(name ? name + 1 : path, "env") == 0;
}

static void add_to_chain(struct doctor_executable *executable)
{
    char safe[256];
    size_t used = strlen(executable->chain);
    report_safe(safe, sizeof(safe), executable->path, sizeof(executable->path));
    snprintf(executable->chain + used, sizeof(executable->chain) - used, "%s%s", used ? " -> " : "", safe);
}

/* Steps into the interpreter of the script that begins with HEAD (NUL-terminated). Without one execvp() uses the
 * shell. */
static void enter_interpreter(struct doctor_executable *executable, const char *head)
{
    char name[HEAD];
    const char *at = head + 2;
    take_word(&at, name, sizeof(name));
    strcpy(executable->path, name[0] ? name : "/bin/sh");
    executable->error = check_executable(executable->path);
    if (executable->error || !is_env(name) || !find_env_program(at, name, sizeof(name)))
        return;
    add_to_chain(executable);
    executable->env = true;
    executable->error = search_path(name, executable->path);
}

/* ---- ELF ---- */

static bool is_foreign_loader(const char *path)
{
    return strstr(path, "/ld-musl") || strstr(path, "uClibc") || strstr(path, "/linker");
}

static bool is_go_note(int fd, const ElfW(Phdr) * header)
{
    char note[16];
    return header->p_filesz >= sizeof(note) && pread(fd, note, sizeof(note), (off_t)header->p_offset) == sizeof(note) &&
           memcmp(note + 12, "Go\0", 4) == 0;
}

static enum doctor_kind judge_loader(struct doctor_executable *executable, int fd, const ElfW(Phdr) * header)
{
    size_t size = header->p_filesz < sizeof(executable->loader) ? header->p_filesz : sizeof(executable->loader) - 1;
    ssize_t got = pread(fd, executable->loader, size, (off_t)header->p_offset);
    executable->loader[got > 0 ? got : 0] = '\0';
    if (!executable->loader[0])
        return DOCTOR_EXECUTABLE_BROKEN;
    if (is_foreign_loader(executable->loader))
        return DOCTOR_EXECUTABLE_FOREIGN;
    return access(executable->loader, X_OK) < 0 ? DOCTOR_EXECUTABLE_NO_LOADER : DOCTOR_EXECUTABLE_DYNAMIC;
}

static enum doctor_kind judge_elf(struct doctor_executable *executable, int fd, const char *head, size_t size)
{
    ElfW(Ehdr) elf;
    if (size < sizeof(elf))
        return DOCTOR_EXECUTABLE_BROKEN;
    memcpy(&elf, head, sizeof(elf));
    bool swapped = elf.e_ident[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB);
    executable->elf_class = elf.e_ident[EI_CLASS];
    executable->machine = swapped ? __builtin_bswap16(elf.e_machine) : elf.e_machine;
    if (swapped || executable->elf_class != OWN_CLASS || (OWN_MACHINE != EM_NONE && executable->machine != OWN_MACHINE))
        return DOCTOR_EXECUTABLE_OTHER;
    if (elf.e_type != ET_EXEC && elf.e_type != ET_DYN)
        return DOCTOR_EXECUTABLE_BROKEN;
    enum doctor_kind kind = elf.e_type == ET_DYN ? DOCTOR_EXECUTABLE_STATIC_PIE : DOCTOR_EXECUTABLE_STATIC;
    for (unsigned i = 0; i < elf.e_phnum && i < PROGRAM_HEADERS; i++) {
        ElfW(Phdr) header;
        off_t at = (off_t)(elf.e_phoff + i * sizeof(header));
        if (at < 0 || pread(fd, &header, sizeof(header), at) != (ssize_t)sizeof(header))
            return DOCTOR_EXECUTABLE_BROKEN;
        if (header.p_type == PT_NOTE)
            executable->go |= is_go_note(fd, &header);
        if (header.p_type == PT_INTERP)
            kind = judge_loader(executable, fd, &header);
    }
    return kind;
}

/* ---- All of it ---- */

/* True: it was a script, and path is its interpreter now. */
static bool examine_step(struct doctor_executable *executable)
{
    char head[HEAD + 1];
    struct stat status;
    int fd = open(executable->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    add_to_chain(executable);
    if (stat(executable->path, &status) == 0) {
        executable->mode = status.st_mode;
        executable->uid = status.st_uid;
    }
    executable->capabilities = getxattr(executable->path, "security.capability", NULL, 0) > 0;
    executable->kind = DOCTOR_EXECUTABLE_UNREADABLE;
    if (fd < 0)
        return false;
    ssize_t got = pread(fd, head, HEAD, 0);
    size_t size = got > 0 ? (size_t)got : 0;
    head[size] = '\0';
    bool elf = size >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0, script = size > 2 && memcmp(head, "#!", 2) == 0;
    if (elf)
        executable->kind = judge_elf(executable, fd, head, size);
    else if (script)
        enter_interpreter(executable, head);
    else
        enter_interpreter(executable, "#!");
    close(fd);
    return !elf;
}

void doctor_executable_find(const char *file, struct doctor_executable *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->error = search_path(file, ret->path);
    for (int i = 0; i < STEPS && !ret->error; i++)
        if (!examine_step(ret))
            return;
    if (ret->error)
        add_to_chain(ret);
    ret->kind = ret->error ? DOCTOR_EXECUTABLE_MISSING : DOCTOR_EXECUTABLE_LOOP;
}
