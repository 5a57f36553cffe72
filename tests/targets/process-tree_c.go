// SPDX-License-Identifier: MIT

package main

// static int answer(void) { return 42; }
import "C"

var answer = C.answer()
