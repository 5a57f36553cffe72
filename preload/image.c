/* SPDX-License-Identifier: MIT */
#include "image.h"
#include "environ.h"
#include "reach.h"
#include "sys.h"
#include "text.h"

#include <errno.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SCRIPTS = 4,      /* interpreters of interpreters; the kernel goes no further either */
    HEAD = 1024,      /* bytes of a file's start: ELF and program headers as linkers lay them out */
    NAME = 256,
};

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#endif
#define OWN_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)

static bool contains(const char *text, size_t size, const char *part)
{
    size_t length = strlen(part);
    for (size_t at = 0; at + length <= size; at++)
        if (memcmp(text + at, part, length) == 0)
            return true;
    return false;
}

/* A dynamic loader that is not glibc's. */
static bool is_foreign_loader(const char *path, size_t size)
{
    return contains(path, size, "/ld-musl") || contains(path, size, "uClibc") || contains(path, size, "/linker");
}

static enum pinject_image judge_elf(int fd, const char *head, size_t size)
{
    ElfW(Ehdr) elf;
    char name[NAME];
    if (size < sizeof(elf))
        return PINJECT_IMAGE_MISSING;
    memcpy(&elf, head, sizeof(elf));
    if (elf.e_ident[EI_CLASS] != OWN_CLASS)
        return PINJECT_IMAGE_REFUSES;
#ifdef OWN_MACHINE
    if (elf.e_machine != OWN_MACHINE)
        return PINJECT_IMAGE_REFUSES;
#endif
    size_t i;
    for (i = 0; i < elf.e_phnum && i < 64; i++) {
        ElfW(Phdr) header;
        uint64_t at = elf.e_phoff + i * sizeof(header);
        if (at <= size && sizeof(header) <= size - at)
            memcpy(&header, head + at, sizeof(header));
        else if (sys_pread(fd, &header, sizeof(header), at) != (long)sizeof(header))
            break;
        if (header.p_type != PT_INTERP)
            continue;
        size_t wanted = header.p_filesz < sizeof(name) ? header.p_filesz : sizeof(name);
        long got = sys_pread(fd, name, wanted, header.p_offset);
        return got > 0 && is_foreign_loader(name, (size_t)got) ? PINJECT_IMAGE_REFUSES : PINJECT_IMAGE_TAKES;
    }
    return i == elf.e_phnum ? PINJECT_IMAGE_STATIC : PINJECT_IMAGE_TAKES;
}

/* The interpreter's name out of "#! NAME ARGUMENT". */
static bool find_interpreter(const char *head, size_t size, char *ret_name)
{
    size_t at = 2, length = 0;
    while (at < size && (head[at] == ' ' || head[at] == '\t'))
        at++;
    while (at + length < size && length < NAME && head[at + length] > ' ')
        length++;
    if (length == 0 || length >= NAME)
        return false;
    memcpy(ret_name, head + at, length);
    ret_name[length] = 0;
    return true;
}

/* *RET_IMAGE: what it is as far as the file's mode tells. */
static int open_image(int fd, const char *path, enum pinject_image *ret_image)
{
    const unsigned setgid = S_ISGID | S_IXGRP;
    struct statx status;
    int empty = path[0] == 0 ? AT_EMPTY_PATH : 0;
    *ret_image = PINJECT_IMAGE_MISSING;
    if (sys_statx(fd, path, empty, STATX_TYPE | STATX_MODE, &status) < 0 || !S_ISREG(status.stx_mode))
        return -1;
    bool set = status.stx_mode & S_ISUID || (status.stx_mode & setgid) == setgid;
    *ret_image = set ? PINJECT_IMAGE_SECURE : PINJECT_IMAGE_TAKES;
    int file = (int)(empty ? SYS_3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0)
                           : SYS_4(SYS_openat, fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0));
    if (file == -EACCES)
        *ret_image = PINJECT_IMAGE_SECURE;
    return file;
}

enum pinject_image pinject_image_at(int fd, const char *path)
{
    char head[HEAD], name[NAME];
    struct pinject_reach reach = {{0}, 0};
    enum pinject_image image = PINJECT_IMAGE_MISSING;
    if (!pinject_reach(&reach, path, 1))
        return PINJECT_IMAGE_MISSING;
    for (int i = 0; i < SCRIPTS; i++) {
        int file = open_image(fd, path, &image);
        if (file < 0)
            return image;
        long size = sys_pread(file, head, sizeof(head), 0);
        bool script = size > 2 && head[0] == '#' && head[1] == '!' && find_interpreter(head, (size_t)size, name);
        bool elf = size > SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0;
        if (elf && image != PINJECT_IMAGE_SECURE)
            image = judge_elf(file, head, (size_t)size);
        else if (!elf) /* that of a script has no effect */
            image = PINJECT_IMAGE_TAKES;
        sys_close(file);
        if (!script)
            return image;
        fd = AT_FDCWD;
        path = name;
    }
    return image;
}

enum pinject_image pinject_image_search(const char *file)
{
    char path[HEAD];
    struct pinject_reach reach = {{0}, 0};
    long length = pinject_reach_length(&reach, file, NAME);
    if (length <= 0)
        return PINJECT_IMAGE_MISSING;
    if (strchr(file, '/'))
        return pinject_image_at(AT_FDCWD, file);
    const char *at = pinject_env_value(environ, "PATH=");
    for (at = at ? at : "/bin:/usr/bin"; at; at = *at ? at + 1 : NULL) {
        size_t size = 0;
        while (at[size] && at[size] != ':')
            size++;
        if (size + (size_t)length + 2 <= sizeof(path)) {
            memcpy(path, at, size);
            path[size] = '/';
            memcpy(path + size + (size > 0), file, (size_t)length + 1);
            enum pinject_image image = pinject_image_at(AT_FDCWD, path);
            if (image != PINJECT_IMAGE_MISSING)
                return image;
        }
        at += size;
    }
    return PINJECT_IMAGE_MISSING;
}
