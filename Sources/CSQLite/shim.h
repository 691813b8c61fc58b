#ifndef HOLDFAST_CSQLITE_H
#define HOLDFAST_CSQLITE_H
#include <sqlite3.h>

/* SQLITE_TRANSIENT is a cast that Swift can't import: these bind a copy. */
static inline int holdfast_bind_text(sqlite3_stmt *statement, int index, const char *text, int length) {
    return sqlite3_bind_text(statement, index, text, length, SQLITE_TRANSIENT);
}
static inline int holdfast_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, int length) {
    return length == 0 ? sqlite3_bind_zeroblob(statement, index, 0)
                       : sqlite3_bind_blob(statement, index, bytes, length, SQLITE_TRANSIENT);
}

/* A function with variable arguments: Swift can't call it. Before the first connection of the process; later it does nothing. */
static inline void holdfast_leave_out_statistics(void) { sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }
#endif
