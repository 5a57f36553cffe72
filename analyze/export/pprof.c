/* SPDX-License-Identifier: MIT */
/*
 * pprof's profile.proto. Every sampled event gives two types of values, its samples and their weight. A sample of the
 * format is the sum for one task, comm and stack; pid, tid and comm are its labels.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/export/export.h"
#include "analyze/export/proto.h"
#include "analyze/export/tree.h"
#include "analyze/export/utf8.h"
#include "analyze/view/memory.h"
#include "analyze/view/text.h"
#include "common/report.h"

/* Fields of the messages, by message. */
enum {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE,
    PROFILE_MAPPING,
    PROFILE_LOCATION,
    PROFILE_FUNCTION,
    PROFILE_STRINGS,
    PROFILE_TIME = 9,
    PROFILE_DURATION,
    PROFILE_PERIOD_TYPE,
    PROFILE_PERIOD,
    PROFILE_COMMENT,
    PROFILE_DEFAULT_TYPE
};
enum { TYPE_NAME = 1, TYPE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };
enum {
    MAPPING_ID = 1,
    MAPPING_LIMIT = 3,
    MAPPING_FILE = 5,
    MAPPING_BUILD_ID,
    MAPPING_FUNCTIONS,
    MAPPING_FILENAMES,
    MAPPING_LINES,
    MAPPING_INLINES
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_NUMBER };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE };

/* One sample of the format. */
struct group {
    uint32_t task, stack;
    const char *comm;
    struct map_pair *values; /* by event: samples, weight */
};

struct pprof {
    struct view *view;
    struct output_file *out;
    struct map_strings strings;
    struct tree tree;     /* used only for its functions */
    struct map functions; /* (function of the tree, string of the file) */
    bool *located;        /* by frame: some sample has it */
    uint64_t *limits;     /* by module: the highest address + 1 */
    struct map groups;
    struct group *group_list;
    size_t group_capacity;
    uint32_t *column; /* by event of the profile: number among the sampled ones; MAP_NONE: not sampled */
    uint32_t columns;
    bool lines;
    struct buffer message, part, packed;
    bool failed; /* out of memory */
};

static uint32_t string_of(struct pprof *pprof, const char *text)
{
    char *clean = utf8_clean(text);
    uint32_t string = map_strings_add(&pprof->strings, clean);
    free(clean);
    return string;
}

/* Writes MESSAGE as a field of the profile, and clears it. */
static void write_message(struct pprof *pprof, uint32_t field, struct buffer *message)
{
    struct buffer head = BUFFER_INIT;
    proto_message(&head, field, message);
    pprof->failed |= buffer_failed(&head) || buffer_failed(message);
    if (!pprof->failed)
        fwrite(head.data, 1, head.size, pprof->out->to);
    buffer_release(&head);
    buffer_clear(message);
}

static void put_number(struct pprof *pprof, uint32_t field, uint64_t value)
{
    struct buffer bytes = BUFFER_INIT;
    proto_number(&bytes, field, value);
    pprof->failed |= buffer_failed(&bytes);
    if (!pprof->failed && bytes.size)
        fwrite(bytes.data, 1, bytes.size, pprof->out->to);
    buffer_release(&bytes);
}

static void put_type(struct pprof *pprof, uint32_t field, const char *name, const char *unit)
{
    proto_number(&pprof->message, TYPE_NAME, string_of(pprof, name));
    proto_number(&pprof->message, TYPE_UNIT, string_of(pprof, unit));
    write_message(pprof, field, &pprof->message);
}

static const char *unit_of(const struct profile_event *event)
{
    return event->nanoseconds ? "nanoseconds" : "count";
}

static void put_types(struct pprof *pprof)
{
    const struct profile *profile = pprof->view->profile;
    for (uint32_t i = 0; i < profile->event_count; i++) {
        const struct profile_event *event = &profile->events[i];
        if (pprof->column[i] == MAP_NONE)
            continue;
        char *name = pprof->columns > 1 ? memory_print("%s-samples", event->name) : memory_text("samples");
        put_type(pprof, PROFILE_SAMPLE_TYPE, name, "count");
        put_type(pprof, PROFILE_SAMPLE_TYPE, event->name, unit_of(event));
        free(name);
    }
    if (pprof->columns)
        put_number(pprof, PROFILE_DEFAULT_TYPE, string_of(pprof, profile->events[profile->event].name));
}

static void choose_columns(struct pprof *pprof)
{
    const struct profile *profile = pprof->view->profile;
    pprof->column = memory_new(profile->event_count, sizeof(*pprof->column));
    for (uint32_t i = 0; i < profile->event_count; i++) {
        bool wanted = pprof->view->settings->event ? i == profile->event : profile->events[i].sampled;
        pprof->column[i] = wanted ? pprof->columns++ : MAP_NONE;
    }
}

static struct group *group_of(struct pprof *pprof, const struct profile_entry *entry)
{
    uint64_t place = (uint64_t)entry->task << 32 | entry->stack;
    size_t before = pprof->groups.count;
    uint32_t index = map_add(&pprof->groups, place, (uintptr_t)entry->comm);
    if (index == before) {
        pprof->group_list = memory_grow(pprof->group_list, &pprof->group_capacity, before + 1, sizeof(struct group));
        pprof->group_list[index] = (struct group){entry->task, entry->stack, entry->comm,
                                                  memory_new(pprof->columns, sizeof(struct map_pair))};
    }
    return &pprof->group_list[index];
}

static void gather_groups(struct pprof *pprof)
{
    const struct view *view = pprof->view;
    for (uint32_t i = 0; i < view->profile->entry_count; i++) {
        const struct profile_entry *entry = &view->profile->entries[i];
        uint32_t column = pprof->column[entry->event];
        if (column == MAP_NONE || !view->selection->tasks[entry->task] || !select_comm(view->settings, entry->comm))
            continue;
        struct map_pair *value = &group_of(pprof, entry)->values[column];
        value->a += entry->samples;
        value->b += entry->weight;
    }
}

static void put_label(struct pprof *pprof, const char *key, const char *text, uint64_t number)
{
    struct buffer *part = &pprof->part;
    buffer_clear(part);
    proto_number(part, LABEL_KEY, string_of(pprof, key));
    if (text)
        proto_number(part, LABEL_TEXT, string_of(pprof, text));
    else
        proto_number(part, LABEL_NUMBER, number);
    pprof->failed |= buffer_failed(part);
    proto_message(&pprof->message, SAMPLE_LABEL, part);
}

static void put_sample(struct pprof *pprof, const struct group *group)
{
    const struct profile *profile = pprof->view->profile;
    const struct profile_stack *stack = &profile->stacks[group->stack];
    const struct profile_task *task = &profile->tasks[group->task];
    struct buffer *packed = &pprof->packed;
    buffer_clear(packed);
    for (uint32_t i = 0; i < stack->depth; i++) {
        pprof->located[stack->frames[i]] = true;
        proto_varint(packed, stack->frames[i] + 1ull);
    }
    proto_message(&pprof->message, SAMPLE_LOCATIONS, packed);
    pprof->failed |= buffer_failed(packed);
    buffer_clear(packed);
    for (uint32_t i = 0; i < pprof->columns; i++) {
        proto_varint(packed, group->values[i].a);
        proto_varint(packed, group->values[i].b);
    }
    proto_message(&pprof->message, SAMPLE_VALUES, packed);
    pprof->failed |= buffer_failed(packed);
    put_label(pprof, "comm", group->comm, 0);
    put_label(pprof, "pid", NULL, (uint64_t)task->pid);
    put_label(pprof, "tid", NULL, (uint64_t)task->tid);
    write_message(pprof, PROFILE_SAMPLE, &pprof->message);
}

/* The number of the function of CALL in the format. */
static uint32_t function_of(struct pprof *pprof, const struct tree_call *call)
{
    uint32_t file = string_of(pprof, call->file ? call->file : "");
    return map_add(&pprof->functions, call->function, file) + 1;
}

static void put_location(struct pprof *pprof, uint32_t index)
{
    struct tree_call calls[TREE_MOST_CALLS];
    const struct profile_frame *frame = &pprof->view->profile->frames[index];
    const struct names_place *place = names_frame(pprof->view->names, index);
    uint32_t count = tree_calls_at(&pprof->tree, index, calls);
    proto_number(&pprof->message, LOCATION_ID, index + 1ull);
    if (frame->module) {
        uint64_t *limit = &pprof->limits[frame->module->index];
        if (place->address >= *limit)
            *limit = place->address == UINT64_MAX ? UINT64_MAX : place->address + 1;
        proto_number(&pprof->message, LOCATION_MAPPING, frame->module->index + 1ull);
    }
    proto_number(&pprof->message, LOCATION_ADDRESS, frame->module ? place->address : frame->ip);
    for (uint32_t i = 0; i < count; i++) {
        buffer_clear(&pprof->part);
        proto_number(&pprof->part, LINE_FUNCTION, function_of(pprof, &calls[i]));
        proto_number(&pprof->part, LINE_NUMBER, calls[i].line);
        pprof->lines |= calls[i].line != 0;
        pprof->failed |= buffer_failed(&pprof->part);
        proto_message(&pprof->message, LOCATION_LINE, &pprof->part);
    }
    write_message(pprof, PROFILE_LOCATION, &pprof->message);
}

/* The mapping says that names are included, so pprof does not look for the files. */
static void put_mapping(struct pprof *pprof, const struct profile_module *module)
{
    char hex[2 * 32 + 1] = "";
    for (size_t i = 0; i < module->build_id_size && i < 32; i++)
        snprintf(hex + 2 * i, 3, "%02x", module->build_id[i]);
    proto_number(&pprof->message, MAPPING_ID, module->index + 1ull);
    proto_number(&pprof->message, MAPPING_LIMIT, pprof->limits[module->index]);
    proto_number(&pprof->message, MAPPING_FILE, string_of(pprof, module->path));
    proto_number(&pprof->message, MAPPING_BUILD_ID, string_of(pprof, hex));
    proto_number(&pprof->message, MAPPING_FUNCTIONS, 1);
    proto_number(&pprof->message, MAPPING_FILENAMES, pprof->lines);
    proto_number(&pprof->message, MAPPING_LINES, pprof->lines);
    proto_number(&pprof->message, MAPPING_INLINES, pprof->lines);
    write_message(pprof, PROFILE_MAPPING, &pprof->message);
}

/* pprof shows the first mapping as the profiled program: it is the first process's, if that is among them. */
static void put_mappings(struct pprof *pprof)
{
    const struct profile *profile = pprof->view->profile;
    uint32_t main = MAP_NONE;
    for (uint32_t i = 0; i < profile->task_count && main == MAP_NONE; i++)
        for (uint32_t j = 0; j < profile->module_count && profile->tasks[i].root && main == MAP_NONE; j++)
            if (pprof->limits[j] && strcmp(profile->modules[j]->path, profile->tasks[i].exec) == 0)
                main = j;
    for (uint32_t i = 0; i < profile->module_count && main == MAP_NONE; i++)
        if (pprof->limits[i] && !profile->modules[i]->kernel)
            main = i;
    if (main != MAP_NONE)
        put_mapping(pprof, profile->modules[main]);
    for (uint32_t i = 0; i < profile->module_count; i++)
        if (pprof->limits[i] && i != main)
            put_mapping(pprof, profile->modules[i]);
}

static void put_functions(struct pprof *pprof)
{
    for (size_t i = 0; i < pprof->functions.count; i++) {
        struct tree_function function = tree_function(&pprof->tree, (uint32_t)pprof->functions.pairs[i].a);
        proto_number(&pprof->message, FUNCTION_ID, i + 1);
        proto_number(&pprof->message, FUNCTION_NAME, string_of(pprof, function.symbol));
        /* If both names are equal, pprof simplifies the name: work<1> and work<2> would become one function. */
        proto_number(&pprof->message, FUNCTION_SYSTEM_NAME, string_of(pprof, function.linkage));
        proto_number(&pprof->message, FUNCTION_FILE, pprof->functions.pairs[i].b);
        write_message(pprof, PROFILE_FUNCTION, &pprof->message);
    }
}

static uint64_t duration_of(const struct profile *profile)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (uint32_t i = 0; i < profile->task_count; i++) {
        const struct profile_task *task = &profile->tasks[i];
        first = task->start_ns && task->start_ns < first ? task->start_ns : first;
        last = task->end_ns > last ? task->end_ns : last;
    }
    return last > first ? last - first : 0;
}

static void put_metadata(struct pprof *pprof)
{
    const struct profile *profile = pprof->view->profile;
    const struct profile_event *event = profile->event_count ? &profile->events[profile->event] : NULL;
    char *command = text_command(profile->session.arguments, profile->session.argument_count);
    put_number(pprof, PROFILE_TIME, profile->session.start_realtime_ns);
    put_number(pprof, PROFILE_DURATION, duration_of(profile));
    put_number(pprof, PROFILE_COMMENT, string_of(pprof, command));
    free(command);
    if (!event)
        return;
    uint64_t rate = event->sample_value;
    put_type(pprof, PROFILE_PERIOD_TYPE, event->name, unit_of(event));
    if (!event->frequency || (event->nanoseconds && rate))
        put_number(pprof, PROFILE_PERIOD, event->frequency ? 1000000000u / rate : rate);
}

static void put_strings(struct pprof *pprof)
{
    for (size_t i = 0; i < pprof->strings.count && !output_file_is_over(pprof->out); i++) {
        buffer_append(&pprof->message, pprof->strings.texts[i], strlen(pprof->strings.texts[i]));
        write_message(pprof, PROFILE_STRINGS, &pprof->message);
    }
}

static void put_profile(struct pprof *pprof)
{
    const struct profile *profile = pprof->view->profile;
    put_types(pprof);
    for (size_t i = 0; i < pprof->groups.count && !output_file_is_over(pprof->out); i++)
        put_sample(pprof, &pprof->group_list[i]);
    for (uint32_t i = 0; i < profile->frame_count && !output_file_is_over(pprof->out); i++)
        if (pprof->located[i])
            put_location(pprof, i);
    put_mappings(pprof);
    put_functions(pprof);
    put_metadata(pprof);
    put_strings(pprof);
}

int pprof_write(struct view *view, struct output_file *out)
{
    struct pprof pprof = {.view = view, .out = out};
    pprof.located = memory_new(view->profile->frame_count, sizeof(*pprof.located));
    pprof.limits = memory_new(view->profile->module_count, sizeof(*pprof.limits));
    map_strings_add(&pprof.strings, ""); /* string 0 */
    tree_init(&pprof.tree, view, true);
    choose_columns(&pprof);
    gather_groups(&pprof);
    put_profile(&pprof);
    if (pprof.failed)
        report_error("out of memory");
    for (size_t i = 0; i < pprof.groups.count; i++)
        free(pprof.group_list[i].values);
    map_strings_release(&pprof.strings);
    tree_release(&pprof.tree);
    map_release(&pprof.functions);
    map_release(&pprof.groups);
    free(pprof.group_list);
    free(pprof.located);
    free(pprof.limits);
    free(pprof.column);
    buffer_release(&pprof.message);
    buffer_release(&pprof.part);
    buffer_release(&pprof.packed);
    return pprof.failed ? 1 : 0;
}
