/* A triad as a C programmer tunes it: OpenMP threads that touch their part first, huge pages, the compiler's vectors,
 * and stores around the caches where there is an instruction. The peer of `stream/triad`; prints bytes a second of each
 * of REPEATS passes over arrays of COUNT floats: triad COUNT REPEATS */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

static float* array(size_t count) {
  const size_t huge = (size_t)2 << 20;
  const size_t bytes = (count * sizeof(float) + huge - 1) / huge * huge;
  float* data = aligned_alloc(huge, bytes);
  if (data == NULL) exit(1);
  madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

static void triad(float* restrict a, const float* restrict b, const float* restrict c, float s, long count) {
#if defined(__AVX512F__)
#pragma omp parallel for schedule(static)
  for (long i = 0; i < count; i += 16) {
    _mm512_stream_ps(a + i, _mm512_fmadd_ps(_mm512_set1_ps(s), _mm512_load_ps(c + i), _mm512_load_ps(b + i)));
  }
#elif defined(__AVX2__) && defined(__FMA__)
#pragma omp parallel for schedule(static)
  for (long i = 0; i < count; i += 8) {
    _mm256_stream_ps(a + i, _mm256_fmadd_ps(_mm256_set1_ps(s), _mm256_load_ps(c + i), _mm256_load_ps(b + i)));
  }
#else
#pragma omp parallel for simd schedule(static)
  for (long i = 0; i < count; ++i) a[i] = b[i] + s * c[i];
#endif
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: triad COUNT REPEATS\n");
    return 2;
  }
  const long count = atol(argv[1]) / 64 * 64;
  float* a = array((size_t)count);
  float* b = array((size_t)count);
  float* c = array((size_t)count);
#pragma omp parallel for schedule(static)
  for (long i = 0; i < count; ++i) {
    a[i] = 0;
    b[i] = (float)(i % 1000) * 1e-3f;
    c[i] = (float)(i % 777) * 1e-3f;
  }
  for (int repeat = 0; repeat < atoi(argv[2]); ++repeat) {
    const double start = omp_get_wtime();
    triad(a, b, c, 3.0f, count);
    printf("%.4g\n", 3.0 * sizeof(float) * (double)count / (omp_get_wtime() - start));
  }
  for (long i = 0; i < count; i += 997) {
    const double off = (double)a[i] - ((double)b[i] + 3.0 * (double)c[i]);
    if (off > 1e-6 || off < -1e-6) {
      fprintf(stderr, "triad: a[%ld] is wrong\n", i);
      return 1;
    }
  }
  free(a);
  free(b);
  free(c);
  return 0;
}
