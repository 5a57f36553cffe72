/* SPDX-License-Identifier: MIT */
/* Code that is in no file: JIT code, and the kernel's BPF programs. */
#include <errno.h>
#include <string.h>

#include "analyze/model/replay.h"

#define MOST_DUMPS 65536u

static bool starts_with(const char *text, size_t size, const char *with)
{
    return size >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

/* Some JIT compilers map a memfd twice, to write and to execute. A program executed from a memfd counts as a file. */
static bool is_code_memory(const char *path, size_t size)
{
    static const char *const names[] = {"jit", "JIT", "doublemapper"};
    for (size_t i = 0; starts_with(path, size, "/memfd:") && i < sizeof(names) / sizeof(names[0]); i++)
        if (memmem(path, size, names[i], strlen(names[i])))
            return true;
    return false;
}

/* Memory without a file: its code belongs only to this process. [vdso] and the like are the same in all processes. */
bool code_is_generated(const char *path, size_t size)
{
    return starts_with(path, size, "//anon") || starts_with(path, size, "/anon_hugepage") ||
           starts_with(path, size, "/dev/zero") || starts_with(path, size, "[heap]") ||
           starts_with(path, size, "[stack") || starts_with(path, size, "/SYSV") ||
           starts_with(path, size, "anon_inode:") || starts_with(path, size, "[anon") || is_code_memory(path, size);
}

/* ".../jit-PID.dump": the JIT compiler maps its first page as executable only to make the kernel record its path. */
static bool is_dump(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (path[0] != '/' || strncmp(slash, "/jit-", 5) != 0)
        return false;
    size_t digits = strspn(slash + 5, "0123456789");
    return digits > 0 && strcmp(slash + 5 + digits, ".dump") == 0;
}

int code_take_dump(struct loader *loader, int32_t pid, const char *path)
{
    if (!is_dump(path))
        return 0;
    for (uint32_t i = 0; i < loader->jit_dump_count; i++)
        if (loader->jit_dumps[i].pid == pid)
            return 0;
    if (loader->jit_dump_count >= MOST_DUMPS)
        return 0;
    if (arena_room(&loader->jit_dumps, &loader->jit_dump_capacity, loader->jit_dump_count, sizeof(*loader->jit_dumps)) <
        0)
        return -ENOMEM;
    loader->jit_dumps[loader->jit_dump_count++] = (struct profile_jit_dump){pid, path};
    return 0;
}

int code_take_symbol(struct replay *replay, const struct record *record)
{
    struct cursor payload = record_cursor(record);
    uint64_t start = cursor_u64(&payload), size = cursor_u32(&payload);
    cursor_u16(&payload); /* type: a BPF program, or out-of-line code */
    uint16_t flags = cursor_u16(&payload);
    size_t length = payload.failed ? 0 : strnlen((const char *)payload.at, cursor_left(&payload));
    /* Unregister records are ignored: nothing runs there until the memory is used again. */
    if (length == 0 || (flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER) || size > UINT64_MAX - start)
        return 0;
    const char *name = store_text(&replay->loader->store, (const char *)payload.at, length);
    struct profile_module module = {.path = name, .kernel = true, .symbol = name, .symbol_start = start};
    struct mapping place = {.start = start, .end = start + size};
    if (!name)
        return -ENOMEM;
    place.module = store_module(&replay->loader->store, &module);
    if (place.module == LOOKUP_NONE)
        return -ENOMEM;
    int status = space_map(&replay->kernel, &replay->limits, &place);
    replay->mappings_refused |= status == -ENOSPC;
    return status == -ENOSPC ? 0 : status;
}
