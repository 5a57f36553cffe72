/* SPDX-License-Identifier: MIT */
/* Each option of pinject-run and each PINJECT_* variable: what it sets, and what is refused in which words. */
#include "check.h"

#include <errno.h>
#include <pinject/wire.h>
#include <stdbool.h>

#include "collector/settings_parse.h"
#include "collector/stacks/stacks.h"

extern char **environ;

static struct settings_line line;

/* Of WORDS, separated by blanks; they stay until the next call. */
static int parse(const char *words)
{
    static char copy[512], name[] = "pinject-run";
    static char *argv[32];
    int argc = 1;
    argv[0] = name;
    snprintf(copy, sizeof(copy), "%s", words);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    event_list_release(&line.settings.events);
    return settings_parse(&line, argc, argv);
}

static const struct settings *good(const char *words)
{
    check_capture();
    int status = parse(words);
    const char *text = check_captured();
    if (status != 0 || text[0])
        fail_msg("%s: %d: %s", words, status, text);
    return &line.settings;
}

static void bad(const char *words, const char *message)
{
    check_capture();
    int status = parse(words);
    const char *text = check_captured();
    if (status != -EINVAL || !strstr(text, message))
        fail_msg("%s: %d: '%s' does not say '%s'", words, status, text, message);
}

static void test_defaults(void **state)
{
    (void)state;
    const struct settings *settings = good("cmd -o x");
    assert_string_equal(settings->outfile, "out");
    assert_int_equal(settings->mode, 0600);
    assert_int_equal(settings->frequency, 999);
    assert_int_equal(settings->period, 0);
    assert_int_equal(settings->events.count, 0);
    assert_int_equal(settings->call_graph, SETTINGS_CALL_GRAPH_AUTO);
    assert_int_equal(settings->dump, 0);
    assert_int_equal(settings->follow, PINJECT_SESSION_ALL);
    assert_false(settings->call_graph_given || settings->follow_given);
    assert_int_equal(settings->verbose, 0);
    assert_false(settings->stat || settings->split || settings->quiet || settings->strict || settings->live);
    assert_false(settings->bare);
    assert_int_equal(line.action, SETTINGS_RUN);
    assert_true(line.collect_fd == UINT64_MAX);
    assert_string_equal(settings->command[0], "cmd");
    assert_string_equal(settings->command[1], "-o");
    assert_null(settings->command[3]);
    assert_string_equal(good("-- -x")->command[0], "-x");
}

static void test_numbers(void **state)
{
    (void)state;
    assert_int_equal(good("-F 99 c")->frequency, 99);
    const struct settings *settings = good("-F 99 -c 1000 c");
    assert_int_equal(settings->frequency, 0);
    assert_int_equal(settings->period, 1000);
    settings = good("-c 1000 --freq=50 c");
    assert_int_equal(settings->frequency, 50);
    assert_int_equal(settings->period, 0);
    bad("-F many c", "many");
    bad("-c 1x c", "1x");
    assert_int_equal(good("--mode 0640 c")->mode, 0640);
    assert_int_equal(good("--mode 666 c")->mode, 0666);
    assert_int_equal(good("--mode=600 c")->mode, 0600);
    static const char *const modes[] = {"0400", "0200", "0777", "01600", "x600", "60x", "-1", "0680"};
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        char words[64];
        snprintf(words, sizeof(words), "--mode=%s c", modes[i]);
        bad(words, "--mode needs an octal file mode");
    }
    assert_int_equal(good("-vv c")->verbose, 2);
    settings = good("-q --stat --strict --exec-split-results c");
    assert_true(settings->quiet && settings->stat && settings->strict && settings->split);
    assert_string_equal(good("-o base c")->outfile, "base");
}

static void check_rate(const struct event_spec *spec, uint64_t period)
{
    assert_true(spec->says & EVENT_SAYS_RATE);
    assert_false(spec->says & EVENT_SAYS_COUNT || spec->attr.freq);
    assert_int_equal(spec->attr.sample_period, period);
}

static void test_periods(void **state)
{
    (void)state;
    const struct settings *settings = good("-c 5 -e faults,cs c"); /* one for all */
    assert_int_equal(settings->period, 5);
    assert_int_equal(settings->periods.count, 0);
    assert_int_equal(settings->events.specs[0].says, 0);
    static const char *const lists[] = {"-c", "--long-smpl-periods", "--short-smpl-periods", "--long-smpl"};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        char words[96];
        snprintf(words, sizeof(words), "-F 7 %s 50,9223372036854775807 -e faults,cs/period=3/,task-clock c", lists[i]);
        check_rate(&good(words)->events.specs[1], 3);
        snprintf(words, sizeof(words), "-F 7 %s 50,9223372036854775807 -e faults,cs,task-clock c", lists[i]);
        settings = good(words);
        assert_int_equal(settings->frequency, 0);
        assert_true(settings->rate_given);
        check_rate(&settings->events.specs[0], 50);
        check_rate(&settings->events.specs[1], INT64_MAX);
        assert_int_equal(settings->events.specs[2].says, EVENT_SAYS_COUNT);
    }
    /* pfmon's options are for the first events, also if it is one. */
    settings = good("--long-smpl-periods=8 -e faults,cs c");
    check_rate(&settings->events.specs[0], 8);
    assert_int_equal(settings->events.specs[1].says, EVENT_SAYS_COUNT);
    settings = good("--long-smpl-periods=8,9 --short-smpl-periods=8,9 -e faults,cs c");
    check_rate(&settings->events.specs[1], 9);
    assert_int_equal(good("--long-smpl-periods=8 c")->period, 8);
    /* The last one counts. */
    settings = good("-c 8,9 -F 99 -e faults,cs c");
    assert_int_equal(settings->frequency, 99);
    assert_int_equal(settings->events.specs[0].says, 0);
    settings = good("-c 8,9 -c 7 -e faults,cs c");
    assert_int_equal(settings->period, 7);
    assert_int_equal(settings->events.specs[1].says, 0);
    /* An event's own rate is its own. */
    settings = good("-c 8,9 -e faults/freq=4/,cs c");
    assert_true(settings->events.specs[0].attr.freq);
    check_rate(&settings->events.specs[1], 9);
    settings = good("-c 8,9 -e {faults,cs}:u,task-clock c");
    check_rate(&settings->events.specs[1], 9);
    assert_int_equal(settings->events.specs[2].says, EVENT_SAYS_COUNT);
    bad("-c 8,9 -e faults,cs,task-clock/period=4/ c",
        "event 3, 'task-clock/period=4/': this event has a rate of its own");
    bad("-c 8,9,10 -e faults,cs c", "option '--period' has 3 periods, but -e has only 2 events");
    bad("-c 8,9 -e faults c", "option '--period' has 2 periods, but -e has only 1 event");
    bad("-c 00000000000000000000001x,5 -e faults,cs c", "not '00000000000000000000001x,5'");
    bad("-c 5,000000000000000000000011 -e faults,cs c", "not '5,000000000000000000000011'");
    bad("-c 8,9 c", "only the default event");
    bad("--stat -c 8,9 -e faults,cs c", "--stat takes none");
    bad("--stat --smpl-values -e faults,cs c", "'--smpl-values' is for samples");
    bad("--smpl-values c", "needs two events");
    bad("--smpl-values -e faults c", "two events");
    bad("-c 8,9 -e {faults,cs}:S c", "only the first event of a group with modifier S is sampled");
    bad("--stat --long-smpl-periods=8 -e faults c", "'--long-smpl-periods' says how often");
    bad("--long-smpl-periods=8 --short-smpl-periods=9 -e faults c", "differ");
    bad("--short-smpl-periods=8,9 --long-smpl-periods=8 -e faults,cs c", "differ");
    static const char *const wrong[] = {"8,",
                                        ",8",
                                        "8,,9",
                                        "8,0",
                                        "8,x",
                                        "8;9",
                                        "",
                                        "18446744073709551616",
                                        "1,99999999999999999999999999999999999999999"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char words[96];
        snprintf(words, sizeof(words), "--long-smpl-periods=%s -e faults,cs c", wrong[i]);
        bad(words, "option '--long-smpl-periods' needs a whole number of at least 1, not '");
    }
    bad("-c 1,9223372036854775808 -e faults,cs c", "a period of 9223372036854775808 is too long");
    char many[512] = "-c 1";
    for (unsigned i = 1; i <= EVENTS_MAX; i++)
        strcat(many, ",1");
    bad(strcat(many, " c"), "more than 48 periods");
}

static void test_random_periods(void **state)
{
    (void)state;
    assert_int_equal(good("c")->random.count, 0);
    const struct random_periods *random = &good("-c 5 --smpl-periods-random=0xff:7 c")->random;
    assert_int_equal(random->count, 1);
    assert_int_equal(random->masks[0], 255);
    assert_int_equal(random->seeds[0], 7);
    random = &good("-c 5 -e faults,cs,task-clock --smpl-periods-random 3,0,0x7fffffffffffffff:18446744073709551615 c")
                  ->random;
    assert_int_equal(random->count, 3);
    assert_int_equal(random->masks[0], 3);
    assert_int_equal(random->seeds[0], 0);
    assert_int_equal(random->masks[1], 0);
    assert_true(random->masks[2] == INT64_MAX && random->seeds[2] == UINT64_MAX);
    static const char *const wrong[] = {"",  ",",   "1,", "1:",   ":1", "1:2:3",
                                        "x", "1:x", "-1", "1:-1", "1 ", "18446744073709551616"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char words[96];
        snprintf(words, sizeof(words), "--smpl-periods-random=%s", wrong[i]);
        struct settings_line parsed;
        char name[] = "pinject-run", command[] = "c", *argv[] = {name, words, command, NULL};
        check_capture();
        const int status = settings_parse(&parsed, 3, argv);
        const char *text = check_captured();
        if (status != -EINVAL || !strstr(text, "needs MASK:SEED for each event"))
            fail_msg("%s: %d: %s", words, status, text);
    }
    bad("-c 5 --smpl-periods-random=1,2 c", "has 2 masks, and there is only 1 event");
    bad("-c 5 -e faults,cs --smpl-periods-random=1,2,3 c", "has 3 masks, and there are only 2 events");
    bad("--stat --smpl-periods-random=1 c", "--stat takes none");
    bad("-c 5 -e {faults,cs}:S --smpl-periods-random=1 c", "'faults' cannot have both random periods and");
    bad("-c 5 -e {faults,cs}:S --smpl-periods-random=0,1 c",
        "'cs' takes no samples, because its group has the modifier S");
    bad("-c 5 -e cs,{faults,cs}:S --smpl-periods-random=1,2 c", "or leave out the modifier S");
    bad("-c 5 -e faults,cs --smpl-values --smpl-periods-random=1 c", "or leave out --smpl-values");
    good("-c 5 -e cs,{faults,cs}:S --smpl-periods-random=1,0 c");
    good("-c 5 -e faults,{cs,faults}:S --smpl-periods-random=1 c");
    char many[512] = "--smpl-periods-random=1";
    for (unsigned i = 1; i <= EVENTS_MAX; i++)
        strcat(many, ",1");
    bad(strcat(many, " c"), "more than 48 masks");
}

static void test_sampler(void **state)
{
    (void)state;
    assert_int_equal(good("c")->sampler, SETTINGS_SAMPLER_AUTO);
    assert_int_equal(good("--sampler=task c")->sampler, SETTINGS_SAMPLER_TASK);
    assert_int_equal(good("--sampler inherit c")->sampler, SETTINGS_SAMPLER_INHERIT);
    assert_int_equal(good("--sampler=auto c")->sampler, SETTINGS_SAMPLER_AUTO);
    assert_int_equal(good("--sampler=cpu c")->sampler, SETTINGS_SAMPLER_CPU);
    bad("--sampler=inheritt c", "takes auto|task|inherit|cpu, not 'inheritt'; did you mean 'inherit'?");
    bad("--stat --sampler=inherit c", "'--sampler' is for samples, and --stat takes none");
}

static void test_saturation(void **state)
{
    (void)state;
    assert_int_equal(good("c")->saturate, 0);
    assert_int_equal(good("--saturate-smpl-buffer 2048 c")->saturate, 2048);
    bad("--saturate-smpl-buffer=0 c", "at least 1, not '0'");
    bad("--saturate-smpl-buffer=x c", "not 'x'");
    bad("--stat --saturate-smpl-buffer=5 c", "'--saturate-smpl-buffer' is for samples, and --stat takes none");
    bad("--overflow-block c", "option '--overflow-block' is not possible: the kernel cannot block a thread");
}

static void test_times(void **state)
{
    (void)state;
    assert_int_equal(good("c")->stacks_after_ns, 0);
    assert_int_equal(good("--stacks-after 60 c")->stacks_after_ns, 60000000000);
    assert_int_equal(good("--stacks-after=60s c")->stacks_after_ns, 60000000000);
    assert_int_equal(good("--stacks-after=1.5m c")->stacks_after_ns, 90000000000);
    assert_int_equal(good("--stacks-after=2min c")->stacks_after_ns, 120000000000);
    assert_int_equal(good("--stacks-after=500ms c")->stacks_after_ns, 500000000);
    assert_int_equal(good("--stacks-after=1h c")->stacks_after_ns, 3600000000000);
    static const char *const times[] = {"",    "s",   "0",      "-1", "1d",    "1 s",          "0x10", "1e3s",
                                        "nan", "inf", "1.2.3s", ".",  "0.5ms", "99999999999h", "60s60"};
    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        struct settings_line parsed;
        char word[64], name[] = "pinject-run", command[] = "c", *words[] = {name, word, command, NULL};
        snprintf(word, sizeof(word), "--stacks-after=%s", times[i]);
        assert_int_equal(settings_parse(&parsed, 3, words), -EINVAL);
    }
    bad("--stacks-after=soon c", "--stacks-after needs a time such as 60s, 1.5m or 500ms, not 'soon'");
}

static void test_events(void **state)
{
    (void)state;
    const struct settings *settings = good("-e page-faults,task-clock:u -e cycles c");
    assert_int_equal(settings->events.count, 3);
    settings = good("-e faults,faults,faults,faults,faults,faults,faults,faults -e faults,faults,faults,faults,faults,"
                    "faults,faults,faults c");
    assert_int_equal(settings->events.count, 16);
    bad("-e {faults,cs c", "no '}'");
    settings = good("-e cs,faults:k -u c");
    assert_int_equal(settings->levels, EVENT_LEVEL_USER);
    assert_string_equal(settings->events.specs[0].name, "cs:u");
    assert_true(settings->events.specs[0].attr.exclude_kernel && !settings->events.specs[0].attr.exclude_user);
    assert_true(settings->events.specs[1].attr.exclude_user);
    settings = good("-e cs,faults --priv-levels=k,uk c");
    assert_true(settings->events.specs[0].attr.exclude_user && !settings->events.specs[0].attr.exclude_kernel);
    assert_false(settings->events.specs[1].attr.exclude_user || settings->events.specs[1].attr.exclude_kernel);
    settings = good("-0 -3 -e cs c");
    assert_int_equal(settings->levels, 3);
    bad("-u c", "change the events of -e");
    bad("-k --stat c", "-e cycles:k");
    bad("-e cs --priv-levels=k,u c", "--priv-levels has more entries than -e has events (1)");
    bad("-e cs --priv-levels=h c", "u, k or uk");
    bad("--filter pid==1 -e cs c", "after -e");
    bad("-e cs --filter pid==1 c", "tracepoint");
    bad("-e mem:none:x /bin/true", "none");
    bad("-e task-clock,,cycles c", "event");
    bad("-e nonsense c", "nonsense");
}

static void test_call_graphs(void **state)
{
    (void)state;
    char words[64];
    assert_int_equal(good("-g none c")->call_graph, SETTINGS_CALL_GRAPH_NONE);
    assert_int_equal(good("-g auto c")->call_graph, SETTINGS_CALL_GRAPH_AUTO);
    const struct settings *settings = good("-g dwarf,4099 c");
    assert_int_equal(settings->call_graph, SETTINGS_CALL_GRAPH_DWARF);
    assert_int_equal(settings->dump, 4104);
    settings = good("-g dwarf,4096 -g fp c");
    assert_int_equal(settings->call_graph, SETTINGS_CALL_GRAPH_FP);
    assert_int_equal(settings->dump, 0);
    snprintf(words, sizeof(words), "-g auto,%d c", STACKS_DUMP_MIN);
    assert_int_equal(good(words)->dump, STACKS_DUMP_MIN);
    snprintf(words, sizeof(words), "-g auto,%d c", STACKS_DUMP_MAX);
    assert_int_equal(good(words)->dump, (STACKS_DUMP_MAX + 7) / 8 * 8);
    snprintf(words, sizeof(words), "-g dwarf,%d c", STACKS_DUMP_MIN - 1);
    bad(words, "invalid stack dump size");
    snprintf(words, sizeof(words), "-g dwarf,%d c", STACKS_DUMP_MAX + 1);
    bad(words, "invalid stack dump size");
    bad("-g dwarf, c", "invalid stack dump size");
    bad("-g dwarf,8k c", "invalid stack dump size");
    bad("-g dwarf,+8192 c", "invalid stack dump size");
    bad("-g fp,8192 c", "unknown call graph");
    bad("-g none, c", "unknown call graph");
    bad("-g dwar c", "unknown call graph");
    bad("-g dwarfs c", "unknown call graph");
}

static void test_registers(void **state)
{
    (void)state;
    assert_int_equal(good("c")->user_regs, 0);
    const uint64_t all = good("--user-regs c")->user_regs;
    assert_int_equal(line.action, SETTINGS_RUN);
#if defined(__aarch64__)
    assert_int_equal(all, UINT64_C(0x1ffffffff));
    assert_int_equal(good("--user-regs=x0,X29,lr,sp,pc c")->user_regs, UINT64_C(0x1e0000001));
#else
    assert_int_equal(all, 0xff0fff);
    assert_int_equal(good("--user-regs=ax,IP,Flags,r8,r15 c")->user_regs, 0x810301);
#endif
    assert_int_equal(good("--user-regs=sp --user-regs c")->user_regs, all);
    assert_true(good("--user-regs --intr-regs=sp c")->intr_regs == good("--user-regs=sp c")->user_regs);
    assert_true(good("--intr-regs c")->intr_regs == all && good("--intr-regs c")->user_regs == 0);
    bad("--intr-regs -g dwarf,49160 c", "with --intr-regs, a stack dump can have at most 49144 bytes, not 49160");
    good("--intr-regs -g dwarf,49144 c");
    bad("--intr-regs=sp,ssp c", "option '--intr-regs' knows no register 'ssp'");
    bad("--stat --intr-regs c", "option '--intr-regs' is for samples, and --stat takes none");
    bad("--user-regs=sp, c", "option '--user-regs' knows no register ''; it knows ");
    bad("--user-regs= c", "knows no register ''");
    bad("--user-regs=sp,ssp c", "did you mean 's");
    bad("--user-regs=es c", "knows no register 'es'");
    bad("--user-regs=sp?, c", "knows no register 'sp?'");
    bad("--stat --user-regs c", "option '--user-regs' is for samples, and --stat takes none");
    good("--user-regs=?");
    assert_int_equal(line.action, SETTINGS_LIST_REGS);
    bad("--user-regs=? c", "unexpected argument 'c'");
}

static void test_branches(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        uint64_t branches;
    } cases[] = {
        {"c", 0},
        {"-b c", PERF_SAMPLE_BRANCH_ANY},
        {"--branch-any c", PERF_SAMPLE_BRANCH_ANY},
        {"-j any c", PERF_SAMPLE_BRANCH_ANY},
        {"-j any_call,any_ret,u c",
         PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_ANY_RETURN | PERF_SAMPLE_BRANCH_USER},
        {"-j ind_call,IND_JMP,cond,call,stack c", PERF_SAMPLE_BRANCH_IND_CALL | PERF_SAMPLE_BRANCH_IND_JUMP |
                                                      PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_CALL |
                                                      PERF_SAMPLE_BRANCH_CALL_STACK},
        {"--branch-filter=any,k,hv,save_type,no_flags,no_cycles c",
         PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV | PERF_SAMPLE_BRANCH_TYPE_SAVE |
             PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES},
        {"-j any,abort_tx,in_tx,no_tx c",
         PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_ABORT_TX | PERF_SAMPLE_BRANCH_IN_TX | PERF_SAMPLE_BRANCH_NO_TX},
        {"-j any,hw_index,priv,counter c", PERF_SAMPLE_BRANCH_ANY | 1u << 17 | 1u << 18 | 1u << 19},
        {"-j u,k c", PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(good(cases[i].words)->branches, cases[i].branches);
    bad("-j any_cal c", "did you mean 'any_call'?");
    bad("-j any,,u c", "option '--branch-filter' knows no kind of branch ''; it knows any, any_call");
    bad("-j nothing c", "knows no kind of branch 'nothing'");
    bad("-b -j any c", "exclude each other");
    bad("-j any -j any c", "exclude each other");
    bad("-b --stat c", "is for samples, and --stat takes none");
}

static void test_follow(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        unsigned flags;
    } cases[] = {
        {"--follow-fork c", PINJECT_SESSION_FORK},
        {"--follow-vfork c", PINJECT_SESSION_VFORK},
        {"--follow-pthread c", PINJECT_SESSION_PTHREAD},
        {"--follow-exec c", PINJECT_SESSION_EXEC},
        {"--follow-all c", PINJECT_SESSION_ALL},
        {"--follow=all c", PINJECT_SESSION_ALL},
        {"--follow=none c", 0},
        {"--follow=fork,exec c", PINJECT_SESSION_FORK | PINJECT_SESSION_EXEC},
        {"--follow=threads --follow=none c", PINJECT_SESSION_PTHREAD},
        {"--follow=vfork --follow-pthread c", PINJECT_SESSION_VFORK | PINJECT_SESSION_PTHREAD},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(good(cases[i].words)->follow, cases[i].flags);
        assert_true(line.settings.follow_given);
    }
    bad("--follow=forks c", "cannot follow 'forks'");
    bad("--follow=fork,for c", "cannot follow 'for'");
    bad("--follow=fork, c", "cannot follow ''");
}

/* No other character stands for an option, also none that nobody could see. */
static void test_short_options(void **state)
{
    (void)state;
    for (int c = 1; c < 256; c++) {
        const char word[] = {'-', (char)c, ' ', 'c', '\0'};
        if (!strchr("-oeFcdgqvhpxIrukbj0123 ", c))
            bad(word, "unknown");
    }
}

static void test_actions(void **state)
{
    (void)state;
    good("--wait");
    assert_int_equal(line.action, SETTINGS_WAIT);
    assert_null(line.wait_base);
    good("--wait=base");
    assert_string_equal(line.wait_base, "base");
    good("--info");
    assert_int_equal(line.action, SETTINGS_INFO);
    good("--version");
    assert_int_equal(line.action, SETTINGS_VERSION);
    good("-h");
    assert_int_equal(line.action, SETTINGS_HELP);
    assert_null(good("--doctor")->command);
    assert_string_equal(good("--doctor -- sh")->command[0], "sh");
    assert_int_equal(line.action, SETTINGS_DOCTOR);
    bad("", "no command to profile");
    bad("-q", "no command to profile");
    bad("--info sh", "unexpected argument 'sh'");
    assert_true(good("--collect=3 --preload=/x.so")->bare);
    assert_int_equal(line.action, SETTINGS_COLLECT);
    assert_int_equal(line.collect_fd, 3);
    assert_string_equal(line.preload, "/x.so");
    good("--collect=1048576");
    bad("--collect=1048577", "needs a file descriptor");
    bad("--collect=x", "needs a file descriptor");
    bad("--collect=3x", "needs a file descriptor");
    bad("--collect=", "needs a file descriptor");
    assert_true(good("--live c")->live);
    assert_null(line.settings.live_to);
    assert_string_equal(good("--live=/dev/tty1 c")->live_to, "/dev/tty1");
    bad("--live= c", "needs the name of a terminal or file");
    bad("--unknown c", "unknown");
}

/* VARIABLES: ended by NULL. */
static int from_environment(const char *const *variables, const char **ret_text)
{
    char **before = environ;
    good("c");
    environ = (char **)(uintptr_t)variables; /* read only */
    check_capture();
    int status = settings_parse_environment(&line);
    *ret_text = check_captured();
    environ = before;
    return status;
}

#define VARIABLES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_variables(void **state)
{
    const char *text;
    (void)state;
    static const char *const variables[] = {"PINJECT_OUTFILE=base",
                                            "PINJECT_FREQ=50",
                                            "PINJECT_FOLLOW_ALL=1",
                                            "PINJECT_EXEC_SPLIT_RESULTS=1",
                                            "PINJECT_STAT=0",
                                            "PINJECT_QUIET=",
                                            "PINJECT_EVENTS=",
                                            "PINJECT_VERBOSE=1",
                                            "HOME=/",
                                            "PINJECT_",
                                            "PINJECT_=1",
                                            "PINJECT_PERIOD",
                                            PINJECT_ENV_SESSION "=x",
                                            PINJECT_ENV_COLLECTOR "=y",
                                            NULL};
    assert_int_equal(from_environment(variables, &text), 0);
    assert_string_equal(text, "");
    assert_string_equal(line.settings.outfile, "base");
    assert_int_equal(line.settings.frequency, 50);
    assert_int_equal(line.settings.follow, PINJECT_SESSION_ALL);
    assert_true(line.settings.split);
    assert_false(line.settings.stat || line.settings.quiet);
    assert_int_equal(line.settings.verbose, 1);
    assert_int_equal(line.settings.events.count, 0);
    assert_int_equal(from_environment(VARIABLES("PINJECT_STAT=yes"), &text), -EINVAL);
    assert_non_null(strstr(text, "variable PINJECT_STAT must be 1 or 0, not 'yes'"));
    assert_int_equal(from_environment(VARIABLES("PINJECT_FREQ=many"), &text), -EINVAL);
    assert_non_null(strstr(text, "the invalid value comes from the environment variable PINJECT_FREQ"));
    assert_int_equal(from_environment(VARIABLES("PINJECT_FREQENCY=5", "PINJECT_PERIOD=7"), &text), 0);
    assert_non_null(strstr(text, "unknown variable PINJECT_FREQENCY"));
    assert_int_equal(line.settings.period, 7);
    assert_int_equal(from_environment(VARIABLES("PINJECT_OUTFIL=5"), &text), 0);
    assert_non_null(strstr(text, "did you mean PINJECT_OUTFILE"));
    /* Options of the command line alone are no variables. */
    assert_int_equal(from_environment(VARIABLES("PINJECT_STRICT=1"), &text), 0);
    assert_non_null(strstr(text, "unknown variable PINJECT_STRICT"));
    assert_false(line.settings.strict);
}

/* Owned by the caller. */
static char *help(bool all)
{
    FILE *to = tmpfile();
    assert_non_null(to);
    settings_help(to, all);
    size_t size = (size_t)ftell(to);
    rewind(to);
    char *text = calloc(1, size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, size, to), size);
    fclose(to);
    return text;
}

/* It fits a screen of 80 columns and 24 lines, with the prompt. */
static void test_brief_help(void **state)
{
    (void)state;
    char *text = help(false);
    size_t lines = 0;
    for (const char *at = text, *end; (end = strchr(at, '\n')); at = end + 1) {
        assert_in_range(end - at, 0, 79);
        lines++;
    }
    assert_in_range(lines, 10, 23);
    assert_non_null(strstr(text, "pinject-run make -j8"));
    assert_non_null(strstr(text, "--help=all"));
    assert_null(strstr(text, "--follow-fork"));
    assert_null(strstr(text, "dwarf,BYTES"));
    free(text);
    good("--help");
    assert_null(line.help_all);
    good("--help=all");
    assert_string_equal(line.help_all, "all");
    bad("--help=al", "option '--help' takes 'all', not 'al'");
    bad("-p 1", "cannot attach to a running process yet");
}

static void test_help(void **state)
{
    (void)state;
    char *text = help(true);
    for (char *at = text, *end; (end = strchr(at, '\n')); at = end + 1)
        assert_true(end - at <= 120);
    static const char *const options[] = {"outfile",      "mode",
                                          "events",       "freq",
                                          "period",       "call-graph",
                                          "stat",         "follow-fork",
                                          "follow-vfork", "follow-pthread",
                                          "follow-exec",  "follow-all",
                                          "follow",       "exec-split-results",
                                          "live",         "wait",
                                          "info",         "doctor",
                                          "strict",       "quiet",
                                          "verbose",      "version",
                                          "help"};
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        char name[32];
        snprintf(name, sizeof(name), "--%s", options[i]);
        const char *at = strstr(text, name);
        while (at && !strchr(" =[", at[strlen(name)]))
            at = strstr(at + 1, name);
        if (!at)
            fail_msg("%s is not told of", name);
    }
    assert_non_null(strstr(text, "127 if COMMAND is not found"));
    assert_null(strstr(text, "--collect"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),       cmocka_unit_test(test_numbers),     cmocka_unit_test(test_periods),
        cmocka_unit_test(test_times),          cmocka_unit_test(test_times),       cmocka_unit_test(test_events),
        cmocka_unit_test(test_follow),         cmocka_unit_test(test_call_graphs), cmocka_unit_test(test_actions),
        cmocka_unit_test(test_short_options),  cmocka_unit_test(test_variables),   cmocka_unit_test(test_brief_help),
        cmocka_unit_test(test_help),           cmocka_unit_test(test_registers),   cmocka_unit_test(test_branches),
        cmocka_unit_test(test_random_periods), cmocka_unit_test(test_saturation),  cmocka_unit_test(test_sampler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
