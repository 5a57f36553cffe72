/* SPDX-License-Identifier: MIT */
/* panalyze archive: saves what symbolization of the recorded addresses needs, for another machine or a later day. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/sym/debug_file.h"
#include "analyze/sym/elf_cut.h"
#include "analyze/sym/symbols.h"
#include "analyze/view/archive.h"
#include "analyze/view/map.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/text.h"
#include "analyze/view/view.h"
#include "common/report.h"

#define ID_MAX 64

/* Percent of the samples: less (temporary programs of a build) does not change the exit status. */
#define LEAST_MISSING 1.0

struct left_out {
    const char *path, *why;
    const struct symbols_dso *dso;
    bool is_file;    /* it should have been saved */
    uint64_t weight; /* of the samples with their leaf there */
};

struct keeper {
    struct view *view;
    struct archive archive;
    char *index; /* the text of ARCHIVE_INDEX */
    size_t index_size, index_capacity;
    char **places; /* that were written, since DSOs share files */
    size_t place_count, place_capacity;
    struct left_out *left;
    size_t left_count, left_capacity;
    uint64_t missing_weight; /* of the samples with a function, or a caller, in such files */
    struct symbols_dso *dso; /* whose files are being saved */
    uint32_t dsos;
    bool kernel; /* its symbols were saved */
    int error;
};

static void add_to_index(struct keeper *keeper, const char *place, size_t size, const char *path)
{
    char *line = memory_print("%s %zu ", place, size), *clean = text_clean(path, false);
    size_t wanted = keeper->index_size + strlen(line) + strlen(clean) + 2;
    keeper->index = memory_grow(keeper->index, &keeper->index_capacity, wanted, 1);
    keeper->index_size += (size_t)sprintf(keeper->index + keeper->index_size, "%s%s\n", line, clean);
    free(line);
    free(clean);
}

static bool is_place_known(struct keeper *keeper, const char *place)
{
    for (size_t i = 0; i < keeper->place_count; i++)
        if (strcmp(keeper->places[i], place) == 0)
            return true;
    keeper->places = memory_grow(keeper->places, &keeper->place_capacity, keeper->place_count + 1,
                                 sizeof(*keeper->places));
    keeper->places[keeper->place_count++] = memory_text(place);
    return false;
}

static void leave_out(struct keeper *keeper, const char *path, const char *why)
{
    keeper->left = memory_grow(keeper->left, &keeper->left_capacity, keeper->left_count + 1, sizeof(*keeper->left));
    bool is_file = path[0] == '/' && path[1] != '/' && !(symbols_missing(keeper->dso) & SYMBOLS_ANONYMOUS);
    keeper->left[keeper->left_count++] = (struct left_out){path, why, keeper->dso, is_file, 0};
}

/* The part of a file that is saved. */
struct piece {
    const char *path;
    char place[2 * ID_MAX + 32];
    unsigned char *bytes; /* NULL: nothing */
    size_t size;
};

/* Reads the part of the file PATH that is to be saved at PLACE. */
static void cut_file(struct keeper *keeper, struct piece *ret, const char *path, const char *place)
{
    *ret = (struct piece){.path = path};
    if (keeper->error || is_place_known(keeper, place))
        return;
    snprintf(ret->place, sizeof(ret->place), "%s", place);
    int error = elf_cut(path, &ret->bytes, &ret->size);
    if (error) {
        leave_out(keeper, path, error == -ENOEXEC ? "the file is not an ELF file with sections" : strerror(-error));
        ret->bytes = NULL;
    }
}

static void put_piece(struct keeper *keeper, struct piece *piece)
{
    if (piece->bytes && !keeper->error) {
        keeper->error = archive_put(&keeper->archive, piece->place, piece->bytes, piece->size);
        add_to_index(keeper, piece->place, piece->size, piece->path);
    }
    free(piece->bytes);
}

static void put_file(void *context, const char *path, const char *place)
{
    struct keeper *keeper = context;
    struct piece piece;
    cut_file(keeper, &piece, path, place);
    put_piece(keeper, &piece);
}

/* PLACE: the DSO's directory. Both files are read before one is written: they may be from this archive in the layout of
 * an earlier version, which has files where the directory must be. */
static void put_elf_and_debug(struct keeper *keeper, const char *place, const char *file, const char *debug)
{
    struct piece pieces[2] = {{.bytes = NULL}};
    char name[sizeof(pieces[0].place)];
    snprintf(name, sizeof(name), "%s" DEBUG_FILE_ELF, place);
    cut_file(keeper, &pieces[0], file, name);
    snprintf(name, sizeof(name), "%s" DEBUG_FILE_DEBUG, place);
    if (debug)
        cut_file(keeper, &pieces[1], debug, name);
    if (pieces[0].bytes)
        archive_remove(&keeper->archive, place);
    snprintf(name, sizeof(name), "%s.debug", place);
    if (pieces[1].bytes)
        archive_remove(&keeper->archive, name);
    for (int i = 0; i < 2; i++)
        put_piece(keeper, &pieces[i]);
}

static void put_dso(struct keeper *keeper, struct symbols_dso *dso)
{
    size_t size;
    const unsigned char *id = symbols_build_id(dso, &size);
    const char *file = symbols_file(dso), *lines = symbols_lines_file(dso);
    const char *debug = symbols_debug_file(dso);
    char place[2 * ID_MAX + 16];
    keeper->dso = dso;
    if (!file || size < 2) {
        const char *why = symbols_why(dso);
        leave_out(keeper, symbols_path(dso),
                  file  ? "the file has no build-id; link it with -Wl,--build-id"
                  : why ? why
                        : "the code is not in a file");
        return;
    }
    int used = snprintf(place, sizeof(place), ".build-id/%02x/", id[0]);
    for (size_t i = 1; i < size && i < ID_MAX; i++)
        used += snprintf(place + used, sizeof(place) - (size_t)used, "%02x", id[i]);
    /* The separate debug file, or one from a debuginfod server. */
    if (!debug && lines && strcmp(lines, file) != 0)
        debug = lines;
    put_elf_and_debug(keeper, place, file, debug);
    symbols_lines_files(dso, put_file, keeper);
    keeper->dsos++;
}

static void put_listing(struct keeper *keeper, const uint64_t *addresses, size_t count)
{
    size_t size, id_size;
    const unsigned char *id = symbols_build_id(keeper->dso, &id_size);
    const char *why = symbols_why(keeper->dso), *file = symbols_kernel_file(keeper->dso);
    char place[2 * ID_MAX + 64], *text;
    int used = snprintf(place, sizeof(place), "[kernel.kallsyms]/");
    if (!count || !file || id_size < 2) {
        why = why      ? why
              : !count ? "no sampled address of the kernel has a name"
                       : "the build-id of the kernel is not recorded";
        leave_out(keeper, symbols_path(keeper->dso), why);
        return;
    }
    for (size_t i = 0; i < id_size && i < ID_MAX; i++)
        used += snprintf(place + used, sizeof(place) - (size_t)used, "%02x", id[i]);
    snprintf(place + used, sizeof(place) - (size_t)used, "/kallsyms");
    int error = symbols_kernel_cut(keeper->dso, addresses, count, &text, &size);
    if (error) {
        leave_out(keeper, symbols_path(keeper->dso), strerror(-error));
        return;
    }
    keeper->error = archive_put(&keeper->archive, place, text, size);
    add_to_index(keeper, place, size, file);
    keeper->kernel = true;
    free(text);
}

/* Saves the symbols of the kernel and its modules that contain an address of a stack. */
static void put_kernel(struct keeper *keeper)
{
    struct view *view = keeper->view;
    uint32_t frames = view->profile->frame_count;
    uint64_t *addresses = memory_new(frames, sizeof(*addresses));
    size_t count = 0;
    keeper->dso = NULL;
    for (uint32_t i = 0; i < frames; i++) {
        struct symbols_dso *dso = view->profile->frames[i].kernel ? names_symbols(view->names, i) : NULL;
        struct symbol symbol;
        if (!dso)
            continue;
        keeper->dso = dso;
        if (symbols_find(dso, names_offset(view->names, i), &symbol))
            addresses[count++] = symbol.start;
    }
    if (keeper->dso && !keeper->error)
        put_listing(keeper, addresses, count);
    free(addresses);
}

/* Saves every DSO that contains an address of a stack, after all these addresses were looked up; in their order, so
 * that the same files give the same archive. */
static void put_dsos(struct keeper *keeper)
{
    struct view *view = keeper->view;
    struct symbol_line found[SYMBOLS_LINES_MAX];
    uint32_t frames = view->profile->frame_count;
    struct map dsos = {0};
    for (uint32_t i = 0; i < frames; i++) {
        struct symbols_dso *dso = names_symbols(view->names, i);
        if (!dso || view->profile->frames[i].kernel)
            continue;
        symbols_lines(dso, names_offset(view->names, i), found);
        map_add(&dsos, (uintptr_t)dso, 0);
    }
    for (size_t i = 0; i < dsos.count && !keeper->error; i++)
        put_dso(keeper, (struct symbols_dso *)(uintptr_t)dsos.pairs[i].a);
    map_release(&dsos);
}

/* By frame: the index in keeper->left of its file, + 1; 0: it was saved. Owned by the caller. */
static uint32_t *find_left(const struct keeper *keeper)
{
    const struct profile *profile = keeper->view->profile;
    uint32_t *ret = memory_new(profile->frame_count, sizeof(*ret));
    for (uint32_t i = 0; i < profile->frame_count; i++) {
        const struct symbols_dso *dso = names_symbols(keeper->view->names, i);
        for (size_t j = 0; dso && !ret[i] && j < keeper->left_count; j++)
            if (keeper->left[j].dso == dso)
                ret[i] = (uint32_t)j + 1;
    }
    return ret;
}

static int by_weight(const void *one, const void *other)
{
    const struct left_out *a = one, *b = other;
    int order = order_larger(a->weight, b->weight);
    return order ? order : strcmp(a->path, b->path);
}

/* Sums up the samples in files that were left out. */
static void weigh_left_out(struct keeper *keeper)
{
    const struct profile *profile = keeper->view->profile;
    const struct selection *selection = keeper->view->selection;
    uint32_t *left_of = keeper->left_count ? find_left(keeper) : NULL;
    for (uint32_t i = 0; left_of && i < selection->entry_count; i++) {
        const struct profile_entry *entry = &profile->entries[selection->entries[i]];
        const struct profile_stack *stack = &profile->stacks[entry->stack];
        bool missing = false;
        if (left_of[stack->frames[0]])
            keeper->left[left_of[stack->frames[0]] - 1].weight += entry->weight;
        for (uint32_t j = 0; j < stack->depth && !missing; j++)
            missing = left_of[stack->frames[j]] && keeper->left[left_of[stack->frames[j]] - 1].is_file;
        if (missing)
            keeper->missing_weight += entry->weight;
    }
    free(left_of);
    if (keeper->left_count)
        qsort(keeper->left, keeper->left_count, sizeof(*keeper->left), by_weight);
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void print_word(struct output *output, const char *before, const char *word)
{
    char *quoted = text_command(&word, 1);
    fputs(before, output->to);
    output_text(output, quoted);
    free(quoted);
}

static void print_perf(struct output *output, const char *directory, const char *file, const char *options)
{
    print_word(output, "\n  perf --buildid-dir ", directory);
    fputs(" report -i ", output->to);
    output_text(output, file);
    fputs(options, output->to);
}

/* Prints the commands that use the archive on another machine. */
static void print_commands(const struct keeper *keeper, const char *to, const char *directory)
{
    struct output *output = keeper->view->output;
    const char *path = base_of(keeper->view->paths[0]);
    char *results = archive_results(path, keeper->view->path_count), *usual = archive_name(path);
    bool is_found = archive_is_found(directory);
    bool of_perf = strncmp(usual, path, strlen(path)) == 0;
    fputs(
        "To read the profile on another machine, copy the profile and the archive into one directory there, and type:",
        output->to);
    if (keeper->archive.is_tar)
        print_word(output, "\n  tar xf ", base_of(to));
    fputs("\n  panalyze ", output->to);
    if (!is_found)
        print_word(output, "--debug-path ", directory);
    fputs(is_found ? "" : " ", output->to);
    output_text(output, results);
    print_perf(output, directory, of_perf ? results : "perf.data", "");
    print_perf(output, directory, of_perf ? results : "perf.data", " --no-children -s sym,srcline");
    fputc('\n', output->to);
    if (!of_perf) {
        fputs("To make perf.data, type: panalyze export perf -o perf.data ", output->to);
        output_text(output, results);
        fputc('\n', output->to);
    }
    free(results);
    free(usual);
}

static void print_result(const struct keeper *keeper, const char *to, const char *directory)
{
    struct output *output = keeper->view->output;
    const uint64_t whole = keeper->view->selection->total_weight;
    char bytes[TEXT_AMOUNT], dsos[TEXT_AMOUNT], share[TEXT_AMOUNT];
    output_text(output, to);
    fprintf(output->to, ": symbols and lines of %s%s, %s\n", text_plural(dsos, keeper->dsos, "DSO", "DSOs"),
            keeper->kernel ? " and the kernel" : "", text_bytes(bytes, keeper->archive.bytes));
    for (size_t i = 0; i < keeper->left_count; i++) {
        const struct left_out *left = &keeper->left[i];
        text_percent(share, left->weight, whole);
        char *line = memory_print("Not saved: %s%s%s%s: %s", left->path, left->weight ? " (" : "",
                                  left->weight ? share : "", left->weight ? " of the samples)" : "", left->why);
        output_wrapped(output, 2, line);
        free(line);
    }
    print_commands(keeper, to, directory);
}

/* Reports samples in files that could not be saved. Returns the exit status, for scripts. */
static int report_missing(const struct keeper *keeper)
{
    const uint64_t whole = keeper->view->selection->total_weight;
    char share[TEXT_AMOUNT];
    if (text_share(keeper->missing_weight, whole) < LEAST_MISSING)
        return 0;
    report_error("the call stacks of %s of the samples pass through files that could not be saved; run 'panalyze "
                 "archive' before a program is rebuilt or deleted",
                 text_percent(share, keeper->missing_weight, whole));
    return 1;
}

/* An existing tar file may have files that are gone now, so it is not replaced by an incomplete one. 0, or -errno after
 * a message. */
static int keep_older(const struct keeper *keeper, const char *to)
{
    const uint64_t whole = keeper->view->selection->total_weight;
    char share[TEXT_AMOUNT];
    if (!keeper->archive.directory || text_share(keeper->missing_weight, whole) < LEAST_MISSING || access(to, F_OK) < 0)
        return 0;
    report_error(
        "the archive '%s' exists and is not replaced: some DSOs (with %s of the samples) cannot be read now, and the "
        "archive may contain their function names; unpack the archive beside the result files and try again, or give "
        "another file name with -o",
        to, text_percent(share, keeper->missing_weight, whole));
    return -EEXIST;
}

int view_archive(struct view *view)
{
    struct keeper keeper = {.view = view};
    if (!view->settings->archive && strcmp(view->paths[0], "-") == 0) {
        report_error("the profile comes from the standard input, so the archive has no default name; give one with -o");
        return 2;
    }
    char *usual = view->settings->archive ? NULL : archive_name(view->paths[0]);
    const char *to = view->settings->archive ? view->settings->archive : usual;
    keeper.error = archive_open(&keeper.archive, to, output_file_rights(view->paths, view->path_count));
    char *directory = NULL;
    int status = 0;
    if (!keeper.error) {
        directory = memory_text(keeper.archive.directory ? keeper.archive.directory : base_of(to));
        put_dsos(&keeper);
        put_kernel(&keeper);
        /* The index comes last: a directory without it is no archive. */
        if (!keeper.error)
            keeper.error = archive_put(&keeper.archive, ARCHIVE_INDEX, keeper.index ? keeper.index : "",
                                       keeper.index_size);
        weigh_left_out(&keeper);
        if (!keeper.error)
            keeper.error = keep_older(&keeper, to);
        keeper.error = archive_close(&keeper.archive, keeper.error);
    }
    if (!keeper.error) {
        print_result(&keeper, to, directory);
        status = report_missing(&keeper);
    }
    for (size_t i = 0; i < keeper.place_count; i++)
        free(keeper.places[i]);
    free(keeper.places);
    free(keeper.left);
    free(keeper.index);
    free(usual);
    free(directory);
    return keeper.error ? 1 : status;
}
