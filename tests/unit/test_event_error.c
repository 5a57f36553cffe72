/* SPDX-License-Identifier: MIT */
#include "events_kit.h"

static void message_names_event_place_and_nearest(void **state)
{
    struct event_words words = {0};
    const struct event_place place = {.text = "cycels:u", .number = 3};
    (void)state;
    event_words_add(&words, "instructions");
    event_words_add(&words, "cycles");
    check_capture();
    assert_int_equal(event_error(&place, "cycels", &words, "no event %d", 7), -EINVAL);
    assert_string_equal(check_captured(), "test: event 3, 'cycels:u': no event 7; did you mean 'cycles'?\n");
    check_capture();
    event_error(&place, "zzzzzzzzzz", &words, "no");
    assert_string_equal(check_captured(), "test: event 3, 'cycels:u': no\n");
    event_words_release(&words);
    assert_int_equal(words.count, 0);
}

static void long_and_hostile_texts_are_cut_and_escaped(void **state)
{
    char text[500];
    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    text[3] = '\033';
    check_capture();
    event_error(&(struct event_place){.text = text, .number = 1}, NULL, NULL, "no");
    const char *said = check_captured();
    assert_non_null(strstr(said, "aaa\\033a"));
    assert_non_null(strstr(said, "...': no\n"));
    assert_true(strlen(said) < 120);
}

static void words_of_a_directory_have_no_dots(void **state)
{
    struct event_words words = {0};
    (void)state;
    event_words_add_directory(&words, TEST_DATA "/pmus/intel/power/events");
    assert_int_equal(words.count, 1);
    assert_string_equal(words.words[0], "energy-pkg");
    event_words_add_directory(&words, "/no/such/directory");
    assert_int_equal(words.count, 1);
    for (unsigned i = 0; i < 10000; i++)
        event_words_add(&words, "x");
    assert_true(words.count >= 4096 && words.count <= 8192);
    event_words_release(&words);
}

KIT_MAIN(T(message_names_event_place_and_nearest), T(long_and_hostile_texts_are_cut_and_escaped),
         T(words_of_a_directory_have_no_dots))
