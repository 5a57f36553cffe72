/* SPDX-License-Identifier: MIT */
#include "analyze/view/normalize.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "analyze/view/text.h"

static void drop_end(char *text, const char *end)
{
    size_t size = strlen(text), less = strlen(end);
    if (size > less && strcmp(text + size - less, end) == 0)
        text[size - less] = '\0';
}

char *normalize_dso(const char *path)
{
    char *name = memory_text(text_base(path));
    drop_end(name, " (deleted)");
    /* The version after ".so": digits and dots up to the end. */
    char *so = strstr(name, ".so.");
    if (so && so > name && so[4 + strspn(so + 4, "0123456789.")] == '\0')
        so[3] = '\0';
    return name;
}

/* Whether TEXT[SIZE] is a compiler's word for a piece or a variant of a function. */
static bool is_variant(const char *text, size_t size)
{
    static const char *const words[] = {"isra",  "constprop", "part",       "cold", "hot",
                                        "clone", "lto_priv",  "localalias", "llvm", "unlikely"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strlen(words[i]) == size && strncmp(text, words[i], size) == 0)
            return true;
    return false;
}

/* Cuts off the last ".WORD" or ".WORD.NUMBER" that the compiler added. */
static bool drop_variant(char *name)
{
    char *dot = strrchr(name, '.');
    if (!dot || dot == name || !dot[1])
        return false;
    if (dot[1 + strspn(dot + 1, "0123456789")] == '\0') {
        *dot = '\0';
        char *word = strrchr(name, '.');
        if (word && word > name && is_variant(word + 1, strlen(word + 1))) {
            *word = '\0';
            return true;
        }
        *dot = '.';
        return false;
    }
    if (!is_variant(dot + 1, strlen(dot + 1)))
        return false;
    *dot = '\0';
    return true;
}

/* " [clone .part.0]" and " (.llvm.123)", as the demangler shows them. */
static bool drop_note(char *name, const char *begin, char last)
{
    size_t size = strlen(name);
    char *found = NULL;
    if (!size || name[size - 1] != last)
        return false;
    for (char *at = strstr(name, begin); at; at = strstr(at + 1, begin))
        found = at;
    if (!found || found == name || strchr(found + 1, last) != name + size - 1)
        return false;
    *found = '\0';
    return true;
}

char *normalize_symbol(const char *symbol)
{
    char *name = memory_text(symbol);
    while (drop_note(name, " [clone .", ']') || drop_note(name, " (.", ')') || drop_variant(name))
        ;
    return name;
}

const char *normalize_executable(const struct profile_task *task, const char *comm)
{
    for (uint32_t i = task->generation_count; i-- > 0;)
        if (strcmp(task->generations[i].comm, comm) == 0)
            return task->generations[i].exec;
    return task->exec;
}
