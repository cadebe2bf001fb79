/* Decodes a file of packets with the parser and the decoder of NVIDIA's driver, on several threads, and prints the frames a second:

       cc -O2 -o nvdec_peer nvdec_peer.c -ldl -lpthread && ./nvdec_peer h264|hevc PACKETS THREADS LOOPS

   A packet is its size in 4 bytes, low byte first, and then its bytes in Annex B. Each thread decodes the whole file LOOPS times, after a
   first time that creates the decoder and does not count. Frames are mapped and stay on the device. The program needs no header of the
   driver: its structures have the driver's sizes, and names for the fields that they use. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned long word;

struct format { int codec; unsigned rate[2]; unsigned char progressive, luma, chroma, surfaces; unsigned width, height; int area[4], layout; };
struct create { word width, height, surfaces; int codec, layout; word flags, depth, intra, max_width, max_height, reserved; short display[4]; int output, deinterlace;
	word target_width, target_height, outputs; void *lock; short target[4]; word histogram, more[4]; };
struct shown { int picture, progressive, top, repeat; long long time; };
struct parser { int codec; unsigned surfaces, clock, threshold, delay, bits, reserved[4]; void *user, *sequence, *decode, *display, *more[8]; };
struct packet { word flags, size; const unsigned char *data; long long time; };
struct process { int progressive, second, top, unpaired; unsigned reserved[2]; unsigned long long in; unsigned more[2]; unsigned long long out; unsigned even[2]; void *stream; unsigned rest[46]; void *last[2]; };

static int (*create_decoder)(void **, struct create *), (*destroy_decoder)(void *), (*decode_picture)(void *, void *);
static int (*map_frame)(void *, int, unsigned long long *, unsigned *, struct process *), (*unmap_frame)(void *, unsigned long long);
static int (*create_parser)(void **, struct parser *), (*parse)(void *, struct packet *), (*destroy_parser)(void *);
static int (*init)(unsigned), (*device)(int *, int), (*retain)(void **, int), (*set_current)(void *);

struct thread { pthread_t id; void *decoder; long frames; int error; };

static unsigned char *file;
static size_t size;
static void *context;
static int codec, loops;
static pthread_barrier_t ready, end;

static int sequence(struct thread *t, struct format *f) {
	if (!t->decoder) {
		struct create c = {.width = f->width, .height = f->height, .surfaces = f->surfaces + 4, .codec = f->codec, .layout = f->layout, .flags = 4, .depth = f->luma,
			.output = f->luma > 0, .target_width = f->width, .target_height = f->height, .outputs = 2, .max_width = f->width, .max_height = f->height};
		c.display[2] = f->width, c.display[3] = f->height;
		t->error = create_decoder(&t->decoder, &c);
	}
	return t->error ? 0 : f->surfaces + 4;
}

static int decode(struct thread *t, void *picture) { return !(t->error = decode_picture(t->decoder, picture)); }

static int display(struct thread *t, struct shown *s) {
	struct process p = {.progressive = 1};
	unsigned long long address;
	unsigned pitch;
	if (!s)
		return 1;
	if ((t->error = map_frame(t->decoder, s->picture, &address, &pitch, &p)))
		return 0;
	t->frames++;
	return !(t->error = unmap_frame(t->decoder, address));
}

static void once(struct thread *t) {
	struct parser p = {.codec = codec, .surfaces = 1, .clock = 1000, .threshold = 100, .delay = 4, .user = t, .sequence = sequence, .decode = decode, .display = display};
	void *parser;
	if ((t->error = create_parser(&parser, &p)))
		return;
	for (size_t at = 0; at + 4 <= size && !t->error;) {
		uint32_t n;
		memcpy(&n, file + at, 4);
		struct packet k = {.flags = 8, .size = n, .data = file + at + 4};
		parse(parser, &k);
		at += 4 + n;
	}
	struct packet last = {.flags = 1};
	parse(parser, &last);
	destroy_parser(parser);
}

static void *run(void *arg) {
	struct thread *t = arg;
	set_current(context);
	once(t);
	pthread_barrier_wait(&ready);
	t->frames = 0;
	for (int i = 0; i < loops && !t->error; i++)
		once(t);
	pthread_barrier_wait(&end);
	if (t->decoder)
		destroy_decoder(t->decoder);
	return NULL;
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int count, char **args) {
	if (count != 5)
		return fprintf(stderr, "usage: nvdec_peer h264|hevc PACKETS THREADS LOOPS\n"), 2;
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *video = dlopen("libnvcuvid.so.1", RTLD_NOW);
	if (!cuda || !video)
		return fprintf(stderr, "%s\n", dlerror()), 1;
	struct { void *library, *to; const char *name; } list[] = {
		{video, &create_decoder, "cuvidCreateDecoder"}, {video, &destroy_decoder, "cuvidDestroyDecoder"}, {video, &decode_picture, "cuvidDecodePicture"},
		{video, &map_frame, "cuvidMapVideoFrame64"}, {video, &unmap_frame, "cuvidUnmapVideoFrame64"}, {video, &create_parser, "cuvidCreateVideoParser"},
		{video, &parse, "cuvidParseVideoData"}, {video, &destroy_parser, "cuvidDestroyVideoParser"}, {cuda, &init, "cuInit"}, {cuda, &device, "cuDeviceGet"},
		{cuda, &retain, "cuDevicePrimaryCtxRetain"}, {cuda, &set_current, "cuCtxSetCurrent"}};
	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		if (!(*(void **)list[i].to = dlsym(list[i].library, list[i].name)))
			return fprintf(stderr, "%s\n", dlerror()), 1;
	int number, threads = atoi(args[3]);
	if (init(0) || device(&number, 0) || retain(&context, number))
		return fprintf(stderr, "no device\n"), 1;
	codec = strcmp(args[1], "hevc") ? 4 : 8;
	loops = atoi(args[4]);
	FILE *in = fopen(args[2], "rb");
	if (!in)
		return perror(args[2]), 1;
	fseek(in, 0, SEEK_END);
	size = ftell(in);
	rewind(in);
	file = malloc(size);
	if (fread(file, 1, size, in) != size)
		return 1;
	struct thread *all = calloc(threads, sizeof *all);
	pthread_barrier_init(&ready, NULL, threads + 1);
	pthread_barrier_init(&end, NULL, threads + 1);
	for (int i = 0; i < threads; i++)
		pthread_create(&all[i].id, NULL, run, all + i);
	pthread_barrier_wait(&ready);
	double began = now();
	pthread_barrier_wait(&end);
	double took = now() - began;
	long frames = 0;
	for (int i = 0; i < threads; i++) {
		pthread_join(all[i].id, NULL);
		frames += all[i].frames;
		if (all[i].error)
			return fprintf(stderr, "the driver's error %d\n", all[i].error), 1;
	}
	printf("%.1f\n", frames / took);
	return 0;
}
