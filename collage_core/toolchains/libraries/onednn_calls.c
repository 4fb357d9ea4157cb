/* `@SYMBOL@`: one primitive of oneDNN with its post-operations, and the reorders around it.
 *
 * Its arguments are the text, the source, the weights, the bias, the tensor that is added, and the destination; any address stands for one
 * that there is not. The text has the number of threads and the kind of primitive; the layouts of source, weights, bias and destination
 * (0: none, 1: the primitive's choice, 2: given by strides, each with its extents); the windows of a convolution; the post-operations; whether
 * a tensor is added; and, where the primitive chooses the layout of the weights, the layout in which they were packed.
 * Constants of the interface are those of oneDNN 3.2, as in `onednn_library.py`.
 */
#define CONVOLUTION 0
#define INNER_PRODUCT 1
#define CPU 1
#define IN_ORDER 1
#define INFERENCE 96
#define DIRECT 1
#define FLOAT32 3
#define ANY 1
#define SOURCE 1
#define DESTINATION 17
#define WEIGHTS 33
#define BIAS 41
#define SOURCE_LAYOUT 129
#define WEIGHTS_LAYOUT 131
#define DESTINATION_LAYOUT 133
#define ALLOCATE ((void*)(intptr_t)-1)
#define OPERANDS 5
#define MOST_STEPS 4
#define MOST_LAYOUT (3 + 4 * MOST_AXES)

typedef void* Handle;
typedef struct Argument {
  int argument;
  Handle memory;
} Argument;
typedef struct Step {
  Handle primitive;
  int count;
  Argument arguments[4];
} Step;
typedef struct State {
  int threads, steps;
  Step step[MOST_STEPS];
  Handle memory[OPERANDS];
  void* address[OPERANDS];
} State;

#define FUNCTIONS(F)                                                                                                                   \
  F(engine_create, (Handle*, int, size_t))                                                                                             \
  F(stream_create, (Handle*, Handle, unsigned))                                                                                        \
  F(memory_desc_create_with_strides, (Handle*, int, const int64_t*, int, const int64_t*))                                              \
  F(memory_desc_create_with_tag, (Handle*, int, const int64_t*, int, int))                                                             \
  F(memory_desc_query, (Handle, int, void*))                                                                                           \
  F(memory_desc_equal, (Handle, Handle))                                                                                               \
  F(memory_create, (Handle*, Handle, Handle, void*))                                                                                   \
  F(memory_set_data_handle, (Handle, void*))                                                                                           \
  F(post_ops_create, (Handle*))                                                                                                        \
  F(post_ops_append_eltwise, (Handle, int, float, float))                                                                              \
  F(post_ops_append_sum, (Handle, float, int32_t, int))                                                                                \
  F(primitive_attr_create, (Handle*))                                                                                                  \
  F(primitive_attr_set_post_ops, (Handle, Handle))                                                                                     \
  F(convolution_forward_primitive_desc_create,                                                                                         \
    (Handle*, Handle, int, int, Handle, Handle, Handle, Handle, const int64_t*, const int64_t*, const int64_t*, const int64_t*, Handle)) \
  F(inner_product_forward_primitive_desc_create, (Handle*, Handle, int, Handle, Handle, Handle, Handle, Handle))                       \
  F(matmul_primitive_desc_create, (Handle*, Handle, Handle, Handle, Handle, Handle, Handle))                                           \
  F(reorder_primitive_desc_create, (Handle*, Handle, Handle, Handle, Handle, Handle))                                                  \
  F(primitive_create, (Handle*, Handle))                                                                                               \
  F(primitive_execute, (Handle, Handle, int, const Argument*))

#define DECLARE(name, parameters) int(*name) parameters;
static struct {
  FUNCTIONS(DECLARE)
  Handle (*layout_of)(Handle, int, int);
  void (*use_threads)(int);
} dnnl;

static int is_loaded = 0;
static __thread Handle engine = NULL, stream = NULL;

static int load(void) {
  void *library, *threads;
  if (is_loaded) return 0;
  setenv("GOMP_SPINCOUNT", "@IDLE@", 0);
  library = opened("COLLAGE_ONEDNN", "@LIBRARY@", "libdnnl.so.3");
  if (library == NULL) return failed(NOT_LOADED, "oneDNN cannot be loaded: %s", dlerror());
  threads = dlopen("libgomp.so.1", RTLD_NOW | RTLD_LOCAL);
  if (threads == NULL) return failed(NOT_LOADED, "oneDNN's threads cannot be loaded: %s", dlerror());
#define FIND(name, parameters)                                         \
  *(void**)&dnnl.name = dlsym(library, "dnnl_" #name);                 \
  if (dnnl.name == NULL) return failed(NOT_LOADED, "oneDNN has no dnnl_" #name ", is it of version 3?");
  FUNCTIONS(FIND)
  *(void**)&dnnl.layout_of = dlsym(library, "dnnl_primitive_desc_query_md");
  *(void**)&dnnl.use_threads = dlsym(threads, "omp_set_num_threads");
  is_loaded = dnnl.layout_of != NULL && dnnl.use_threads != NULL;
  return is_loaded ? 0 : failed(NOT_LOADED, "oneDNN or its threads lack a function");
}

#define CHECKED(name, arguments)                                                                       \
  do {                                                                                                 \
    int status = dnnl.name arguments;                                                                  \
    if (status != 0) return failed(FAILED, "oneDNN fails in dnnl_" #name " with status %d", status);           \
  } while (0)

static void next_extents(const char** rest, int count, int64_t* extents) {
  int at;
  for (at = 0; at < count; ++at) extents[at] = next_number(rest);
}

/* Read a layout; `made` is NULL where there is none. */
static int next_layout(const char** rest, Handle* made, int* is_chosen) {
  int64_t extents[MOST_AXES], strides[MOST_AXES];
  int form = (int)next_number(rest), axes;
  *made = NULL;
  *is_chosen = form == 1;
  if (form == 0) return 0;
  axes = (int)next_number(rest);
  next_extents(rest, axes, extents);
  if (form == 1) {
    CHECKED(memory_desc_create_with_tag, (made, axes, extents, FLOAT32, ANY));
    return 0;
  }
  next_extents(rest, axes, strides);
  CHECKED(memory_desc_create_with_strides, (made, axes, extents, FLOAT32, strides));
  return 0;
}

static int plain_like(Handle layout, Handle* made) {
  int64_t *extents, strides[MOST_AXES], step = 1;
  int axes, at;
  CHECKED(memory_desc_query, (layout, 256, &axes));
  CHECKED(memory_desc_query, (layout, 257, &extents));
  for (at = axes - 1; at >= 0; --at) {
    strides[at] = step;
    step *= extents[at];
  }
  CHECKED(memory_desc_create_with_strides, (made, axes, extents, FLOAT32, strides));
  return 0;
}

/* Check that a layout is the one whose numbers follow: its rank, padded extents, strides, and inner blocks with their axes. */
static int check_packed(const char** rest, Handle layout) {
  int64_t *padded, *strides, *blocks, *axes_of;
  int axes, count, at, wanted = (int)next_number(rest), is_equal;
  CHECKED(memory_desc_query, (layout, 256, &axes));
  CHECKED(memory_desc_query, (layout, 260, &padded));
  CHECKED(memory_desc_query, (layout, 14, &strides));
  CHECKED(memory_desc_query, (layout, 263, &count));
  CHECKED(memory_desc_query, (layout, 264, &blocks));
  CHECKED(memory_desc_query, (layout, 265, &axes_of));
  is_equal = wanted == axes;
  for (at = 0; is_equal && at < axes; ++at) is_equal = next_number(rest) == padded[at];
  for (at = 0; is_equal && at < axes; ++at) is_equal = next_number(rest) == strides[at];
  is_equal = is_equal && next_number(rest) == count;
  for (at = 0; is_equal && at < count; ++at) is_equal = next_number(rest) == blocks[at];
  for (at = 0; is_equal && at < count; ++at) is_equal = next_number(rest) == axes_of[at];
  if (is_equal) return 0;
  return PACKED_ELSEWHERE;
}

static void add_step(State* state, Handle primitive, int count, const Argument* arguments) {
  Step* step = &state->step[state->steps++];
  step->primitive = primitive;
  step->count = count;
  memcpy(step->arguments, arguments, sizeof(Argument) * (size_t)count);
}

static int add_reorder(State* state, Handle from, Handle from_layout, Handle to, Handle to_layout) {
  Handle descriptor, primitive;
  Argument arguments[2];
  CHECKED(reorder_primitive_desc_create, (&descriptor, from_layout, engine, to_layout, engine, NULL));
  CHECKED(primitive_create, (&primitive, descriptor));
  arguments[0].argument = SOURCE;
  arguments[0].memory = from;
  arguments[1].argument = DESTINATION;
  arguments[1].memory = to;
  add_step(state, primitive, 2, arguments);
  return 0;
}

static int next_descriptor(const char** rest, int kind, const Handle* layouts, Handle* made) {
  int64_t windows[4][MOST_AXES];
  Handle chain, attributes;
  int axes = kind == CONVOLUTION ? (int)next_number(rest) : 0, at, count;
  for (at = 0; at < 4 && axes > 0; ++at) next_extents(rest, axes, windows[at]);
  CHECKED(post_ops_create, (&chain));
  count = (int)next_number(rest);
  for (at = 0; at < count; ++at) {
    int algorithm = (int)next_number(rest);
    if (algorithm == 0) {
      CHECKED(post_ops_append_sum, (chain, 1.0f, 0, FLOAT32));
    } else {
      float alpha = next_float(rest), beta = next_float(rest);
      CHECKED(post_ops_append_eltwise, (chain, algorithm, alpha, beta));
    }
  }
  CHECKED(primitive_attr_create, (&attributes));
  CHECKED(primitive_attr_set_post_ops, (attributes, chain));
  if (kind == CONVOLUTION) {
    CHECKED(convolution_forward_primitive_desc_create, (made, engine, INFERENCE, DIRECT, layouts[0], layouts[1], layouts[2], layouts[3],
                                                        windows[0], windows[1], windows[2], windows[3], attributes));
  } else if (kind == INNER_PRODUCT) {
    CHECKED(inner_product_forward_primitive_desc_create,
            (made, engine, INFERENCE, layouts[0], layouts[1], layouts[2], layouts[3], attributes));
  } else {
    CHECKED(matmul_primitive_desc_create, (made, engine, layouts[0], layouts[1], layouts[2], layouts[3], attributes));
  }
  return 0;
}

static int fill_state(State* state, const char* rest) {
  Handle layouts[4], plain_source, plain_made, source_layout, made_layout, descriptor, primitive, source, made;
  Argument arguments[4];
  int kind, is_chosen[4], at, count = 0;
  state->threads = (int)next_number(&rest);
  dnnl.use_threads(state->threads);
  kind = (int)next_number(&rest);
  if (engine == NULL) CHECKED(engine_create, (&engine, CPU, 0));
  if (stream == NULL) CHECKED(stream_create, (&stream, engine, IN_ORDER));
  for (at = 0; at < 4; ++at) {
    TRY(next_layout(&rest, &layouts[at], &is_chosen[at]));
  }
  TRY(next_descriptor(&rest, kind, layouts, &descriptor));
  source_layout = dnnl.layout_of(descriptor, SOURCE_LAYOUT, 0);
  made_layout = dnnl.layout_of(descriptor, DESTINATION_LAYOUT, 0);
  TRY(plain_like(layouts[0], &plain_source));
  TRY(plain_like(layouts[3], &plain_made));
  CHECKED(memory_create, (&state->memory[0], plain_source, engine, NULL));
  CHECKED(memory_create, (&state->memory[1], dnnl.layout_of(descriptor, WEIGHTS_LAYOUT, 0), engine, NULL));
  if (layouts[2] != NULL) CHECKED(memory_create, (&state->memory[2], layouts[2], engine, NULL));
  if (next_number(&rest)) CHECKED(memory_create, (&state->memory[3], plain_made, engine, NULL));
  CHECKED(memory_create, (&state->memory[4], plain_made, engine, NULL));
  if (is_chosen[1]) TRY(check_packed(&rest, dnnl.layout_of(descriptor, WEIGHTS_LAYOUT, 0)));
  source = state->memory[0];
  made = state->memory[4];
  if (!dnnl.memory_desc_equal(source_layout, plain_source)) {
    CHECKED(memory_create, (&source, source_layout, engine, ALLOCATE));
    TRY(add_reorder(state, state->memory[0], plain_source, source, source_layout));
  }
  if (!dnnl.memory_desc_equal(made_layout, plain_made)) CHECKED(memory_create, (&made, made_layout, engine, ALLOCATE));
  if (state->memory[3] != NULL) TRY(add_reorder(state, state->memory[3], plain_made, made, made_layout));
  CHECKED(primitive_create, (&primitive, descriptor));
  arguments[count].argument = SOURCE;
  arguments[count++].memory = source;
  arguments[count].argument = WEIGHTS;
  arguments[count++].memory = state->memory[1];
  if (layouts[2] != NULL) {
    arguments[count].argument = BIAS;
    arguments[count++].memory = state->memory[2];
  }
  arguments[count].argument = DESTINATION;
  arguments[count++].memory = made;
  add_step(state, primitive, count, arguments);
  return made == state->memory[4] ? 0 : add_reorder(state, made, made_layout, state->memory[4], plain_made);
}

COLLAGE_CALL @SYMBOL@(const char* text, void* source, void* weights, void* bias, void* added, void* made) {
  void* addresses[OPERANDS] = {source, weights, bias, added, made};
  State* state = (State*)known_state(text);
  int at;
  if (state == NULL) {
    TRY(load());
    state = (State*)calloc(1, sizeof(State));
    TRY(fill_state(state, text));
    keep_state(text, state);
  }
  dnnl.use_threads(state->threads);
  for (at = 0; at < OPERANDS; ++at) {
    if (state->memory[at] != NULL && state->address[at] != addresses[at]) {
      CHECKED(memory_set_data_handle, (state->memory[at], addresses[at]));
      state->address[at] = addresses[at];
    }
  }
  for (at = 0; at < state->steps; ++at) {
    const Step* step = &state->step[at];
    CHECKED(primitive_execute, (step->primitive, stream, step->count, step->arguments));
  }
  return 0;
}
