/* Debug information that leads to the same entries over and over, for tests/fuzz/fuzz_names.c: inside the function `around` there are
 * 60 blocks, one in another, and each says that the block in it comes behind it as well. There are 2^60 ways to the innermost one.
 * No instructions, so that every assembler of the machines takes it. */
    .text
    .globl around
    .type around, %function
around:
    .fill 256, 1, 0
    .size around, 256

    .section .debug_abbrev, "", %progbits
abbreviations:
    .uleb128 1, 0x11 /* DW_TAG_compile_unit */
    .byte 1
    .uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x07 /* DW_AT_name string, low_pc addr, high_pc data8 */
    .uleb128 0, 0
    .uleb128 2, 0x2e /* DW_TAG_subprogram */
    .byte 1
    .uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x07
    .uleb128 0, 0
    .uleb128 3, 0x0b /* DW_TAG_lexical_block */
    .byte 1
    .uleb128 0x01, 0x13 /* DW_AT_sibling ref4 */
    .uleb128 0, 0
    .byte 0

    .section .debug_info, "", %progbits
unit:
    .4byte unit_end - unit - 4
    .2byte 4 /* DWARF 4 */
    .4byte 0
    .byte 8
    .uleb128 1
    .asciz "maze.c"
    .8byte around
    .8byte 256
    .uleb128 2
    .asciz "around"
    .8byte around
    .8byte 256
    .rept 60
    .uleb128 3
    .4byte 1f - unit
1:
    .endr
    .fill 61, 1, 0 /* the ends of their children, and of the function's */
    .byte 0
unit_end:
