/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pinject/kernel.h>
#include <string.h>

#include "analyze/model/replay.h"

#define KERNEL    "[kernel.kallsyms]"
#define OTHER_PID 0xffffffffu /* pid of the kernel's mappings */

struct named_mapping {
    uint32_t pid, tid;
    struct mapping place;
    const unsigned char *build_id;
    size_t build_id_size;
    const char *path;
    size_t path_size;
};

/* The index of the build-id of PATH, or LOOKUP_NONE. */
static uint32_t find_path(const struct replay *replay, const char *path, bool kernel)
{
    struct lookup_walk walk = lookup_start(&replay->build_id_lookup, lookup_mix(5 + kernel, (uintptr_t)path));
    for (uint32_t i; (i = lookup_next(&walk)) != LOOKUP_NONE;)
        if (replay->build_id_paths[i] == path && replay->file->features.build_ids[i].kernel == kernel)
            return i;
    return LOOKUP_NONE;
}

int maps_start(struct replay *replay)
{
    const struct features *features = &replay->file->features;
    replay->build_id_paths = calloc(features->build_id_count + (size_t)1, sizeof(char *));
    if (!replay->build_id_paths)
        return -ENOMEM;
    for (uint32_t i = 0; i < features->build_id_count; i++) {
        const struct feature_build_id *item = &features->build_ids[i];
        const char *path = store_string(&replay->loader->store, item->path);
        if (!path)
            return -ENOMEM;
        if (find_path(replay, path, item->kernel) != LOOKUP_NONE)
            continue;
        replay->build_id_paths[i] = path;
        if (lookup_add(&replay->build_id_lookup, lookup_mix(5 + item->kernel, (uintptr_t)path), i) < 0)
            return -ENOMEM;
    }
    return 0;
}

static bool parse_mapping(const struct record *record, struct named_mapping *ret)
{
    struct cursor payload = record_cursor(record);
    *ret = (struct named_mapping){.pid = cursor_u32(&payload)};
    ret->tid = cursor_u32(&payload);
    ret->place.start = cursor_u64(&payload);
    uint64_t size = cursor_u64(&payload);
    ret->place.pgoff = cursor_u64(&payload);
    /* An end beyond the last address becomes the last address. */
    ret->place.end = size <= UINT64_MAX - ret->place.start ? ret->place.start + size : UINT64_MAX;
    if (record->type == PERF_RECORD_MMAP2) {
        const unsigned char *file_id = cursor_bytes(&payload, 24); /* a build id, or device and inode */
        cursor_u64(&payload);                                      /* prot, flags */
        if (file_id && (record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
            ret->build_id_size = file_id[0] <= FEATURE_ID_SIZE ? file_id[0] : FEATURE_ID_SIZE;
            ret->build_id = file_id + 4;
        }
    }
    ret->path = (const char *)payload.at;
    ret->path_size = strnlen(ret->path, cursor_left(&payload));
    return !payload.failed && ret->path_size > 0;
}

static bool starts_with(const char *text, size_t size, const char *with)
{
    return size >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

static void find_build_id(const struct replay *replay, struct profile_module *module)
{
    uint32_t i = find_path(replay, module->path, module->kernel);
    if (i == LOOKUP_NONE)
        return;
    module->build_id = replay->file->features.build_ids[i].id;
    module->build_id_size = replay->file->features.build_ids[i].size;
}

/* The process that NAMED is in; LOOKUP_NONE: out of memory. */
static uint32_t process_of(struct replay *replay, const struct named_mapping *named)
{
    return replay->own != LOOKUP_NONE ? replay->threads[replay->own].process
                                      : threads_process(replay, (int32_t)named->pid);
}

/* Adds PLACE to SPACE, unless there are too many mappings. 0 or -ENOMEM. */
static int keep_mapping(struct replay *replay, struct space *space, const struct mapping *place)
{
    int status = space_map(space, &replay->limits, place);
    replay->mappings_refused |= status == -ENOSPC;
    return status == -ENOSPC ? 0 : status;
}

/* The same for data. */
static int keep_data(struct replay *replay, struct process *process, const struct mapping *place)
{
    int status = space_map(&process->data, &replay->data_limits, place);
    replay->data_refused |= status == -ENOSPC;
    return status == -ENOSPC ? 0 : status;
}

/* Gives NAMED its module. 0 or -ENOMEM; RET_PROCESS is the process that NAMED is in, RET_PATH the module's path. */
static int name_mapping(struct replay *replay, struct named_mapping *named, bool code, struct process **ret_process,
                        const char **ret_path)
{
    uint32_t index = process_of(replay, named);
    struct profile_module module = {.path = store_text(&replay->loader->store, named->path, named->path_size),
                                    .build_id = named->build_id,
                                    .build_id_size = named->build_id_size};
    if (index == LOOKUP_NONE || !module.path)
        return -ENOMEM;
    struct process *process = *ret_process = &replay->processes[index];
    *ret_path = module.path;
    if (code && code_take_dump(replay->loader, process->pid, module.path) < 0)
        return -ENOMEM;
    if (code_is_generated(named->path, named->path_size))
        module.pid = process->pid;
    else if (module.build_id_size == 0)
        find_build_id(replay, &module);
    named->place.module = store_module(&replay->loader->store, &module);
    return named->place.module == LOOKUP_NONE ? -ENOMEM : 0;
}

static int map_data(struct replay *replay, struct named_mapping *named)
{
    struct process *process;
    const char *path;
    const int status = name_mapping(replay, named, false, &process, &path);
    return status == 0 ? keep_data(replay, process, &named->place) : status;
}

static int map_user(struct replay *replay, struct named_mapping *named)
{
    struct process *process;
    const char *path;
    int status = name_mapping(replay, named, true, &process, &path);
    if (status < 0)
        return status;
    if (process->exec_wanted && named->path[0] == '/' && named->path[1] != '/') {
        process->exec_wanted = false;
        process->exec = path;
        uint32_t leader = threads_get(replay, process->pid, process->pid);
        struct task *task = leader == LOOKUP_NONE ? NULL : threads_task(replay, &replay->threads[leader]);
        if (task && task->generation_count > 0 && !task->generations[task->generation_count - 1].shown.exec[0])
            task->generations[task->generation_count - 1].shown.exec = path;
    }
    status = keep_mapping(replay, &process->space, &named->place);
    return status == 0 && replay->loader->data_wanted ? keep_data(replay, process, &named->place) : status;
}

/* "[kernel.kallsyms]_text" is the kernel's text; its pgoff is the address of _text at that time. */
static int take_kernel_reference(struct replay *replay, const struct named_mapping *named)
{
    struct profile_session *session = &replay->loader->profile.session;
    size_t prefix = strlen(KERNEL);
    if (replay->each || session->kernel_reference || named->path_size <= prefix)
        return 0;
    session->kernel_reference = store_text(&replay->loader->store, named->path + prefix, named->path_size - prefix);
    session->kernel_reference_address = named->place.pgoff;
    return session->kernel_reference ? 0 : -ENOMEM;
}

/* Takes the kernel's build-id, unless a feature section has it. */
static int take_kernel_id(struct replay *replay, const struct named_mapping *named)
{
    struct profile_session *session = &replay->loader->profile.session;
    if (replay->each || session->kernel_build_id_size || !named->build_id_size)
        return 0;
    session->kernel_build_id = arena_copy(&replay->loader->store.arena, named->build_id, named->build_id_size);
    if (!session->kernel_build_id)
        return -ENOMEM;
    session->kernel_build_id_size = named->build_id_size;
    return 0;
}

/* "[ext4]", as in the kernel's symbol list, for "/lib/modules/6.1.0/kernel/fs/ext4/ext4.ko.xz". */
static const char *module_name(struct store *store, const char *path, size_t size)
{
    const char *slash = memrchr(path, '/', size);
    if (!slash)
        return store_text(store, path, size);
    const char *name = slash + 1;
    size_t length = size - (size_t)(name - path);
    const char *suffix = memmem(name, length, ".ko", 3);
    if (suffix)
        length = (size_t)(suffix - name);
    char text[256];
    if (length > sizeof(text) - 3)
        return store_text(store, path, size);
    text[0] = '[';
    for (size_t i = 0; i < length; i++)
        text[i + 1] = name[i] == '-' ? '_' : name[i];
    text[length + 1] = ']';
    return store_text(store, text, length + 2);
}

static int map_kernel(struct replay *replay, struct named_mapping *named)
{
    bool core = starts_with(named->path, named->path_size, KERNEL);
    named->place.module = replay->loader->chain.kernel_module;
    if (core && (take_kernel_reference(replay, named) < 0 || take_kernel_id(replay, named) < 0))
        return -ENOMEM;
    if (!core) {
        struct profile_module module = {.path = module_name(&replay->loader->store, named->path, named->path_size),
                                        .kernel = true,
                                        .build_id = named->build_id,
                                        .build_id_size = named->build_id_size};
        if (!module.path)
            return -ENOMEM;
        if (module.build_id_size == 0)
            find_build_id(replay, &module);
        named->place.module = store_module(&replay->loader->store, &module);
    }
    if (named->place.module == LOOKUP_NONE)
        return -ENOMEM;
    return keep_mapping(replay, &replay->kernel, &named->place);
}

int maps_take(struct replay *replay, const struct record *record)
{
    struct named_mapping named;
    const bool data = record->misc & PERF_RECORD_MISC_MMAP_DATA; /* it has no code */
    if ((data && !replay->loader->data_wanted) || !parse_mapping(record, &named))
        return 0;
    switch (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) {
    case PERF_RECORD_MISC_KERNEL: return data ? 0 : map_kernel(replay, &named);
    case PERF_RECORD_MISC_GUEST_KERNEL:
    case PERF_RECORD_MISC_GUEST_USER: return 0;
    default: return named.pid == OTHER_PID ? 0 : data ? map_data(replay, &named) : map_user(replay, &named);
    }
}
