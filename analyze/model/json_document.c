/* SPDX-License-Identifier: MIT */
#include "analyze/model/json_document.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/report.h"

/* Opens a regular file for reading. Negative: it is none, or cannot be opened. */
static int open_file(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)))
        return fd;
    close(fd);
    return -1;
}

bool document_is(const char *path)
{
    char bytes[64];
    /* The standard input, which is read elsewhere. */
    int fd = strcmp(path, "-") == 0 ? -1 : open_file(path);
    ssize_t size = fd >= 0 ? read(fd, bytes, sizeof(bytes)) : 0, at = 0;
    if (fd >= 0)
        close(fd);
    while (at < size && (bytes[at] == ' ' || bytes[at] == '\t' || bytes[at] == '\r' || bytes[at] == '\n'))
        at++;
    return at < size && bytes[at] == '{';
}

#ifndef PINJECT_JANSSON

int document_load(const char *path, const struct profile_options *options, struct profile **ret)
{
    (void)options;
    (void)ret;
    report_error("%s: this panalyze was built without libjansson and cannot read JSON; compare the result "
                 "files instead",
                 path);
    return -EINVAL;
}

#else

#include <jansson.h>

#include "analyze/model/loader.h"

#define SCHEMA "pinject.report/1"

struct amount {
    uint64_t samples, weight;
};

struct reader {
    struct loader *loader;
    const char *path;
    uint32_t event;
    struct amount total;
};

static const char too_much[] =
    "the file is not a report of 'panalyze report --json': the sum of its numbers exceeds 64 bits";

static int refuse_document(const struct reader *reader, const char *what)
{
    report_error("%s: %s", reader->path, what);
    return -EINVAL;
}

/* The string KEY of OBJECT, "" if it is null. 0, -EINVAL after a message, or -ENOMEM. */
static int take_text(const struct reader *reader, const json_t *object, const char *key, const char **ret)
{
    const json_t *member = json_object_get(object, key);
    if (!json_is_string(member) && !json_is_null(member)) {
        report_error("%s: the file is not a report of 'panalyze report --json': '%s' should be a string", reader->path,
                     key);
        return -EINVAL;
    }
    *ret = store_string(&reader->loader->store, json_is_string(member) ? json_string_value(member) : "");
    return *ret ? 0 : -ENOMEM;
}

/* The number KEY of OBJECT, 0 if it is null. 0, or -EINVAL after a message. */
static int take_number(const struct reader *reader, const json_t *object, const char *key, uint64_t *ret)
{
    const json_t *member = json_object_get(object, key);
    json_int_t value = json_integer_value(member);
    if ((!json_is_integer(member) && !json_is_null(member)) || value < 0) {
        report_error(
            "%s: the file is not a report of 'panalyze report --json': '%s' should be a whole number of at least 0",
            reader->path, key);
        return -EINVAL;
    }
    *ret = (uint64_t)value;
    return 0;
}

/* False: the sum overflows. */
static bool add_amount(struct amount *sum, uint64_t samples, uint64_t weight)
{
    return !__builtin_add_overflow(sum->samples, samples, &sum->samples) &&
           !__builtin_add_overflow(sum->weight, weight, &sum->weight);
}

/* Checks that the list KEY adds up to the total. */
static int check_sum(const struct reader *reader, const char *key, const struct amount *sum)
{
    if (sum->samples == reader->total.samples && sum->weight == reader->total.weight)
        return 0;
    report_error(
        "%s: the %s of this report do not add up to its total; write the report again without --top, --cum, --symbol "
        "and --dso",
        reader->path, key);
    return -EINVAL;
}

static int take_pid(const struct reader *reader, const json_t *object, const char *key, int32_t *ret)
{
    const json_t *member = json_object_get(object, key);
    json_int_t value = json_integer_value(member);
    if (!json_is_integer(member) || value < INT32_MIN || value > INT32_MAX) {
        report_error("%s: the file is not a report of 'panalyze report --json': '%s' should be a process or thread id",
                     reader->path, key);
        return -EINVAL;
    }
    *ret = (int32_t)value;
    return 0;
}

static const json_t *list_of(const struct reader *reader, const json_t *object, const char *key)
{
    const json_t *list = json_object_get(object, key);
    if (!json_is_array(list))
        report_error("%s: the file is not a report of 'panalyze report --json': the list '%s' is missing", reader->path,
                     key);
    return json_is_array(list) ? list : NULL;
}

static int take_event(struct reader *reader, const json_t *root)
{
    struct profile_event event = {.sampled = true};
    int status = take_text(reader, root, "event", &event.name);
    if (status < 0)
        return status;
    event.nanoseconds = json_is_true(json_object_get(root, "nanoseconds"));
    event.exclude_kernel = json_is_true(json_object_get(root, "user_only"));
    reader->event = store_event(&reader->loader->store, &event);
    return reader->event == LOOKUP_NONE ? -ENOMEM : 0;
}

/* "libx.so+0x1234", "//anon+0x1234", "0x1234": such a name is only an address in that build. */
static bool is_address(const char *symbol, const char *object)
{
    const char *plus = strrchr(symbol, '+'), *digits = plus ? plus + 1 : symbol;
    size_t length = strlen(object), before = plus ? (size_t)(plus - symbol) : 0;
    if (before > length || memcmp(symbol, object + length - before, before) != 0)
        return false;
    return strncmp(digits, "0x", 2) == 0 && digits[2] && digits[2 + strspn(digits + 2, "0123456789abcdef")] == '\0';
}

/* Makes a stack of one frame. Its module is only this function (module.symbol), so its name is not looked up. */
static int add_function(struct reader *reader, const char *symbol, const char *object, struct profile_entry *entry)
{
    struct store *store = &reader->loader->store;
    const struct profile_module module = {
        .path = object, .symbol = is_address(symbol, object) ? store_string(store, "[no symbol]") : symbol};
    uint32_t index = module.symbol ? store_module(store, &module) : LOOKUP_NONE;
    if (index == LOOKUP_NONE)
        return -ENOMEM;
    const struct profile_frame frame = {.module = store_module_at(store, index)};
    uint32_t at = store_frame(store, store_frame_hash(&frame), &frame);
    if (at == LOOKUP_NONE)
        return -ENOMEM;
    entry->stack = store_stack(store, store_stack_hash(&at, 1, false), &at, 1, false);
    if (entry->stack == LOOKUP_NONE)
        return -ENOMEM;
    return store_sample(&store->entries, store_sample_hash(entry), entry);
}

static int take_total(struct reader *reader, const json_t *root)
{
    const json_t *total = json_object_get(root, "total");
    int status = take_number(reader, total, "samples", &reader->total.samples);
    if (status == 0)
        status = take_number(reader, total, "weight", &reader->total.weight);
    return status < 0 ? status : take_number(reader, total, "lost", &reader->loader->profile.lost);
}

static int take_self(const struct reader *reader, const json_t *item, struct profile_entry *ret, struct amount *sum)
{
    int status = take_number(reader, item, "self_samples", &ret->samples);
    if (status == 0)
        status = take_number(reader, item, "self_weight", &ret->weight);
    return status < 0 ? status : add_amount(sum, ret->samples, ret->weight) ? 0 : refuse_document(reader, too_much);
}

static int take_functions(struct reader *reader, const json_t *root)
{
    const json_t *list = list_of(reader, root, "functions");
    struct amount sum = {0};
    int status = list ? 0 : -EINVAL;
    for (size_t i = 0; status == 0 && i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        struct profile_entry entry = {.event = reader->event, .comm = ""};
        const char *symbol = "", *object = "";
        status = take_text(reader, item, "symbol", &symbol);
        if (status == 0)
            status = take_text(reader, item, "dso", &object);
        if (status == 0)
            status = take_self(reader, item, &entry, &sum);
        if (status == 0 && entry.samples)
            status = add_function(reader, symbol, object, &entry);
    }
    return status < 0 ? status : check_sum(reader, "functions", &sum);
}

/* The array of strings KEY of OBJECT; other elements become "". */
static int take_words(const struct reader *reader, const json_t *object, const char *key, const char *const **ret,
                      uint32_t *ret_count)
{
    const json_t *list = json_object_get(object, key);
    struct store *store = &reader->loader->store;
    size_t count = json_array_size(list);
    const char **words = arena_take(&store->arena, (count + 1) * sizeof(*words));
    for (size_t i = 0; words && i < count; i++) {
        const char *word = json_string_value(json_array_get(list, i));
        words[i] = store_string(store, word ? word : "");
        if (!words[i])
            return -ENOMEM;
    }
    *ret = words;
    *ret_count = (uint32_t)count;
    return words ? 0 : -ENOMEM;
}

/*
 * The program that the task executed last. The run's first task also gets the command line of its first exec generation
 * that has one.
 */
static int take_generation(const struct reader *reader, const json_t *item, struct task *task)
{
    const json_t *generations = json_object_get(item, "images");
    const char *exec = json_string_value(json_object_get(item, "exec"));
    struct task_generation *generation = task_generation_at(task, 0);
    if (!generation)
        return -ENOMEM;
    generation->shown.comm = task->shown.comm;
    generation->shown.exec = store_string(&reader->loader->store, exec ? exec : "");
    if (!generation->shown.exec || !task->shown.root)
        return generation->shown.exec ? 0 : -ENOMEM;
    for (size_t i = json_array_size(generations); i-- > 0;)
        if (json_array_size(json_object_get(json_array_get(generations, i), "cmdline")))
            item = json_array_get(generations, i);
    return take_words(reader, item, "cmdline", &generation->shown.cmdline, &generation->shown.cmdline_count);
}

static int take_task(struct reader *reader, const json_t *item, struct amount *all)
{
    uint32_t index;
    struct task *task = task_new(reader->loader, &index);
    if (!task)
        return -ENOMEM;
    struct profile_entry sum = {.task = index, .event = reader->event};
    const struct {
        const char *key;
        uint64_t *number;
    } numbers[] = {{"samples", &sum.samples},
                   {"weight", &sum.weight},
                   {"start_ns", &task->shown.start_ns},
                   {"end_ns", &task->shown.end_ns},
                   {"lost", &task->shown.lost}};
    int status = take_pid(reader, item, "pid", &task->shown.pid);
    if (status == 0)
        status = take_pid(reader, item, "tid", &task->shown.tid);
    for (size_t i = 0; status == 0 && i < sizeof(numbers) / sizeof(numbers[0]); i++)
        status = take_number(reader, item, numbers[i].key, numbers[i].number);
    if (status == 0)
        status = take_text(reader, item, "comm", &task->shown.comm);
    if (status < 0)
        return status;
    if (!add_amount(all, sum.samples, sum.weight))
        return refuse_document(reader, too_much);
    task->shown.ended = json_is_true(json_object_get(item, "ended"));
    task->shown.root = json_is_true(json_object_get(item, "root"));
    task->shown.file = reader->path;
    if (take_generation(reader, item, task) < 0)
        return -ENOMEM;
    return sum.samples ? store_sample(&reader->loader->store.sums, store_sample_hash(&sum), &sum) : 0;
}

static int take_tasks(struct reader *reader, const json_t *root)
{
    const json_t *list = list_of(reader, root, "tasks");
    struct amount sum = {0};
    int status = list ? 0 : -EINVAL;
    for (size_t i = 0; status == 0 && i < json_array_size(list); i++)
        status = take_task(reader, json_array_get(list, i), &sum);
    return status < 0 ? status : check_sum(reader, "tasks", &sum);
}

static int take_commands(struct reader *reader, const json_t *root)
{
    struct profile *profile = &reader->loader->profile;
    const json_t *list = json_object_get(root, "commands");
    if (!json_is_array(list))
        return refuse_document(
            reader, "the report has no list 'commands', because an older panalyze wrote it; write the report again");
    struct profile_entry *commands = arena_take(&reader->loader->store.arena,
                                                (json_array_size(list) + 1) * sizeof(*commands));
    struct amount sum = {0};
    int status = commands ? 0 : -ENOMEM;
    for (size_t i = 0; status == 0 && i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        struct profile_entry *command = &commands[i];
        *command = (struct profile_entry){.event = reader->event};
        status = take_text(reader, item, "comm", &command->comm);
        if (status == 0)
            status = take_self(reader, item, command, &sum);
        profile->command_count = (uint32_t)i + 1;
    }
    profile->commands = commands;
    profile->document = true;
    return status < 0 ? status : check_sum(reader, "commands", &sum);
}

static int hex_digit(char character)
{
    static const char digits[] = "0123456789abcdef";
    const char *found = character ? strchr(digits, character) : NULL;
    return found ? (int)(found - digits) : -1;
}

static int take_session(struct reader *reader, const json_t *root, const char *wanted)
{
    struct profile_session *session = &reader->loader->profile.session;
    const json_t *item = json_object_get(root, "session"), *id = json_object_get(item, "id");
    const char *text = json_is_string(id) ? json_string_value(id) : "";
    session->ours = json_is_string(id);
    for (size_t i = 0; i < sizeof(session->id); i++) {
        int high = hex_digit(text[0]), low = high < 0 ? -1 : hex_digit(text[1]);
        if (low < 0)
            break;
        session->id[i] = (uint8_t)(high << 4 | low);
        text += 2;
    }
    if (wanted && (!json_is_string(id) || strncmp(json_string_value(id), wanted, strlen(wanted)) != 0)) {
        report_error("%s: the session id of this report is %s, not '%s'", reader->path,
                     json_is_string(id) ? json_string_value(id) : "not known", wanted);
        return -EINVAL;
    }
    int status = take_number(reader, item, "start_realtime_ns", &session->start_realtime_ns);
    if (status == 0)
        status = take_number(reader, item, "start_ns", &session->start_ns);
    return status < 0 ? status : take_words(reader, item, "cmdline", &session->arguments, &session->argument_count);
}

static int take_coverage(struct reader *reader, const json_t *root)
{
    struct profile_session *session = &reader->loader->profile.session;
    const json_t *coverage = json_object_get(root, "coverage");
    session->coverage_known = json_is_integer(json_object_get(coverage, "cpu_ns"));
    session->coverage_complete = json_is_true(json_object_get(coverage, "complete"));
    if (!session->coverage_known)
        return 0;
    int status = take_number(reader, coverage, "cpu_ns", &session->cpu_ns);
    if (status == 0)
        status = take_number(reader, coverage, "attributed_ns", &session->attributed_ns);
    if (status == 0 && json_object_get(coverage, "incomplete_files")) { /* not in older reports */
        status = take_number(reader, coverage, "incomplete_files", &session->incomplete_files);
        if (status == 0)
            status = take_number(reader, coverage, "unwritten_samples", &session->unwritten_samples);
    }
    if (status < 0 || !json_is_integer(json_object_get(coverage, "machine_ns"))) /* null: not known */
        return status;
    status = take_number(reader, coverage, "machine_ns", &session->machine_ns);
    return status < 0 ? status : take_number(reader, coverage, "others_ns", &session->others_ns);
}

static int take_report(struct reader *reader, const json_t *root, const struct profile_options *options)
{
    const json_t *schema = json_object_get(root, "schema");
    if (!json_is_string(schema) || strcmp(json_string_value(schema), SCHEMA) != 0)
        return refuse_document(
            reader,
            "the file is JSON, but not a report of 'panalyze report --json' (such a report has the schema \"" SCHEMA
            "\")");
    if (json_is_true(json_object_get(root, "filtered")))
        return refuse_document(
            reader,
            "the report contains only some of the tasks; write the report again without --pid, --tid, --comm and "
            "--command-line");
    int status = take_event(reader, root);
    const char *event = status == 0 ? store_event_at(&reader->loader->store, reader->event)->name : "";
    if (status == 0 && options->event && strcmp(options->event, event) != 0) {
        report_error(
            "%s: this report is about the event %s, not about %s; write the report again with panalyze report --json -e %s",
            reader->path, event, options->event, options->event);
        return -EINVAL;
    }
    if (status == 0)
        status = take_total(reader, root);
    if (status == 0)
        status = take_functions(reader, root);
    if (status == 0)
        status = take_tasks(reader, root);
    if (status == 0)
        status = take_commands(reader, root);
    if (status == 0)
        status = take_session(reader, root, options->session);
    if (status == 0)
        status = take_coverage(reader, root);
    if (status == 0)
        status = finish_profile(reader->loader);
    return status < 0 ? status : profile_select_event(&reader->loader->profile, NULL);
}

int document_load(const char *path, const struct profile_options *options, struct profile **ret)
{
    json_error_t error;
    int fd = open_file(path);
    if (fd < 0) {
        report_error("%s: the file cannot be opened, or is not a regular file", path);
        return -EINVAL;
    }
    json_t *root = json_loadfd(fd, JSON_REJECT_DUPLICATES, &error);
    close(fd);
    if (!root && json_error_code(&error) == json_error_out_of_memory)
        return -ENOMEM;
    if (!root) {
        report_error("%s: the file is not a report of 'panalyze report --json': %s (line %d)", path, error.text,
                     error.line);
        return -EINVAL;
    }
    struct reader reader = {.loader = loader_new()};
    int status = reader.loader ? 0 : -ENOMEM;
    if (status == 0) {
        reader.path = store_string(&reader.loader->store, path);
        reader.loader->merged = PROFILE_BY_STACK;
        reader.loader->profile.files_read = 1;
        status = reader.path ? take_report(&reader, root, options) : -ENOMEM;
    }
    json_decref(root);
    if (status < 0)
        loader_free(reader.loader);
    else
        *ret = &reader.loader->profile;
    return status;
}

#endif
