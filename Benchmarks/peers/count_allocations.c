/* Counts allocations of the process that it is preloaded into, in a file that others map.

   usage: LD_PRELOAD=count_allocations.so ALLOCATIONS=FILE program     FILE: 8 bytes, the number in the machine's order */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static uint64_t early;
static uint64_t *count = &early;

__attribute__((constructor)) static void open_count(void) {
  const char *path = getenv("ALLOCATIONS");
  int file = path ? open(path, O_RDWR) : -1;
  if (file < 0) return;
  void *mapped = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) count = mapped;
}

static void one_more(void) { __atomic_fetch_add(count, 1, __ATOMIC_RELAXED); }

void *malloc(size_t size) { one_more(); return __libc_malloc(size); }
void *calloc(size_t number, size_t size) { one_more(); return __libc_calloc(number, size); }
void *realloc(void *old, size_t size) { one_more(); return __libc_realloc(old, size); }
void *memalign(size_t alignment, size_t size) { one_more(); return __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void **out, size_t alignment, size_t size) {
  *out = memalign(alignment, size);
  return *out ? 0 : 12; /* ENOMEM */
}
