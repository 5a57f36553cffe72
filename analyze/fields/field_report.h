/* SPDX-License-Identifier: MIT */
/* panalyze report --by data-page, data-symbol, data-type and branch. */
#ifndef ANALYZE_FIELDS_FIELD_REPORT_H
#define ANALYZE_FIELDS_FIELD_REPORT_H

#include "analyze/view/view.h"

/* BY: enum settings_by. */
bool field_report_wanted(int by);
/* The view; returns an exit status. It reads the files a second time. */
int field_report(struct view *view);

#endif
