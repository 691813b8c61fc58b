/// What the binary serves as it lies in the repository: openapi.yaml, and the page of /cache/ui.
#ifndef CPAGES_H
#define CPAGES_H

#include <stddef.h>

typedef struct {
    /// NULL where there is no such file. They stay for as long as the process.
    const unsigned char *bytes;
    size_t count;
} cpages_file;

/// The file of that name, without a folder. From any thread.
cpages_file cpages_named(const char *name);

#endif
