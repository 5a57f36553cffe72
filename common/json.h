/* SPDX-License-Identifier: MIT */
/* Writes one JSON document: commas, nesting, escapes. Bytes that are not UTF-8 become U+FFFD. */
#ifndef COMMON_JSON_H
#define COMMON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *to;
    int depth;
    bool filled; /* the open object or list is not empty */
};

/* The size of the UTF-8 character at TEXT (NUL-terminated); 0: there is none. */
size_t json_character(const unsigned char *text);

/* KEY: name of the member; NULL in a list or at the top. */
void json_object(struct json *json, const char *key);
void json_list(struct json *json, const char *key);
void json_end_object(struct json *json);
void json_end_list(struct json *json);
void json_string(struct json *json, const char *key, const char *value); /* NULL: null */
void json_unsigned(struct json *json, const char *key, uint64_t value);
void json_signed(struct json *json, const char *key, int64_t value);
void json_number(struct json *json, const char *key, double value);
/* All its digits. */
void json_real(struct json *json, const char *key, double value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

#endif
