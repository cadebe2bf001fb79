// Stands in for NVIDIA's driver in tests: what robocache._cuda calls, on a device that has memory but runs no kernel.
//
// Memory is real, so copies and memsets are carried out; it is taken from one range of addresses that is never used twice, so a use after
// free is seen. Pinned memory has one address for host and device. Launches are checked and written to a log: every word of the
// parameters that lies in that range must be inside an allocation which is alive. Functions that need a current context say so.
//
// Environment: STANDIN_DEVICES (1), STANDIN_VERSION (13000), STANDIN_MEMORY (bytes), STANDIN_REFUSE (kinds of image that are not taken,
// of "cubin", "sm_90", "sm_80"), STANDIN_INIT (what cuInit answers).
#define _GNU_SOURCE
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef uint64_t u64;

enum { OK, INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101, NO_BINARY = 209, INVALID_CONTEXT = 201,
       UNSUPPORTED_PTX = 222, INVALID_HANDLE = 400, NOT_FOUND = 500, ILLEGAL_ADDRESS = 700, CAPTURE_UNSUPPORTED = 900, CAPTURE_INVALIDATED = 901 };

#define RANGE ((u64)0x6a0000000000)
#define RANGE_BYTES ((u64)1 << 40)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int started;
static char *range;
static u64 used, live_bytes;

static struct piece { u64 at, bytes; char kind; } *pieces;
static size_t piece_count, piece_room;

static char *text;
static size_t text_bytes, text_room;
static int logging = 1;
static u64 launches, violations;

static struct failure { char name[64]; int code, after; } failure;

struct context { int device; };
static struct context contexts[16];
static __thread struct context *current[64];
static __thread int depth;
static __thread int capture_mode;

struct stream { u64 magic, capture; int invalid; };
struct event { u64 magic; int recorded, pending; };
struct module { const char *image; size_t bytes; };
struct function { struct module *of; char name[200]; int max_shared, carveout; };
static u64 captures;
static int event_pending;
static int capturing; // how many streams are captured

static long env(const char *name, long otherwise) {
  const char *v = getenv(name);
  return v && *v ? strtol(v, NULL, 0) : otherwise;
}

static void note(const char *format, ...) {
  if (!logging) return;
  for (;;) {
    va_list a;
    va_start(a, format);
    int n = vsnprintf(text + text_bytes, text_room - text_bytes, format, a);
    va_end(a);
    if (text_bytes + n + 1 < text_room) {
      text_bytes += n;
      return;
    }
    text_room = 2 * text_room + n + 4096;
    text = realloc(text, text_room);
  }
}

static int violation(const char *what, u64 at, u64 bytes) {
  violations++;
  note("violation %s %#llx %llu\n", what, (unsigned long long)at, (unsigned long long)bytes);
  return ILLEGAL_ADDRESS;
}

static int unsafe(const char *name) {
  violations++;
  note("violation %s in a capture\n", name);
  return CAPTURE_UNSUPPORTED;
}

// begin takes the lock, and answers what a test wants to be answered.
static int begin(const char *name, int needs_context) {
  pthread_mutex_lock(&lock);
  if (failure.name[0] && !strcmp(failure.name, name) && failure.after-- == 0) {
    failure.name[0] = 0;
    return failure.code;
  }
  if (!started && strcmp(name, "cuInit")) return NOT_INITIALIZED;
  return needs_context && !depth ? INVALID_CONTEXT : OK;
}

static int end(int code) {
  pthread_mutex_unlock(&lock);
  return code;
}

#define BEGIN(needs_context)                        \
  int code = begin(__func__, needs_context);        \
  if (code) return end(code)

// What may wait for, or come between, the work of a capture is refused while there is one, on every thread that is not in relaxed mode: that
// is how the driver treats captures in global mode, which is torch's.
#define UNSAFE \
  if (capturing && capture_mode != 2) return end(unsafe(__func__))

static struct piece *find(u64 at, u64 bytes) {
  for (size_t i = piece_count; i-- > 0;)
    if (pieces[i].at <= at && at + bytes <= pieces[i].at + pieces[i].bytes) return &pieces[i];
  return NULL;
}

static int inside(u64 at) { return at >= RANGE && at < RANGE + RANGE_BYTES; }

static int take(u64 *at, u64 bytes, char kind) {
  if (!bytes) return INVALID_VALUE;
  if (kind == 'd' && live_bytes + bytes > (u64)env("STANDIN_MEMORY", (long)80 << 30)) return OUT_OF_MEMORY;
  if (!range) {
    range = mmap((void *)RANGE, RANGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (range != (void *)RANGE) abort();
  }
  if (piece_count == piece_room) pieces = realloc(pieces, (piece_room = 2 * piece_room + 64) * sizeof *pieces);
  *at = RANGE + used;
  used += (bytes + 4096 + 255) & ~(u64)255; // a gap behind each
  pieces[piece_count++] = (struct piece){*at, bytes, kind};
  if (kind == 'd') live_bytes += bytes;
  return OK;
}

static int drop(u64 at, char kind) {
  struct piece *p = find(at, 1);
  if (!p || p->at != at || p->kind != kind) return INVALID_VALUE;
  if (kind == 'd') live_bytes -= p->bytes;
  memset((void *)at, 0xdd, p->bytes < 65536 ? p->bytes : 65536);
  *p = pieces[--piece_count];
  return OK;
}

// What tests call.
int standin_fail(const char *name, int code, int after) {
  pthread_mutex_lock(&lock);
  snprintf(failure.name, sizeof failure.name, "%s", name);
  failure.code = code, failure.after = after;
  return end(0);
}
size_t standin_log(char *to, size_t room) {
  pthread_mutex_lock(&lock);
  size_t n = text_bytes;
  if (to && room > n) {
    memcpy(to, text ? text : "", n);
    to[n] = 0;
    text_bytes = 0;
  }
  pthread_mutex_unlock(&lock);
  return n;
}
void standin_logging(int on) { logging = on; }
void standin_events_pending(int on) { event_pending = on; }
u64 standin_count(const char *what) {
  u64 n = 0;
  pthread_mutex_lock(&lock);
  if (!strcmp(what, "launches")) n = launches;
  if (!strcmp(what, "violations")) n = violations;
  if (!strcmp(what, "bytes")) n = live_bytes;
  if (!strcmp(what, "depth")) n = depth;
  if (!strcmp(what, "mode")) n = capture_mode;
  if (!strcmp(what, "allocations"))
    for (size_t i = 0; i < piece_count; i++) n += pieces[i].kind == 'd';
  pthread_mutex_unlock(&lock);
  return n;
}
u64 standin_capture(struct stream *s, int on) {
  if (on != (s->capture != 0)) capturing += on ? 1 : -1;
  s->capture = on ? ++captures : 0;
  return s->capture;
}

int cuInit(unsigned flags) {
  BEGIN(0);
  if (flags) return end(INVALID_VALUE);
  code = env("STANDIN_INIT", 0);
  started = !code;
  return end(code);
}
int cuDriverGetVersion(int *v) { return *v = env("STANDIN_VERSION", 13000), OK; }
static const struct { int code; const char *name, *words; } names[] = {
    {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"}, {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no device"}, {NO_BINARY, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image for the device"},
    {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}};
int cuGetErrorName(int code, const char **name) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].code == code) return *name = names[i].name, OK;
  return *name = NULL, INVALID_VALUE;
}
int cuGetErrorString(int code, const char **words) {
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].code == code) return *words = names[i].words, OK;
  return *words = NULL, INVALID_VALUE;
}
int cuDeviceGetCount(int *n) { return *n = env("STANDIN_DEVICES", 1), OK; }
int cuDeviceGet(int *d, int ordinal) {
  if (ordinal < 0 || ordinal >= env("STANDIN_DEVICES", 1)) return INVALID_DEVICE;
  return *d = ordinal, OK;
}
int cuDeviceGetName(char *name, int room, int d) { return snprintf(name, room, "NVIDIA H100 80GB HBM3"), OK; }

static const int attributes[][2] = { // of an H100
    {1, 1024}, {2, 1024}, {3, 1024}, {4, 64}, {5, 2147483647}, {6, 65535}, {7, 65535}, {8, 49152}, {9, 65536}, {10, 32}, {12, 65536}, {13, 1980000},
    {15, 1}, {16, 132}, {18, 0}, {19, 1}, {20, 0}, {31, 1}, {32, 1}, {36, 2619000}, {37, 5120}, {38, 52428800}, {39, 2048}, {40, 3}, {41, 1}, {75, 9}, {76, 0},
    {78, 1}, {79, 1}, {80, 1}, {81, 233472}, {82, 65536}, {83, 1}, {89, 0}, {90, 1}, {91, 1}, {95, 1}, {97, 232448}, {99, 1}, {106, 32}, {111, 1024},
    {113, 1}, {115, 1}, {120, 1}, {123, 1}};
int cuDeviceGetAttribute(int *v, int attribute, int d) {
  for (size_t i = 0; i < sizeof attributes / sizeof *attributes; i++)
    if (attributes[i][0] == attribute) return *v = attributes[i][1], OK;
  return INVALID_VALUE;
}
int cuDevicePrimaryCtxRetain(struct context **c, int d) {
  BEGIN(0);
  contexts[d].device = d;
  *c = &contexts[d];
  return end(OK);
}
int cuCtxPushCurrent_v2(struct context *c) {
  BEGIN(0);
  if (depth == 64 || !c) return end(INVALID_CONTEXT);
  current[depth++] = c;
  return end(OK);
}
int cuCtxPopCurrent_v2(struct context **c) {
  BEGIN(1);
  *c = current[--depth];
  return end(OK);
}
int cuCtxGetCurrent(struct context **c) {
  BEGIN(0);
  *c = depth ? current[depth - 1] : NULL;
  return end(OK);
}
int cuCtxSynchronize(void) {
  BEGIN(1);
  if (capturing) return end(unsafe(__func__)); // in every mode
  return end(OK);
}
int cuMemGetInfo_v2(size_t *free, size_t *total) {
  BEGIN(1);
  *total = env("STANDIN_MEMORY", (long)80 << 30);
  *free = *total - live_bytes;
  return end(OK);
}
int cuMemAlloc_v2(u64 *at, size_t bytes) {
  BEGIN(1);
  UNSAFE;
  code = take(at, bytes, 'd');
  if (!code) note("alloc %#llx %zu\n", (unsigned long long)*at, bytes);
  return end(code);
}
int cuMemFree_v2(u64 at) {
  BEGIN(1);
  UNSAFE;
  note("free %#llx\n", (unsigned long long)at);
  return end(drop(at, 'd'));
}
int cuMemHostAlloc(void **p, size_t bytes, unsigned flags) {
  BEGIN(1);
  UNSAFE;
  return end(take((u64 *)p, bytes, 'h'));
}
int cuMemFreeHost(void *p) {
  BEGIN(1);
  UNSAFE;
  return end(drop((u64)p, 'h'));
}
int cuMemHostGetDevicePointer_v2(u64 *at, void *p, unsigned flags) {
  BEGIN(1);
  *at = (u64)p;
  return end(OK);
}
int cuMemHostRegister_v2(void *p, size_t bytes, unsigned flags) {
  BEGIN(1);
  UNSAFE;
  note("register %zu\n", bytes);
  return end(OK);
}
int cuMemHostUnregister(void *p) {
  BEGIN(1);
  UNSAFE;
  note("unregister\n");
  return end(OK);
}

static int stream_code(struct stream *s) {
  if ((u64)s <= 2) return depth ? OK : INVALID_CONTEXT;
  return s->magic == 0x5712ea ? OK : INVALID_HANDLE;
}
static int copy(u64 to, u64 from, size_t bytes, struct stream *s, const char *what) {
  int code = stream_code(s);
  if (code) return code;
  if ((inside(to) || what[3] == 'd') && !find(to, bytes)) return violation(what, to, bytes);
  if ((inside(from) || what[0] == 'd') && !find(from, bytes)) return violation(what, from, bytes);
  note("%s %#llx %zu\n", what, (unsigned long long)to, bytes);
  memmove((void *)to, (void *)from, bytes);
  return OK;
}
int cuMemcpyHtoDAsync_v2(u64 to, void *from, size_t bytes, struct stream *s) {
  BEGIN(1);
  return end(copy(to, (u64)from, bytes, s, "htod"));
}
int cuMemcpyDtoHAsync_v2(void *to, u64 from, size_t bytes, struct stream *s) {
  BEGIN(1);
  return end(copy((u64)to, from, bytes, s, "dtoh"));
}
int cuMemcpyDtoDAsync_v2(u64 to, u64 from, size_t bytes, struct stream *s) {
  BEGIN(1);
  return end(copy(to, from, bytes, s, "dtod"));
}
int cuMemsetD8Async(u64 to, unsigned char value, size_t bytes, struct stream *s) {
  BEGIN(1);
  if ((code = stream_code(s))) return end(code);
  if (!find(to, bytes)) return end(violation("memset", to, bytes));
  note("memset %#llx %d %zu\n", (unsigned long long)to, value, bytes);
  memset((void *)to, value, bytes);
  return end(OK);
}

int cuStreamCreate(struct stream **s, unsigned flags) {
  BEGIN(1);
  UNSAFE;
  *s = calloc(1, sizeof **s);
  (*s)->magic = 0x5712ea;
  return end(OK);
}
int cuStreamDestroy_v2(struct stream *s) {
  BEGIN(0);
  UNSAFE;
  if ((code = stream_code(s))) return end(code);
  s->magic = 0; // the memory stays, so that a use of it is seen
  return end(OK);
}
int cuStreamSynchronize(struct stream *s) {
  BEGIN(0);
  UNSAFE;
  if ((code = stream_code(s))) return end(code);
  return end((u64)s > 2 && s->capture ? CAPTURE_UNSUPPORTED : OK);
}
int cuStreamWaitEvent(struct stream *s, struct event *e, unsigned flags) {
  BEGIN(0);
  note("wait %p\n", (void *)s);
  return end(stream_code(s));
}
int cuStreamIsCapturing(struct stream *s, int *status) {
  BEGIN(0);
  if ((code = stream_code(s))) return end(code);
  *status = (u64)s > 2 && s->capture;
  return end(OK);
}
int cuStreamGetCaptureInfo_v2(struct stream *s, int *status, u64 *id, void *graph, void *dependencies, void *count) {
  BEGIN(0);
  if ((code = stream_code(s))) return end(code);
  *status = (u64)s > 2 && s->capture;
  *id = *status ? s->capture : 0;
  return end(OK);
}
int cuThreadExchangeStreamCaptureMode(int *mode) {
  BEGIN(0);
  int was = capture_mode;
  capture_mode = *mode;
  *mode = was;
  return end(OK);
}

int cuEventCreate(struct event **e, unsigned flags) {
  BEGIN(1);
  *e = calloc(1, sizeof **e);
  return end(OK);
}
int cuEventDestroy_v2(struct event *e) {
  BEGIN(0);
  UNSAFE;
  free(e);
  return end(OK);
}
int cuEventRecord(struct event *e, struct stream *s) {
  BEGIN(0);
  return end(stream_code(s));
}
int cuEventQuery(struct event *e) {
  BEGIN(0);
  UNSAFE;
  return end(event_pending ? 600 : OK);
}
int cuEventSynchronize(struct event *e) {
  BEGIN(0);
  UNSAFE;
  return end(OK);
}
int cuEventElapsedTime(float *ms, struct event *a, struct event *b) { return *ms = 1, OK; }

static size_t elf_bytes(const char *image) { // up to the end of its section headers
  u64 at;
  uint16_t size, count;
  memcpy(&at, image + 40, 8), memcpy(&size, image + 58, 2), memcpy(&count, image + 60, 2);
  return at + (size_t)size * count;
}
int cuModuleLoadDataEx(struct module **m, const char *image, unsigned n, int *options, void **values) {
  BEGIN(1);
  UNSAFE;
  const char *refused = getenv("STANDIN_REFUSE");
  int elf = !memcmp(image, "\177ELF", 4);
  size_t bytes = elf ? elf_bytes(image) : strlen(image);
  const char *kind = elf ? "cubin" : memmem(image, bytes, ".target sm_90", 13) ? "sm_90" : "sm_80";
  note("module %s %zu\n", kind, bytes);
  if (refused && strstr(refused, kind)) {
    if (n == 2) snprintf(values[0], (size_t)values[1], "the stand-in takes no %s", kind);
    return end(elf ? NO_BINARY : UNSUPPORTED_PTX);
  }
  *m = calloc(1, sizeof **m);
  (*m)->image = memcpy(malloc(bytes + 1), image, bytes);
  (*m)->bytes = bytes;
  return end(OK);
}
int cuModuleGetFunction(struct function **f, struct module *m, const char *name) {
  BEGIN(1);
  UNSAFE;
  if (!memmem(m->image, m->bytes, name, strlen(name))) return end(NOT_FOUND);
  *f = calloc(1, sizeof **f);
  (*f)->of = m;
  (*f)->max_shared = 49152;
  snprintf((*f)->name, sizeof (*f)->name, "%s", name);
  return end(OK);
}
int cuFuncLoad(struct function *f) {
  BEGIN(1);
  UNSAFE;
  return end(OK);
}
int cuFuncGetAttribute(int *v, int attribute, struct function *f) { return *v = attribute == 0 ? 1024 : 0, OK; }
int cuFuncSetAttribute(struct function *f, int attribute, int v) {
  BEGIN(1);
  note("attribute %s %d %d\n", f->name, attribute, v);
  if (attribute == 8) f->max_shared = v > 49152 ? v : 49152;
  if (attribute == 9) f->carveout = v;
  return end(OK);
}

struct config {
  unsigned grid[3], block[3], shared;
  struct stream *stream;
  struct { unsigned id, pad; u64 value[8]; } *attributes;
  unsigned count;
};
int cuLaunchKernelEx(struct config *c, struct function *f, void **parameters, void **extra) {
  BEGIN(0);
  if ((code = stream_code(c->stream))) return end(code);
  const char *bytes = NULL;
  size_t n = 0;
  for (; extra && *extra; extra += 2) {
    if (*extra == (void *)1) bytes = extra[1];
    else if (*extra == (void *)2) n = *(size_t *)extra[1];
    else return end(INVALID_VALUE);
  }
  u64 threads = (u64)c->block[0] * c->block[1] * c->block[2];
  if (parameters || !bytes || !c->grid[0] || !c->grid[1] || !c->grid[2] || !threads || threads > 1024 || c->shared > (unsigned)f->max_shared) return end(INVALID_VALUE);
  for (size_t i = 0; i + 8 <= n; i += 8) {
    u64 word;
    memcpy(&word, bytes + i, 8);
    if (inside(word) && !find(word, 0)) return end(violation(f->name, word, i));
  }
  launches++;
  if (logging) {
    note("launch %s grid=%u,%u,%u block=%u,%u,%u shared=%u stream=%#llx attributes=", f->name, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1],
         c->block[2], c->shared, (unsigned long long)c->stream);
    for (unsigned i = 0; i < c->count; i++) note("%u:%llu;", c->attributes[i].id, (unsigned long long)c->attributes[i].value[0]);
    note(" parameters=");
    for (size_t i = 0; i < n; i++) note("%02x", (unsigned char)bytes[i]);
    note("\n");
  }
  return end(OK);
}
