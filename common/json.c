/* SPDX-License-Identifier: MIT */
#include "common/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

size_t json_character(const unsigned char *text)
{
    if (text[0] < 0x80)
        return 1;
    size_t size = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    if (text[0] < 0xc2 || text[0] > 0xf4)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates, and codes above U+10FFFF. */
    if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
        (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
        return 0;
    return size;
}

/* Multibyte characters that control a terminal or an editor: C1 control characters, line and paragraph separators,
 * bidirectional controls. */
static bool is_control(uint32_t code)
{
    return (code >= 0x80 && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

static uint32_t code_of(const unsigned char *text, size_t size)
{
    uint32_t code = size == 1 ? text[0] : text[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++)
        code = code << 6 | (text[i] & 0x3f);
    return code;
}

static void quote_text(FILE *to, const char *value)
{
    fputc('"', to);
    for (const unsigned char *at = (const unsigned char *)value; *at;) {
        size_t size = json_character(at);
        if (size == 0) {
            fputs("\\ufffd", to);
            size = 1;
        } else if (*at == '"' || *at == '\\') {
            fprintf(to, "\\%c", *at);
        } else if (*at < 0x20 || *at == 0x7f) {
            fprintf(to, "\\u%04x", *at);
        } else if (size > 1 && is_control(code_of(at, size))) {
            fprintf(to, "\\u%04x", code_of(at, size));
        } else {
            fwrite(at, 1, size, to);
        }
        at += size;
    }
    fputc('"', to);
}

static void begin_value(struct json *json, const char *key)
{
    if (json->filled)
        fputc(',', json->to);
    /* Members of the outer levels get a line each, so that a large document stays readable. */
    if (json->depth > 0 && json->depth <= 2)
        fprintf(json->to, "\n%*s", json->depth, "");
    if (key) {
        quote_text(json->to, key);
        fputc(':', json->to);
    }
    json->filled = true;
}

static void open_level(struct json *json, const char *key, char bracket)
{
    begin_value(json, key);
    fputc(bracket, json->to);
    json->depth++;
    json->filled = false;
}

static void close_level(struct json *json, char bracket)
{
    json->depth--;
    fputc(bracket, json->to);
    json->filled = true;
    if (json->depth == 0)
        fputc('\n', json->to);
}

void json_object(struct json *json, const char *key)
{
    open_level(json, key, '{');
}

void json_list(struct json *json, const char *key)
{
    open_level(json, key, '[');
}

void json_end_object(struct json *json)
{
    close_level(json, '}');
}

void json_end_list(struct json *json)
{
    close_level(json, ']');
}

void json_string(struct json *json, const char *key, const char *value)
{
    begin_value(json, key);
    if (value)
        quote_text(json->to, value);
    else
        fputs("null", json->to);
}

void json_unsigned(struct json *json, const char *key, uint64_t value)
{
    begin_value(json, key);
    fprintf(json->to, "%" PRIu64, value);
}

void json_signed(struct json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    fprintf(json->to, "%" PRId64, value);
}

void json_number(struct json *json, const char *key, double value)
{
    begin_value(json, key);
    if (isfinite(value))
        fprintf(json->to, "%.4f", value);
    else
        fputs("null", json->to);
}

void json_real(struct json *json, const char *key, double value)
{
    begin_value(json, key);
    if (isfinite(value))
        fprintf(json->to, "%.15g", value);
    else
        fputs("null", json->to);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin_value(json, key);
    fputs(value ? "true" : "false", json->to);
}

void json_null(struct json *json, const char *key)
{
    begin_value(json, key);
    fputs("null", json->to);
}
