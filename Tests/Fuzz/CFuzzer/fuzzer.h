/* libFuzzer as a library (https://llvm.org/docs/LibFuzzer.html), which comes with the toolchain. */
#pragma once
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*judge)(const uint8_t *bytes, size_t length));
