/* SPDX-License-Identifier: MIT */
#include "analyze/view/select.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/histogram.h"
#include "analyze/view/memory.h"
#include "analyze/view/names.h"
#include "analyze/view/text.h"
#include "analyze/view/view.h"
#include "common/report.h"

static bool has_number(const struct settings_numbers *list, int32_t number)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == number)
            return true;
    return list->count == 0;
}

static bool has_word(const struct settings_list *list, const char *word)
{
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], word) == 0 || fnmatch(list->items[i], word, 0) == 0)
            return true;
    return list->count == 0;
}

bool select_by_task(const struct settings *settings)
{
    return settings->pids.count || settings->tids.count || settings->comms.count || settings->command_lines.count;
}

bool select_comm(const struct settings *settings, const char *comm)
{
    return has_word(&settings->comms, comm);
}

bool select_dso(const struct settings *settings, const char *dso)
{
    return has_word(&settings->dsos, dso) || has_word(&settings->dsos, text_base(dso));
}

/* "pow" also selects pow@@GLIBC_2.29, the name in the symbol table of a library. */
bool select_symbol(const struct settings *settings, const char *symbol)
{
    if (has_word(&settings->symbols, symbol))
        return true;
    const char *version = strchr(symbol, '@');
    if (!version || version == symbol)
        return false;
    char *plain = memory_print("%.*s", (int)(version - symbol), symbol);
    const bool has = has_word(&settings->symbols, plain);
    free(plain);
    return has;
}

bool select_place(const struct settings *settings, const char *dso, const char *symbol)
{
    return select_dso(settings, dso) && select_symbol(settings, symbol);
}

bool select_stack(const struct settings *settings, struct names *names, uint32_t index)
{
    if (!settings->dsos.count && !settings->symbols.count)
        return true;
    uint32_t depth;
    const uint32_t *frames = names_stack(names, index, &depth);
    for (uint32_t i = 0; i < depth; i++) {
        const struct names_place *place = names_frame(names, frames[i]);
        if (select_place(settings, place->dso, place->symbol))
            return true;
    }
    return false;
}

bool select_finds(const struct settings *settings, const struct profile *profile, struct names *names,
                  const uint32_t *entries, uint32_t count)
{
    /* Inlined functions have names that frames alone do not have. */
    bool inlined = settings->by == BY_LINE || settings->by == BY_INLINE || settings->by == BY_FILE ||
                   (settings->inlined && !names_shows_inlined(names));
    bool any = inlined || (!settings->dsos.count && !settings->symbols.count);
    for (uint32_t i = 0; i < count && !any; i++)
        any = select_stack(settings, names, profile->entries[entries[i]].stack);
    return any;
}

int select_refuse(const struct settings *settings, const char *hint)
{
    const struct settings_list *symbols = &settings->symbols, *dsos = &settings->dsos;
    if (symbols->count)
        report_error("no sampled stack passes through a function '%s'%s%s%s%s%s", symbols->items[0],
                     dsos->count ? " of '" : "", dsos->count ? dsos->items[0] : "", dsos->count ? "'" : "",
                     symbols->count > 1 ? ", nor through any of the other functions given with --symbol" : "",
                     *hint ? hint : "; 'panalyze report --top all' lists the functions");
    else
        report_error("no sampled stack passes through a DSO '%s'%s; 'panalyze report --by dso' "
                     "lists the DSOs",
                     dsos->items[0], dsos->count > 1 ? " (or through another of the given DSOs)" : "");
    return 1;
}

/* The words with spaces between them; owned by the caller. */
static char *join_words(const char *const *words, uint32_t count)
{
    size_t size = 1;
    for (uint32_t i = 0; i < count; i++)
        size += strlen(words[i]) + 1;
    char *line = memory_new(size, 1), *to = line;
    for (uint32_t i = 0; i < count; i++) {
        if (i)
            *to++ = ' ';
        to = stpcpy(to, words[i]);
    }
    return line;
}

/* Whether one of LIST is in the command line, either plain or with quotes, as views show it. */
static bool has_part(const struct settings_list *list, const char *const *words, uint32_t count)
{
    char *shown = text_command(words, count), *plain = join_words(words, count);
    bool has = false;
    for (size_t i = 0; i < list->count && !has; i++)
        has = strstr(plain, list->items[i]) || strstr(shown, list->items[i]);
    free(plain);
    free(shown);
    return has;
}

static bool select_command_line(const struct settings *settings, const struct profile_task *task)
{
    const struct settings_list *list = &settings->command_lines;
    if (!list->count)
        return true;
    bool has = task->cmdline_count ? has_part(list, task->cmdline, task->cmdline_count)
                                   : has_part(list, &task->comm, 1);
    for (uint32_t i = 0; i < task->generation_count && !has; i++)
        has = has_part(list, task->generations[i].cmdline, task->generations[i].cmdline_count);
    return has;
}

bool select_task(const struct settings *settings, const struct profile_task *task)
{
    if (!has_number(&settings->pids, task->pid) || !has_number(&settings->tids, task->tid) ||
        !select_command_line(settings, task))
        return false;
    if (select_comm(settings, task->comm))
        return true;
    for (uint32_t i = 0; i < task->generation_count; i++)
        if (select_comm(settings, task->generations[i].comm))
            return true;
    return false;
}

/* Whether the leaf of the sample matches --dso and --symbol. */
static bool is_at_place(const struct profile *profile, const struct settings *settings, struct names *names,
                        const struct profile_entry *entry)
{
    if (!names || (!settings->dsos.count && !settings->symbols.count))
        return true;
    uint32_t leaf = profile->stacks[entry->stack].frames[0];
    const struct names_place *place = names_frame(names, leaf);
    return select_place(settings, place->dso, place->symbol);
}

static bool is_chosen(const struct selection *selection, const struct profile *profile, const struct settings *settings,
                      struct names *names, uint32_t index)
{
    const struct profile_entry *entry = &profile->entries[index];
    if (!is_at_place(profile, settings, names, entry))
        return false;
    return profile->merged || (selection->tasks[entry->task] && select_comm(settings, entry->comm));
}

/* The samples of the shown event by task, if entries do not have the task. */
static void add_sums(struct selection *selection, const struct profile *profile)
{
    for (uint32_t i = 0; i < profile->sum_count; i++) {
        const struct profile_entry *sum = &profile->sums[i];
        if (sum->event != profile->event)
            continue;
        selection->samples[sum->task] += sum->samples;
        selection->weights[sum->task] += sum->weight;
    }
}

/* The entries with MINE[index], grouped by task. FIRST: by task, the start of its entries. */
static uint32_t *list_by_task(const struct profile *profile, const bool *mine, uint32_t *first, uint32_t *ret_count)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < profile->entry_count; i++)
        if (mine[i]) {
            first[profile->entries[i].task + 1]++;
            count++;
        }
    for (uint32_t i = 0; i < profile->task_count; i++)
        first[i + 1] += first[i];
    uint32_t *list = memory_new(count, sizeof(*list)), *at = memory_new(profile->task_count, sizeof(*at));
    for (uint32_t i = 0; i < profile->entry_count; i++)
        if (mine[i])
            list[first[profile->entries[i].task] + at[profile->entries[i].task]++] = i;
    free(at);
    *ret_count = count;
    return list;
}

static void choose_entries(struct selection *selection, const struct profile *profile, const struct settings *settings,
                           struct names *names)
{
    bool *mine = memory_new(profile->entry_count, sizeof(*mine));
    for (uint32_t i = 0; i < profile->entry_count; i++) {
        const struct profile_entry *entry = &profile->entries[i];
        mine[i] = entry->event == profile->event && is_chosen(selection, profile, settings, names, i);
        if (!mine[i] || profile->merged)
            continue;
        selection->samples[entry->task] += entry->samples;
        selection->weights[entry->task] += entry->weight;
    }
    if (profile->merged)
        add_sums(selection, profile);
    selection->entries = list_by_task(profile, mine, selection->first, &selection->entry_count);
    free(mine);
}

static void choose_others(struct selection *selection, const struct profile *profile, const struct settings *settings,
                          struct names *names)
{
    if (!settings->group)
        return;
    bool *mine = memory_new(profile->entry_count, sizeof(*mine));
    for (uint32_t i = 0; i < profile->entry_count; i++)
        mine[i] = profile->entries[i].event != profile->event && is_chosen(selection, profile, settings, names, i);
    selection->others = list_by_task(profile, mine, selection->first_other, &selection->other_count);
    free(mine);
}

static int compare_weight(const void *left, const void *right, void *context)
{
    const struct selection *selection = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = order_larger(selection->weights[a], selection->weights[b]);
    return order ? order : order_smaller(a, b); /* indices are in the order of start */
}

struct selection *select_new(const struct profile *profile, const struct settings *settings, struct names *names,
                             bool whole_samples)
{
    struct selection *selection = memory_new(1, sizeof(*selection));
    selection->tasks = memory_new(profile->task_count, sizeof(*selection->tasks));
    selection->samples = memory_new(profile->task_count, sizeof(*selection->samples));
    selection->weights = memory_new(profile->task_count, sizeof(*selection->weights));
    selection->order = memory_new(profile->task_count, sizeof(*selection->order));
    selection->first = memory_new((size_t)profile->task_count + 1, sizeof(*selection->first));
    selection->first_other = memory_new((size_t)profile->task_count + 1, sizeof(*selection->first_other));
    for (uint32_t i = 0; i < profile->task_count; i++) {
        selection->tasks[i] = select_task(settings, &profile->tasks[i]);
        if (selection->tasks[i])
            selection->order[selection->task_count++] = i;
    }
    choose_entries(selection, profile, settings, whole_samples ? names : NULL);
    choose_others(selection, profile, settings, whole_samples ? names : NULL);
    bool entries = profile->entry_count > 0;
    for (uint32_t i = 0; i < selection->task_count; i++) {
        uint32_t task = selection->order[i];
        if (!entries) {
            selection->samples[task] = profile->tasks[task].samples;
            selection->weights[task] = profile->tasks[task].weight;
        }
        selection->total_samples += selection->samples[task];
        selection->total_weight += selection->weights[task];
        selection->lost += profile->tasks[task].lost;
    }
    selection->filtered = select_by_task(settings);
    if (!selection->filtered && profile->lost > selection->lost)
        selection->lost = profile->lost;
    qsort_r(selection->order, selection->task_count, sizeof(*selection->order), compare_weight, selection);
    return selection;
}

bool *select_frames(const struct selection *selection, const struct profile *profile)
{
    if (selection->entry_count + selection->other_count == profile->entry_count)
        return NULL;
    bool *wanted = memory_new(profile->frame_count, sizeof(*wanted));
    bool *seen = memory_new(profile->stack_count, sizeof(*seen));
    for (uint32_t i = 0; i < selection->entry_count + selection->other_count; i++) {
        uint32_t other = i - selection->entry_count;
        uint32_t at = i < selection->entry_count ? selection->entries[i] : selection->others[other];
        uint32_t index = profile->entries[at].stack;
        const struct profile_stack *stack = &profile->stacks[index];
        for (uint32_t j = 0; !seen[index] && j < stack->depth; j++)
            wanted[stack->frames[j]] = true;
        seen[index] = true;
    }
    free(seen);
    return wanted;
}

void select_free(struct selection *selection)
{
    if (!selection)
        return;
    free(selection->tasks);
    free(selection->samples);
    free(selection->weights);
    free(selection->order);
    free(selection->entries);
    free(selection->others);
    free(selection->first_other);
    free(selection->first);
    free(selection);
}

/* ---- Their names ---- */

void view_symbolize(struct view *view)
{
    /* One time limit is for all debuginfod look-ups: their order must not depend on threads. */
    unsigned threads = view->settings->debuginfod ? 1 : (unsigned)view->settings->threads;
    bool *wanted = select_frames(view->selection, view->profile);
    if (view->lines)
        lines_symbolize(view->lines, view->profile, wanted, threads);
    else
        names_symbolize(view->names, wanted, view->inlined, threads);
    free(wanted);
}

/* ---- What --symbol may have meant ---- */

#define MOST 3

/* Whether AT, after a dot, is a compiler's suffix for a part or copy of a function. */
static bool is_suffix(const char *at)
{
    static const char *const words[] = {"part", "isra", "constprop", "cold", "lto_priv", "llvm", "localalias"};
    bool found = *at >= '0' && *at <= '9';
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        found |= strncmp(at, words[i], strlen(words[i])) == 0;
    return found;
}

/* The size of the separator at AT, outside of all brackets, if a part of the name follows it; else 0. ENDED: the
 * parameters came before. */
static size_t separator_at(const char *at, bool ended)
{
    if (strncmp(at, "::", 2) == 0)
        return 2;
    return (at[0] == '.' && !is_suffix(at + 1)) || (at[0] == ' ' && !ended) ? 1 : 0;
}

char *suggest_base(const char *symbol)
{
    const char *start = symbol, *end = NULL;
    int depth = 0;
    for (const char *at = symbol; *at; at++) {
        const size_t separator = depth ? 0 : separator_at(at, end != NULL);
        if (depth == 0 && at == start && strncmp(at, "operator", 8) == 0)
            return memory_text(at);
        if (separator) {
            start = at + separator;
            end = NULL;
            at += separator - 1;
            continue;
        }
        if (depth == 0 && at > start && !end && strchr("(<[@.", *at))
            end = at;
        if (depth == 0 && *at == '@')
            break;
        depth += strchr("(<[{", *at) != NULL;
        depth -= depth && strchr(")>]}", *at) != NULL;
    }
    while (*start == '_' && start != end)
        start++;
    return end ? memory_print("%.*s", (int)(end - start), start) : memory_text(start);
}

/* The name for --symbol: without its version. */
static char *plain_name(const char *symbol)
{
    const char *version = strchr(symbol, '@');
    return version && version != symbol ? memory_print("%.*s", (int)(version - symbol), symbol) : memory_text(symbol);
}

struct found {
    char *names[MOST];
    size_t count;
};

static void add_name(struct found *found, const char *symbol, const char *base)
{
    char *own = suggest_base(symbol), *name = plain_name(symbol);
    bool wanted = found->count < MOST && strcmp(own, base) == 0;
    for (size_t i = 0; i < found->count; i++)
        wanted &= strcmp(found->names[i], name) != 0;
    free(own);
    if (wanted)
        found->names[found->count++] = name;
    else
        free(name);
}

static void find_names(struct found *found, struct view *view, const char *base, bool leaves_only)
{
    struct histogram histogram;
    histogram_init(&histogram, view->profile, view->names, BY_FUNCTION);
    for (uint32_t i = 0; i < view->selection->entry_count; i++)
        histogram_add(&histogram, &view->profile->entries[view->selection->entries[i]]);
    histogram_sort(&histogram, SORT_TOTAL);
    for (size_t i = 0; i < histogram.count && found->count < MOST; i++) {
        const struct names_function function = names_function(view->names, (uint32_t)histogram.rows[i].key);
        if (function.named && (histogram.rows[i].self_samples || !leaves_only) &&
            select_dso(view->settings, function.dso))
            add_name(found, function.symbol, base);
    }
    histogram_release(&histogram);
}

char *suggest_hint(struct view *view, bool leaves_only)
{
    struct found found = {.count = 0};
    char *text = memory_text("");
    if (!view->settings->symbols.count || !view->selection || !view->names)
        return text;
    char *base = suggest_base(view->settings->symbols.items[0]);
    if (*base)
        find_names(&found, view, base, leaves_only);
    free(base);
    for (size_t i = 0; i < found.count; i++) {
        const char *before = !i ? "; did you mean " : i + 1 == found.count ? " or " : ", ";
        char *longer = memory_print("%s%s'%s'%s", text, before, found.names[i], i + 1 == found.count ? "?" : "");
        free(text);
        free(found.names[i]);
        text = longer;
    }
    return text;
}

int suggest_refuse(struct view *view)
{
    char *hint = suggest_hint(view, false);
    int status = select_refuse(view->settings, hint);
    free(hint);
    return status;
}
