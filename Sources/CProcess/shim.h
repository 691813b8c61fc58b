// What a process is started with, where Swift 6 can't read C's global variables itself; and its memory.
#include <getopt.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
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

/// Bytes in memory beyond what the allocator has given out: what it keeps free, and some MiB of program.
static inline size_t hl_spare_memory(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file) {
        if (fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
        fclose(file);
    }
    struct mallinfo2 info = mallinfo2();
    size_t resident = (size_t)pages * (size_t)sysconf(_SC_PAGESIZE), used = info.uordblks + info.hblkhd;
    return resident > used ? resident - used : 0;
}

/// Gives whole pages that the allocator keeps free back to the system.
static inline void hl_return_memory(void) { malloc_trim(0); }

/// Unmaps the pages of code that have been used so far. What is used again is mapped again, from the system's cache of the file.
static inline void hl_return_code(void) {
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps) return;
    char line[4352];
    while (fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        char access[5];
        // Code of files alone: it is in memory what it is in the file, which data that was relocated is not.
        if (sscanf(line, "%lx-%lx %4s", &start, &end, access) == 3 && strcmp(access, "r-xp") == 0 && strchr(line, '/'))
            madvise((void *)start, end - start, MADV_DONTNEED);
    }
    fclose(maps);
}
