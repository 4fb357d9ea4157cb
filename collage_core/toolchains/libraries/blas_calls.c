/* `@SYMBOL@`: one product of matrices by OpenBLAS's `cblas_sgemm`, added to a tensor that is broadcast to it.
 *
 * Its arguments are the text, the two factors, the tensor that is added (any address where there is none) and the destination. The text
 * has the number of threads, whether each factor is transposed, rows, columns and depth, the row lengths of the factors, the two scales,
 * and the extents of the destination with the strides of what is added, in elements; 0 extents where nothing is.
 */
#define ROW_MAJOR 101
#define PLAIN 111
#define TRANSPOSED 112

typedef void (*Sgemm)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);

static Sgemm sgemm;
static void (*set_threads)(int);
static int (*get_threads)(void);

typedef struct State {
  int threads, turned[2], rows, columns, depth, lengths[2], axes;
  float scale, scale_added;
  int64_t extents[MOST_AXES], strides[MOST_AXES];
} State;

static int load(void) {
  void* library;
  if (sgemm != NULL) return 0;
  setenv("OPENBLAS_THREAD_TIMEOUT", "@IDLE@", 0);
  library = opened("COLLAGE_OPENBLAS", "@LIBRARY@", "libopenblas.so.0");
  if (library == NULL) return failed(NOT_LOADED, "OpenBLAS cannot be loaded: %s", dlerror());
  *(void**)&set_threads = dlsym(library, "@PREFIX@openblas_set_num_threads");
  *(void**)&get_threads = dlsym(library, "@PREFIX@openblas_get_num_threads");
  if (set_threads == NULL) *(void**)&set_threads = dlsym(library, "openblas_set_num_threads");
  if (get_threads == NULL) *(void**)&get_threads = dlsym(library, "openblas_get_num_threads");
  *(void**)&sgemm = dlsym(library, "@PREFIX@cblas_sgemm");
  if (sgemm == NULL) *(void**)&sgemm = dlsym(library, "cblas_sgemm");
  if (set_threads != NULL && get_threads != NULL && sgemm != NULL) return 0;
  sgemm = NULL;
  return failed(NOT_LOADED, "OpenBLAS cannot be loaded: the library that was found has no cblas_sgemm");
}

static State* state_of(const char* text) {
  State* state = (State*)calloc(1, sizeof(State));
  const char* rest = text;
  int at;
  state->threads = (int)next_number(&rest);
  for (at = 0; at < 2; ++at) state->turned[at] = next_number(&rest) ? TRANSPOSED : PLAIN;
  state->rows = (int)next_number(&rest);
  state->columns = (int)next_number(&rest);
  state->depth = (int)next_number(&rest);
  for (at = 0; at < 2; ++at) state->lengths[at] = (int)next_number(&rest);
  state->scale = next_float(&rest);
  state->scale_added = next_float(&rest);
  state->axes = (int)next_number(&rest);
  for (at = 0; at < state->axes; ++at) state->extents[at] = next_number(&rest);
  for (at = 0; at < state->axes; ++at) state->strides[at] = next_number(&rest);
  keep_state(text, state);
  return state;
}

/* Copy what is added to the destination, from the axis `axis` on, and return where the destination goes on. */
static float* broadcast(const State* state, int axis, const float* added, float* made) {
  int64_t extent = state->extents[axis], stride = state->strides[axis], at;
  if (axis == state->axes - 1 && stride == 1) {
    memcpy(made, added, (size_t)extent * sizeof(float));
    return made + extent;
  }
  for (at = 0; at < extent; ++at) {
    if (axis == state->axes - 1) {
      *made++ = added[at * stride];
    } else {
      made = broadcast(state, axis + 1, added + at * stride, made);
    }
  }
  return made;
}

COLLAGE_CALL @SYMBOL@(const char* text, const float* one, const float* other, const float* added, float* made) {
  State* state = (State*)known_state(text);
  TRY(load());
  if (state == NULL) state = state_of(text);
  if (get_threads() != state->threads) set_threads(state->threads);
  if (state->axes > 0) broadcast(state, 0, added, made);
  sgemm(ROW_MAJOR, state->turned[0], state->turned[1], state->rows, state->columns, state->depth, state->scale, one, state->lengths[0],
        other, state->lengths[1], state->scale_added, made, state->columns);
  return 0;
}
