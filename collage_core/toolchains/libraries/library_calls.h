/* What the calls of all libraries share: states by their texts, numbers out of a text, a library opened by name.
 *
 * A kernel of TVM's calls `@SYMBOL@` with a text that says what is computed, and with the addresses of its tensors. It gets 0, or the
 * number of a failure, which `NativeCall.failures` puts into words; what the library says goes to standard error. The first call of a text
 * in a thread makes a state of it, which later calls find. No state holds weights: TVM may merge equal kernels. The source is C and C++ at
 * once, since TVM compiles C with a C++ compiler.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
#define COLLAGE_CALL extern "C" __attribute__((visibility("default"))) int32_t
#else
#define COLLAGE_CALL __attribute__((visibility("default"))) int32_t
#endif
#define NOT_LOADED 1
#define FAILED 2
#define PACKED_ELSEWHERE 3
#define TRY(call)                      \
  do {                                 \
    int failure = call;                \
    if (failure != 0) return failure;  \
  } while (0)
#define BUCKETS 1024
#define MOST_AXES 12

typedef struct Entry {
  const char* address;
  char* text;
  void* state;
  struct Entry* next;
} Entry;

static __thread Entry* entries[BUCKETS];

static Entry** bucket_of(const char* text) { return &entries[((uintptr_t)text >> 4) % BUCKETS]; }

/* Return the state of `text`, or NULL. The address alone is not enough: a library may be unloaded, and another one loaded there. */
static void* known_state(const char* text) {
  Entry* entry = *bucket_of(text);
  while (entry != NULL && !(entry->address == text && strcmp(entry->text, text) == 0)) entry = entry->next;
  return entry == NULL ? NULL : entry->state;
}

static void keep_state(const char* text, void* state) {
  Entry* entry = (Entry*)calloc(1, sizeof(Entry));
  entry->address = text;
  entry->text = strdup(text);
  entry->state = state;
  entry->next = *bucket_of(text);
  *bucket_of(text) = entry;
}

static int64_t next_number(const char** text) {
  char* end = NULL;
  int64_t found = strtoll(*text, &end, 10);
  *text = end;
  return found;
}

/* Return the next number, whose bits are written as an integer: a text of decimals depends on the language of the process. */
static float next_float(const char** text) {
  uint32_t bits = (uint32_t)next_number(text);
  float found;
  memcpy(&found, &bits, sizeof(found));
  return found;
}

/* Say on standard error what happened, and return `failure`. */
static int failed(int failure, const char* format, ...) {
  va_list given;
  va_start(given, format);
  vfprintf(stderr, format, given);
  va_end(given);
  fputc('\n', stderr);
  return failure;
}

/* Open the library that the environment variable names, else that of `path`, else the first of `name` that the system finds. */
static void* opened(const char* variable, const char* path, const char* name) {
  const char* named = getenv(variable);
  void* library = NULL;
  if (named != NULL && named[0] != 0) return dlopen(named, RTLD_NOW | RTLD_LOCAL);
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  return library == NULL ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : library;
}
