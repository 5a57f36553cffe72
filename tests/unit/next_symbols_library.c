/* SPDX-License-Identifier: MIT */
/* A library with one function of its own, and one that each of these has. */
int TEST_FUNCTION(void);
int test_common(void);

int TEST_FUNCTION(void)
{
    return TEST_VALUE;
}

int test_common(void)
{
    return TEST_VALUE;
}
