/* SPDX-License-Identifier: MIT */
/* The files of a session, each read once. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "unwind/unwind_file.h"

/* Above BYTES_MAX no file is added; trimming goes down to BYTES_KEPT. */
#define BYTES_MAX  (UINT64_C(512) << 20)
#define BYTES_KEPT (UINT64_C(256) << 20)
enum { VDSO_MAX = 1 << 20 };

struct unwind_files {
    struct unwind_file *files, *in_memory; /* by unwind_file_key, by name */
    struct unwind_file_account account;
    size_t count;
};

struct unwind_files *unwind_files_new(void)
{
    return calloc(1, sizeof(struct unwind_files));
}

static void remove_file(struct unwind_files *files, struct unwind_file *file)
{
    if (file->name)
        HASH_DEL(files->in_memory, file);
    else
        HASH_DEL(files->files, file);
}

void unwind_files_free(struct unwind_files *files)
{
    if (!files)
        return;
    while (files->account.oldest) {
        struct unwind_file *file = files->account.oldest;
        files->account.oldest = file->newer;
        remove_file(files, file);
        unwind_file_free(file);
    }
    free(files);
}

static int64_t nanoseconds(const struct timespec *time)
{
    return (int64_t)((uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec);
}

/* Adds a file, even if it is no ELF file, so that it is not read again. */
static struct unwind_file *add_file(struct unwind_files *files, const struct unwind_file_key *key, const char *name,
                                    const struct elf_bytes *elf)
{
    struct unwind_file *file = calloc(1, sizeof(*file));
    if (!file)
        return NULL;
    file->key = *key;
    file->name = name ? strdup(name) : NULL;
    if ((name && !file->name) || files->account.bytes >= BYTES_MAX) {
        unwind_file_free(file);
        return NULL;
    }
    if (name)
        HASH_ADD_KEYPTR(hh, files->in_memory, file->name, strlen(name), file);
    else
        HASH_ADD(hh, files->files, key, sizeof(file->key), file);
    if (!TABLE_HAS(file)) {
        unwind_file_free(file);
        return NULL;
    }
    unwind_file_read(file, elf);
    file->account = &files->account;
    file->older = files->account.newest;
    *(file->older ? &file->older->newer : &files->account.oldest) = file;
    files->account.newest = file;
    files->account.bytes += unwind_file_size(file);
    files->count++;
    return file->valid ? file : NULL;
}

static struct unwind_file_key key_of(const struct unwind_stat *stat)
{
    return (struct unwind_file_key){stat->dev, stat->ino, stat->size, stat->mtime_ns, stat->ctime_ns};
}

bool unwind_files_know(const struct unwind_files *files, const struct unwind_stat *stat, struct unwind_file **ret)
{
    const struct unwind_file_key key = key_of(stat);
    struct unwind_file *file;
    HASH_FIND(hh, files->files, &key, sizeof(key), file);
    if (file)
        *ret = file->valid ? file : NULL;
    return file;
}

struct unwind_file *unwind_files_copy(struct unwind_files *files, const struct unwind_stat *stat, int copy)
{
    struct unwind_file *known;
    if (unwind_files_know(files, stat, &known))
        return known;
    const struct unwind_file_key key = key_of(stat);
    return add_file(files, &key, NULL, &(struct elf_bytes){.fd = copy, .size = key.size});
}

struct unwind_file *unwind_files_fd(struct unwind_files *files, int fd)
{
    struct stat stat;
    if (fstat(fd, &stat) < 0 || !S_ISREG(stat.st_mode))
        return NULL;
    struct unwind_stat key = {stat.st_dev, stat.st_ino, (uint64_t)stat.st_size, nanoseconds(&stat.st_mtim),
                              nanoseconds(&stat.st_ctim)};
    return unwind_files_copy(files, &key, fd);
}

int unwind_copy_tables(int fd, uint64_t size, int copy)
{
    struct unwind_file *file = calloc(1, sizeof(*file));
    bool valid = file && unwind_file_read(file, &(struct elf_bytes){.fd = fd, .size = size, .copy = copy});
    unwind_file_free(file);
    return valid ? 0 : -ENOEXEC;
}

struct unwind_file *unwind_files_memory(struct unwind_files *files, const char *name, const void *bytes, size_t size)
{
    struct unwind_file *file;
    HASH_FIND(hh, files->in_memory, name, strlen(name), file);
    if (file)
        return file->valid ? file : NULL;
    return add_file(files, &(struct unwind_file_key){0}, name,
                    &(struct elf_bytes){.bytes = bytes, .fd = -1, .size = size});
}

struct unwind_file *unwind_files_vdso(struct unwind_files *files)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR); /* NOLINT: an address by nature */
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return NULL;
    uint64_t size = header->e_shoff + (uint64_t)header->e_shnum * header->e_shentsize;
    return size > VDSO_MAX ? NULL : unwind_files_memory(files, "[vdso]", header, (size_t)size);
}

size_t unwind_files_size(const struct unwind_files *files, size_t *ret_count)
{
    if (ret_count)
        *ret_count = files->count;
    return files->account.bytes;
}

bool unwind_files_are_many(struct unwind_files *files)
{
    size_t bytes = files->account.bytes;
    struct unwind_file *file = files->account.oldest;
    for (; file && bytes > BYTES_KEPT; file = file->newer) {
        file->leaves = true;
        bytes -= unwind_file_size(file);
    }
    return file != files->account.oldest;
}

bool unwind_file_leaves(const struct unwind_file *file)
{
    return file && file->leaves;
}

void unwind_files_trim(struct unwind_files *files)
{
    for (struct unwind_file *file = files->account.oldest; file && file->leaves; file = files->account.oldest) {
        files->account.oldest = file->newer;
        *(file->newer ? &file->newer->older : &files->account.newest) = NULL;
        files->account.bytes -= unwind_file_size(file);
        files->count--;
        remove_file(files, file);
        unwind_file_free(file);
    }
}
