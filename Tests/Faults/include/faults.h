#ifndef HOLDFAST_FAULTS_H
#define HOLDFAST_FAULTS_H

#include <stdbool.h>

/// Replaces all rules; an empty text removes them. One rule a line:
///
///     CALL PART WHAT [SKIP [TIMES]]
///
/// CALL: open (any), create (a new file or folder), change (open another for writing), read, write, sync, truncate, rename, unlink,
/// send, recv, resolve (it fails after three seconds), thread (the start of one). PART: a part of the file's path or of the host's
/// name; `socket` for sockets; `plain` for threads, `attributed` for those with attributes, as the workers of libdispatch are. WHAT:
/// the name of an error, `short` (one byte is written), `kill` (before the call) or `killed` (after it). The first SKIP matching calls
/// pass; then TIMES of them meet the fault, all where that is left out.
void faults_set(const char *rules);

/// How many calls have met a fault since the rules were set.
long faults_met(void);

/// Whether rules for threads have an effect: not where a sanitizer starts them.
bool faults_can_forbid_threads(void);

/// Notes every change below a folder in a new file, in the order in which they took effect; NULL ends that.
///
/// Each record is a line `KIND INODE OFFSET LENGTH PATH`, followed by LENGTH bytes: what was written, or the other path. KIND:
/// create, write, truncate (to OFFSET), sync, unsynced (it failed), mkdir, rename, link, unlink, mark.
void faults_record(const char *folder, const char *journal);

/// Adds a record of kind `mark` with a number of the caller's.
void faults_mark(long number);

#endif
