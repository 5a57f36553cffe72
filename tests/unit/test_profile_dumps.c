/* SPDX-License-Identifier: MIT */
/* analyze/model/dumps.h: dumps of this program's own stack, in files that are here, elsewhere, or others. */
#include "profile_kit.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "analyze/sym/elf_file.h"
#include "unwind/unwind.h"

#define UNKNOWN_ID "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24"

enum { DUMP = 32 << 10, CALLERS = 4 };
/* Places among perf's registers. */
#if defined(__aarch64__)
enum { REGS = 33, BP = 29, LINK, SP, IP };
#define ARCH          "aarch64"
#define VDSO_FUNCTION "__kernel_clock_gettime"
#else
enum { REGS = 17, BP = 6, SP, IP };
#define ARCH          "x86_64"
#define VDSO_FUNCTION "__vdso_clock_gettime"
#endif

/* What a sample would have of this program in the innermost function. */
static struct {
    uint64_t regs[REGS];       /* as perf orders them; those that a function need not keep are 0 */
    uint64_t returns[CALLERS]; /* where its callers go on */
    unsigned char stack[DUMP];
    size_t size;
} taken;

static char program[4096]; /* this one */

#define RETURN_ADDRESS ((uint64_t)(uintptr_t)__builtin_return_address(0))

__attribute__((noinline)) static void take(void)
{
    taken.returns[0] = RETURN_ADDRESS;
#if defined(__aarch64__)
    __asm__ volatile("stp x19, x20, [%0, #152]\n\t"
                     "stp x21, x22, [%0, #168]\n\t"
                     "stp x23, x24, [%0, #184]\n\t"
                     "stp x25, x26, [%0, #200]\n\t"
                     "stp x27, x28, [%0, #216]\n\t"
                     "stp x29, x30, [%0, #232]\n\t"
                     "mov x9, sp\n\t"
                     "adr x10, .\n\t"
                     "stp x9, x10, [%0, #248]"
                     :
                     : "r"(taken.regs)
                     : "x9", "x10", "memory");
#else
    __asm__ volatile("movq %%rbx, 8(%0)\n\t"
                     "movq %%rbp, 48(%0)\n\t"
                     "movq %%rsp, 56(%0)\n\t"
                     "movq %%r12, 104(%0)\n\t"
                     "movq %%r13, 112(%0)\n\t"
                     "movq %%r14, 120(%0)\n\t"
                     "movq %%r15, 128(%0)\n\t"
                     "leaq 0(%%rip), %%rax\n\t"
                     "movq %%rax, 64(%0)"
                     :
                     : "D"(taken.regs)
                     : "rax", "memory");
#endif
    int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    ssize_t got = pread(memory, taken.stack, DUMP, (off_t)taken.regs[SP]);
    close(memory);
    /* Less where the stack ends. */
    assert_true(got >= 1024);
    taken.size = (size_t)got / 8 * 8;
}

__attribute__((noinline)) static void first(void)
{
    taken.returns[1] = RETURN_ADDRESS;
    take();
    __asm__ volatile("");
}

__attribute__((noinline)) static void second(void)
{
    taken.returns[2] = RETURN_ADDRESS;
    first();
    __asm__ volatile("");
}

__attribute__((noinline)) static void third(void)
{
    taken.returns[3] = RETURN_ADDRESS;
    second();
    __asm__ volatile("");
}

struct scene {
    const char *path;     /* of this program, as it was mapped; NULL: as it is */
    const char *build_id; /* of its mapping; NULL: none */
    size_t build_id_size;
    const char *osrelease;
    const uint64_t *chain; /* of the sample, */
    uint64_t chain_count;
    uint16_t mode;
    const uint64_t *regs; /* stack pointer and address instead of the real ones */
    bool no_frame;        /* the frame pointer leads nowhere */
    const void *stack;    /* instead of the real one */
    size_t stack_size;    /* 0: all of it */
    size_t dump;          /* that was asked for; 0: more than there is */
    const char *symfs, *debug_path;
};

static void put_map(struct writer *writer, uint64_t start, uint64_t end, uint64_t offset, const char *path,
                    const char *build_id, size_t build_id_size)
{
    struct buffer *data = &writer->data;
    writer_begin(writer, PERF_RECORD_MMAP2, USER | (build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0));
    writer_u32(writer, data, writer->pid);
    writer_u32(writer, data, writer->tid);
    writer_u64(writer, data, start);
    writer_u64(writer, data, end - start);
    writer_u64(writer, data, offset);
    unsigned char *file_id = buffer_extend(data, 24);
    if (build_id) {
        file_id[0] = (unsigned char)build_id_size;
        memcpy(file_id + 4, build_id, build_id_size);
    }
    writer_u64(writer, data, 5);
    buffer_string(data, path);
    writer_end(writer);
}

static void put_maps(struct writer *writer, const struct scene *scene)
{
    char line[4096], path[2048], access[5];
    uint64_t start, end, offset;
    FILE *maps = fopen("/proc/self/maps", "re");
    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps)) {
        path[0] = '\0';
        int fields = sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %2047[^\n]", &start, &end, access,
                            &offset, path);
        if (fields < 5 || access[2] != 'x')
            continue;
        bool own = strcmp(path, program) == 0;
        put_map(writer, start, end, offset, own && scene->path ? scene->path : path, own ? scene->build_id : NULL,
                scene->build_id_size);
    }
    fclose(maps);
}

static void put_sample(struct writer *writer, const struct scene *scene)
{
    uint64_t regs[REGS];
    memcpy(regs, taken.regs, sizeof(regs));
    if (scene->regs)
        memcpy(regs + SP, scene->regs, 2 * sizeof(*regs));
#if defined(__aarch64__)
    if (scene->regs)
        regs[LINK] = taken.returns[0];
#endif
    if (scene->regs || scene->no_frame)
        regs[BP] = 1;
    size_t size = scene->stack_size ? scene->stack_size : taken.size, dump = scene->dump ? scene->dump : size + 4096;
    struct buffer *data = &writer->data;
    writer_sample(writer, 0, scene->mode ? scene->mode : USER, scene->mode == KERNEL ? scene->chain[1] : regs[IP], 1,
                  scene->chain, scene->chain_count);
    writer_u64(writer, data, PERF_SAMPLE_REGS_ABI_64);
    for (size_t i = 0; i < REGS; i++)
        writer_u64(writer, data, regs[i]);
    writer_u64(writer, data, dump);
    unsigned char *to = buffer_extend(data, dump);
    memcpy(to, scene->stack ? scene->stack : taken.stack, size < dump ? size : dump);
    writer_u64(writer, data, size < dump ? size : dump);
    writer_end(writer);
}

static struct profile *load_scene(const struct scene *scene, struct buffer *bytes)
{
    struct writer writer;
    struct profile *profile = NULL;
    const char *debug_paths[] = {scene->debug_path};
    const struct profile_options options = {
        .threads = 1, .symfs = scene->symfs, .debug_paths = debug_paths, .debug_path_count = !!scene->debug_path};
    begin(&writer, 10, 10);
    writer.attrs[0].sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    writer.attrs[0].sample_regs_user = UNWIND_PERF_REGS;
    writer_text(&writer, &writer.features[PERFDATA_ARCH], ARCH);
    if (scene->osrelease)
        writer_text(&writer, &writer.features[PERFDATA_OSRELEASE], scene->osrelease);
    put_maps(&writer, scene);
    put_sample(&writer, scene);
    writer_finish(&writer, bytes);
    assert_int_equal(profile_load_memory(bytes->data, bytes->size, &options, &profile), 0);
    writer_release(&writer);
    assert_int_equal(profile->entry_count, 1);
    return profile;
}

static bool has_note(const struct profile *profile, const char *text)
{
    for (uint32_t i = 0; i < profile->session.note_count; i++)
        if (strstr(profile->session.notes[i], text))
            return true;
    return false;
}

static const struct profile_frame *frame_at(const struct profile *profile, uint32_t i)
{
    const struct profile_stack *stack = &profile->stacks[profile->entries[0].stack];
    assert_true(i < stack->depth);
    return &profile->frames[stack->frames[i]];
}

/* From frame AT on the stack is that of take() and its callers. */
static void expect_callers(const struct profile *profile, uint32_t at)
{
    assert_int_equal(frame_at(profile, at)->ip, taken.regs[IP]);
    assert_false(frame_at(profile, at)->caller);
    for (uint32_t i = 0; i < CALLERS; i++) {
        const struct profile_frame *frame = frame_at(profile, at + 1 + i);
        assert_int_equal(frame->ip, taken.returns[i]);
        assert_true(frame->caller);
        assert_ptr_equal(frame->module, frame_at(profile, at)->module);
    }
}

/* Whether the callers are there; else there is the first frame alone, and that is said. */
static void check_scene(const struct scene *which, bool unwound)
{
    struct scene scene = *which;
    /* Without tables frame pointers are followed, where a build has them. */
    scene.no_frame = !unwound;
    struct buffer bytes = BUFFER_INIT;
    struct profile *profile = load_scene(&scene, &bytes);
    if (unwound) {
        expect_callers(profile, 0);
        /* The C library is not below another root; that of AArch64 has frame pointers. */
        const bool ends = scene.symfs && UNWIND_RETURN == UNWIND_IP;
        assert_int_equal(has_note(profile, "1 ended in code with a missing unwind table or file"), ends);
        assert_int_equal(profile->session.note_count, ends);
        assert_false(profile->stacks[profile->entries[0].stack].truncated);
    } else {
        assert_int_equal(profile->stacks[profile->entries[0].stack].depth, 1);
        assert_true(has_note(profile, "1 of 1 stacks could not be unwound completely: 1 ended in code with "));
    }
    profile_free(profile);
    buffer_release(&bytes);
}

static void test_as_mapped(void **state)
{
    (void)state;
    check_scene(&(struct scene){0}, true);
    check_scene(&(struct scene){.path = "/nowhere/program"}, false);
    check_scene(&(struct scene){.path = "//anon"}, false);
    check_scene(&(struct scene){.path = "relative"}, false);
}

static struct elf_file own;

/* Tables of another file would lead anywhere. */
static void test_build_ids(void **state)
{
    (void)state;
    const char *id = (const char *)own.build_id;
    char deleted[sizeof(program) + 16];
    snprintf(deleted, sizeof(deleted), "%s (deleted)", program);
    check_scene(&(struct scene){.build_id = id, .build_id_size = own.build_id_size}, true);
    check_scene(&(struct scene){.build_id = UNKNOWN_ID, .build_id_size = 20}, false);
    /* One that was deleted is taken only where it is known to be the same again. */
    check_scene(&(struct scene){.path = deleted}, false);
    check_scene(&(struct scene){.path = deleted, .build_id = id, .build_id_size = own.build_id_size}, true);
    check_scene(&(struct scene){.path = deleted, .build_id = UNKNOWN_ID, .build_id_size = 20}, false);
    check_scene(&(struct scene){.path = " (deleted)", .build_id = id, .build_id_size = own.build_id_size}, false);
}

static void test_symfs(void **state)
{
    (void)state;
    const char *id = (const char *)own.build_id, *root = in_directory("root");
    assert_int_equal(mkdir(root, 0700), 0);
    assert_int_equal(symlink(program, in_directory("root/program")), 0);
    check_scene(&(struct scene){.path = "/program", .symfs = root}, true);
    check_scene(&(struct scene){.path = "/other", .symfs = root}, false);
    check_scene(&(struct scene){.path = "/program", .symfs = root, .build_id = UNKNOWN_ID, .build_id_size = 20}, false);
    check_scene(
        &(struct scene){
            .path = "/program (deleted)", .symfs = root, .build_id = id, .build_id_size = own.build_id_size},
        true);
}

/* In a directory of build-ids, whatever is where the program was. */
static void test_debug_paths(void **state)
{
    (void)state;
    const char *id = (const char *)own.build_id, *debug = in_directory("debug");
    char path[256], *at = path;
    at += snprintf(path, sizeof(path), "%s", debug);
    assert_int_equal(mkdir(path, 0700), 0);
    at += sprintf(at, "/.build-id");
    assert_int_equal(mkdir(path, 0700), 0);
    at += sprintf(at, "/%02x", own.build_id[0]);
    assert_int_equal(mkdir(path, 0700), 0);
    *at++ = '/';
    for (size_t i = 1; i < own.build_id_size; i++)
        at += sprintf(at, "%02x", own.build_id[i]);
    assert_int_equal(symlink(program, path), 0);
    struct scene scene = {.path = "/nowhere/program", .debug_path = debug};
    check_scene(&scene, false);
    scene.build_id = id;
    scene.build_id_size = own.build_id_size;
    check_scene(&scene, true);
    scene.path = "/bin/sh";
    check_scene(&scene, true);
    scene.debug_path = NULL;
    check_scene(&scene, false);
}

/* The kernel's part is in front, as it was recorded. */
static void test_kernel_part(void **state)
{
    (void)state;
    const uint64_t chain[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff81000021};
    const struct scene scene = {.mode = KERNEL, .chain = chain, .chain_count = 3};
    struct buffer bytes = BUFFER_INIT;
    struct profile *profile = load_scene(&scene, &bytes);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(frame_at(profile, i)->ip, chain[1 + i]);
        assert_true(frame_at(profile, i)->kernel);
    }
    expect_callers(profile, 2);
    assert_false(frame_at(profile, 2)->kernel);
    profile_free(profile);
    buffer_release(&bytes);
}

/* Where there is a part of user space it is the better one. */
static void test_user_part_recorded(void **state)
{
    (void)state;
    const uint64_t chain[] = {PERF_CONTEXT_USER, taken.regs[IP], 0x4444};
    const struct scene scene = {.chain = chain, .chain_count = 3};
    struct buffer bytes = BUFFER_INIT;
    struct profile *profile = load_scene(&scene, &bytes);
    assert_int_equal(profile->stacks[profile->entries[0].stack].depth, 2);
    assert_int_equal(frame_at(profile, 1)->ip, 0x4444);
    assert_int_equal(profile->session.note_count, 0);
    profile_free(profile);
    buffer_release(&bytes);
}

/* The dump ends before the stack does, because no more was asked for; or because no more could be read. */
static void test_short_dumps(void **state)
{
    (void)state;
    for (int full = 0; full < 2; full++) {
        const struct scene scene = {.stack_size = 8, .dump = full ? 8 : 16};
        struct buffer bytes = BUFFER_INIT;
        struct profile *profile = load_scene(&scene, &bytes);
        assert_true(profile->stacks[profile->entries[0].stack].depth < 1 + CALLERS);
        assert_int_equal(profile->stacks[profile->entries[0].stack].truncated, full);
        assert_int_equal(profile->session.note_count, 1);
        assert_true(has_note(profile, full ? "1 of 1 stacks are deeper than the part of the stack that was recorded"
                                           : "0 ended in code with a missing unwind table or file, 1 ended at "
                                             "memory"));
        profile_free(profile);
        buffer_release(&bytes);
    }
}

/* Code that the kernel brings along is that of the running kernel, and of no other one. */
static void test_vdso(void **state)
{
    (void)state;
    void *vdso = dlopen("linux-vdso.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *entry = vdso ? dlsym(vdso, VDSO_FUNCTION) : NULL;
    if (!entry)
        skip();
    struct utsname name;
    assert_int_equal(uname(&name), 0);
    const uint64_t regs[] = {0x700000001000, (uint64_t)(uintptr_t)entry};
    const uint64_t stack[64] = {taken.returns[0]}; /* where x86-64 has it at the first instruction */
    for (int other = 0; other < 3; other++) {
        const struct scene scene = {.regs = regs,
                                    .stack = stack,
                                    .stack_size = sizeof(stack),
                                    .osrelease = other == 0   ? NULL
                                                 : other == 1 ? name.release
                                                              : "0.0.1-other"};
        struct buffer bytes = BUFFER_INIT;
        struct profile *profile = load_scene(&scene, &bytes);
        assert_string_equal(frame_at(profile, 0)->module->path, "[vdso]");
        if (other == 2)
            assert_int_equal(profile->stacks[profile->entries[0].stack].depth, 1);
        else
            assert_int_equal(frame_at(profile, 1)->ip, taken.returns[0]);
        profile_free(profile);
        buffer_release(&bytes);
    }
    dlclose(vdso);
}

static int make_directory(void **state)
{
    (void)state;
    ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (length < 0 || !mkdtemp(directory) || elf_file_init(&own, program) < 0 || own.build_id_size != 20)
        return -1;
    third();
    return 0;
}

static int remove_directory(void **state)
{
    (void)state;
    char command[128];
    elf_file_release(&own);
    snprintf(command, sizeof(command), "rm -r '%s'", directory);
    return system(command); /* NOLINT(cert-env33-c): a name of mkdtemp() */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_mapped),   cmocka_unit_test(test_build_ids),
        cmocka_unit_test(test_symfs),       cmocka_unit_test(test_debug_paths),
        cmocka_unit_test(test_kernel_part), cmocka_unit_test(test_user_part_recorded),
        cmocka_unit_test(test_short_dumps), cmocka_unit_test(test_vdso),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
