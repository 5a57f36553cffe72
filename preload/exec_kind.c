/* SPDX-License-Identifier: MIT */
#include "environ.h"
#include "exec_kind.h"
#include "safe_read.h"
#include "sys.h"
#include "text.h"

#include <errno.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SCRIPTS = 6,     /* files in a chain of interpreters; also the kernel's limit */
    LINE = 256,      /* bytes of a script that the kernel reads */
    HEADERS = 65536, /* bytes of program headers that the kernel accepts */
    SELF_PATH = 32,
};

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#endif
#define OWN_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)

_Static_assert(sizeof(struct statx) == sizeof(((struct pinject_judge *)0)->status), "a status fits");

/* glibc's dynamic loader, by all names that it has had. Any other loader may not accept the preload object. */
static bool is_own_loader(const char *path)
{
    static const char *const names[] = {"ld-linux", "ld-lsb", "ld64.so", "ld-2."};
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strncmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static enum pinject_exec_kind judge_loader(struct pinject_judge *judge, int fd, const ElfW(Phdr) * header)
{
    char *name = judge->name;
    if (header->p_filesz < 2 || header->p_filesz > PATH_MAX)
        return PINJECT_EXEC_UNKNOWN;
    if (header->p_filesz > sizeof(judge->name))
        return PINJECT_EXEC_REFUSES;
    long got = sys_pread(fd, name, header->p_filesz, header->p_offset);
    if (got != (long)header->p_filesz || name[got - 1] != 0)
        return PINJECT_EXEC_UNKNOWN;
    return is_own_loader(name) ? PINJECT_EXEC_TAKES : PINJECT_EXEC_REFUSES;
}

static enum pinject_exec_kind judge_elf(struct pinject_judge *judge, int fd, size_t size)
{
    ElfW(Ehdr) elf;
    ElfW(Phdr) header;
    if (size < sizeof(elf))
        return PINJECT_EXEC_UNKNOWN;
    memcpy(&elf, judge->head, sizeof(elf));
    if (elf.e_ident[EI_CLASS] != OWN_CLASS)
        return PINJECT_EXEC_REFUSES;
#ifdef OWN_MACHINE
    if (elf.e_machine != OWN_MACHINE)
        return PINJECT_EXEC_REFUSES;
#endif
    if (elf.e_phentsize != sizeof(header) || elf.e_phnum > HEADERS / sizeof(header))
        return PINJECT_EXEC_UNKNOWN;
    for (size_t i = 0; i < elf.e_phnum; i++) {
        uint64_t at = elf.e_phoff + i * sizeof(header);
        if (at <= size && sizeof(header) <= size - at)
            memcpy(&header, judge->head + at, sizeof(header));
        else if (sys_pread(fd, &header, sizeof(header), at) != (long)sizeof(header))
            return PINJECT_EXEC_UNKNOWN;
        if (header.p_type == PT_INTERP)
            return judge_loader(judge, fd, &header);
    }
    return PINJECT_EXEC_STATIC;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/*
 * Reads the interpreter's name from "#! NAME ARGUMENT" as the kernel does: only the first bytes of the file count. A
 * longer line ends there, unless that would cut the name.
 */
static bool find_interpreter(struct pinject_judge *judge, size_t size)
{
    const char *head = judge->head;
    size_t at = 2, length = 0, end = size < LINE ? size : LINE;
    const char *newline = memchr(head, '\n', end);
    bool cut = !newline && end == LINE;
    if (newline)
        end = (size_t)(newline - head);
    while (at < end && is_blank(head[at]))
        at++;
    while (at + length < end && !is_blank(head[at + length]) && head[at + length])
        length++;
    if (length == 0 || (cut && at + length == end))
        return false;
    memcpy(judge->name, head + at, length);
    judge->name[length] = 0;
    return true;
}

/* May exec run it? True if a sandbox refuses to tell. */
static bool is_executable(int fd, const char *path)
{
    long error = SYS_4(SYS_faccessat2, fd, path, X_OK, AT_EACCESS);
    if (error == -ENOSYS)
        error = SYS_3(SYS_faccessat, fd, path, X_OK);
    return error == 0 || error == -EPERM;
}

/* Would exec change the user or the group? */
static bool is_set_id(const struct statx *status)
{
    const unsigned setgid = S_ISGID | S_IXGRP;
    return (status->stx_mode & S_ISUID && status->stx_uid != (uint32_t)SYS_0(SYS_geteuid)) ||
           ((status->stx_mode & setgid) == setgid && status->stx_gid != (uint32_t)SYS_0(SYS_getegid));
}

/*
 * A descriptor to read the file of FD. FD itself if possible, as closing another descriptor of a file drops all POSIX
 * locks on it. An O_PATH descriptor cannot be read.
 */
static int open_again(int fd)
{
    static const char directory[] = "/proc/self/fd/";
    char path[SELF_PATH], digits[12];
    size_t at = 0, count = 0;
    if (sys_pread(fd, digits, 1, 0) != -EBADF)
        return fd;
    memcpy(path, directory, at = sizeof(directory) - 1);
    for (unsigned rest = (unsigned)fd; rest || count == 0; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    while (count > 0)
        path[at++] = digits[--count];
    path[at] = 0;
    return sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/*
 * A descriptor to read the program, which may be FD itself, and what the mode says in *RET_KIND: TAKES or SECURE. Or
 * -1, and all that can be said.
 */
static int open_executable(struct pinject_judge *judge, int fd, const char *path, enum pinject_exec_kind *ret_kind)
{
    struct statx *status = (struct statx *)(void *)judge->status;
    bool empty = path[0] == 0, set = false;
    int error = sys_statx(fd, path, empty ? AT_EMPTY_PATH : 0, STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID, status);
    *ret_kind = PINJECT_EXEC_MISSING;
    if (error == 0 && !S_ISREG(status->stx_mode))
        return -1;
    if (error == 0)
        set = is_set_id(status);
    else if (error != -ENOSYS && error != -EPERM) /* a sandbox that does not know statx: the file is opened */
        return -1;
    if (judge->searches && !is_executable(fd, path))
        return -1;
    int file = empty ? open_again(fd)
                     : (int)SYS_4(SYS_openat, fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (file == -EACCES)
        *ret_kind = set ? PINJECT_EXEC_SECURE_REFUSES : PINJECT_EXEC_SECURE;
    else if (file < 0 && (file != -ENOENT || empty))
        *ret_kind = PINJECT_EXEC_UNKNOWN;
    else if (file >= 0)
        *ret_kind = set ? PINJECT_EXEC_SECURE : PINJECT_EXEC_TAKES;
    return file < 0 ? -1 : file;
}

enum pinject_exec_kind pinject_exec_at(struct pinject_judge *judge, int fd, const char *path)
{
    struct pinject_safe_read safe = {0};
    if (!pinject_safe_read(&safe, path, 1))
        return PINJECT_EXEC_MISSING;
    for (int i = 0; i < SCRIPTS; i++) {
        enum pinject_exec_kind exec_kind;
        int file = open_executable(judge, fd, path, &exec_kind);
        if (file < 0)
            return exec_kind;
        bool secure = exec_kind == PINJECT_EXEC_SECURE;
        long size = sys_pread(file, judge->head, sizeof(judge->head), 0);
        bool script = size > 2 && judge->head[0] == '#' && judge->head[1] == '!';
        bool elf = size > SELFMAG && memcmp(judge->head, ELFMAG, SELFMAG) == 0;
        if (elf)
            exec_kind = judge_elf(judge, file, (size_t)size);
        else if (!script || !find_interpreter(judge, (size_t)size))
            exec_kind = PINJECT_EXEC_UNKNOWN, script = false; /* for a shell, or an interpreter that the kernel knows */
        if (file != fd)
            sys_close(file);
        if (!script && secure)
            return exec_kind == PINJECT_EXEC_TAKES ? PINJECT_EXEC_SECURE : PINJECT_EXEC_SECURE_REFUSES;
        if (!script)
            return exec_kind;
        fd = judge->directory;
        path = judge->name;
    }
    return PINJECT_EXEC_MISSING;
}

/* libc's limit: it skips an element of PATH with that many bytes or more. */
static size_t path_limit(const char *path)
{
    return strnlen(path, PATH_MAX - 1) + 1;
}

enum pinject_exec_kind pinject_exec_search(struct pinject_judge *judge, const char *file)
{
    struct pinject_safe_read safe = {0};
    long length = pinject_safe_length(&safe, file, PATH_MAX);
    if (length <= 0)
        return PINJECT_EXEC_MISSING;
    if (strchr(file, '/'))
        return pinject_exec_at(judge, judge->directory, file);
    if (length > NAME_MAX)
        return PINJECT_EXEC_MISSING;
    const char *at = pinject_env_value(environ, "PATH=");
    if (!at)
        at = "/bin:/usr/bin";
    judge->searches = true;
    for (size_t limit = path_limit(at), size;; at += size) {
        for (size = 0; at[size] && at[size] != ':';)
            size++;
        if (size < limit) {
            memcpy(judge->path, at, size);
            judge->path[size] = '/';
            memcpy(judge->path + size + (size > 0), file, (size_t)length + 1);
            enum pinject_exec_kind exec_kind = pinject_exec_at(judge, judge->directory, judge->path);
            if (exec_kind != PINJECT_EXEC_MISSING)
                return exec_kind;
            if (!at[size++])
                return PINJECT_EXEC_MISSING;
        } else if (!at[size]) {
            return PINJECT_EXEC_MISSING;
        } /* else libc continues at this same colon, with an empty element */
    }
}
