/* SPDX-License-Identifier: MIT */
#include "common/table.h"

#include <pthread.h>
#include <sys/random.h>

static uint64_t key[2];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
    /* Without random numbers (Linux before 3.17) the key is made from addresses of this process. */
    if (getrandom(key, sizeof(key), GRND_NONBLOCK) != sizeof(key))
        key[0] = (uintptr_t)&once ^ (uintptr_t)__builtin_frame_address(0);
}

const uint64_t *table_key(void)
{
    pthread_once(&once, make_key);
    return key;
}
