/* SPDX-License-Identifier: MIT */
#include "events_kit.h"

#include "collector/events/event_symbol.h"

int here_is_a_variable = 3;

static void symbols_of_this_program(void **state)
{
    struct event_symbol symbol, other;
    struct event_words words = {0};
    (void)state;
    assert_int_equal(event_symbol_find("/proc/self/exe", "here_is_a_variable", &symbol, &words), 0);
    assert_int_equal(event_symbol_find("/proc/self/exe", "main", &other, &words), 0);
    extern int main(void);
    /* At its address, or as far from another one as in the file. */
    const intptr_t apart = (intptr_t)&here_is_a_variable - (intptr_t)(uintptr_t)main;
    assert_int_equal((intptr_t)symbol.address - (intptr_t)other.address, apart);
    assert_true(!symbol.fixed || symbol.address == (uintptr_t)&here_is_a_variable);
    FILE *file = fopen("/proc/self/exe", "r");
    int value = 0;
    assert_int_equal(fseek(file, (long)symbol.offset, SEEK_SET), 0);
    assert_int_equal(fread(&value, sizeof(value), 1, file), 1);
    fclose(file);
    assert_int_equal(value, 3);
    event_words_release(&words);
}

static void what_is_not_there(void **state)
{
    struct event_symbol symbol;
    struct event_words words = {0};
    char root[64], path[128];
    (void)state;
    assert_int_equal(event_symbol_find("/proc/self/exe", "here_is_no_variable", &symbol, &words), -ENOENT);
    assert_true(words.count > 0);
    assert_int_equal(event_symbol_find("/no/such/file", "main", &symbol, &words), -ENOENT);
    assert_int_equal(event_symbol_find("/tmp", "main", &symbol, &words), -ENOEXEC);
    kit_file(kit_directory(root), "text", "#!/bin/sh\n");
    snprintf(path, sizeof(path), "%s/text", root);
    assert_int_equal(event_symbol_find(path, "main", &symbol, &words), -ENOEXEC);
    kit_file(root, "text", "\177ELF\2\1\1");
    assert_int_equal(event_symbol_find(path, "main", &symbol, &words), -ENOEXEC);
    kit_remove(root);
    event_words_release(&words);
}

KIT_MAIN(T(symbols_of_this_program), T(what_is_not_there))
