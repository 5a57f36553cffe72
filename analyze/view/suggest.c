/* SPDX-License-Identifier: MIT */
#include "analyze/view/suggest.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/view/histogram.h"
#include "analyze/view/memory.h"

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

static void find(struct found *found, struct view *view, const char *base, bool hit)
{
    struct histogram histogram;
    histogram_init(&histogram, view->profile, view->names, BY_FUNCTION);
    for (uint32_t i = 0; i < view->selection->entry_count; i++)
        histogram_add(&histogram, &view->profile->entries[view->selection->entries[i]]);
    histogram_sort(&histogram, SORT_TOTAL);
    for (size_t i = 0; i < histogram.count && found->count < MOST; i++) {
        const struct names_function function = names_function(view->names, (uint32_t)histogram.rows[i].key);
        if (function.named && (histogram.rows[i].self_samples || !hit) && select_dso(view->settings, function.dso))
            add_name(found, function.symbol, base);
    }
    histogram_release(&histogram);
}

char *suggest_hint(struct view *view, bool hit)
{
    struct found found = {.count = 0};
    char *text = memory_text("");
    if (!view->settings->symbols.count || !view->selection || !view->names)
        return text;
    char *base = suggest_base(view->settings->symbols.items[0]);
    if (*base)
        find(&found, view, base, hit);
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
