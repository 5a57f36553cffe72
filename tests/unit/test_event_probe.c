/* SPDX-License-Identifier: MIT */
#include "events_kit.h"

#include "collector/events/event_probe.h"
#include "collector/events/event_symbol.h"

static char root[64];
static struct event_sources sources = {.devices = root};

static int make(void **state)
{
    (void)state;
    kit_directory(root);
    kit_file(root, "uprobe/type", "8\n");
    kit_file(root, "uprobe/format/retprobe", "config:0\n");
    kit_file(root, "uprobe/format/ref_ctr_offset", "config:32-63\n");
    kit_file(root, "kprobe/type", "7\n");
    kit_file(root, "kprobe/format/retprobe", "config:0\n");
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    kit_remove(root);
    return 0;
}

static void probes(void **state)
{
    struct event_words words = {0};
    struct event_symbol symbol;
    (void)state;
    const struct event_spec *spec = kit_one(&sources, "uprobe/path=/bin/sh,offset=0x40,retprobe/");
    assert_true(spec->attr.type == 8 && spec->attr.config == 1 && spec->attr.probe_offset == 0x40 && spec->traces);
    assert_string_equal((const char *)(uintptr_t)spec->attr.uprobe_path, "/bin/sh");
    assert_int_equal(event_symbol_find("/proc/self/exe", "main", &symbol, &words), 0);
    event_words_release(&words);
    spec = kit_one(&sources, "uprobe/path=/proc/self/exe,symbol=main,offset=4/");
    assert_int_equal(spec->attr.probe_offset, symbol.offset + 4);
    spec = kit_one(&sources, "uprobe/ref_ctr_offset=3,path='/bin/sh'/k");
    assert_true(spec->attr.config == UINT64_C(3) << 32 && spec->attr.exclude_user);
    spec = kit_one(&sources, "kprobe/func=do_exit,offset=2/");
    assert_true(spec->attr.type == 7 && spec->attr.probe_offset == 2);
    assert_string_equal((const char *)(uintptr_t)spec->attr.kprobe_func, "do_exit");
    spec = kit_one(&sources, "kprobe/addr=0xffffffff81000000/");
    assert_true(!spec->attr.kprobe_func && spec->attr.kprobe_addr == UINT64_C(0xffffffff81000000));
    event_list_release(&kit_list);
    assert_int_equal(event_list_parse(&kit_list, &sources, "uprobe/path=/bin/sh/,faults,{uprobe/path=/bin/sh/u,cs}"),
                     0);
    assert_int_equal(kit_list.count, 4);
    assert_int_equal(event_list_filter(&kit_list, "x"), -EINVAL);
}

static void refusals(void **state)
{
    (void)state;
    KIT_BAD(&sources, "uprobe/offset=1/", "needs a file");
    KIT_BAD(&sources, "uprobe/path=/no/such/", "'/no/such' cannot be read: No such file");
    KIT_BAD(&sources, "uprobe/path/", "path=...");
    KIT_BAD(&sources, "uprobe/symbol=main/", "after path=FILE");
    KIT_BAD(&sources, "uprobe/path=/proc/self/exe,symbol=mein/", "has no symbol 'mein'");
    KIT_BAD(&sources, "uprobe/path=/bin/sh,offset=x/", "needs a number, not 'x'");
    KIT_BAD(&sources, "uprobe/path=/bin/sh,path=/bin/sh/", "two files");
    KIT_BAD(&sources, "kprobe/retprobe/", "needs a function");
    KIT_BAD(&sources, "kprobe/path=/bin/sh/", "no term 'path'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {T(probes), T(refusals)};
    report_program("test");
    const int failed = cmocka_run_group_tests(tests, make, unmake);
    event_list_release(&kit_list);
    return failed;
}
