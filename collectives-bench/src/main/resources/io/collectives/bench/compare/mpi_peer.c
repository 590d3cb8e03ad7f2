/*
 * Open MPI's side of "collectives compare": what mpirun starts on each rank.
 *
 *   mpi_peer COLLECTIVE
 *
 * Rank 0 reads lines from standard input, "warm-up COUNT NANOS" or "measure COUNT NANOS", and answers each with a
 * line that begins with "peer". Every rank then makes the call on COUNT float32, after a
 * barrier that is not timed. These are the whole payload: what goes into an all-reduce or reduce-scatter, what comes
 * out of an all-gather. All parts of it are equally long; the root is rank 0. The time of an iteration is that of the
 * slowest rank. A measurement is answered by "peer ITERATIONS MEDIAN MIN P99 WRONG -", times in nanoseconds, where
 * WRONG counts the wrong elements of the first result on all ranks.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LEAST = 9, MOST = 100000, MOST_RANKS = 64 };
enum { END, WARM_UP, MEASURE };

static int rank, size;
static double seconds[MOST], slowest[MOST];

/* The payload's elements and those of a rank's part, and where they are: at one place if the call is in place. */
static int count, part;
static float *input, *output;

static float given(int by, int i) { return (float)(i % 13 + by); }

static float sum(int i) { return (float)(size * (i % 13) + size * (size - 1) / 2); }

static float of_owner(int i) { return given(i / part, i); }

static float of_root(int i) { return given(0, i); }

static void all_reduce(void) { MPI_Allreduce(MPI_IN_PLACE, output, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }

static void reduce_scatter(void) {
  MPI_Reduce_scatter_block(input, output, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void all_gather(void) { MPI_Allgather(input, part, MPI_FLOAT, output, part, MPI_FLOAT, MPI_COMM_WORLD); }

static void broadcast(void) { MPI_Bcast(output, count, MPI_FLOAT, 0, MPI_COMM_WORLD); }

/* Whether input and output are one, or else only this rank's part of the payload; and element i of the exact result. */
static const struct collective {
  const char *name;
  void (*call)(void);
  int in_place, part_in, part_out;
  float (*exact)(int i);
} collectives[] = {
    {"all-reduce", all_reduce, 1, 0, 0, sum},
    {"reduce-scatter", reduce_scatter, 0, 0, 1, sum},
    {"all-gather", all_gather, 0, 1, 0, of_owner},
    {"broadcast", broadcast, 1, 0, 0, of_root},
};
static const struct collective *collective;

static float *allocated(int elements) {
  void *data = NULL;
  if (posix_memalign(&data, 4096, (size_t)elements * sizeof(float))) MPI_Abort(MPI_COMM_WORLD, 1);
  return data;
}

static void allocate(int elements) {
  count = elements;
  part = elements / size;
  input = allocated(collective->part_in ? part : count);
  output = collective->in_place ? input : allocated(collective->part_out ? part : count);
}

static void release(void) {
  if (output != input) free(output);
  free(input);
}

/* What was left in the output is never right: nothing in a result is negative. */
static void fill(void) {
  for (int i = 0; i < (collective->part_out ? part : count); i++) output[i] = -1;
  int first = collective->part_in ? rank * part : 0;
  for (int i = 0; i < (collective->part_in ? part : count); i++) input[i] = given(rank, first + i);
}

static long wrong_elements(void) {
  long wrong = 0;
  int first = collective->part_out ? rank * part : 0;
  for (int i = 0; i < (collective->part_out ? part : count); i++) wrong += output[i] != collective->exact(first + i);
  return wrong;
}

static void timed(int iterations) {
  for (int i = 0; i < iterations; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    collective->call();
    seconds[i] = MPI_Wtime() - start;
  }
}

static int rank_zero_says(int value) {
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return value;
}

static void warm_up(long nanos) {
  fill();
  double start = MPI_Wtime();
  int batch = 3;
  do {
    timed(batch);
    batch = 2 * batch < 1000 ? 2 * batch : 1000;
  } while (rank_zero_says((MPI_Wtime() - start) * 1e9 < (double)nanos));
}

static int ascending(const void *one, const void *other) {
  double a = *(const double *)one, b = *(const double *)other;
  return a < b ? -1 : a > b;
}

/* The least value that is not exceeded by percent of all. */
static long percentile(int iterations, int percent) {
  return (long)(slowest[((long)iterations * percent + 99) / 100 - 1] * 1e9);
}

static void measure(long nanos) {
  fill();
  collective->call();
  long wrong = wrong_elements(), wrong_on_all = 0;
  MPI_Reduce(&wrong, &wrong_on_all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  fill();
  int first = count < 100000 ? 30 : 3;
  double start = MPI_Wtime();
  timed(first);
  double wanted = (double)nanos / ((MPI_Wtime() - start) / first * 1e9);
  int iterations = rank_zero_says(wanted < LEAST ? LEAST : wanted > MOST ? MOST : (int)wanted);
  timed(iterations);
  MPI_Reduce(seconds, slowest, iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    qsort(slowest, iterations, sizeof(double), ascending);
    printf("peer %d %ld %ld %ld %ld -\n", iterations, percentile(iterations, 50), (long)(slowest[0] * 1e9),
           percentile(iterations, 99), wrong_on_all);
  }
}

/*
 * What rank 0 reads reaches the others through pipes, in which they sleep: whatever MPI has to wait for a message looks
 * for it again and again, which takes processors from what is measured meanwhile.
 */
static int pipes[MOST_RANKS];

static int opened(int of_rank, int made) {
  char path[4096];
  const char *directory = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/request-%d", directory ? directory : "/tmp", of_rank);
  if (!made && mkfifo(path, 0600)) MPI_Abort(MPI_COMM_WORLD, 3);
  /* The reader opens it for writing, too: open would wait for the writer. */
  int pipe = open(path, O_RDWR);
  if (pipe < 0) MPI_Abort(MPI_COMM_WORLD, 3);
  return pipe;
}

static void open_pipes(void) {
  if (size > MOST_RANKS) MPI_Abort(MPI_COMM_WORLD, 3);
  if (rank) pipes[0] = opened(rank, 0);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 1; !rank && i < size; i++) pipes[i] = opened(i, 1);
}

static void next(long request[3]) {
  size_t bytes = 3 * sizeof request[0];
  if (rank) {
    if (read(pipes[0], request, bytes) != (ssize_t)bytes) MPI_Abort(MPI_COMM_WORLD, 3);
    return;
  }
  char line[128], verb[16];
  request[0] = END;
  if (fgets(line, sizeof line, stdin) && sscanf(line, "%15s %ld %ld", verb, &request[1], &request[2]) == 3)
    request[0] = strcmp(verb, "measure") ? WARM_UP : MEASURE;
  for (int i = 1; i < size; i++)
    if (write(pipes[i], request, bytes) != (ssize_t)bytes) MPI_Abort(MPI_COMM_WORLD, 3);
}

static void answer(const char *line) {
  if (rank == 0) puts(line);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++)
    if (argc == 2 && !strcmp(argv[1], collectives[i].name)) collective = &collectives[i];
  if (!collective) MPI_Abort(MPI_COMM_WORLD, 2);
  open_pipes();
  answer("peer ready");
  for (long request[3] = {0}; next(request), request[0] != END;) {
    allocate((int)request[1]);
    if (request[0] == WARM_UP) {
      warm_up(request[2]);
      answer("peer ready");
    } else {
      measure(request[2]);
    }
    release();
  }
  MPI_Finalize();
  return 0;
}
