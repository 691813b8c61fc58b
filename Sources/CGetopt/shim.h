// getopt_long, which the Glibc module leaves out, with its global state behind functions: Swift 6 can't touch C globals.
#include <getopt.h>

static inline void hl_getopt_reset(void) {
    optind = 0;
    opterr = 0;
}

/// The index of the next argument to look at.
static inline int hl_getopt_index(void) { return optind; }

/// The value of the option just read, or NULL.
static inline const char *hl_getopt_value(void) { return optarg; }
