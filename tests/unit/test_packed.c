/* SPDX-License-Identifier: MIT */
/* Packed items: by the collector's packer, by hand, and wrong in every way. */
#include "check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/read/item.h"
#include "collector/output/packer.h"

static const char text[] = "what stands in the data stands in the items: /usr/lib/x86_64-linux-gnu/libc.so.6";
static struct buffer items, packed; /* PACKED: the data, then the section */
static size_t data_size;
static struct arena arena = ARENA_INIT;

static void append_note(struct buffer *to, const char *note)
{
    struct pinject_item_note fixed = {{PINJECT_ITEM_NOTE, (uint32_t)(sizeof(fixed) + strlen(note) / 8 * 8 + 8)}};
    buffer_append(to, &fixed, sizeof(fixed));
    buffer_string(to, note);
    buffer_align(to, 8);
}

static int set_up(void **state)
{
    (void)state;
    struct packer *packer = packer_new();
    assert_non_null(packer);
    buffer_clear(&items);
    buffer_clear(&packed);
    append_note(&items, text);
    append_note(&items, "another note");
    for (int i = 0; i < 40; i++)
        append_note(&items, "the same note, over and over");
    buffer_string(&packed, text);
    buffer_align(&packed, 8);
    data_size = packed.size;
    assert_true(packer_append(packer, &items, &packed, 0, data_size));
    assert_int_equal((packed.size - data_size) % 8, 0);
    assert_true(packed.size - data_size < items.size / 4);
    packer_free(packer);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    buffer_release(&items);
    buffer_release(&packed);
    arena_release(&arena);
    return 0;
}

static struct pinject_item_packed *head(void)
{
    return (struct pinject_item_packed *)(void *)(packed.data + data_size);
}

/* The first SIZE bytes of the section, with the last KNOWN ones of the data. */
static int unpack_some(size_t size, size_t known, const unsigned char **ret, size_t *ret_size)
{
    /* Memory of their exact sizes, for the sanitizer. */
    unsigned char *section = malloc(size + !size), *data = malloc(known + !known);
    assert_non_null(section);
    assert_non_null(data);
    memcpy(section, packed.data + data_size, size);
    memcpy(data, packed.data + data_size - known, known);
    int status = item_unpack(cursor_of(section, size), cursor_of(data, known), &arena, ret, ret_size);
    free(section);
    free(data);
    return status;
}

static void expect_none(void)
{
    const unsigned char *bytes = items.data;
    size_t size = 1;
    assert_int_equal(unpack_some(packed.size - data_size, data_size, &bytes, &size), 0);
    assert_null(bytes);
    assert_int_equal(size, 0);
}

static void test_packed(void **state)
{
    (void)state;
    const unsigned char *bytes = NULL;
    size_t size = 0;
    assert_int_equal(head()->dictionary, data_size);
    assert_int_equal(unpack_some(packed.size - data_size, data_size, &bytes, &size), 0);
    assert_int_equal(size, items.size);
    assert_memory_equal(bytes, items.data, size);
}

static void test_without_dictionary(void **state)
{
    (void)state;
    struct packer *packer = packer_new();
    const unsigned char *bytes = NULL;
    size_t size = 0, longer = packed.size - data_size;
    packed.size = data_size;
    assert_true(packer_append(packer, &items, &packed, data_size, data_size));
    assert_int_equal(head()->dictionary, 0);
    assert_true(packed.size - data_size > longer);
    assert_int_equal(unpack_some(packed.size - data_size, 0, &bytes, &size), 0);
    assert_int_equal(size, items.size);
    assert_memory_equal(bytes, items.data, size);
    packer_free(packer);
}

/* No gain, no packing: and nothing is left behind. */
static void test_too_little(void **state)
{
    (void)state;
    struct packer *packer = packer_new();
    const size_t before = packed.size;
    for (size_t i = 0; i < items.size; i++)
        items.data[i] = (unsigned char)random();
    for (items.size = 0; items.size < 64; items.size += 8) {
        assert_false(packer_append(packer, &items, &packed, before, before));
        assert_int_equal(packed.size, before);
    }
    packer_free(packer);
}

static void test_not_packed(void **state)
{
    (void)state;
    const unsigned char *bytes;
    size_t size;
    struct cursor none = cursor_of(NULL, 0);
    assert_int_equal(item_unpack(cursor_of(items.data, items.size), none, &arena, &bytes, &size), -ENOENT);
    assert_int_equal(item_unpack(none, none, &arena, &bytes, &size), -ENOENT);
}

static void test_wrong_heads(void **state)
{
    (void)state;
    const struct pinject_item_packed right = *head();
    head()->unpacked++;
    expect_none();
    head()->unpacked -= 2;
    expect_none();
    head()->unpacked = 0;
    expect_none();
    head()->unpacked = PINJECT_PACKED_MAX; /* more than so few bytes can be */
    expect_none();
    head()->unpacked = UINT32_MAX;
    expect_none();
    *head() = right;
    head()->method = 2;
    expect_none();
    *head() = right;
    head()->dictionary++;
    expect_none();
    head()->dictionary = UINT16_MAX;
    expect_none();
    head()->dictionary = 0; /* what it refers to is not there */
    expect_none();
}

static void test_cut(void **state)
{
    (void)state;
    const size_t whole = packed.size - data_size;
    for (size_t size = 0; size < whole; size++) {
        const unsigned char *bytes = NULL;
        size_t got = 0;
        head()->item.size = (uint32_t)(size < sizeof(struct pinject_item) ? whole : size);
        int status = unpack_some(size, data_size, &bytes, &got);
        assert_true(status == -ENOENT || status == 0);
        /* The last bytes may be padding. */
        assert_true(got == 0 || whole - size < 8);
    }
}

static void test_flipped(void **state)
{
    (void)state;
    for (size_t i = data_size; i < packed.size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            const unsigned char *bytes = NULL;
            size_t size = 0;
            packed.data[i] ^= (unsigned char)(1 << bit);
            const uint32_t told = head()->unpacked;
            int status = unpack_some(packed.size - data_size, data_size, &bytes, &size);
            assert_true(status == -ENOENT || status == 0);
            assert_true(size == 0 || (bytes && size == told));
            packed.data[i] ^= (unsigned char)(1 << bit);
            arena_release(&arena);
            arena = (struct arena)ARENA_INIT;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_packed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_dictionary, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_too_little, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_packed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_heads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_flipped, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
