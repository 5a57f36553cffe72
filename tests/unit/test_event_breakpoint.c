/* SPDX-License-Identifier: MIT */
#include "events_kit.h"

#include <elf.h>
#include <sys/auxv.h>

#include "collector/events/event_breakpoint.h"

int main(void);

static void addresses(void **state)
{
    static const struct {
        const char *text;
        uint64_t address, length;
        uint32_t kind;
    } cases[] = {
        {"mem:0x1000", 0x1000, 4, HW_BREAKPOINT_RW},    {"mem:4096/2", 0x1000, 2, HW_BREAKPOINT_RW},
        {"mem:0x1000/1:w", 0x1000, 1, HW_BREAKPOINT_W}, {"mem:0x1000/8:rw", 0x1000, 8, HW_BREAKPOINT_RW},
        {"mem:0x1001:x", 0x1001, 8, HW_BREAKPOINT_X},   {"mem:0x1000/8:wr:u", 0x1000, 8, HW_BREAKPOINT_RW},
        {"mem:0x1000:u", 0x1000, 4, HW_BREAKPOINT_RW},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct event_spec *spec = kit_one(&kit_intel, cases[i].text);
        assert_int_equal(spec->attr.type, PERF_TYPE_BREAKPOINT);
        assert_int_equal(spec->attr.config, 0);
        assert_int_equal(spec->attr.bp_addr, cases[i].address);
        assert_int_equal(spec->attr.bp_len, cases[i].length);
        assert_int_equal(spec->attr.bp_type, cases[i].kind);
        assert_int_equal(spec->attr.exclude_kernel, strchr(cases[i].text, 'u') != NULL);
        assert_string_equal(spec->name, cases[i].text);
    }
}

static void symbols(void **state)
{
    struct event_spec spec = {.target_kind = EVENT_TARGET_NONE};
    const struct event_place place = {.text = "mem:main:x", .number = 1};
    char text[] = "main+4:x";
    const char *modifiers;
    (void)state;
    assert_int_equal(event_breakpoint_parse(&place, text, &spec, &modifiers), 0);
    assert_null(modifiers);
    assert_string_equal(spec.target, "main");
    assert_int_equal(spec.attr.bp_addr, 4);
    check_capture();
    assert_int_equal(event_breakpoint_resolve(&place, NULL, &spec), -EINVAL);
    assert_non_null(strstr(check_captured(), "but no command is given"));
    check_capture();
    assert_int_equal(event_breakpoint_resolve(&place, "/etc/passwd", &spec), -EINVAL);
    assert_non_null(strstr(check_captured(), "ELF"));
    assert_int_equal(event_breakpoint_resolve(&place, "/proc/self/exe", &spec), 0);
    /* Relative, or not, as this program was linked. */
    const uint64_t bias = getauxval(AT_PHDR) - spec.program.headers;
    assert_true(spec.relative == (bias != 0));
    assert_int_equal(spec.attr.bp_addr + bias, (uintptr_t)main + 4);
    free(spec.target);
    spec = (struct event_spec){.target_kind = EVENT_TARGET_SYMBOL, .target = strdup("no_such_symbol")};
    check_capture();
    assert_int_equal(event_breakpoint_resolve(&place, "/proc/self/exe", &spec), -EINVAL);
    assert_non_null(strstr(check_captured(), "has no symbol 'no_such_symbol'"));
    free(spec.target);
}

static void refusals(void **state)
{
    (void)state;
    KIT_BAD(&kit_intel, "mem:", "has no address");
    KIT_BAD(&kit_intel, "mem:0x", "invalid address");
    KIT_BAD(&kit_intel, "mem:0x10000000000000000", "invalid address");
    KIT_BAD(&kit_intel, "mem:0x1000/3", "cannot be 3 bytes long");
    KIT_BAD(&kit_intel, "mem:0x1000/16:w", "use a length of 1, 2, 4 or 8");
    KIT_BAD(&kit_intel, "mem:0x1000/4:x", "x always has the length");
    KIT_BAD(&kit_intel, "mem:0x1000/", "invalid length");
    KIT_BAD(&kit_intel, "mem:0x1000:wx", "cannot be combined");
    KIT_BAD(&kit_intel, "mem:0x1001/4:w", "not a multiple of the length 4");
    KIT_BAD(&kit_intel, "mem:0x1000:z", "unknown modifier 'z'");
    KIT_BAD(&kit_intel, "mem:0x1000:z:u", "unknown kind of access 'z'");
#ifdef __x86_64__
    KIT_BAD(&kit_intel, "mem:0x1000:r", "no breakpoint for reads alone");
#endif
}

KIT_MAIN(T(addresses), T(symbols), T(refusals))
