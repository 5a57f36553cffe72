/* SPDX-License-Identifier: MIT */
#include "analyze/view/brief.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "analyze/view/text.h"

/* In bytes. Longer names are only cut. */
#define LONGEST 16384
#define LONGEST_INNER 1024 /* after folding; longer names keep their namespaces */

/* Does AT follow the word "operator" in NAME? Then the operator's symbol is at AT. */
static bool follows_operator(const char *name, const char *at)
{
    static const char word[] = "operator";
    const size_t size = sizeof(word) - 1;
    return (size_t)(at - name) >= size && strncmp(at - size, word, size) == 0;
}

/* The size of an operator's symbol with brackets at AT; 0: there is none. */
static size_t operator_size(const char *name, const char *at)
{
    static const char *const symbols[] = {"<=>", "<<=", ">>=", "->", "<<", ">>", "<=", ">=", "<", ">", "()"};
    for (size_t i = 0; follows_operator(name, at) && i < sizeof(symbols) / sizeof(symbols[0]); i++)
        if (strncmp(at, symbols[i], strlen(symbols[i])) == 0)
            return strlen(symbols[i]);
    return 0;
}

/* The position after the bracket that closes the one at AT; NULL: it is not closed. */
static const char *behind_brackets(const char *at)
{
    int depth = 0;
    for (const char *from = at; *at; at++) {
        if (strchr("<([{", *at))
            depth++;
        else if (strchr(")]}", *at) || (*at == '>' && at[-1] != '-'))
            depth--;
        if (depth == 0 && at > from)
            return at + 1;
    }
    return NULL;
}

/* Does the bracket at AT begin parameters or template arguments? Not in Rust's "<T as Trait>::f", "(anonymous
 * namespace)" and Go's "main.(*T).f", where it begins a name. */
static bool is_argument(const char *name, const char *at)
{
    return at > name && (isalnum((unsigned char)at[-1]) || strchr("_>:)]}$", at[-1])) &&
           (*at == '<' || at[-1] != ':');
}

static char *fold(const char *name, bool templates)
{
    char *folded = memory_new(2 * strlen(name) + 1, 1), *to = folded;
    const char *name_end = name; /* end of the last operator's symbol */
    bool closed = true;
    for (const char *at = name; *at;) {
        size_t symbol = operator_size(name, at);
        const char *behind = NULL;
        if (symbol) {
            memcpy(to, at, symbol);
            to += symbol;
            at += symbol;
            name_end = at;
            continue;
        }
        const bool bracket = *at == '(' || (templates && *at == '<');
        if (closed && bracket && (is_argument(name, at) || (at == name_end && at > name)))
            closed = (behind = behind_brackets(at)) != NULL; /* after an unclosed one, brackets are not folded */
        if (!behind || behind <= at + 5) { /* "(...)" would not be shorter */
            *to++ = *at++;
            continue;
        }
        *to++ = *at;
        to = stpcpy(to, "...");
        *to++ = behind[-1];
        at = behind;
    }
    *to = '\0';
    return folded;
}

/* The position after the next "::" outside of brackets; NULL: there is none. */
static const char *inner_name(const char *name)
{
    int depth = 0;
    for (const char *at = name; *at; at++) {
        if (strchr("<([{", *at))
            depth++;
        else if (strchr(")]}", *at) || (*at == '>' && at > name && at[-1] != '-'))
            depth -= depth > 0;
        if (depth == 0 && at > name && strncmp(at, "::", 2) == 0)
            return at + 2;
    }
    return NULL;
}

/* NAME as "..." and its part after a "::", if that fits into COLUMNS; else NAME as it is. */
static char *without_namespaces(char *name, size_t columns, bool utf8)
{
    if (strlen(name) > LONGEST_INNER)
        return name;
    for (const char *at = name; text_columns(name, utf8) > columns && (at = inner_name(at)) && *at;) {
        if (3 + text_columns(at, utf8) > columns)
            continue;
        char *inner = memory_print("...%s", at);
        free(name);
        return inner;
    }
    return name;
}

char *brief_name(const char *clean, size_t columns, bool utf8)
{
    char *brief = memory_text(clean);
    if (strlen(brief) > LONGEST) /* no compiler makes such names */
        text_cut(brief, columns, utf8);
    for (int templates = 0; templates <= 1 && text_columns(brief, utf8) > columns; templates++) {
        free(brief);
        brief = fold(clean, templates);
    }
    brief = without_namespaces(brief, columns, utf8);
    text_cut(brief, columns, utf8);
    return brief;
}

char *brief_path(const char *clean, size_t columns, bool utf8)
{
    const char *rest = clean;
    if (text_columns(clean, utf8) <= columns)
        return memory_text(clean);
    for (const char *at = clean; (at = strchr(at + 1, '/'));) {
        rest = at;
        if (strlen(rest) > LONGEST) /* unusually long: measuring it for each '/' would take too long */
            continue;
        if (text_columns(rest, utf8) + 3 <= columns)
            break;
    }
    return rest == clean ? memory_text(clean) : memory_print("...%s", rest);
}
