/* SPDX-License-Identifier: MIT */
/* The command line of panalyze: which command, which settings, which files, and what is refused in which words. */
#include "check.h"

#include <errno.h>

#include "analyze/cli.h"
#include "analyze/model/thread_pool.h"

static struct cli cli;
static char *argv[32];

/* Of WORDS, separated by blanks; they stay until the next call. */
static int parse(const char *words)
{
    static char copy[512], name[] = "panalyze";
    int argc = 1;
    cli_release(&cli);
    argv[0] = name;
    snprintf(copy, sizeof(copy), "%s", words);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    return cli_parse(&cli, argc, argv);
}

static const struct settings *good(const char *words)
{
    check_capture();
    int status = parse(words);
    const char *text = check_captured();
    if (status != 0 || text[0])
        fail_msg("%s: %d: %s", words, status, text);
    return &cli.settings;
}

static void bad(const char *words, const char *message)
{
    check_capture();
    int status = parse(words);
    const char *text = check_captured();
    if (status != -EINVAL || !strstr(text, message))
        fail_msg("%s: %d: '%s' does not say '%s'", words, status, text, message);
}

static void expect(const char *words, const char *command, const char *operands)
{
    char found[256] = "";
    good(words);
    assert_string_equal(cli.command->name, command);
    for (size_t i = 0; i < cli.operand_count; i++)
        snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s%s", i ? " " : "", cli.operands[i]);
    assert_string_equal(found, operands);
}

static void test_commands(void **state)
{
    (void)state;
    expect("", "report", "");
    expect("a b", "report", "a b");
    expect("tree a b", "tree", "a b");
    expect("tree -p 5 a", "tree", "a");
    expect("-a report a", "report", "a");
    expect("--aggregate --top 3 a", "report", "a");
    expect("--top 3 tree a", "tree", "a");
    expect("./tree", "report", "./tree");
    expect("--help", "help", "");
    expect("tree --help", "tree", "");
    expect("help tree", "help", "tree");
    expect("report report", "report", "report");
    assert_string_equal(cli_find("counts")->name, "counts");
    assert_null(cli_find("count"));
    assert_string_equal(cli_nearest("count")->name, "counts");
    assert_null(cli_nearest("wonderful"));
    bad("tree --callers", "callers");
    bad("--unknown", "unknown");
}

static void test_pairs(void **state)
{
    (void)state;
    expect("diff a b", "diff", "a b");
    assert_int_equal(cli.before, 1);
    expect("diff a b -- c", "diff", "a b c");
    assert_int_equal(cli.before, 2);
    expect("diff a -- b c d", "diff", "a b c d");
    assert_int_equal(cli.before, 1);
    expect("diff --help", "diff", "");
    static const char *const wrong[] = {"diff",        "diff a",      "diff a b c",
                                        "diff -- a b", "diff a b --", "diff a -- b -- c"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        bad(wrong[i], "'diff' compares two sides");
}

static void test_choices(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        int by;
    } by[] = {{"--by function", BY_FUNCTION},
              {"--by=dso", BY_DSO},
              {"--by task", BY_TASK},
              {"--by process", BY_PROCESS},
              {"--by comm", BY_COMM},
              {"--by address", BY_ADDRESS},
              {"--by line", BY_LINE},
              {"--by inline", BY_INLINE},
              {"--by file", BY_FILE},
              {"--by data-page", BY_DATA_PAGE},
              {"--by data-symbol", BY_DATA_SYMBOL},
              {"--by data-type", BY_DATA_TYPE},
              {"--by branch", BY_BRANCH}};
    for (size_t i = 0; i < sizeof(by) / sizeof(by[0]); i++) {
        assert_int_equal(good(by[i].words)->by, by[i].by);
        assert_true(cli.settings.by_given);
    }
    assert_false(good("")->by_given);
    bad("--by functions", "data-type|branch, not 'functions'; did you mean 'function'?\n");
    bad("--by functions", "option '--by' takes function|dso|task");
    bad("--by func", "takes");
    bad("--by", "option '--by' needs a value (function|dso|task|process|comm|address|line|inline|file|data-page|");
    bad("report --by", "option '--by' needs a value (function|dso|");
    bad("--no-fold flame --by", "option '--by' needs a value (function|dso|task|process|comm|address)\n");
    bad("--by=", "takes");
    bad("--by=line|inline", "takes");
    bad("--by=GROUP", "takes");
    bad("flame --by=branch", "option '--by' takes function|dso|task|process|comm|address, not 'branch'");
    bad("--by=branch --callers", "--by=branch does not show call chains: leave out --callers");
    bad("--by=data-page --callees", "--by=data-page does not show call chains: leave out --callees");
    bad("--by=data-symbol --call-tree", "--by=data-symbol does not show call chains: leave out --call-tree");
    bad("--by=data-type --reverse", "--by=data-type does not show call chains: leave out --reverse");
    bad("--by=branch --inline", "leave out --inline");
    bad("--by=branch --no-inline", "leave out --no-inline");
    bad("--by=branch --sort total", "leave out --sort total");
    bad("--by=data-page --per-task", "--by=data-page has no sections for tasks: leave out --per-task");
    assert_true(good("--by=branch --group --json --sort self -a")->group);
    assert_int_equal(good("--sort total")->sort, SORT_TOTAL);
    assert_int_equal(good("--callees")->sort, SORT_TOTAL);
    assert_int_equal(good("--callees --sort self")->sort, SORT_SELF);
    assert_int_equal(good("--callers")->sort, SORT_SELF);
    assert_int_equal(good("--color never")->color, COLOR_NEVER);
    assert_int_equal(good("--color always")->color, COLOR_ALWAYS);
    assert_int_equal(good("diff --sort share a b")->diff_sort, 1);
    assert_int_equal(good("diff --by stack a b")->diff_by, 3);
    assert_true(cli.settings.diff_by_given && !cli.settings.by_given);
    assert_false(good("diff a b")->diff_by_given);
    assert_true(good("--reverse")->call_tree);
    assert_false(good("--call-tree")->reverse);
    assert_true(good("--inline")->inlined);
    assert_false(good("--inline --no-inline")->inlined);
    assert_true(good("--json")->json);
    assert_true(good("--no-pager")->no_pager);
    assert_true(good("script --lines")->lines);
    assert_string_equal(good("flame -o x.svg --title t")->file, "x.svg");
    assert_string_equal(good("archive -o x.tar")->archive, "x.tar");
    assert_string_equal(good("-e cycles")->event, "cycles");
    assert_string_equal(good("--symfs /x")->symfs, "/x");
}

static void test_columns(void **state)
{
    (void)state;
    assert_true(good("--show-cum")->show_cum);
    assert_true(good("--cum-thres 95 --top 3")->cum == 95);
    assert_true(good("--smpl-cum-thresh=95%")->cum == 95);
    assert_true(good("export csv --smpl-cum-threshold=95")->cum == 95);
    assert_int_equal(good("--smpl-show-top=7")->top, 7);
    assert_true(good("export csv --show-cum --cum-thres 95 --group x")->group);
    bad("--cum-thres 0", "option '--cum-thres' needs a percentage above 0");
    bad("--call-tree --cum 5", "option '--cum' needs a table with rows, and --call-tree shows a tree");
    bad("--reverse --show-cum", "option '--show-cum' needs a table with rows");
    assert_true(good("--call-tree --json --show-cum --cum 5")->show_cum);
    assert_true(good("--values")->values && cli.settings.group && cli.settings.only_values);
    assert_true(good("--values --group")->values && cli.settings.group && !cli.settings.only_values);
    bad("--values --callers", "--values shows only the self weight of each event: leave out --callers");
    bad("--values --group --callers", "--group shows only the self share of each event: leave out --callers");
    assert_true(good("--no-resolve --by dso")->no_resolve);
    assert_true(good("--no-resolve --by data-type")->no_resolve);
    assert_true(good("script --no-resolve -F brstack")->no_resolve);
    static const char *const named[] = {
        "-S main",         "--by line",      "--by inline",      "--by file",        "--inline",
        "--no-demangle",   "--debuginfod",   "script --lines",   "script -F ip,sym", "script -F ip,srcline",
        "script --inline", "--by data-page", "--by data-symbol", "--by branch",      "script -F brstacksym"};
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        char line[64];
        snprintf(line, sizeof(line), "%s --no-resolve", named[i]);
        bad(line, "option '--no-resolve' looks up no names: leave out ");
    }
    assert_true(good("script --compact")->compact);
    static const char *const forms[] = {"-F ip", "--json", "--all", "--lines", "--inline"};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        char line[64];
        snprintf(line, sizeof(line), "script --compact %s", forms[i]);
        bad(line, "option '--compact' always prints the same columns: leave out ");
    }
}

/* --smpl-module chooses the command, if the command line names none. */
static void test_modules(void **state)
{
    (void)state;
    expect("--smpl-module inst-hist a", "report", "a");
    assert_true(cli.settings.by == BY_ADDRESS && cli.settings.show_cum && !cli.settings.compact);
    expect("report a --smpl-module=inst-hist --by address", "report", "a");
    expect("--smpl-mod=detailed -F comm a", "script", "a");
    assert_false(cli.settings.compact || cli.settings.show_cum);
    expect("a b --smpl-module=compact", "script", "a b");
    assert_true(cli.settings.compact);
    expect("script --smpl-module compact a", "script", "a");
    expect("--smpl-module=raw -o x a", "export", "a");
    assert_int_equal(cli.settings.module, MODULE_RAW);
    expect("script -- --smpl-module=raw", "script", "--smpl-module=raw");
    expect("-- --smpl-module=raw", "report", "--smpl-module=raw");
    bad("--smpl-module=inst-hits a",
        "option '--smpl-module' takes inst-hist|detailed|compact|raw, not 'inst-hits'; did you mean 'inst-hist'?\n");
    bad("--smpl-module=pebs a", "option '--smpl-module' takes inst-hist|detailed|compact|raw, not 'pebs'\n");
    bad("--smpl-module= a", "takes inst-hist|detailed|compact|raw, not ''\n");
    bad("--smpl-module", "option '--smpl-module' needs a value (inst-hist|detailed|compact|raw)");
    assert_true(good("--smpl-module=compact --help")->help);
    assert_true(good("report --smpl-module=compact --help")->help);
    assert_int_equal(cli.settings.by, BY_FUNCTION);
    bad("report --smpl-module=compact a", "--smpl-module=compact is for the command 'script', not for 'report'");
    bad("tree --smpl-module=compact a", "option '--smpl-module' does not belong to 'tree'");
    bad("--smpl-module=inst-hist --by=dso a", "--smpl-module=inst-hist shows a row for each address: leave out --by");
    bad("--smpl-module=inst-hist --call-tree a", "shows a row for each address: leave out --call-tree");
    bad("--smpl-module=inst-hist --reverse a", "shows a row for each address: leave out --reverse");
    assert_true(good("--smpl-module=inst-hist --call-tree --json a")->call_tree);
    bad("--smpl-module=detailed --compact a", "shows each sample in several lines: leave out --compact");
    bad("--smpl-module=compact --json a", "option '--compact' always prints the same columns: leave out --json");
}

/* --object and --by=object: the older names of --dso and --by=dso. */
static void test_synonyms(void **state)
{
    static const char *const commands[] = {"report", "script", "summary", "diff a b", "annotate", "top", "flame"};
    (void)state;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        char line[64];
        snprintf(line, sizeof(line), "%s --dso=app --object lib* --objec=c", commands[i]);
        const struct settings *settings = good(line);
        assert_int_equal(settings->dsos.count, 3);
        assert_string_equal(settings->dsos.items[0], "app");
        assert_string_equal(settings->dsos.items[1], "lib*");
        assert_string_equal(settings->dsos.items[2], "c");
    }
    assert_int_equal(good("--by=object")->by, BY_DSO);
    assert_int_equal(good("flame --by object")->by, BY_DSO);
    assert_int_equal(good("diff --by dso a b")->diff_by, 1);
    assert_int_equal(good("diff --by=object a b")->diff_by, 1);
    assert_true(cli.settings.diff_by_given && !cli.settings.by_given);
    bad("--by=objects", "option '--by' takes function|dso|task");
    bad("--ds0 x", "did you mean '--dso'?");
    bad("-o", "option '--dso' needs a value (NAME)");
    bad("tree --object x", "option '--object' does not belong to 'tree'");
    bad("tree --dso x", "option '--dso' does not belong to 'tree'");
}

static void test_lists(void **state)
{
    (void)state;
    const struct settings *settings = good("-p 1,20,2147483647 --pid=0 -t 7");
    assert_int_equal(settings->pids.count, 4);
    assert_int_equal(settings->pids.items[1], 20);
    assert_int_equal(settings->pids.items[2], INT32_MAX);
    assert_int_equal(settings->pids.items[3], 0);
    assert_int_equal(settings->tids.count, 1);
    assert_int_equal(settings->tids.items[0], 7);
    static const char *const wrong[] = {
        "-p 1,,2", "-p 1,", "-p ,1", "-p x", "-p 1x", "-p -1", "-p 2147483648", "-p 99999999999999999999", "-p +1"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        bad(wrong[i], "option '--pid' needs numbers separated by commas");
    settings = good("-c sh -c cc1* -S main -o app --debug-path /x --debug-path /y");
    assert_int_equal(settings->comms.count, 2);
    assert_string_equal(settings->comms.items[1], "cc1*");
    assert_string_equal(settings->symbols.items[0], "main");
    assert_string_equal(settings->dsos.items[0], "app");
    assert_int_equal(settings->debug_paths.count, 2);
    bad("--comm=", "option '--comm' needs a value that is not empty");
    static const char *const commands[] = {"report",   "summary", "tree",    "counts",      "script",  "flame",
                                           "annotate", "top",     "archive", "export perf", "diff a b"};
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        char line[64];
        snprintf(line, sizeof(line), "%s --command-line a.c --command-line=b.c", commands[i]);
        settings = good(line);
        assert_int_equal(settings->command_lines.count, 2);
        assert_string_equal(settings->command_lines.items[1], "b.c");
    }
    bad("--command-line=", "option '--command-line' needs a value that is not empty");
}

static void test_numbers(void **state)
{
    (void)state;
    char words[64];
    assert_true(good("--top all")->top == SETTINGS_ALL);
    assert_int_equal(good("-n 7")->top, 7);
    bad("-n some", "some");
    assert_true(good("--cum 50")->cum == 50);
    assert_true(good("--cum 100%")->cum == 100);
    assert_true(good("--cum 0.5")->cum == 0.5);
    static const char *const shares[] = {"0", "101", "-1", "x", "5x", "5%%", "nan"};
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        snprintf(words, sizeof(words), "--cum=%s", shares[i]);
        bad(words, "option '--cum' needs a percentage above 0 and at most 100");
    }
    assert_true(good("--call-tree --min 0")->min == 0 && cli.settings.min_given);
    assert_true(good("--callers --min 2.5%")->min == 2.5);
    assert_true(good("--callees --min 99.9")->min == 99.9);
    assert_true(good("flame --min 1")->min == 1);
    bad("--call-tree --min 100", "below 100");
    bad("--call-tree --min=-1", "at least 0");
    bad("--call-tree --min=.5", "at least 0");
    bad("--call-tree --min=1x", "at least 0");
    bad("--min 1", "option '--min' needs --call-tree");
    snprintf(words, sizeof(words), "--threads %d", THREAD_POOL_MAX);
    assert_int_equal(good(words)->threads, THREAD_POOL_MAX);
    snprintf(words, sizeof(words), "--threads %d", THREAD_POOL_MAX + 1);
    bad(words, "at most");
    assert_true(good("top --interval 0.1")->interval == 0.1);
    assert_true(good("top --interval 86400 --snapshots 3")->interval == 86400);
    assert_int_equal(cli.settings.snapshots, 3);
    bad("top --interval 0.09", "needs a number of seconds from 0.1 to 86400");
    bad("top --interval 86401", "needs a number of seconds");
    bad("top --interval 1s", "needs a number of seconds");
    bad("top --interval=x", "needs a number of seconds");
}

static void test_help(void **state)
{
    static const char *const commands[] = {"", "report", "tree", "diff", "export", "top", "help"};
    (void)state;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        char *text = NULL, usage[64];
        size_t size = 0;
        FILE *to = open_memstream(&text, &size);
        const struct cli_command *command = cli_find(commands[i]);
        cli_help(command, i % 2 ? 80 : 0, to);
        fclose(to);
        bool own = command && command->view;
        snprintf(usage, sizeof(usage), "Usage: panalyze %s", own ? commands[i] : "[COMMAND]");
        assert_int_equal(strncmp(text, usage, strlen(usage)), 0);
        assert_int_equal(strstr(text, "What took the time:") != NULL, !own);
        assert_int_equal(strstr(text, "BEFORE AFTER |") != NULL, own && i == 3);
        assert_int_equal(strstr(text, "diff FORMAT") || strstr(text, "export FORMAT") != NULL, own && i == 4);
        assert_null(strstr(text, "--until"));
        assert_null(strstr(text, "object"));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commands), cmocka_unit_test(test_pairs),   cmocka_unit_test(test_choices),
        cmocka_unit_test(test_lists),    cmocka_unit_test(test_numbers), cmocka_unit_test(test_help),
        cmocka_unit_test(test_synonyms), cmocka_unit_test(test_columns), cmocka_unit_test(test_modules),
    };
    int status = cmocka_run_group_tests(tests, NULL, NULL);
    cli_release(&cli);
    return status;
}
