/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "unwind_kit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "context_kit.h"

static bool find(void *context, uint64_t address, struct unwind_map *ret)
{
    const struct kit *kit = context;
    for (unsigned i = 0; i < kit->count; i++) {
        const struct kit_mapping *mapping = &kit->mappings[i];
        if (address >= mapping->map.start && address < mapping->end) {
            *ret = mapping->map;
            return true;
        }
    }
    return false;
}

static struct unwind_file *open_file(struct kit *kit, const char *path)
{
    if (strcmp(path, "[vdso]") == 0)
        return unwind_files_vdso(kit->files);
    int fd = *path == '/' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    struct unwind_file *file = fd < 0 ? NULL : unwind_files_fd(kit->files, fd);
    if (fd >= 0)
        close(fd);
    return file;
}

void kit_read_maps(struct kit *kit)
{
    char line[4096], path[2048], access[5];
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    kit->count = 0;
    while (fgets(line, sizeof(line), maps) && kit->count < KIT_MAPPINGS) {
        struct kit_mapping mapping = {0};
        path[0] = '\0';
        int fields = sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %2047[^\n]", &mapping.map.start,
                            &mapping.end, access, &mapping.map.offset, path);
        if (fields < 4 || access[2] != 'x')
            continue;
        mapping.map.file = open_file(kit, path + strspn(path, " "));
        kit->mappings[kit->count++] = mapping;
    }
    fclose(maps);
}

void kit_init(struct kit *kit)
{
    pthread_attr_t attr;
    void *stack;
    size_t size;
    memset(kit, 0, sizeof(*kit));
    kit->files = unwind_files_new();
    assert_non_null(kit->files);
    kit->target = (struct unwind_target){find, kit};
    assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
    assert_int_equal(pthread_attr_getstack(&attr, &stack, &size), 0);
    pthread_attr_destroy(&attr);
    kit->stack_end = (unsigned char *)stack + size;
    kit_read_maps(kit);
}

void kit_release(struct kit *kit)
{
    unwind_files_free(kit->files);
}

/* A sanitizer sees reads of others' frames. */
__attribute__((no_sanitize("address"))) static void copy(unsigned char *to, const unsigned char *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = ((const volatile unsigned char *)from)[i];
}

/* Once more, by the rows that the first time remembered. */
static bool gives_again(struct kit *kit, const struct unwind_regs *regs, const struct unwind_dump *dump,
                        const struct kit_chain *chain)
{
    static uint64_t ips[KIT_FRAMES];
    struct unwind_outcome outcome;
    unsigned count = unwind_stack(&kit->target, regs, dump, ips, KIT_FRAMES, &outcome);
    bool same = count == chain->count && outcome.end == chain->end && outcome.top == chain->top;
    for (unsigned i = 0; same && i < count; i++)
        same = ips[i] == chain->ips[i];
    return same;
}

#if defined(__x86_64__)
enum { TRAP_FLAG = 0x100 };

static struct {
    void (*each)(const ucontext_t *context);
    volatile unsigned left;
} steps;

static void on_trap(int number, siginfo_t *info, void *context)
{
    ucontext_t *interrupted = context;
    (void)number;
    (void)info;
    if (steps.left == 0) {
        interrupted->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
        return;
    }
    steps.left--;
    interrupted->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
    steps.each(interrupted);
}

void kit_begin_steps(void (*each)(const ucontext_t *context), unsigned most)
{
    const struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    steps.each = each;
    steps.left = most;
    sigaction(SIGTRAP, &action, NULL);
    raise(SIGTRAP);
}

void kit_end_steps(void)
{
    steps.left = 0;
}
#endif

void kit_take(struct kit *kit, const ucontext_t *context, size_t size, struct unwind_regs *ret_regs,
              struct unwind_dump *ret_dump)
{
    *ret_regs = context_regs(context);
    const unsigned char *start = (const unsigned char *)ret_regs->value[UNWIND_SP]; /* NOLINT: an address by nature */
    size_t left = start < kit->stack_end ? (size_t)(kit->stack_end - start) : 0;
    bool full = left > (size < KIT_DUMP ? size : KIT_DUMP);
    if (full)
        left = size < KIT_DUMP ? size : KIT_DUMP;
    copy(kit->dump, start, left);
    *ret_dump = (struct unwind_dump){
        .bytes = kit->dump, .start = ret_regs->value[UNWIND_SP], .size = left, .full = full};
}

void kit_unwind(struct kit *kit, const ucontext_t *context, size_t size, struct kit_chain *ret)
{
    struct unwind_regs regs;
    struct unwind_dump dump;
    struct unwind_outcome outcome;
    kit_take(kit, context, size, &regs, &dump);
    ret->count = unwind_stack(&kit->target, &regs, &dump, ret->ips, KIT_FRAMES, &outcome);
    ret->end = outcome.end;
    ret->top = outcome.top;
    ret->same = gives_again(kit, &regs, &dump, ret);
}
