/* SPDX-License-Identifier: MIT */
/*
 * The Firefox Profiler's processed profile format. Version 60 is the first with one table of stacks, frames and
 * functions for all threads, and the last with plain tables; the profiler upgrades older versions when it loads them.
 * Times are in milliseconds since the start of the session.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/export.h"
#include "analyze/export/lives.h"
#include "analyze/export/sample_list.h"
#include "analyze/export/tree.h"
#include "analyze/view/memory.h"
#include "analyze/view/text.h"
#include "common/json.h"

#define PROCESSED_VERSION 60
#define GECKO_VERSION     30
#define MS(ns)            ((double)(ns) / 1e6)

enum { CATEGORY_OTHER, CATEGORY_USER, CATEGORY_KERNEL };
enum { RESOURCE_LIBRARY = 1 };

struct firefox {
    struct view *view;
    struct output_file *out;
    struct json json;
    struct tree tree;
    struct samples samples;
    size_t *first; /* by task: index of its first sample; samples.count: it has none */
    struct lives lives;
    struct map_strings strings;
    struct map functions;         /* (function of the tree, string of the file + 1) */
    struct map_strings resources; /* paths of DSOs */
    struct map files;             /* (string) */
    struct map symbols;           /* (address of a frame's own symbol, resource) */
    uint32_t *symbol_functions;   /* by number in `symbols` */
    size_t symbol_capacity;
    uint64_t start_ns;
};

static double since_start(const struct firefox *firefox, uint64_t time_ns)
{
    return time_ns > firefox->start_ns ? MS(time_ns - firefox->start_ns) : 0;
}

/* A list with COUNT times VALUE, or null if TEXT is NULL. */
static void put_repeated(struct json *json, const char *key, size_t count, const char *text, int64_t value)
{
    json_list(json, key);
    for (size_t i = 0; i < count; i++) {
        if (text)
            json_signed(json, NULL, value);
        else
            json_null(json, NULL);
    }
    json_end_list(json);
}

#define put_nulls(json, key, count)        put_repeated(json, key, count, NULL, 0)
#define put_value(json, key, count, value) put_repeated(json, key, count, "", value)

static void put_falses(struct json *json, const char *key, size_t count)
{
    json_list(json, key);
    for (size_t i = 0; i < count; i++)
        json_bool(json, NULL, false);
    json_end_list(json);
}

static uint32_t function_of(struct firefox *firefox, const struct tree_call *call)
{
    uint64_t file = call->file ? map_strings_add(&firefox->strings, call->file) + 1ull : 0;
    return map_add(&firefox->functions, call->function, file);
}

static void put_stacks(struct firefox *firefox)
{
    struct json *json = &firefox->json;
    uint32_t count = tree_node_count(&firefox->tree);
    json_object(json, "stackTable");
    json_list(json, "frame");
    for (uint32_t node = 1; node <= count; node++)
        json_unsigned(json, NULL, tree_label(&firefox->tree, node));
    json_end_list(json);
    json_list(json, "prefix");
    for (uint32_t node = 1; node <= count; node++) {
        uint32_t parent = tree_parent(&firefox->tree, node);
        if (parent == TREE_ROOT)
            json_null(json, NULL);
        else
            json_unsigned(json, NULL, parent - 1);
    }
    json_end_list(json);
    json_unsigned(json, "length", count);
    json_end_object(json);
}

/* JavaScript's numbers are exact up to 2^53. Higher addresses are of the kernel. */
static bool is_exact(uint64_t address)
{
    return address < 1ull << 53;
}

/* The symbol that contains the code of a frame. Inlined functions share it, which the profiler uses to mark them. */
static uint32_t symbol_of(struct firefox *firefox, const struct names_place *place)
{
    if (!is_exact(place->address) || !(place->named || place->bounded) || place->offset > place->address)
        return MAP_NONE;
    size_t known = firefox->symbols.count;
    uint32_t number = map_add(&firefox->symbols, place->address - place->offset,
                              map_strings_add(&firefox->resources, place->dso));
    if (number < known)
        return number;
    firefox->symbol_functions = memory_grow(firefox->symbol_functions, &firefox->symbol_capacity, known + 1,
                                            sizeof(*firefox->symbol_functions));
    firefox->symbol_functions[number] = place->function;
    return number;
}

/* The columns of the frame table, in order. */
enum frame_column { FRAME_ADDRESS, FRAME_INLINED, FRAME_CATEGORY, FRAME_FUNCTION, FRAME_SYMBOL, FRAME_LINE };

static void put_frame_value(struct firefox *firefox, enum frame_column column, const struct tree_call *call)
{
    struct json *json = &firefox->json;
    const struct names_place *place = names_frame(firefox->view->names, call->frame);
    switch (column) {
    case FRAME_ADDRESS:
        if (is_exact(place->address))
            json_unsigned(json, NULL, place->address);
        else
            json_signed(json, NULL, -1);
        break;
    case FRAME_INLINED: json_unsigned(json, NULL, call->inlined); break;
    case FRAME_CATEGORY: json_unsigned(json, NULL, place->kernel ? CATEGORY_KERNEL : CATEGORY_USER); break;
    case FRAME_FUNCTION: json_unsigned(json, NULL, function_of(firefox, call)); break;
    case FRAME_SYMBOL:
        if (symbol_of(firefox, place) != MAP_NONE)
            json_unsigned(json, NULL, symbol_of(firefox, place));
        else
            json_null(json, NULL);
        break;
    case FRAME_LINE:
        if (call->line)
            json_unsigned(json, NULL, call->line);
        else
            json_null(json, NULL);
        break;
    }
}

static void put_frames(struct firefox *firefox)
{
    static const struct {
        enum frame_column column;
        const char *name;
    } columns[] = {{FRAME_ADDRESS, "address"}, {FRAME_INLINED, "inlineDepth"}, {FRAME_CATEGORY, "category"},
                   {FRAME_FUNCTION, "func"},   {FRAME_SYMBOL, "nativeSymbol"}, {FRAME_LINE, "line"}};
    struct json *json = &firefox->json;
    uint32_t count = tree_label_count(&firefox->tree);
    json_object(json, "frameTable");
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        json_list(json, columns[i].name);
        for (uint32_t label = 0; label < count; label++)
            put_frame_value(firefox, columns[i].column, &firefox->tree.calls[label]);
        json_end_list(json);
    }
    put_value(json, "subcategory", count, 0);
    put_nulls(json, "innerWindowID", count);
    put_nulls(json, "column", count);
    json_unsigned(json, "length", count);
    json_end_object(json);
}

static void put_functions(struct firefox *firefox)
{
    struct json *json = &firefox->json;
    size_t count = firefox->functions.count;
    const struct map_pair *pairs = firefox->functions.pairs;
    json_object(json, "funcTable");
    json_list(json, "name");
    for (size_t i = 0; i < count; i++) {
        const char *symbol = tree_function(&firefox->tree, (uint32_t)pairs[i].a).symbol;
        json_unsigned(json, NULL, map_strings_add(&firefox->strings, symbol));
    }
    json_end_list(json);
    json_list(json, "resource");
    for (size_t i = 0; i < count; i++) {
        const char *dso = tree_function(&firefox->tree, (uint32_t)pairs[i].a).dso;
        json_unsigned(json, NULL, map_strings_add(&firefox->resources, dso));
    }
    json_end_list(json);
    json_list(json, "source");
    for (size_t i = 0; i < count; i++) {
        if (pairs[i].b)
            json_unsigned(json, NULL, map_add(&firefox->files, pairs[i].b - 1, 0));
        else
            json_null(json, NULL);
    }
    json_end_list(json);
    put_falses(json, "isJS", count);
    put_falses(json, "relevantForJS", count);
    put_nulls(json, "lineNumber", count);
    put_nulls(json, "columnNumber", count);
    json_unsigned(json, "length", count);
    json_end_object(json);
}

/* Every DSO is a resource and a library with the same number. */
static void put_resources(struct firefox *firefox)
{
    struct json *json = &firefox->json;
    size_t count = firefox->resources.count;
    json_object(json, "resourceTable");
    json_list(json, "lib");
    for (size_t i = 0; i < count; i++)
        json_unsigned(json, NULL, i);
    json_end_list(json);
    json_list(json, "name");
    for (size_t i = 0; i < count; i++) {
        const char *path = firefox->resources.texts[i];
        json_unsigned(json, NULL, map_strings_add(&firefox->strings, text_base(path)));
    }
    json_end_list(json);
    put_nulls(json, "host", count);
    put_value(json, "type", count, RESOURCE_LIBRARY);
    json_unsigned(json, "length", count);
    json_end_object(json);
}

static void put_symbols_and_sources(struct firefox *firefox)
{
    struct json *json = &firefox->json;
    const struct map *symbols = &firefox->symbols;
    json_object(json, "nativeSymbols");
    json_list(json, "libIndex");
    for (size_t i = 0; i < symbols->count; i++)
        json_unsigned(json, NULL, symbols->pairs[i].b);
    json_end_list(json);
    json_list(json, "address");
    for (size_t i = 0; i < symbols->count; i++)
        json_unsigned(json, NULL, symbols->pairs[i].a);
    json_end_list(json);
    json_list(json, "name");
    for (size_t i = 0; i < symbols->count; i++) {
        const char *symbol = names_function(firefox->view->names, firefox->symbol_functions[i]).symbol;
        json_unsigned(json, NULL, map_strings_add(&firefox->strings, symbol));
    }
    json_end_list(json);
    put_nulls(json, "functionSize", symbols->count);
    json_unsigned(json, "length", symbols->count);
    json_end_object(json);
    json_object(json, "sources");
    put_nulls(json, "uuid", firefox->files.count);
    json_list(json, "filename");
    for (size_t i = 0; i < firefox->files.count; i++)
        json_unsigned(json, NULL, firefox->files.pairs[i].a);
    json_end_list(json);
    json_unsigned(json, "length", firefox->files.count);
    json_end_object(json);
}

static void put_shared(struct firefox *firefox)
{
    struct json *json = &firefox->json;
    json_object(json, "shared");
    put_stacks(firefox);
    put_frames(firefox);
    put_functions(firefox);
    put_resources(firefox);
    put_symbols_and_sources(firefox);
    json_list(json, "stringArray");
    for (size_t i = 0; i < firefox->strings.count; i++)
        json_string(json, NULL, firefox->strings.texts[i]);
    json_end_list(json);
    json_end_object(json);
}

/* The first module of each path, by number of the path in RET_PATHS. Owned by the caller. */
static const struct profile_module **modules_by_path(const struct profile *profile, struct map_strings *ret_paths)
{
    const struct profile_module **list = memory_new(profile->module_count, sizeof(struct profile_module *));
    for (uint32_t i = 0; i < profile->module_count; i++) {
        uint32_t path = map_strings_add(ret_paths, profile->modules[i]->path);
        list[path] = list[path] ? list[path] : profile->modules[i];
    }
    return list;
}

static void put_libraries(struct firefox *firefox)
{
    struct json *json = &firefox->json;
    struct map_strings paths = {0};
    const struct profile_module **modules = modules_by_path(firefox->view->profile, &paths);
    size_t known = paths.count;
    json_list(json, "libs");
    for (size_t i = 0; i < firefox->resources.count; i++) {
        const char *path = firefox->resources.texts[i];
        uint32_t number = map_strings_add(&paths, path);
        const struct profile_module *module = number < known ? modules[number] : NULL;
        char hex[2 * 20 + 1] = "", id[34] = "000000000000000000000000000000000";
        for (size_t at = 0; module && at < module->build_id_size && at < 20; at++)
            snprintf(hex + 2 * at, 3, "%02x", module->build_id[at]);
        for (size_t at = 0; at < 32 && hex[at]; at++)
            id[at] = (char)(hex[at] >= 'a' ? hex[at] - 'a' + 'A' : hex[at]);
        json_object(json, NULL);
        json_string(json, "arch", firefox->view->profile->session.arch);
        json_string(json, "name", text_base(path));
        json_string(json, "path", path);
        json_string(json, "debugName", text_base(path));
        json_string(json, "debugPath", path);
        json_string(json, "breakpadId", id);
        json_string(json, "codeId", hex[0] ? hex : NULL);
        json_end_object(json);
    }
    json_end_list(json);
    map_strings_release(&paths);
    free(modules);
}

static void put_samples(struct firefox *firefox, const struct samples_item *items, size_t count)
{
    struct json *json = &firefox->json;
    const struct profile *profile = firefox->view->profile;
    bool time = profile->event_count && profile->events[profile->event].nanoseconds;
    json_object(json, "samples");
    json_list(json, "stack");
    for (size_t i = 0; i < count; i++)
        json_unsigned(json, NULL, items[i].node - 1);
    json_end_list(json);
    json_list(json, "time");
    for (size_t i = 0; i < count; i++)
        json_number(json, NULL, since_start(firefox, items[i].time_ns));
    json_end_list(json);
    json_list(json, "weight");
    for (size_t i = 0; i < count; i++) {
        if (time)
            json_number(json, NULL, MS(items[i].weight));
        else
            json_unsigned(json, NULL, items[i].weight);
    }
    json_end_list(json);
    if (time) {
        /* The CPU time since the previous sample. */
        json_list(json, "threadCPUDelta");
        for (size_t i = 0; i < count; i++)
            json_unsigned(json, NULL, items[i].weight);
        json_end_list(json);
    }
    json_string(json, "weightType", time ? "tracing-ms" : "samples");
    json_unsigned(json, "length", count);
    json_end_object(json);
}

static void put_markers(struct json *json)
{
    static const char *const columns[] = {"data", "name", "startTime", "endTime", "phase", "category"};
    json_object(json, "markers");
    for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
        put_nulls(json, columns[i], 0);
    json_unsigned(json, "length", 0);
    json_end_object(json);
}

static void put_thread(struct firefox *firefox, const struct profile_task *task, const struct life *life)
{
    struct json *json = &firefox->json;
    json_object(json, NULL);
    json_string(json, "processType", "default");
    json_number(json, "processStartupTime", since_start(firefox, life->start_ns));
    json_number(json, "registerTime", since_start(firefox, life->start_ns));
    json_number(json, "processShutdownTime", life->end_ns ? since_start(firefox, life->end_ns) : NAN);
    json_number(json, "unregisterTime", life->end_ns ? since_start(firefox, life->end_ns) : NAN);
    json_list(json, "pausedRanges");
    json_end_list(json);
    json_string(json, "name", life->comm);
    json_string(json, "processName", text_base(life->exec[0] ? life->exec : life->comm));
    json_bool(json, "isMainThread", task->pid == task->tid);
    json_string(json, "pid", life->pid);
    json_signed(json, "tid", task->tid);
    put_markers(json);
    put_samples(firefox, firefox->samples.items ? firefox->samples.items + life->from : NULL, life->count);
    json_end_object(json);
}

static void put_task(struct firefox *firefox, const struct profile_task *task)
{
    size_t from = firefox->first[task->index];
    struct life life;
    for (uint32_t i = 0; i < lives_count(task); i++) {
        if (!lives_get(&firefox->lives, &firefox->samples, task, i, from, &life))
            continue;
        put_thread(firefox, task, &life);
        from += life.count;
    }
}

static void put_category(struct json *json, const char *name, const char *color)
{
    json_object(json, NULL);
    json_string(json, "name", name);
    json_string(json, "color", color);
    json_list(json, "subcategories");
    json_string(json, NULL, "Other");
    json_end_list(json);
    json_end_object(json);
}

static double interval_of(const struct profile *profile)
{
    const struct profile_event *event = profile->event_count ? &profile->events[profile->event] : NULL;
    if (event && event->sample_value && event->frequency)
        return 1000.0 / (double)event->sample_value;
    return event && event->nanoseconds && event->sample_value ? MS(event->sample_value) : 1;
}

static void put_meta(struct firefox *firefox)
{
    const struct profile *profile = firefox->view->profile;
    const struct profile_session *session = &profile->session;
    struct json *json = &firefox->json;
    char *command = text_command(session->arguments, session->argument_count);
    json_object(json, "meta");
    json_unsigned(json, "preprocessedProfileVersion", PROCESSED_VERSION);
    json_unsigned(json, "version", GECKO_VERSION);
    json_number(json, "interval", interval_of(profile));
    json_number(json, "startTime", MS(session->start_realtime_ns));
    json_unsigned(json, "processType", 0);
    json_string(json, "product", command[0] ? command : "pinject");
    json_string(json, "importedFrom", "pinject");
    json_string(json, "arguments", command);
    json_unsigned(json, "stackwalk", 1);
    json_string(json, "platform", "Linux");
    json_string(json, "oscpu", session->osrelease);
    json_string(json, "CPUName", session->cpudesc);
    json_unsigned(json, "logicalCPUs", session->cpus);
    json_bool(json, "symbolicated", true);
    json_bool(json, "symbolicationNotSupported", true);
    json_bool(json, "usesOnlyOneStackType", true);
    json_bool(json, "sourceCodeIsNotOnSearchfox", true);
    json_object(json, "sampleUnits");
    json_string(json, "time", "ms");
    json_string(json, "eventDelay", "ms");
    json_string(json, "threadCPUDelta", "ns");
    json_end_object(json);
    json_list(json, "markerSchema");
    json_end_list(json);
    json_list(json, "categories");
    put_category(json, "Other", "grey");
    put_category(json, "User", "yellow");
    put_category(json, "Kernel", "orange");
    json_end_list(json);
    json_end_object(json);
    free(command);
}

static void put_profile(struct firefox *firefox)
{
    struct json *json = &firefox->json;
    const struct profile *profile = firefox->view->profile;
    json_object(json, NULL);
    put_meta(firefox);
    json_list(json, "threads");
    for (uint32_t i = 0; i < profile->task_count && !output_file_is_over(firefox->out); i++)
        if (firefox->view->selection->tasks[i])
            put_task(firefox, &profile->tasks[i]);
    json_end_list(json);
    put_shared(firefox);
    put_libraries(firefox);
    json_end_object(json);
}

int firefox_write(struct view *view, struct output_file *out)
{
    struct firefox firefox = {.view = view, .out = out, .json = {.to = out->to}};
    uint32_t count = view->profile->task_count;
    firefox.start_ns = view->profile->session.start_ns;
    tree_init(&firefox.tree, view, false);
    int status = samples_collect(&firefox.samples, view, out, &firefox.tree);
    firefox.first = memory_new(count, sizeof(*firefox.first));
    for (uint32_t i = 0; i < count; i++)
        firefox.first[i] = firefox.samples.count;
    for (size_t at = 0; at < firefox.samples.count; at = samples_end(&firefox.samples, at))
        firefox.first[firefox.samples.items[at].task] = at;
    lives_init(&firefox.lives, view->profile, view->selection->tasks, &firefox.samples);
    if (status == 0)
        put_profile(&firefox);
    lives_release(&firefox.lives);
    tree_release(&firefox.tree);
    samples_release(&firefox.samples);
    map_strings_release(&firefox.strings);
    map_release(&firefox.functions);
    map_strings_release(&firefox.resources);
    map_release(&firefox.files);
    map_release(&firefox.symbols);
    free(firefox.symbol_functions);
    free(firefox.first);
    return status;
}
