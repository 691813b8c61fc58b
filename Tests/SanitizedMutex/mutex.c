// Shows the thread sanitizer the hand-over of a contended Mutex of Synchronization.
//
// The quick road of Mutex is compiled into its users, where the sanitizer sees its atomic operations. A contended lock
// and its release go through two functions of libswiftSynchronization, which is not instrumented: the word is then
// handed over by the kernel, and everything the lock guards would be reported as a race. These definitions stand in
// front of the library's, call them, and tell the sanitizer what they did.

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

#include "sanitized_mutex.h"

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

#define SWIFT_METHOD __attribute__((swiftcall))
#define SWIFT_SELF __attribute__((swift_context))

void __tsan_acquire(void *address);
void __tsan_release(void *address);

SWIFT_METHOD void sanitized_lock(uint32_t thread, SWIFT_SELF void *handle) __asm__(LOCK_SLOW);
SWIFT_METHOD void sanitized_unlock(SWIFT_SELF void *handle) __asm__(UNLOCK_SLOW);

static SWIFT_METHOD void (*lock_slow)(uint32_t thread, SWIFT_SELF void *handle);
static SWIFT_METHOD void (*unlock_slow)(SWIFT_SELF void *handle);

// The library's own definitions, found before any thread can wait. A toolchain that names them otherwise stops here.
__attribute__((constructor)) static void find_library(void) {
    *(void **)&lock_slow = dlsym(RTLD_NEXT, LOCK_SLOW);
    *(void **)&unlock_slow = dlsym(RTLD_NEXT, UNLOCK_SLOW);
    if (lock_slow == NULL || unlock_slow == NULL) abort();
}

SWIFT_METHOD void sanitized_lock(uint32_t thread, SWIFT_SELF void *handle) {
    lock_slow(thread, handle);
    __tsan_acquire(handle);
}

SWIFT_METHOD void sanitized_unlock(SWIFT_SELF void *handle) {
    __tsan_release(handle);
    unlock_slow(handle);
}
