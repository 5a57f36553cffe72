/* SPDX-License-Identifier: MIT */
#include "analyze/view/view.h"

#include <stdlib.h>

void view_symbolize(struct view *view)
{
    /* One time limit is for all debuginfod look-ups: their order must not depend on threads. */
    unsigned threads = view->settings->debuginfod ? 1 : (unsigned)view->settings->threads;
    bool *wanted = select_frames(view->selection, view->profile);
    if (view->lines)
        lines_symbolize(view->lines, view->profile, wanted, threads);
    else
        names_symbolize(view->names, wanted, view->inlined, threads);
    free(wanted);
}
