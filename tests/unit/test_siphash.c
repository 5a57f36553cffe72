/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "common/siphash.h"

/* The reference's own: a key and bytes of 0, 1, 2, ... */
static void known_values(void **state)
{
    (void)state;
    static const struct {
        size_t size;
        uint64_t hash;
    } known[] = {{0, 0x726fdb47dd0e0e31},
                 {1, 0x74f839c593dc67fd},
                 {7, 0xab0200f58b01d137},
                 {8, 0x93f5f5799a932462},
                 {15, 0xa129ca6149be45e5}};
    const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
    unsigned char bytes[16];
    for (unsigned i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)i;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_true(siphash(key, bytes, known[i].size) == known[i].hash);
    const uint64_t other[2] = {key[0], key[1] + 1};
    assert_true(siphash(other, bytes, 0) != known[0].hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
