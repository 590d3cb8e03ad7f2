/*
 * Open MPI's side of "collectives compare": what mpirun starts on each rank.
 *
 * Rank 0 reads lines from standard input, "warm-up COUNT NANOS" or "measure COUNT NANOS", and answers each with a
 * line that begins with "peer"; the others sleep meanwhile. Every rank then sums COUNT float32 in place, after a
 * barrier that is not timed. The time of an iteration is that of the slowest rank. A measurement is answered by
 * "peer ITERATIONS MEDIAN MIN P99 WRONG -", times in nanoseconds, where WRONG counts the wrong elements of the first
 * result on all ranks.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LEAST = 9, MOST = 100000, PAUSE_MICROS = 5000 };
enum { END, WARM_UP, MEASURE };

static int rank, size;
static double seconds[MOST], slowest[MOST];

static void timed(float *data, int count, int iterations) {
  for (int i = 0; i < iterations; i++) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    seconds[i] = MPI_Wtime() - start;
  }
}

static int rank_zero_says(int value) {
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return value;
}

static void fill(float *data, int count) {
  for (int i = 0; i < count; i++) data[i] = (float)(i % 13 + rank);
}

static void warm_up(float *data, int count, long nanos) {
  double start = MPI_Wtime();
  int batch = 3;
  do {
    timed(data, count, batch);
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

static void measure(float *data, int count, long nanos) {
  fill(data, count);
  MPI_Allreduce(MPI_IN_PLACE, data, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  long wrong = 0, wrong_on_all = 0;
  for (int i = 0; i < count; i++) wrong += data[i] != (float)(size * (i % 13) + size * (size - 1) / 2);
  MPI_Reduce(&wrong, &wrong_on_all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  fill(data, count);
  int first = count < 100000 ? 30 : 3;
  double start = MPI_Wtime();
  timed(data, count, first);
  double wanted = (double)nanos / ((MPI_Wtime() - start) / first * 1e9);
  int iterations = rank_zero_says(wanted < LEAST ? LEAST : wanted > MOST ? MOST : (int)wanted);
  timed(data, count, iterations);
  MPI_Reduce(seconds, slowest, iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    qsort(slowest, iterations, sizeof(double), ascending);
    printf("peer %d %ld %ld %ld %ld -\n", iterations, percentile(iterations, 50), (long)(slowest[0] * 1e9),
           percentile(iterations, 99), wrong_on_all);
  }
}

/* Whoever waits sleeps: a barrier that spins would take the processors from what is measured meanwhile. */
static void next(long request[3]) {
  if (rank == 0) {
    char line[128], verb[16];
    request[0] = END;
    if (fgets(line, sizeof line, stdin) && sscanf(line, "%15s %ld %ld", verb, &request[1], &request[2]) == 3)
      request[0] = strcmp(verb, "measure") ? WARM_UP : MEASURE;
  }
  MPI_Request told;
  int done = 0;
  MPI_Ibcast(request, 3, MPI_LONG, 0, MPI_COMM_WORLD, &told);
  for (MPI_Test(&told, &done, MPI_STATUS_IGNORE); !done; MPI_Test(&told, &done, MPI_STATUS_IGNORE))
    usleep(PAUSE_MICROS);
}

static void answer(const char *line) {
  if (rank == 0) puts(line);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  setvbuf(stdout, NULL, _IOLBF, 0);
  answer("peer ready");
  for (long request[3] = {0}; next(request), request[0] != END;) {
    void *data;
    if (posix_memalign(&data, 4096, (size_t)request[1] * sizeof(float))) MPI_Abort(MPI_COMM_WORLD, 1);
    if (request[0] == WARM_UP) {
      fill(data, (int)request[1]);
      warm_up(data, (int)request[1], request[2]);
      answer("peer ready");
    } else {
      measure(data, (int)request[1], request[2]);
    }
    free(data);
  }
  MPI_Finalize();
  return 0;
}
