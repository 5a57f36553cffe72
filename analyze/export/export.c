/* SPDX-License-Identifier: MIT */
#include "analyze/export/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/read/file.h"
#include "analyze/view/archive.h"
#include "analyze/view/lines.h"
#include "analyze/view/memory.h"
#include "analyze/view/missing.h"
#include "analyze/view/text.h"
#include "common/nearest.h"
#include "common/report.h"
#include "pinject/format.h"

static const struct export_format formats[] = {
    {"perf", ".data", OUTPUT_FILE_BINARY, EXPORT_UNPACKED, merge_write,
     "all files merged into one perf.data, for perf and hotspot"},
    {"pprof", ".pb.gz .pprof", OUTPUT_FILE_BINARY | OUTPUT_FILE_GZIP, EXPORT_SAMPLES, pprof_write,
     "profile.proto, for go tool pprof"},
    {"speedscope", ".speedscope.json", 0, EXPORT_SAMPLES, speedscope_write,
     "for www.speedscope.app: one profile per thread; with --aggregate, one profile for all threads"},
    {"firefox", ".json.gz .firefox", OUTPUT_FILE_BINARY | OUTPUT_FILE_GZIP, EXPORT_SAMPLES, firefox_write,
     "for profiler.firefox.com"},
    {"folded", ".folded .collapsed", 0, EXPORT_SAMPLES, folded_write,
     "one line per stack, for flamegraph.pl and similar tools"},
    {"chrome", ".trace.json", 0, 0, chrome_write, "the tasks over time, for chrome://tracing and Perfetto"},
    {"csv", ".csv", 0, EXPORT_SAMPLES | EXPORT_ROWS, csv_write, "the functions as a table"},
    {"csv-tasks", ".tasks.csv", 0, 0, csv_tasks_write, "the tasks as a table"},
};

#define FORMAT_COUNT (sizeof(formats) / sizeof(formats[0]))

const struct export_format *export_find(const char *name)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

static bool ends_in(const char *text, size_t size, const char *ending, size_t length)
{
    return size > length && strncmp(text + size - length, ending, length) == 0;
}

/* The length of FORMAT's ending in the name of FILE, with a .gz after it; 0: it has none. */
static size_t ending_of(const struct export_format *format, const char *file)
{
    size_t size = strlen(file), best = 0;
    bool packed = ends_in(file, size, ".gz", 3);
    for (const char *ending = format->endings; *ending;) {
        size_t length = strcspn(ending, " ");
        if (ends_in(file, size, ending, length) && length > best)
            best = length;
        if (packed && ends_in(file, size - 3, ending, length) && length + 3 > best)
            best = length + 3;
        ending += length + strspn(ending + length, " ");
    }
    return best;
}

/* If several fit, the longest ending counts: x.tasks.csv is not x.csv. */
const struct export_format *export_of_file(const char *file)
{
    const struct export_format *found = NULL;
    size_t best = 0;
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        size_t length = ending_of(&formats[i], file);
        if (length > best)
            found = &formats[i];
        best = length > best ? length : best;
    }
    return found;
}

void export_names(char *ret, size_t size)
{
    size_t used = 0;
    ret[0] = '\0';
    for (size_t i = 0; i < FORMAT_COUNT && used < size; i++)
        used += (size_t)snprintf(ret + used, size - used, "%s%s", i ? ", " : "", formats[i].name);
}

void export_help(FILE *to)
{
    fputs("\nFormats (the ending of the output file's name selects one of them):\n", to);
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        fprintf(to, "  %-11s %-18s %s\n", formats[i].name, formats[i].endings, formats[i].help);
}

static const char *nearest_format(const char *word)
{
    const char *names[FORMAT_COUNT];
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        names[i] = formats[i].name;
    return nearest_word(word, names, FORMAT_COUNT);
}

const struct export_format *export_choose(const char *operand, const char *output, bool *ret_operand)
{
    const struct export_format *format = operand ? export_find(operand) : NULL;
    *ret_operand = format != NULL;
    if (!format && output)
        format = export_of_file(output);
    if (format)
        return format;
    struct stat status;
    char names[160];
    export_names(names, sizeof(names));
    if (!operand)
        report_error("no format given; type: panalyze export FORMAT [-o FILE] out.*; formats: %s", names);
    else if (output && stat(operand, &status) == 0)
        report_error("the file name '%s' does not select a format; type one of these formats before the files: %s",
                     output, names);
    else if (nearest_format(operand))
        report_error("unknown format '%s'; did you mean '%s'? All formats: %s", operand, nearest_format(operand),
                     names);
    else
        report_error("unknown format '%s'; formats: %s", operand, names);
    return NULL;
}

int export_check(const struct settings *settings)
{
    const char *option = settings->group      ? "--group"
                         : settings->show_cum ? "--show-cum"
                         : settings->cum > 0  ? "--cum"
                                              : NULL;
    if (!option || (settings->format->needs & EXPORT_ROWS))
        return 0;
    report_error("option '%s' is for the format csv, not for %s", option, settings->format->name);
    return -EINVAL;
}

/* Whether OUTPUT is an input file, which must not be replaced. */
static bool is_input_file(const struct view *view, const char *output)
{
    struct stat out, in;
    if (stat(output, &out) < 0)
        return false;
    for (size_t i = 0; i < view->path_count; i++)
        if (stat(view->paths[i], &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return true;
    return false;
}

/* Whether OUTPUT is a recording that would be lost. A merged one may be replaced. */
static bool is_recording(const struct export_format *format, const char *output)
{
    struct problem problem;
    struct file file;
    if (!output_file_holds_samples(output))
        return false;
    if (format->write != merge_write)
        return true;
    if (file_open(&file, output, &problem) < 0)
        return false;
    bool ours = feature_present(&file.features, PINJECT_FEATURE);
    file_release(&file);
    return ours;
}

/* Notes that a merged file has no names: perf looks them up on the machine where it reads the file. */
static void note_merged(const struct view *view, const char *output, uint64_t bytes)
{
    const char *slash = strrchr(output, '/');
    char amount[TEXT_AMOUNT], *results = archive_results(view->paths[0], view->path_count);
    char *usual = archive_name(view->paths[0]), *usual_slash = strrchr(usual, '/');
    char *name = memory_print("%.*s%s.tar.gz", slash ? (int)(slash + 1 - output) : 0, output,
                              usual_slash ? usual_slash + 1 : usual);
    char *to = text_command((const char *const[]){name}, 1);
    report_note("%s (%s) does not contain function names; to save the names for other machines, type: panalyze archive "
                "-o %s %s",
                output, text_bytes(amount, bytes), to, results);
    free(to);
    free(name);
    free(usual);
    free(results);
}

int export_view(struct view *view)
{
    const struct export_format *format = view->settings->format;
    const char *output = view->settings->file;
    bool packed = output && ends_in(output, strlen(output), ".gz", 3);
    if (output && is_input_file(view, output)) {
        report_error("'%s' is an input file and is not overwritten; give another file name after -o", output);
        return 1;
    }
    if (output && is_recording(format, output)) {
        report_error("'%s' holds samples and is not overwritten; give another file name after -o", output);
        return 1;
    }
    if ((format->needs & EXPORT_SAMPLES) && view->selection->total_samples == 0 && !view->selection->other_count) {
        report_error("there are no samples to write as %s; use the format chrome, csv-tasks or perf: these need no "
                     "samples, and contain the counts",
                     format->name);
        return 1;
    }
    if (packed && (format->needs & EXPORT_UNPACKED)) {
        report_error(
            "%s: programs that read this format do not accept compressed files; give a file name without '.gz'",
            output);
        return 1;
    }
    struct output_file out;
    mode_t rights = output_file_rights(view->paths, view->path_count);
    if (output_file_open(&out, output, format->flags | (packed ? OUTPUT_FILE_GZIP : 0), rights) < 0)
        return 1;
    if (view->settings->inlined)
        view->lines = lines_new(view->names, view->profile->frame_count);
    if (format->needs & EXPORT_SAMPLES)
        view_symbolize(view);
    int status = format->write(view, &out);
    lines_free(view->lines);
    view->lines = NULL;
    int closed = output_file_close(&out, status == 0);
    bool named = output && strcmp(output, "-") != 0 && view->path_count;
    if (!status && !closed && named && format->write == merge_write)
        note_merged(view, output, out.bytes);
    if (!status && !closed && (format->needs & EXPORT_SAMPLES))
        missing_tell(view);
    return status ? status : closed;
}
