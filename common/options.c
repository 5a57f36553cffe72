/* SPDX-License-Identifier: MIT */
#include "common/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/nearest.h"
#include "common/report.h"

/* The column where descriptions start in --help, if labels are long. */
#define LABEL_WIDTH 30
#define MOST_WORDS  128
#define WORDS_SIZE  256 /* of the words of one option */
#define UNLISTED    (OPTION_HIDDEN | OPTION_SYNONYM)

struct parser {
    const struct options *options;
    void *state;
    int argc, at;
    char **argv;
};

static bool is_end(const struct option_row *row)
{
    return !row->name && !row->help;
}

static bool belongs(const struct option_row *row, uint32_t groups)
{
    return groups == 0 || row->groups == 0 || (row->groups & groups);
}

int options_take_flag(void *state, const struct option_row *row, const char *value)
{
    (void)value;
    *(bool *)((char *)state + row->offset) = true;
    return 0;
}

int options_take_enum(void *state, const struct option_row *row, const char *value)
{
    (void)value;
    *(int *)((char *)state + row->offset) = (int)row->number;
    return 0;
}

int options_take_string(void *state, const struct option_row *row, const char *value)
{
    if (!value || !*value) {
        report_error("option '--%s' needs a value that is not empty (%s)", row->name, row->value ? row->value : "TEXT");
        return -EINVAL;
    }
    *(const char **)((char *)state + row->offset) = value;
    return 0;
}

bool options_parse_count(const char *value, uint64_t *ret)
{
    uint64_t number = 0;
    bool good = value && *value;
    for (const char *digit = value; good && *digit; digit++)
        good = *digit >= '0' && *digit <= '9' && !__builtin_mul_overflow(number, UINT64_C(10), &number) &&
               !__builtin_add_overflow(number, (uint64_t)(*digit - '0'), &number);
    if (good && number)
        *ret = number;
    return good && number;
}

int options_take_count(void *state, const struct option_row *row, const char *value)
{
    if (options_parse_count(value, (uint64_t *)((char *)state + row->offset)))
        return 0;
    report_error("option '--%s' needs a whole number of at least 1, not '%s'", row->name, value ? value : "");
    return -EINVAL;
}

const char *options_word(const char *words, int position, int *ret_size)
{
    while (position-- > 0)
        words += strcspn(words, "|") + 1;
    *ret_size = (int)strcspn(words, "|");
    return words;
}

int options_find_word(const char *words, const char *word)
{
    const size_t size = strlen(word);
    for (int position = 0; size; position++) {
        const size_t length = strcspn(words, "|");
        if (length == size && strncmp(words, word, size) == 0)
            return position;
        if (!words[length])
            break;
        words += length + 1;
    }
    return -1;
}

static const char *words_of(const struct option_row *row)
{
    return row->words ? row->words : row->value;
}

static int refuse_word(const struct option_row *row, const char *value)
{
    char copy[WORDS_SIZE], *rest = copy;
    const char *words[MOST_WORDS];
    size_t count = 0;
    snprintf(copy, sizeof(copy), "%s", words_of(row));
    while (rest && count < MOST_WORDS)
        words[count++] = strsep(&rest, "|");
    const char *near = nearest_word(value, words, count);
    report_error("option '--%s' takes %s, not '%s'%s%s%s", row->name, words_of(row), value,
                 near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return -EINVAL;
}

int options_take_word(void *state, const struct option_row *row, const char *value)
{
    const int position = options_find_word(words_of(row), value ? value : "");
    if (position < 0)
        return refuse_word(row, value ? value : "");
    *(int *)((char *)state + row->offset) = (int)row->number + position;
    return 0;
}

static int refuse_unknown(const struct parser *parser, const char *name)
{
    const char *words[MOST_WORDS];
    size_t count = 0;
    for (const struct option_row *row = parser->options->rows; !is_end(row) && count < MOST_WORDS; row++)
        if (row->name && !(row->flags & UNLISTED) && belongs(row, parser->options->groups))
            words[count++] = row->name;
    const char *near = nearest_word(name, words, count);
    if (near)
        report_error("unknown option '--%s'; did you mean '--%s'?", name, near);
    else
        report_error("unknown option '--%s'; see --help", name);
    return -EINVAL;
}

static int refuse_foreign(const struct parser *parser, const struct option_row *row)
{
    const char *group = parser->options->group_name;
    report_error("option '--%s' does not belong to '%s'; --help lists the options of each command", row->name,
                 group ? group : "this command");
    return -EINVAL;
}

static int refuse_ambiguous(const struct parser *parser, const char *name, size_t size)
{
    char list[256] = "";
    size_t used = 0;
    for (const struct option_row *row = parser->options->rows; !is_end(row); row++) {
        if (!row->name || (row->flags & OPTION_HIDDEN) || strncmp(row->name, name, size) != 0 ||
            !belongs(row, parser->options->groups))
            continue;
        int wrote = snprintf(list + used, sizeof(list) - used, "%s--%s", used ? ", " : "", row->name);
        if (wrote < 0 || (size_t)wrote >= sizeof(list) - used)
            break;
        used += (size_t)wrote;
    }
    report_error("option '--%.*s' is ambiguous: it may be %s", (int)size, name, list);
    return -EINVAL;
}

/* Whether the operands are the same with either option. */
static bool are_alike(const struct option_row *one, const struct option_row *other)
{
    return !one->value == !other->value && ((one->flags ^ other->flags) & OPTION_OPTIONAL_VALUE) == 0;
}

/* Finds NAME[SIZE]: exactly, or as an unambiguous prefix. 0, or -EINVAL after a message. */
static int find_long(const struct parser *parser, const char *name, size_t size, const struct option_row **ret_row)
{
    const struct option_row *found = NULL, *other = NULL;
    size_t count = 0;
    for (const struct option_row *row = parser->options->rows; !is_end(row); row++) {
        if (!row->name || size == 0 || strncmp(row->name, name, size) != 0)
            continue;
        bool exact = row->name[size] == '\0', mine = belongs(row, parser->options->groups);
        if (exact && mine) {
            *ret_row = row;
            return 0;
        }
        if (!mine && (exact || !other))
            other = row;
        if (mine && !(row->flags & OPTION_HIDDEN) && !(found && parser->options->only_look && are_alike(found, row))) {
            found = row;
            count++;
        }
    }
    /* The exact name of another command's option was not meant as a prefix. */
    if (other && (count == 0 || other->name[size] == '\0'))
        return refuse_foreign(parser, other);
    if (count > 1)
        return refuse_ambiguous(parser, name, size);
    if (count == 0) {
        char text[64];
        snprintf(text, sizeof(text), "%.*s", (int)(size < 63 ? size : 63), name);
        return refuse_unknown(parser, text);
    }
    *ret_row = found;
    return 0;
}

static int take_value(struct parser *parser, const struct option_row *row, const char *value)
{
    return parser->options->only_look ? 0 : row->take(parser->state, row, value);
}

/* Takes the next argument as the value of ROW. */
static int take_next(struct parser *parser, const struct option_row *row)
{
    if (parser->at >= parser->argc && parser->options->only_look)
        return 0;
    if (parser->at >= parser->argc) {
        report_error("option '--%s' needs a value (%s)", row->name, words_of(row));
        return -EINVAL;
    }
    return take_value(parser, row, parser->argv[parser->at++]);
}

static int parse_long(struct parser *parser, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t size = equals ? (size_t)(equals - text) : strlen(text);
    const struct option_row *row = NULL;
    int status = find_long(parser, text, size, &row);
    if (status < 0)
        return status;
    if (!row->value && equals) {
        report_error("option '--%s' takes no value", row->name);
        return -EINVAL;
    }
    if (row->value && !equals && !(row->flags & OPTION_OPTIONAL_VALUE))
        return take_next(parser, row);
    return take_value(parser, row, equals ? equals + 1 : NULL);
}

static int find_short(const struct parser *parser, char letter, const struct option_row **ret_row)
{
    const struct option_row *other = NULL;
    for (const struct option_row *row = parser->options->rows; !is_end(row); row++) {
        if (!row->name || !letter || row->letter != letter)
            continue;
        if (belongs(row, parser->options->groups)) {
            *ret_row = row;
            return 0;
        }
        other = row;
    }
    if (other)
        return refuse_foreign(parser, other);
    report_error("unknown option '-%c'; see --help", letter);
    return -EINVAL;
}

/* TEXT: what follows the dash: flags, and a last option that may have its value attached. */
static int parse_short(struct parser *parser, const char *text)
{
    while (*text) {
        const struct option_row *row = NULL;
        int status = find_short(parser, *text++, &row);
        if (status < 0)
            return status;
        if (row->value && !*text && !(row->flags & OPTION_OPTIONAL_VALUE))
            return take_next(parser, row);
        if (row->value)
            return take_value(parser, row, *text ? text : NULL);
        status = take_value(parser, row, NULL);
        if (status < 0)
            return status;
    }
    return 0;
}

int options_parse(const struct options *options, void *state, int argc, char **argv, int *ret_operands, int *ret_count)
{
    struct parser parser = {.options = options, .state = state, .argc = argc, .at = 1, .argv = argv};
    int kept = 1;
    bool ended = false;
    while (parser.at < argc) {
        char *word = argv[parser.at];
        bool operand = ended || word[0] != '-' || word[1] == '\0' || (options->keep_dashes && strcmp(word, "--") == 0);
        if (operand && options->stop_at_operand)
            break;
        parser.at++;
        if (operand) {
            argv[kept++] = word;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            ended = true;
            continue;
        }
        int status = word[1] == '-' ? parse_long(&parser, word + 2) : parse_short(&parser, word + 1);
        if (status < 0)
            return status;
    }
    *ret_operands = options->stop_at_operand ? parser.at : 1;
    *ret_count = options->stop_at_operand ? argc - parser.at : kept - 1;
    return 0;
}

static int label_of(const struct option_row *row, char *ret, size_t size)
{
    bool optional = row->flags & OPTION_OPTIONAL_VALUE;
    char letter[8] = "    ";
    if (row->letter)
        snprintf(letter, sizeof(letter), "-%c, ", row->letter);
    return snprintf(ret, size, "  %s--%s%s%s%s", letter, row->name,
                    !row->value ? ""
                    : optional  ? "[="
                                : "=",
                    row->value ? row->value : "", row->value && optional ? "]" : "");
}

/* Prints TEXT[SIZE] from COLUMN on, wrapped between words before WIDTH; a newline in TEXT also breaks the line. */
static void wrap_text(const char *text, size_t size, int column, int width, FILE *to)
{
    const char *const end = text + size;
    int at = column;
    while (text < end) {
        int length = (int)strcspn(text, " \n");
        length = length < end - text ? length : (int)(end - text);
        if (at > column && at + 1 + length > width) {
            fprintf(to, "\n%*s", column, "");
            at = column;
        }
        at += fprintf(to, "%s%.*s", at > column ? " " : "", length, text);
        text += length;
        if (text < end && *text == '\n') {
            fprintf(to, "\n%*s", column, "");
            at = column;
        }
        text++;
    }
    fputc('\n', to);
}

/* Which rows --help lists. */
struct listing {
    uint32_t groups;
    enum options_which which;
};

static bool is_listed(const struct option_row *row, const struct listing *listing)
{
    bool several = row->groups == 0 || row->groups & (row->groups - 1);
    if (!row->name || row->flags & UNLISTED || !belongs(row, listing->groups))
        return false;
    switch (listing->which) {
    case OPTIONS_BRIEF: return !(row->flags & OPTION_MORE);
    case OPTIONS_OWN: return row->groups == listing->groups;
    case OPTIONS_SHARED: return several;
    default: return true;
    }
}

static bool is_empty_heading(const struct option_row *row, const struct listing *listing)
{
    for (row++; row->name; row++)
        if (is_listed(row, listing))
            return false;
    return true;
}

/* The column where descriptions start: the same for all sections of a table. */
static int column_of(const struct option_row *rows, const struct listing *listing)
{
    const struct listing all = {listing->which == OPTIONS_OWN ? 0 : listing->groups,
                                listing->which == OPTIONS_BRIEF ? OPTIONS_BRIEF : OPTIONS_ALL};
    char label[128];
    int column = 0;
    for (const struct option_row *row = rows; !is_end(row); row++) {
        int size = is_listed(row, &all) ? label_of(row, label, sizeof(label)) + 2 : 0;
        if (size > column && size <= LABEL_WIDTH)
            column = size;
    }
    return column ? column : LABEL_WIDTH;
}

bool options_has_help(const struct option_row *rows, uint32_t groups, enum options_which which)
{
    const struct listing listing = {groups, which};
    for (const struct option_row *row = rows; !is_end(row); row++)
        if (is_listed(row, &listing))
            return true;
    return false;
}

void options_help(const struct option_row *rows, uint32_t groups, enum options_which which, int width, FILE *to)
{
    const struct listing listing = {groups, which};
    char label[128];
    int column = column_of(rows, &listing);
    bool any = false;
    for (const struct option_row *row = rows; !is_end(row); row++) {
        if (!row->name && which != OPTIONS_OWN && belongs(row, groups) && !is_empty_heading(row, &listing)) {
            fprintf(to, "%s%s:\n", any ? "\n" : "", row->help);
            any = true;
        }
        if (!is_listed(row, &listing))
            continue;
        any = true;
        int size = label_of(row, label, sizeof(label));
        fputs(label, to);
        if (size + 2 > column)
            fprintf(to, "\n%*s", column, "");
        else
            fprintf(to, "%*s", column - size, "");
        const char *help = row->help ? row->help : "";
        wrap_text(help, which == OPTIONS_BRIEF ? strcspn(help, ";") : strlen(help), column, width, to);
    }
}
