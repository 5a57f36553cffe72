/* SPDX-License-Identifier: MIT */
/* J.-P. Aumasson, D. J. Bernstein: SipHash, a fast short-input PRF (2012). */
#include "common/siphash.h"

static uint64_t rotate(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static void mix(uint64_t state[4], unsigned rounds)
{
    while (rounds--) {
        state[0] += state[1];
        state[2] += state[3];
        state[1] = rotate(state[1], 13) ^ state[0];
        state[3] = rotate(state[3], 16) ^ state[2];
        state[0] = rotate(state[0], 32) + state[3];
        state[2] += state[1];
        state[3] = rotate(state[3], 21) ^ state[0];
        state[1] = rotate(state[1], 17) ^ state[2];
        state[2] = rotate(state[2], 32);
    }
}

static void absorb_word(uint64_t state[4], uint64_t word)
{
    state[3] ^= word;
    mix(state, 2);
    state[0] ^= word;
}

uint64_t siphash(const uint64_t key[2], const void *bytes, size_t size)
{
    uint64_t state[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du, key[0] ^ 0x6c7967656e657261u,
                         key[1] ^ 0x7465646279746573u};
    const unsigned char *at = bytes;
    uint64_t word = 0;
    for (size_t i = 0; i < size; i++) {
        word |= (uint64_t)at[i] << i % 8 * 8;
        if (i % 8 == 7) {
            absorb_word(state, word);
            word = 0;
        }
    }
    absorb_word(state, word | (uint64_t)size << 56);
    state[2] ^= 0xff;
    mix(state, 4);
    return state[0] ^ state[1] ^ state[2] ^ state[3];
}
