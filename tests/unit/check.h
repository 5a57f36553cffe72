/* SPDX-License-Identifier: MIT */
/* Every unit test includes this first: cmocka needs these headers before its own. */
#ifndef UNIT_CHECK_H
#define UNIT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dirent.h>
#include <poll.h>
#include <unistd.h>

/* The number of open descriptors: if it is the same before and after, none leaked. */
__attribute__((unused)) static unsigned check_open_fds(void)
{
    unsigned count = 0;
    DIR *fds = opendir("/proc/self/fd");
    assert_non_null(fds);
    while (readdir(fds))
        count++;
    closedir(fds);
    return count;
}

/* Captures stderr between check_capture() and check_captured(), for tests of messages. */
static int check_saved_fd;
static FILE *check_file;

__attribute__((unused)) static void check_capture(void)
{
    check_file = tmpfile();
    assert_non_null(check_file);
    check_saved_fd = dup(2);
    assert_true(dup2(fileno(check_file), 2) == 2);
}

/* The captured text, valid until the next call. */
__attribute__((unused)) static const char *check_captured(void)
{
    static char text[16384];
    assert_true(dup2(check_saved_fd, 2) == 2);
    close(check_saved_fd);
    rewind(check_file);
    size_t size = fread(text, 1, sizeof(text) - 1, check_file);
    text[size] = '\0';
    fclose(check_file);
    return text;
}

/*
 * The text written to the terminal SLAVE since the last call, read at its other end MASTER; valid until the next call.
 * It arrives there with a delay, so a mark is written after it and waited for.
 */
__attribute__((unused)) static const char *check_terminal(int master, int slave)
{
    static const char mark[] = "\033[terminal";
    static char text[4096];
    size_t size = 0;
    assert_int_equal(write(slave, mark, sizeof(mark) - 1), sizeof(mark) - 1);
    for (char *end; size < sizeof(text) - 1;) {
        struct pollfd ready = {.fd = master, .events = POLLIN};
        assert_int_equal(poll(&ready, 1, 60000), 1);
        ssize_t got = read(master, text + size, sizeof(text) - 1 - size);
        assert_true(got > 0);
        size += (size_t)got;
        text[size] = '\0';
        if ((end = strstr(text, mark)) != NULL) {
            *end = '\0';
            return text;
        }
    }
    fail_msg("more than %zu bytes", sizeof(text));
    return NULL;
}

#endif
