/* SPDX-License-Identifier: MIT */
#include "analyze/view/missing.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/sym/symbols.h"
#include "analyze/view/archive.h"
#include "analyze/view/coverage.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"
#include "analyze/view/text.h"
#include "common/report.h"

/* ---- Runtimes with JIT compilers ---- */

/* The first version of Java that can write a perf map, and the first in which that is no diagnostic option. */
#define JAVA_MAPS  17
#define JAVA_PLAIN 19

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* From JAVA_VERSION="17.0.15" in the file "release", in the directory above the program's; 1.8 is 8. 0: not known. */
static unsigned long java_version(const char *exec, const char *symfs)
{
    char text[4096];
    const char *slash = strrchr(exec, '/');
    char *path = memory_print("%s%.*s../release", symfs ? symfs : "", slash ? (int)(slash + 1 - exec) : 0, exec);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat status;
    bool regular = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    ssize_t size = regular ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    free(path);
    text[size > 0 ? size : 0] = '\0';
    const char *found = strstr(text, "JAVA_VERSION=\"");
    if (!found)
        return 0;
    found += strlen("JAVA_VERSION=\"");
    return strtoul(begins_with(found, "1.") ? found + 2 : found, NULL, 10);
}

static char *java_advice(const struct profile_task *task, const char *symfs)
{
    const unsigned long version = java_version(task->exec, symfs);
    if (version && version < JAVA_MAPS)
        return memory_print("Java %lu cannot write a perf map: Java 17 and later can (-XX:+DumpPerfMapAtExit)",
                            version);
    return memory_print("to get names, start the program with java%s -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer",
                        version >= JAVA_PLAIN ? "" : " -XX:+UnlockDiagnosticVMOptions");
}

char *runtime_advice(const struct profile_task *task, const char *symfs)
{
    static const struct {
        const char *name, *advice;
    } known[] = {
        {"node", "to get names, start the program with NODE_OPTIONS=--perf-basic-prof"},
        {"electron", "to get names, start the program with --js-flags=--perf-basic-prof"},
        {"chrom", "to get names, start the program with --js-flags=--perf-basic-prof --no-sandbox"},
        {"deno", "to get names, start the program with deno run --v8-flags=--perf-basic-prof"},
        {"dotnet", "to get names, start the program with DOTNET_PerfMapEnabled=1"},
        {"ruby", "to get names, start the program with RUBYOPT='--yjit --yjit-perf' (Ruby 3.3 and later)"},
        {"php", "to get names, start the program with php -d opcache.jit_debug=0x10"},
        {"julia", "to get names, start the program with ENABLE_JITPROFILING=1"},
        {"wasmtime", "to get names, start the program with wasmtime run --profile=perfmap"},
        {"python", "to get names, start the program with PYTHONPERFSUPPORT=1 (Python 3.12 and later)"},
        {"pypy", "PyPy writes no names for the code that it generates"},
    };
    const char *name = *task->exec ? text_base(task->exec) : task->comm;
    if (begins_with(name, "java"))
        return java_advice(task, symfs);
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (begins_with(name, known[i].name))
            return memory_text(known[i].advice);
    return NULL;
}

/* ---- DSOs without names ---- */

#define LEAST_PERCENT 1 /* from which on DSOs without names are reported */
#define MOST_DSOS     5

struct missing {
    struct view *view;
    struct map_strings dsos; /* with samples that have no name, */
    uint64_t *weights;       /* their weight, */
    uint32_t *tasks;         /* and the first task with such a sample; */
    size_t sampled;          /* the number of these DSOs */
    uint32_t told;
    void (*tell)(struct view *view, const char *line);
};

/* Memory without a file: its code only has names if its runtime writes them. */
static bool is_generated(const char *path)
{
    static const char *const beginnings[] = {"//anon", "/memfd:", "/dev/zero"};
    bool found = false;
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        found |= strncmp(path, beginnings[i], strlen(beginnings[i])) == 0;
    return found;
}

/* Whether an archive may have the names of the DSO PATH, which are missing for REASONS. */
static bool may_be_saved(const char *path, unsigned reasons)
{
    if (strcmp(path, "[kernel.kallsyms]") == 0)
        return reasons & (SYMBOLS_RESTRICTED | SYMBOLS_OTHER_KERNEL);
    return path[0] == '/' && path[1] != '/' && (reasons & (SYMBOLS_NO_FILE | SYMBOLS_OTHER_BUILD_ID));
}

char *missing_advice(const char *file, const char *path, unsigned reasons)
{
    char *packed = file && may_be_saved(path, reasons) ? archive_find_packed(file) : NULL;
    if (!packed)
        return NULL;
    char *slash = strrchr(packed, '/'), *directory = NULL;
    if (slash)
        directory = memory_print("%.*s", slash == packed ? 1 : (int)(slash - packed), packed);
    const char *words[] = {"tar", "xf", packed, "-C", directory};
    char *command = text_command(words, directory ? 5 : 3);
    char *advice = memory_print("the archive %s may contain the names; to unpack it, type: %s", packed, command);
    free(command);
    free(directory);
    free(packed);
    return advice;
}

static char *advice_for(const struct missing *missing, const struct profile_task *task, const char *path,
                        unsigned reasons)
{
    if (is_generated(path))
        return runtime_advice(task, missing->view->settings->symfs);
    return missing_advice(task->file, path, reasons);
}

static void report_dso(void *context, const char *path, const char *why, unsigned reasons)
{
    struct missing *missing = context;
    uint64_t whole = missing->view->selection->total_weight, weight = 0;
    uint32_t dso = map_strings_add(&missing->dsos, path);
    const struct profile_task *task = NULL;
    if (dso < missing->sampled) {
        weight = missing->weights[dso];
        missing->weights[dso] = 0;
        task = &missing->view->profile->tasks[missing->tasks[dso]];
    }
    if (text_share(weight, whole) < LEAST_PERCENT || missing->told >= MOST_DSOS)
        return;
    char share[TEXT_AMOUNT], *advice = task ? advice_for(missing, task, path, reasons) : NULL;
    char *line = memory_print("No names for %s of the samples, in %s: %s%s%s%s", text_percent(share, weight, whole),
                              path, why, reasons & SYMBOLS_OTHER_BUILD_ID ? " (rebuilt since the recording?)" : "",
                              advice ? "; " : "", advice ? advice : "");
    free(advice);
    missing->tell(missing->view, line);
    free(line);
    missing->told++;
}

static void find_unnamed(struct missing *missing)
{
    struct view *view = missing->view;
    const struct selection *selection = view->selection;
    size_t capacity = 0, task_capacity = 0;
    for (uint32_t i = 0; i < selection->entry_count; i++) {
        const struct profile_entry *entry = &view->profile->entries[selection->entries[i]];
        uint32_t leaf = view->profile->stacks[entry->stack].frames[0];
        struct names_function function = names_function(view->names, names_function_of(view->names, leaf));
        if (function.named)
            continue;
        size_t known = missing->dsos.count;
        uint32_t dso = map_strings_add(&missing->dsos, function.dso);
        missing->weights = memory_grow(missing->weights, &capacity, missing->dsos.count, sizeof(uint64_t));
        missing->tasks = memory_grow(missing->tasks, &task_capacity, missing->dsos.count, sizeof(uint32_t));
        if (dso >= known)
            missing->tasks[dso] = entry->task;
        missing->weights[dso] = entry->weight + (dso < known ? missing->weights[dso] : 0);
    }
    missing->sampled = missing->dsos.count;
}

static void report_missing(struct view *view, void (*tell)(struct view *view, const char *line))
{
    struct missing missing = {.view = view, .tell = tell};
    find_unnamed(&missing);
    names_missing(view->names, report_dso, &missing);
    map_strings_release(&missing.dsos);
    free(missing.weights);
    free(missing.tasks);
}

static void note_line(struct view *view, const char *line)
{
    (void)view;
    report_note("%s", line);
}

void missing_print(struct view *view)
{
    report_missing(view, coverage_say);
}

void missing_tell(struct view *view)
{
    report_missing(view, note_line);
}
