/* SPDX-License-Identifier: MIT */
/* The preload object's own functions of string.h against libc's; text.c is compiled with them named own_NAME. */
#include "check.h"

void *own_memcpy(void *to, const void *from, size_t size);
void *own_memmove(void *to, const void *from, size_t size);
void *own_memset(void *to, int byte, size_t size);
int own_memcmp(const void *a, const void *b, size_t size);
void *own_memchr(const void *bytes, int byte, size_t size);
size_t own_strlen(const char *text);
size_t own_strnlen(const char *text, size_t limit);
int own_strncmp(const char *a, const char *b, size_t limit);
int own_strcmp(const char *a, const char *b);
char *own_strchr(const char *text, int byte);
char *own_strrchr(const char *text, int byte);

enum { SIZE = 64 };

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

static void test_copies(void **state)
{
    unsigned char mine[SIZE], theirs[SIZE], from[SIZE];
    (void)state;
    for (size_t at = 0; at < 20; at++)
        for (size_t to = 0; to < 20; to++)
            for (size_t size = 0; size < 30; size++) {
                for (size_t i = 0; i < SIZE; i++)
                    mine[i] = theirs[i] = (unsigned char)(i + 1), from[i] = (unsigned char)(200 - i);
                assert_ptr_equal(own_memcpy(mine + to, from + at, size), mine + to);
                memcpy(theirs + to, from + at, size);
                assert_memory_equal(mine, theirs, SIZE);
                assert_ptr_equal(own_memmove(mine + to, mine + at, size), mine + to);
                memmove(theirs + to, theirs + at, size);
                assert_memory_equal(mine, theirs, SIZE);
                assert_ptr_equal(own_memset(mine + to, (int)at + 250, size), mine + to);
                memset(theirs + to, (int)at + 250, size);
                assert_memory_equal(mine, theirs, SIZE);
            }
}

static void test_memory_is_compared(void **state)
{
    static const unsigned char a[] = {1, 0, 200, 4}, b[] = {1, 0, 3, 4};
    (void)state;
    for (size_t size = 0; size <= 4; size++) {
        assert_int_equal(sign(own_memcmp(a, b, size)), sign(memcmp(a, b, size)));
        assert_int_equal(sign(own_memcmp(b, a, size)), sign(memcmp(b, a, size)));
        assert_int_equal(own_memcmp(a, a, size), 0);
        for (int byte = 0; byte < 256; byte += 50) {
            assert_ptr_equal(own_memchr(a, byte, size), memchr(a, byte, size));
            assert_ptr_equal(own_memchr(a, byte + 256, size), memchr(a, byte, size));
        }
        assert_ptr_equal(own_memchr(a, 4, size), memchr(a, 4, size));
    }
}

static void test_strings(void **state)
{
    static const char *const texts[] = {"", "a", "b", "aa", "ab", "abc", "abca", "\xff", "a\xff"};
    enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };
    (void)state;
    for (size_t i = 0; i < TEXTS; i++) {
        const char *text = texts[i];
        assert_int_equal(own_strlen(text), strlen(text));
        for (size_t limit = 0; limit < 6; limit++)
            assert_int_equal(own_strnlen(text, limit), strnlen(text, limit));
        for (const char *byte = "abc\xffz";; byte++) {
            assert_ptr_equal(own_strchr(text, *byte), strchr(text, *byte));
            assert_ptr_equal(own_strrchr(text, *byte), strrchr(text, *byte));
            if (!*byte)
                break;
        }
        for (size_t k = 0; k < TEXTS; k++) {
            assert_int_equal(sign(own_strcmp(text, texts[k])), sign(strcmp(text, texts[k])));
            for (size_t limit = 0; limit < 6; limit++)
                assert_int_equal(sign(own_strncmp(text, texts[k], limit)), sign(strncmp(text, texts[k], limit)));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_memory_is_compared),
        cmocka_unit_test(test_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
