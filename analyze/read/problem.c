/* SPDX-License-Identifier: MIT */
#include "analyze/read/problem.h"

#include <stdarg.h>
#include <stdio.h>

int problem_set(struct problem *problem, int status, const char *format, ...)
{
    if (!problem || problem->text[0])
        return status;
    va_list list;
    va_start(list, format);
    vsnprintf(problem->text, sizeof(problem->text), format, list);
    va_end(list);
    return status;
}
