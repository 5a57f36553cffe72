/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <errno.h>

#include "common/options.h"
#include "common/report.h"

struct state {
    bool quiet, all;
    int mode;
    const char *file, *color;
    uint64_t count;
    char order[32];
};

static int take_order(void *pointer, const struct option_row *row, const char *value)
{
    struct state *state = pointer;
    snprintf(state->order + strlen(state->order), sizeof(state->order) - strlen(state->order), "%c", row->letter);
    state->color = value;
    return 0;
}

enum { TREE = 1, REPORT = 2 };

#define AT(field) offsetof(struct state, field)
static const struct option_row rows[] = {
    {0, NULL, NULL, 0, NULL, 0, 0, 0, "Output"},
    {'q', "quiet", NULL, 0, options_take_flag, AT(quiet), 0, 0, "say less"},
    {'o', "outfile", "BASE", 0, options_take_string, AT(file), 0, 0,
     "where the result files go; a long text that has "
     "to be broken into several lines"},
    {0, NULL, NULL, 0, NULL, 0, 0, TREE, "Only of tree"},
    {'n', "top", "N", 0, options_take_count, AT(count), 0, TREE, "first N"},
    {'C', "color", "WHEN", OPTION_OPTIONAL_VALUE, take_order, 0, 0, 0, "colours"},
    {0, "follow-all", NULL, 0, options_take_flag, AT(all), 0, 0, "all"},
    {0, "follow-fork", NULL, 0, options_take_enum, AT(mode), 7, 0, "forks"},
    {0, "folded", NULL, OPTION_HIDDEN, options_take_enum, AT(mode), 9, 0, "hidden"},
    {0, "self", NULL, 0, options_take_enum, AT(mode), 3, REPORT, "of another"},
    {'a', "alpha", NULL, 0, take_order, 0, 0, 0, "a"},
    {'b', "beta", NULL, 0, take_order, 0, 0, 0, "b"},
    {0, NULL, NULL, 0, NULL, 0, 0, 0, NULL},
};

static struct state got;
static int operands, operand_count;
static char *words[16];

/* The arguments stand in TEXT, separated by blanks. */
static int parse(const char *text, bool stop, uint32_t groups)
{
    static char copy[256];
    snprintf(copy, sizeof(copy), "%s", text);
    int argc = 1;
    words[0] = (char *)"prog";
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        words[argc++] = word;
    words[argc] = NULL;
    memset(&got, 0, sizeof(got));
    struct options options = {.rows = rows, .groups = groups, .group_name = "tree", .stop_at_operand = stop};
    return options_parse(&options, &got, argc, words, &operands, &operand_count);
}

static void test_forms(void **state)
{
    (void)state;
    assert_int_equal(parse("--quiet --outfile=x --top 5", false, 0), 0);
    assert_true(got.quiet);
    assert_string_equal(got.file, "x");
    assert_int_equal(got.count, 5);
    assert_int_equal(parse("-qofile -n7", false, 0), 0);
    assert_string_equal(got.file, "file");
    assert_int_equal(got.count, 7);
    assert_int_equal(parse("-o -- -abCred", false, 0), 0);
    assert_string_equal(got.file, "--");
    assert_string_equal(got.order, "abC");
    assert_string_equal(got.color, "red");
    assert_int_equal(parse("--outfile=a=b", false, 0), 0);
    assert_string_equal(got.file, "a=b");
}

static void test_optional_value(void **state)
{
    (void)state;
    assert_int_equal(parse("--color always", false, 0), 0);
    assert_null(got.color);
    assert_int_equal(operand_count, 1);
    assert_int_equal(parse("--color=always", false, 0), 0);
    assert_string_equal(got.color, "always");
    assert_int_equal(parse("-C always", false, 0), 0);
    assert_null(got.color);
}

static void test_prefixes(void **state)
{
    (void)state;
    assert_int_equal(parse("--out=x --qui --follow-f", false, 0), 0);
    assert_string_equal(got.file, "x");
    assert_int_equal(got.mode, 7);
    /* Hidden options want their whole name and make no prefix ambiguous. */
    assert_int_equal(parse("--folded", false, 0), 0);
    assert_int_equal(got.mode, 9);
    assert_int_equal(parse("--color --fold", false, 0), -EINVAL);
    assert_int_equal(parse("--self", false, REPORT), 0);
}

static void test_operands(void **state)
{
    (void)state;
    assert_int_equal(parse("one -q two - --top 3 three -- -q --x", false, 0), 0);
    assert_int_equal(operands, 1);
    assert_int_equal(operand_count, 6);
    const char *const expected[] = {"one", "two", "-", "three", "-q", "--x"};
    for (int i = 0; i < 6; i++)
        assert_string_equal(words[operands + i], expected[i]);
    assert_int_equal(parse("-q make -q --top", true, 0), 0);
    assert_int_equal(operands, 2);
    assert_int_equal(operand_count, 3);
    assert_int_equal(parse("-q -- --make", true, 0), 0);
    assert_int_equal(operands, 3);
    assert_int_equal(operand_count, 1);
    assert_int_equal(parse("-q", true, 0), 0);
    assert_int_equal(operand_count, 0);
    assert_int_equal(parse("--", true, 0), 0);
    assert_int_equal(operand_count, 0);
}

/* One of several words: those of the value, or those that --help has no room for. */
static void test_words(void **state)
{
    static const struct option_row table[] = {
        {0, "sort", "self|total", 0, options_take_word, AT(mode), 0, 0, "order"},
        {0, "by", "GROUP", 0, options_take_word, AT(mode), 5, 0, "what", "dso|function|line"},
        {0},
    };
    static const struct {
        const char *word, *message; /* NULL: it is good */
        int mode;
    } cases[] = {
        {"--sort=self", NULL, 0},
        {"--sort=total", NULL, 1},
        {"--by=dso", NULL, 5},
        {"--by=line", NULL, 7},
        {"--by=lines", "prog: option '--by' takes dso|function|line, not 'lines'; did you mean 'line'?\n", 0},
        {"--by=dso|function", "prog: option '--by' takes dso|function|line, not 'dso|function'", 0},
        {"--by=GROUP", "prog: option '--by' takes dso|function|line, not 'GROUP'\n", 0},
        {"--sort=", "prog: option '--sort' takes self|total, not ''\n", 0},
        {"--sort", "prog: option '--sort' needs a value (self|total)\n", 0},
        {"--by", "prog: option '--by' needs a value (dso|function|line)\n", 0},
    };
    const struct options options = {.rows = table};
    (void)state;
    report_program("prog");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *arguments[] = {(char *)"prog", (char *)cases[i].word, NULL};
        got = (struct state){0};
        check_capture();
        assert_int_equal(options_parse(&options, &got, 2, arguments, &operands, &operand_count),
                         cases[i].message ? -EINVAL : 0);
        const char *said = check_captured();
        if (cases[i].message ? !strstr(said, cases[i].message) : said[0] != '\0')
            fail_msg("%s: %s", cases[i].word, said);
        assert_int_equal(got.mode, cases[i].mode);
    }
    int size;
    assert_memory_equal(options_word("dso|function|line", 1, &size), "function", 8);
    assert_int_equal(size, 8);
    assert_string_equal(options_word("dso|function|line", 2, &size), "line");
    assert_int_equal(size, 4);
}

static void expect_error(const char *text, uint32_t groups, const char *message)
{
    check_capture();
    int status = parse(text, false, groups);
    const char *said = check_captured();
    assert_int_equal(status, -EINVAL);
    if (!strstr(said, message))
        fail_msg("'%s' is not in: %s", message, said);
    assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
}

static void test_errors(void **state)
{
    (void)state;
    report_program("prog");
    expect_error("--quite", 0, "prog: unknown option '--quite'; did you mean '--quiet'?");
    expect_error("--zzzz", 0, "unknown option '--zzzz'");
    expect_error("--=x", 0, "unknown option");
    expect_error("-z", 0, "unknown option '-z'");
    expect_error("-qz", 0, "unknown option '-z'");
    expect_error("--fo", 0, "'--fo' is ambiguous: it may be --follow-all, --follow-fork");
    expect_error("--quiet=1", 0, "'--quiet' takes no value");
    expect_error("--outfile", 0, "'--outfile' needs a value (BASE)");
    expect_error("-o", 0, "'--outfile' needs a value (BASE)");
    expect_error("--outfile=", 0, "not empty");
    expect_error("--top=0", 0, "at least 1, not '0'");
    expect_error("--top=-1", 0, "not '-1'");
    expect_error("--top=1x", 0, "not '1x'");
    expect_error("--top=99999999999999999999", 0, "not '99999999999999999999'");
    expect_error("--self", TREE, "option '--self' does not belong to 'tree'");
    expect_error("--sel", TREE, "option '--self' does not belong to 'tree'");
    expect_error("-n3", REPORT, "option '--top' does not belong to 'tree'");
}

/* Which of several is meant where some belong to another command, or are hidden. */
static void test_options_of_others(void **state)
{
    static const struct option_row ours[] = {
        {0, "self", NULL, 0, options_take_enum, AT(mode), 1, REPORT, "another's"},
        {0, "self-time", NULL, 0, options_take_enum, AT(mode), 2, TREE, "ours"},
        {0, "sort-by", NULL, 0, options_take_enum, AT(mode), 3, REPORT, "another's"},
        {0, "sort-reverse", NULL, 0, options_take_enum, AT(mode), 4, REPORT, "another's"},
        {0, "sort-rank", NULL, OPTION_HIDDEN, options_take_enum, AT(mode), 5, TREE, "ours, hidden"},
        {0, "twin", NULL, 0, options_take_enum, AT(mode), 6, REPORT, "another's"},
        {0, "twin", NULL, 0, options_take_enum, AT(mode), 7, TREE, "ours"},
        {0, "veil", NULL, OPTION_HIDDEN, options_take_enum, AT(mode), 8, TREE, "ours, hidden"},
        {0, "older-name", NULL, OPTION_SYNONYM, options_take_enum, AT(mode), 9, TREE, "ours, a synonym"},
        {0, "oldest", NULL, 0, options_take_enum, AT(mode), 10, TREE, "ours"},
        {0},
    };
    static const struct {
        const char *word, *said; /* NULL: it is taken */
        uint32_t groups;
        int mode;
    } cases[] = {
        {"--self", "option '--self' does not belong to 'tree'", TREE, 0}, /* not the beginning of --self-time */
        {"--self-", NULL, TREE, 2},
        {"--sel", NULL, TREE, 2},
        {"--sel", NULL, REPORT, 1},
        {"--self-t", "option '--self-time' does not belong to 'tree'", REPORT, 0},
        {"--sort", "option '--sort-by' does not belong to 'tree'", TREE, 0}, /* the first of them */
        {"--sort-r", "option '--sort-reverse' does not belong to 'tree'", TREE, 0},
        {"--sort-ra", "unknown option '--sort-ra'", TREE, 0}, /* a hidden one wants its whole name */
        {"--sort-rank", NULL, TREE, 5},
        {"--sort-rank", "option '--sort-rank' does not belong to 'tree'", REPORT, 0},
        {"--twin", NULL, TREE, 7},
        {"--twin", NULL, REPORT, 6},
        {"--vei", "unknown option '--vei'", TREE, 0},
        {"--veil", NULL, TREE, 8},
        {"--older-name", NULL, TREE, 9},
        {"--older", NULL, TREE, 9}, /* the prefix of a synonym */
        {"--old", "'--old' is ambiguous: it may be --older-name, --oldest", TREE, 0},
        {"--older-nmae", "unknown option '--older-nmae'; see --help", TREE, 0}, /* a synonym is not suggested */
        {"--older-name", "option '--older-name' does not belong to 'tree'", REPORT, 0},
        {"--s", NULL, TREE, 2},
        {"--s", "'--s' is ambiguous: it may be --self, --sort-by, --sort-reverse", REPORT, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *line[] = {(char *)"prog", (char *)(uintptr_t)cases[i].word, NULL};
        struct options options = {.rows = ours, .groups = cases[i].groups, .group_name = "tree"};
        memset(&got, 0, sizeof(got));
        check_capture();
        int status = options_parse(&options, &got, 2, line, &operands, &operand_count);
        const char *said = check_captured();
        if (status != (cases[i].said ? -EINVAL : 0) || got.mode != cases[i].mode ||
            !strstr(said, cases[i].said ? cases[i].said : "") || (!cases[i].said && *said))
            fail_msg("case %zu, %s: %d, %d, %s", i, cases[i].word, status, got.mode, said);
    }
}

/* Where the operands are, whatever the values are, and whichever of two flags "--fo" is. */
static void test_only_look(void **state)
{
    (void)state;
    char *line[] = {(char *)"prog", (char *)"--top", (char *)"x", (char *)"--fo",
                    (char *)"-qo",  (char *)"y",     (char *)"z"};
    const struct options options = {.rows = rows, .only_look = true};
    assert_int_equal(options_parse(&options, NULL, 7, line, &operands, &operand_count), 0);
    assert_int_equal(operand_count, 1);
    assert_string_equal(line[operands], "z");
    char *wrong[] = {(char *)"prog", (char *)"--f"};
    const struct option_row unlike[] = {rows[6], {0, "file", "F", 0, options_take_string, AT(file), 0, 0, ""}, {0}};
    const struct options other = {.rows = unlike, .only_look = true};
    assert_int_equal(options_parse(&other, NULL, 2, wrong, &operands, &operand_count), -EINVAL);
}

static char *help(uint32_t groups, enum options_which which, int width)
{
    static char text[4096];
    FILE *file = fmemopen(text, sizeof(text), "w");
    assert_non_null(file);
    options_help(rows, groups, which, width, file);
    fclose(file);
    return text;
}

static void test_help(void **state)
{
    (void)state;
    char *text = help(0, OPTIONS_ALL, 60);
    assert_non_null(strstr(text, "Output:\n  -q, --quiet         say less\n"));
    assert_non_null(strstr(text, "  -o, --outfile=BASE  where the result files go; a long text\n"
                                 "                      that"));
    assert_non_null(strstr(text, "  -C, --color[=WHEN]  colours\n"));
    assert_non_null(strstr(text, "\nOnly of tree:\n  -n, --top=N "));
    assert_null(strstr(text, "folded"));
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(strlen(line) <= 60);
    text = help(REPORT, OPTIONS_ALL, 80);
    assert_null(strstr(text, "Only of tree"));
    assert_null(strstr(text, "--top"));
    assert_non_null(strstr(text, "--self"));
}

/* Each row is in one of the sections: those of one command, and those of several. */
static void test_sections(void **state)
{
    (void)state;
    char *text = help(TREE, OPTIONS_OWN, 80);
    assert_non_null(strstr(text, "--top"));
    assert_null(strstr(text, "--self"));
    assert_null(strstr(text, "--quiet"));
    assert_null(strstr(text, ":\n"));
    text = help(0, OPTIONS_SHARED, 80);
    assert_null(strstr(text, "--top"));
    assert_null(strstr(text, "--self"));
    assert_non_null(strstr(text, "Output:\n  -q, --quiet"));
    assert_true(options_has_help(rows, TREE, OPTIONS_OWN));
    assert_false(options_has_help(rows, 1u << 20, OPTIONS_OWN));
    static const struct option_row more[] = {
        {'q', "quiet", NULL, OPTION_MORE, options_take_flag, AT(quiet), 0, 0, "say less"}, {0}};
    assert_false(options_has_help(more, 0, OPTIONS_BRIEF));
    assert_true(options_has_help(more, 0, OPTIONS_ALL));
    static const struct option_row synonym[] = {
        {0, "older", NULL, OPTION_SYNONYM, options_take_flag, AT(quiet), 0, 0, "not listed"}, {0}};
    assert_false(options_has_help(synonym, 0, OPTIONS_ALL));
}

/* A label that is wider than the column of labels has its text in the next line. */
static void test_help_of_a_long_label(void **state)
{
    static const struct option_row wide[] = {
        {'q', "quiet", NULL, 0, options_take_flag, AT(quiet), 0, 0, "say less"},
        {0, "a-name-that-is-longer-than-others", "AND-ITS-VALUE", 0, options_take_string, AT(file), 0, 0, "some text"},
        {0},
    };
    char text[512];
    (void)state;
    FILE *file = fmemopen(text, sizeof(text), "w");
    assert_non_null(file);
    options_help(wide, 0, OPTIONS_ALL, 79, file);
    fclose(file);
    assert_string_equal(text, "  -q, --quiet  say less\n"
                              "      --a-name-that-is-longer-than-others=AND-ITS-VALUE\n"
                              "               some text\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_optional_value),
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_operands),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_only_look),
        cmocka_unit_test(test_options_of_others),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_help_of_a_long_label),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
