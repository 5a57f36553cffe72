# SPDX-License-Identifier: MIT
# The seeds for fuzz_unwind.c are made of this by seeds.sh: each kind of instruction and expression that is known.
    .cfi_sections .eh_frame, .debug_frame
    .text
    .globl _start
    .type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined rip
    call ordinary
    hlt
    .cfi_endproc
    .type ordinary, @function
ordinary:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset 6, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register 6
    pushq %rbx
    .cfi_offset 3, -24
    .cfi_remember_state
    nop
    .cfi_same_value 12
    .cfi_register 13, 14
    .cfi_undefined 15
    .cfi_val_offset 14, -8
    .fill 300, 1, 0x90
    .cfi_adjust_cfa_offset 8
    nop
    .cfi_restore 3
    .cfi_restore_state
    popq %rbx
    leave
    .cfi_def_cfa 7, 8
    ret
    .cfi_endproc
    .type handler, @function
handler:
    .cfi_startproc simple
    .cfi_signal_frame
    # the frame address: *(rsp + 160)
    .cfi_escape 0x0f, 4, 0x77, 0xa0, 0x01, 0x06
    # rip, rbp: at rsp + 168, rsp + 120
    .cfi_escape 0x10, 16, 3, 0x77, 0xa8, 0x01
    .cfi_escape 0x10, 6, 2, 0x77, 0x78
    # rbx: the value of a sum with most kinds of operators
    .cfi_escape 0x16, 3, 38, 0x08, 5, 0x09, 0xfb, 0x1c, 0x0a, 1, 2, 0x22, 0x0c, 1, 2, 3, 4, 0x1a, 0x12, 0x21, 0x14, 0x27
    .cfi_escape 0x31, 0x24, 0x32, 0x25, 0x33, 0x26, 0x20, 0x1f, 0x19, 0x23, 9, 0x16, 0x17, 0x13, 0x96, 0x28, 1, 0, 0x96
    nop
    .cfi_endproc
    .type plt, @function
plt:
    .cfi_startproc
    # rsp + 8 + (((rip & 15) >= 11) << 3)
    .cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
    .fill 16, 1, 0x90
    .cfi_endproc
