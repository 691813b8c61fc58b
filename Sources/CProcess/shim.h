// What a process is started with, where Swift 6 can't read C's global variables itself.
#include <getopt.h>
#include <unistd.h>

static inline void hl_getopt_reset(void) {
    optind = 0;
    opterr = 0;
}

/// The index of the next argument to look at.
static inline int hl_getopt_index(void) { return optind; }

/// The value of the option just read, or NULL.
static inline const char *hl_getopt_value(void) { return optarg; }

extern char **environ;

/// The environment, `NAME=value` each, ended by NULL.
static inline char **hl_environment(void) { return environ; }
