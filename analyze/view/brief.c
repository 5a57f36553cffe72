/* SPDX-License-Identifier: MIT */
#include "analyze/view/brief.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/view/memory.h"
#include "analyze/view/text.h"
#include "common/buffer.h"

/* ---- Names of functions, and paths ---- */

/* In bytes. Longer names are only cut. */
#define LONGEST       16384
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
    return at > name && (isalnum((unsigned char)at[-1]) || strchr("_>:)]}$", at[-1])) && (*at == '<' || at[-1] != ':');
}

static char *fold_brackets(const char *name, bool templates)
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
        if (!behind || behind <= at + 5) {                   /* "(...)" would not be shorter */
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
        brief = fold_brackets(clean, templates);
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

/* ---- Command lines ---- */

#define LONGEST_ENDING 5 /* of a file's name, as in ".proto" */

struct word {
    const char *text;
    size_t size; /* 0: no more words */
};

static struct word word_at(const char *text)
{
    text += strspn(text, " ");
    return (struct word){text, strcspn(text, " ")};
}

static struct word next_word(struct word word)
{
    return word_at(word.text + word.size);
}

static bool is_word(struct word word, const char *text)
{
    return strlen(text) == word.size && strncmp(word.text, text, word.size) == 0;
}

static bool begins_with(struct word word, const char *text)
{
    return word.size >= strlen(text) && strncmp(word.text, text, strlen(text)) == 0;
}

/* "src/big.c", but not "0.05" and "libm.so.6". */
static bool has_ending(struct word word)
{
    size_t at = word.size, size = 0;
    while (at && word.text[at - 1] != '.' && word.text[at - 1] != '/')
        at--;
    if (at < 2 || word.text[at - 1] != '.' || word.text[at - 2] == '/' || word.text[at - 2] == '.')
        return false;
    for (size = 0; at + size < word.size; size++)
        if (!isalnum((unsigned char)word.text[at + size]) && word.text[at + size] != '+')
            return false;
    return size && size <= LONGEST_ENDING && isalpha((unsigned char)word.text[at]);
}

static bool is_file(struct word word)
{
    return word.size && *word.text != '-' && *word.text != '\'' && has_ending(word);
}

/* The word after such an option is no input of the command. */
static bool takes_other_file(struct word word)
{
    static const char *const options[] = {
        "-o",        "-MF",      "-MT",      "-MQ",     "-MD", "-I",      "-L",     "-isystem", "-include",
        "-dumpbase", "-dumpdir", "-auxbase", "-iquote", "-T",  "-plugin", "-rpath", "-soname",  "-dynamic-linker"};
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (is_word(word, options[i]))
            return true;
    return false;
}

static bool is_of_the_system(struct word word)
{
    return begins_with(word, "/usr/") || begins_with(word, "/lib") || begins_with(word, "/tmp/");
}

/* Whether WORD, after the word BEFORE, is an input of the command. */
static bool is_input(struct word before, struct word word)
{
    return is_file(word) && !takes_other_file(before) && !is_of_the_system(word);
}

/* "sh -c '...'": the words belong to other commands. */
static bool is_script(const char *line)
{
    return is_word(next_word(word_at(line)), "-c");
}

static struct word program_of(const char *line)
{
    struct word program = word_at(line);
    for (size_t at = program.size; at-- > 0;)
        if (program.text[at] == '/' && at + 1 < program.size)
            return (struct word){program.text + at + 1, program.size - at - 1};
    return program;
}

static char *copy_word(struct word word)
{
    return memory_print("%.*s", (int)word.size, word.text);
}

char *command_program(const char *line)
{
    return copy_word(program_of(line));
}

char *command_file(const char *line)
{
    struct word before = word_at(line), made = {0}, temporary = {0};
    if (is_script(line))
        return NULL;
    for (struct word word = next_word(before); word.size; before = word, word = next_word(word)) {
        if (is_input(before, word))
            return copy_word(word);
        if (is_word(before, "-o") && !is_of_the_system(word))
            made = word;
        /* In /tmp: a compiler's temporary file, or a project, which is in a directory of its own. */
        if (is_file(word) && !takes_other_file(before) && begins_with(word, "/tmp/") && !temporary.size &&
            memchr(word.text + strlen("/tmp/"), '/', word.size - strlen("/tmp/")))
            temporary = word;
    }
    return made.size ? copy_word(made) : temporary.size ? copy_word(temporary) : NULL;
}

/* A word of a script ("x.c'", "x.c;") without its quotes and punctuation. */
static struct word without_quotes(struct word word)
{
    while (word.size && strchr("\"'(", *word.text))
        word = (struct word){word.text + 1, word.size - 1};
    while (word.size && strchr("\"');", word.text[word.size - 1]))
        word.size--;
    return word;
}

/* The length of WORD, an option, up to the file that it names ("-Wp,-MMD,x.d"); 0: it names none. */
static size_t size_of_option(struct word word)
{
    size_t at = word.size;
    while (at && word.text[at - 1] != '=' && word.text[at - 1] != ',')
        at--;
    return at && is_file((struct word){word.text + at, word.size - at}) ? at : 0;
}

/* Whether the word after -o is a file without an ending, as in "-o prog main.o": another word is a file. In "grep -o
 * word" none is. */
static bool makes_file(const char *line)
{
    for (struct word word = next_word(word_at(line)); word.size; word = next_word(word))
        if (is_file(word))
            return true;
    return false;
}

char *command_pattern(const char *line)
{
    struct buffer pattern = BUFFER_INIT;
    struct word program = word_at(line), before = program;
    const bool makes = makes_file(line);
    bool star = false;
    buffer_printf(&pattern, "%.*s", (int)program.size, program.text);
    for (struct word word = next_word(program); word.size; before = word, word = next_word(word)) {
        const size_t option = *word.text == '-' ? size_of_option(word) : 0;
        const bool made = makes && *word.text != '-' && is_word(before, "-o");
        const bool file = made || is_file(without_quotes(word));
        if (option)
            buffer_printf(&pattern, " %.*s*", (int)option, word.text);
        else if (!file)
            buffer_printf(&pattern, " %.*s", (int)word.size, word.text);
        else if (!star) /* several files in a row become one "*": their number may differ */
            buffer_printf(&pattern, " *");
        star = file;
    }
    if (buffer_failed(&pattern))
        memory_exhausted();
    char *text = memory_text((const char *)pattern.data);
    buffer_release(&pattern);
    return text;
}

/* The program with as many of its inputs as fit, or with the file that it creates. NULL: it has none. */
static char *with_inputs(const char *line, size_t columns, bool utf8)
{
    char *text = command_program(line);
    struct word before = word_at(line);
    bool any = false, skipped = false;
    for (struct word word = next_word(before); word.size; before = word, word = next_word(word)) {
        if (!is_input(before, word)) {
            skipped = true;
            continue;
        }
        char *longer = memory_print("%s%s %.*s", text, skipped ? " ..." : "", (int)word.size, word.text);
        if (any && text_columns(longer, utf8) + strlen(" ...") > columns) {
            free(longer);
            skipped = true;
            break;
        }
        free(text);
        text = longer;
        any = true;
        skipped = false;
    }
    const bool room = text_columns(text, utf8) + strlen(" ...") <= columns;
    char *made = any ? NULL : command_file(line), *whole = NULL;
    if (any)
        whole = memory_print("%s%s", text, skipped && room ? " ..." : "");
    else if (made)
        whole = memory_print("%s ... -o %s", text, made);
    free(made);
    free(text);
    return whole;
}

char *command_brief(const char *line, size_t columns, bool utf8)
{
    if (text_columns(line, utf8) <= columns)
        return memory_text(line);
    char *brief = memory_text(program_of(line).text);
    if (text_columns(brief, utf8) > columns && !is_script(line)) {
        char *inputs = with_inputs(line, columns, utf8);
        if (inputs) {
            free(brief);
            brief = inputs;
        }
    }
    text_cut(brief, columns, utf8);
    return brief;
}
