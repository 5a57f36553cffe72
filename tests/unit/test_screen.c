/* SPDX-License-Identifier: MIT */
/* analyze/live/screen.h: a terminal that is drawn on and given back, and left alone where it is another job's. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include "analyze/live/screen.h"

#define ENTER "\033[?1049h\033[?25l\033[2J"
#define LEAVE "\033[0m\033[?25h\033[?1049l"

pid_t __wrap_tcgetpgrp(int fd);

static bool background;

pid_t __wrap_tcgetpgrp(int fd)
{
    (void)fd;
    return background ? getpgrp() + 1 : getpgrp();
}

static int terminal, slave;

static const char *written(void)
{
    return check_terminal(terminal, slave);
}

static struct termios modes(void)
{
    struct termios mode;
    assert_int_equal(tcgetattr(slave, &mode), 0);
    return mode;
}

static void set_size(unsigned short rows, unsigned short columns)
{
    const struct winsize size = {.ws_row = rows, .ws_col = columns};
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
}

static int open_terminal(void **state)
{
    (void)state;
    terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
    if (terminal < 0 || grantpt(terminal) < 0 || unlockpt(terminal) < 0)
        return -1;
    slave = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0)
        return -1;
    struct termios mode = modes();
    mode.c_oflag &= ~(tcflag_t)OPOST;
    background = false;
    return tcsetattr(slave, TCSANOW, &mode);
}

static int close_terminal(void **state)
{
    (void)state;
    close(slave);
    close(terminal);
    return 0;
}

static void test_taken_and_given_back(void **state)
{
    (void)state;
    const struct termios before = modes();
    struct screen screen;
    set_size(10, 40);
    screen_init(&screen, slave, slave);
    screen_enter(&screen);
    assert_string_equal(written(), ENTER);
    assert_true(screen.active && screen.raw);
    assert_int_equal(screen.rows, 10);
    assert_int_equal(screen.columns, 40);
    const struct termios raw = modes();
    assert_int_equal(raw.c_lflag & (ICANON | ECHO), 0);
    assert_int_equal(raw.c_lflag | ICANON | ECHO, before.c_lflag);
    assert_int_equal(raw.c_cc[VMIN], 1);
    assert_int_equal(raw.c_cc[VTIME], 0);
    /* Once more: it is ours already, and the modes to be restored are not the raw ones. */
    screen_enter(&screen);
    assert_string_equal(written(), "");
    screen_leave(&screen);
    assert_string_equal(written(), LEAVE);
    assert_false(screen.active || screen.raw);
    assert_int_equal(modes().c_lflag, before.c_lflag);
    screen_leave(&screen);
    assert_string_equal(written(), "");
}

/* The keyboard is not ours: its modes stay. */
static void test_without_keys(void **state)
{
    (void)state;
    const struct termios before = modes();
    struct screen screen;
    screen_init(&screen, slave, -1);
    screen_enter(&screen);
    assert_true(screen.active);
    assert_false(screen.raw);
    assert_int_equal(modes().c_lflag, before.c_lflag);
    screen_leave(&screen);
}

static void test_drawn(void **state)
{
    (void)state;
    static const char text[] = "one\ntwo\nthree\nfour";
    struct screen screen;
    set_size(4, 6);
    screen_init(&screen, slave, -1);
    screen_enter(&screen);
    written();
    /* As many lines as fit above the status, which leaves the last column free. */
    assert_int_equal(screen_draw(&screen, text, strlen(text), "123456789"), 0);
    assert_string_equal(written(), "\033[Hone\033[0m\033[K\r\ntwo\033[0m\033[K\r\nthree\033[0m\033[K\r\n"
                                   "\033[J\033[4;1H12345\033[K");
    /* The last line may lack its newline. */
    set_size(9, 6);
    screen_measure(&screen);
    assert_int_equal(screen_draw(&screen, "a\nb", 3, ""), 0);
    assert_string_equal(written(), "\033[Ha\033[0m\033[K\r\nb\033[0m\033[K\r\n\033[J\033[9;1H\033[K");
    screen_leave(&screen);
    /* One that tells no size; and one that has gone. */
    set_size(0, 0);
    screen_measure(&screen);
    assert_int_equal(screen.rows, 24);
    assert_int_equal(screen.columns, 80);
    int nowhere = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(nowhere >= 0);
    screen_init(&screen, nowhere, -1);
    screen_measure(&screen);
    assert_int_equal(screen.rows, 24);
    assert_int_equal(screen_draw(&screen, "a", 1, ""), -ENOSPC);
    assert_false(screen.active);
    close(nowhere);
}

/* Nothing is done to a terminal that another job has; once that has ended, it is taken. */
static void test_in_background(void **state)
{
    (void)state;
    const struct termios before = modes();
    struct screen screen;
    set_size(5, 20);
    background = true;
    screen_init(&screen, slave, slave);
    screen_enter(&screen);
    assert_int_equal(screen_draw(&screen, "a\n", 2, "s"), 0);
    assert_string_equal(written(), "");
    assert_false(screen.active || screen.raw);
    assert_int_equal(modes().c_lflag, before.c_lflag);
    background = false;
    assert_int_equal(screen_draw(&screen, "a\n", 2, "s"), 0);
    assert_string_equal(written(), ENTER "\033[Ha\033[0m\033[K\r\n\033[J\033[5;1Hs\033[K");
    assert_true(screen.active && screen.raw);
    screen_leave(&screen);
}

static void test_which_terminals(void **state)
{
    (void)state;
    setenv("TERM", "xterm", 1);
    assert_true(screen_is_one(slave));
    int file = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_false(screen_is_one(file));
    close(file);
    setenv("TERM", "dumb", 1);
    assert_false(screen_is_one(slave));
    setenv("TERM", "", 1);
    assert_false(screen_is_one(slave));
    unsetenv("TERM");
    assert_false(screen_is_one(slave));
}

#define WITH_TERMINAL(test) cmocka_unit_test_setup_teardown(test, open_terminal, close_terminal)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TERMINAL(test_taken_and_given_back), WITH_TERMINAL(test_without_keys),    WITH_TERMINAL(test_drawn),
        WITH_TERMINAL(test_in_background),        WITH_TERMINAL(test_which_terminals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
