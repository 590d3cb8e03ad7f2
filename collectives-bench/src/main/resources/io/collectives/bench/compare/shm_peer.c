/*
 * What C without a library reaches on memory that processes share: the other side of "collectives compare --peers c-shm".
 *
 *   shm_peer all-reduce VARIANT DIRECTORY
 *
 * One rank, told who it is by RANK and WORLD_SIZE. Ranks meet in DIRECTORY. Every rank reads the same lines from standard
 * input, "warm-up COUNT NANOS" or "measure COUNT NANOS", and answers each with a line that begins with "peer"; what is
 * timed and answered is the same as in mpi_peer.c.
 *
 *   one-wait  Each rank copies its payload into a buffer of its own that all read, waits once until all have, and sums all
 *             buffers into its payload. The next call takes a second buffer, so who is in it has left the first one.
 *   slots     Each rank owns a part. The others copy theirs into slots that the owner reads; it puts the sum into its
 *             payload and back into the slots, from where they take it: 128 KiB at a time, eight slots from each to each, two
 *             if there are more than eight ranks.
 *
 * Ranks are pinned to processors if there are enough of them, and give theirs away while they wait if there are not.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LEAST = 9, MOST = 100000, RANKS = 64, FRAME = 128 << 10, BUFFER = 256 << 10, LOOKS = 1 << 14 };

typedef _Atomic uint64_t word;

/* Each word has one writer, and two lines for itself, as processors fetch lines in pairs. */
typedef struct {
  _Alignas(128) word value;
} counter;

typedef struct {
  counter mapped[RANKS], arrived[RANKS], filled[RANKS];
  counter sent[RANKS][RANKS], summed[RANKS][RANKS]; /* by who sends and who sums */
  long wrong[RANKS];
  double told[2], seconds[RANKS][MOST];
} control;

static int rank, size, depth, yields;
static pid_t parent;
static control *all;
static char *buffers, *slots;
static float *payload;
static size_t count;

/* What this rank has done since the beginning; slots count frames. */
static uint64_t barriers, calls, frames;

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static uint64_t seen(counter *of) { return atomic_load_explicit(&of->value, memory_order_acquire); }

static void say(counter *to, uint64_t value) { atomic_store_explicit(&to->value, value, memory_order_release); }

/* Nobody would end a rank that waits for one that has died with whoever has started them. */
static void look(int looks) {
  if (yields) sched_yield();
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
  if (looks % LOOKS == 0 && getppid() != parent) exit(3);
}

static void await(counter *of, uint64_t value) {
  for (int looks = 1; seen(of) < value; looks++) look(looks);
}

static void barrier(void) {
  say(&all->arrived[rank], ++barriers);
  for (int i = 0; i < size; i++) await(&all->arrived[i], barriers);
}

static float *buffer(int of, uint64_t call) { return (float *)(buffers + (size_t)(2 * of + call % 2) * BUFFER); }

static void one_wait(void) {
  for (size_t from = 0; from < count; from += BUFFER / sizeof(float)) {
    size_t some = count - from < BUFFER / sizeof(float) ? count - from : BUFFER / sizeof(float);
    memcpy(buffer(rank, ++calls), payload + from, some * sizeof(float));
    say(&all->filled[rank], calls);
    for (int i = 1; i < size; i++) {
      int other = (rank + i) % size;
      await(&all->filled[other], calls);
      float *restrict to = payload + from, *restrict what = buffer(other, calls);
      for (size_t k = 0; k < some; k++) to[k] += what[k];
    }
  }
}

static float *slot(int from, int to, uint64_t frame) {
  return (float *)(slots + ((size_t)(from * size + to) * depth + frame % depth) * FRAME);
}

/* Where a frame of an owner's part begins, and how many elements it has. */
static size_t begin(int owner, size_t frame) { return count * owner / size + frame * (FRAME / sizeof(float)); }

static size_t length(int owner, size_t frame) {
  size_t end = count * (owner + 1) / size, from = begin(owner, frame), most = FRAME / sizeof(float);
  return from >= end ? 0 : end - from < most ? end - from : most;
}

static void send_frame(size_t frame) {
  for (int i = 1; i < size; i++) {
    int owner = (rank + i) % size;
    memcpy(slot(rank, owner, frames + frame), payload + begin(owner, frame), length(owner, frame) * sizeof(float));
    say(&all->sent[rank][owner], frames + frame + 1);
  }
}

static int has_come(size_t frame) {
  for (int i = 0; i < size; i++)
    if (i != rank && seen(&all->sent[i][rank]) <= frames + frame) return 0;
  return 1;
}

/* In blocks that stay in the nearest cache while all contributors' parts of it are summed and given back. */
static void sum_frame(size_t frame) {
  enum { BLOCK = 512 };
  for (size_t done = 0, elements = length(rank, frame); done < elements; done += BLOCK) {
    size_t some = elements - done < BLOCK ? elements - done : BLOCK;
    float *restrict to = payload + begin(rank, frame) + done;
    for (int i = 1; i < size; i++) {
      float *restrict what = slot((rank + i) % size, rank, frames + frame) + done;
      for (size_t k = 0; k < some; k++) to[k] += what[k];
    }
    for (int i = 1; i < size; i++) memcpy(slot((rank + i) % size, rank, frames + frame) + done, to, some * sizeof(float));
  }
  for (int i = 1; i < size; i++) say(&all->summed[(rank + i) % size][rank], frames + frame + 1);
}

static int is_back(size_t frame) {
  for (int i = 0; i < size; i++)
    if (i != rank && seen(&all->summed[rank][i]) <= frames + frame) return 0;
  return 1;
}

static void take_frame(size_t frame) {
  for (int i = 1; i < size; i++) {
    int owner = (rank + i) % size;
    memcpy(payload + begin(owner, frame), slot(rank, owner, frames + frame), length(owner, frame) * sizeof(float));
  }
}

static void by_slots(void) {
  size_t most = (count + size - 1) / size, total = (most * sizeof(float) + FRAME - 1) / FRAME;
  size_t sent = 0, summed = 0, taken = 0;
  for (int looks = 1; taken < total || summed < total; looks++) {
    size_t before = sent + summed + taken;
    if (sent < total && sent - taken < (size_t)depth) send_frame(sent++);
    if (summed < total && has_come(summed)) sum_frame(summed++);
    if (taken < sent && is_back(taken)) take_frame(taken++);
    if (before == sent + summed + taken) look(looks);
  }
  frames += total;
}

static void (*call)(void);

static float given(int by, size_t i) { return (float)(i % 13 + by); }

static void fill(void) {
  for (size_t i = 0; i < count; i++) payload[i] = given(rank, i);
}

static long wrong_elements(void) {
  long wrong = 0;
  for (size_t i = 0; i < count; i++) wrong += payload[i] != (float)(size * (i % 13) + size * (size - 1) / 2);
  return wrong;
}

static void timed(int iterations) {
  for (int i = 0; i < iterations; i++) {
    barrier();
    double start = now();
    call();
    all->seconds[rank][i] = now() - start;
  }
}

/* Two places in turn, so that who is late does not find the next value. */
static double rank_zero_says(double value) {
  static int turn;
  turn = 1 - turn;
  if (rank == 0) all->told[turn] = value;
  barrier();
  return all->told[turn];
}

static void warm_up(double seconds) {
  fill();
  double start = now();
  int batch = 3;
  do {
    timed(batch);
    batch = 2 * batch < 1000 ? 2 * batch : 1000;
  } while (rank_zero_says(now() - start < seconds) > 0);
}

static int ascending(const void *one, const void *other) {
  double a = *(const double *)one, b = *(const double *)other;
  return a < b ? -1 : a > b;
}

/* The least value that is not exceeded by percent of all. */
static long percentile(const double *slowest, int iterations, int percent) {
  return (long)(slowest[((long)iterations * percent + 99) / 100 - 1] * 1e9);
}

static void measure(double seconds) {
  fill();
  call();
  all->wrong[rank] = wrong_elements();
  fill();
  int first = count < 100000 ? 30 : 3;
  double start = now();
  timed(first);
  double wanted = seconds / ((now() - start) / first);
  int iterations = (int)rank_zero_says(wanted < LEAST ? LEAST : wanted > MOST ? MOST : wanted);
  timed(iterations);
  barrier();
  static double slowest[MOST];
  long wrong = 0;
  memcpy(slowest, all->seconds[0], iterations * sizeof(double));
  for (int i = 0; i < size; i++) {
    wrong += all->wrong[i];
    for (int k = 0; k < iterations; k++)
      if (all->seconds[i][k] > slowest[k]) slowest[k] = all->seconds[i][k];
  }
  qsort(slowest, iterations, sizeof(double), ascending);
  barrier();
  printf("peer %d %ld %ld %ld %ld -\n", iterations, percentile(slowest, iterations, 50), (long)(slowest[0] * 1e9),
         percentile(slowest, iterations, 99), wrong);
}

/* Rank 0 makes memory without a name and tells its number; it is gone when the last rank has ended. */
static int memory(const char *directory, size_t bytes) {
  char path[4096], made[4096], name[64];
  snprintf(path, sizeof path, "%s/memory", directory);
  if (rank == 0) {
    int file = memfd_create("shm_peer", 0);
    if (file < 0 || ftruncate(file, (off_t)bytes)) fail("cannot make shared memory");
    snprintf(made, sizeof made, "%s/making", directory);
    FILE *told = fopen(made, "w");
    if (!told || fprintf(told, "/proc/%ld/fd/%d", (long)getpid(), file) < 0 || fclose(told) || rename(made, path))
      fail(path);
    return file;
  }
  FILE *told;
  while (!(told = fopen(path, "r"))) {
    usleep(1000);
    if (getppid() != parent) exit(3);
  }
  if (fscanf(told, "%63s", name) != 1) fail(path);
  fclose(told);
  int file = open(name, O_RDWR);
  if (file < 0) fail(name);
  return file;
}

int main(int argc, char **argv) {
  char *who = getenv("RANK"), *of = getenv("WORLD_SIZE"), verb[16];
  if (argc != 4 || strcmp(argv[1], "all-reduce") || !who || !of) return 2;
  parent = getppid();
  rank = atoi(who);
  size = atoi(of);
  call = strcmp(argv[2], "slots") ? one_wait : by_slots;
  if (size < 1 || size > RANKS || rank < 0 || rank >= size) return 2;
  depth = size > 8 ? 2 : 8;
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  yields = size > processors;
  if (!yields) {
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(rank, &own);
    sched_setaffinity(0, sizeof own, &own); /* Where that is not allowed it goes where the system puts it. */
  }
  size_t page = 4096, control_length = (sizeof(control) + page - 1) / page * page;
  size_t buffers_length = (size_t)2 * size * BUFFER, slots_length = (size_t)size * size * depth * FRAME;
  size_t bytes = control_length + buffers_length + slots_length;
  int file = memory(argv[3], bytes);
  char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (base == MAP_FAILED) fail("cannot map shared memory");
  all = (control *)base;
  buffers = base + control_length;
  slots = buffers + buffers_length;
  say(&all->mapped[rank], 1);
  for (int i = 0; i < size; i++) await(&all->mapped[i], 1);
  setvbuf(stdout, NULL, _IOLBF, 0);
  puts("peer ready");
  double nanos;
  while (scanf("%15s %zu %lf", verb, &count, &nanos) == 3) {
    if (posix_memalign((void **)&payload, page, count * sizeof(float) + 1)) fail("cannot allocate");
    if (strcmp(verb, "measure")) {
      warm_up(nanos / 1e9);
      puts("peer ready");
    } else {
      measure(nanos / 1e9);
    }
    free(payload);
  }
  return 0;
}
