// Gloo's side of "collectives compare": one rank, told who it is by RANK and WORLD_SIZE.
//
//   gloo_peer ALGORITHM DIRECTORY
//
// Ranks meet in DIRECTORY and talk over TCP on 127.0.0.1. Every rank reads the same lines from standard input,
// "warm-up COUNT NANOS" or "measure COUNT NANOS", and answers each with a line that begins with "peer"; what is timed
// and answered is the same as in mpi_peer.c.
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace {

constexpr double kLeast = 9;
constexpr double kMost = 100000;

double nanos() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class Rank {
 public:
  Rank(int rank, int size, const std::string& algorithm, const std::string& directory)
      : rank_(rank), size_(size), algorithm_(algorithm) {
    gloo::rendezvous::FileStore files(directory);
    auto device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr("127.0.0.1"));
    data_ = connect(files, device, "data");
    control_ = connect(files, device, "control");
  }

  std::string warmUp(size_t count, double limit) {
    std::vector<float> data = filled(count);
    auto sum = operation(data);
    double start = nanos();
    int batch = 3;
    do {
      timed(sum, batch);
      batch = std::min(2 * batch, 1000);
    } while (greatest({rank_ == 0 && nanos() - start < limit ? 1.0 : 0.0})[0] > 0);
    return "ready";
  }

  std::string measure(size_t count, double limit) {
    std::vector<float> data = filled(count);
    auto sum = operation(data);
    sum();
    double wrong = 0;
    for (size_t i = 0; i < count; i++)
      wrong += data[i] != static_cast<float>(size_ * static_cast<int>(i % 13) + size_ * (size_ - 1) / 2);
    int first = count < 100000 ? 30 : 3;
    double start = nanos();
    timed(sum, first);
    double wanted = std::clamp(limit / ((nanos() - start) / first), kLeast, kMost);
    int iterations = static_cast<int>(greatest({rank_ == 0 ? wanted : 0})[0]);
    std::vector<double> slowest = greatest(timed(sum, iterations));
    std::sort(slowest.begin(), slowest.end());
    auto percentile = [&](long percent) { return std::to_string(std::lround(slowest[(iterations * percent + 99) / 100 - 1])); };
    return std::to_string(iterations) + " " + percentile(50) + " " + std::to_string(std::lround(slowest[0])) + " " +
           percentile(99) + " " + std::to_string(std::lround(greatest({wrong})[0])) + " -";
  }

 private:
  std::shared_ptr<gloo::Context> connect(gloo::rendezvous::FileStore& files,
                                         std::shared_ptr<gloo::transport::Device> device, const std::string& name) {
    gloo::rendezvous::PrefixStore store(name, files);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank_, size_);
    context->connectFullMesh(store, device);
    return context;
  }

  std::vector<float> filled(size_t count) {
    std::vector<float> data(count);
    for (size_t i = 0; i < count; i++) data[i] = static_cast<float>(i % 13 + rank_);
    return data;
  }

  std::function<void()> operation(std::vector<float>& data) {
    std::vector<float*> pointers{data.data()};
    std::shared_ptr<gloo::Algorithm> algorithm;
    if (algorithm_ == "ring-chunked") {
      algorithm = std::make_shared<gloo::AllreduceRingChunked<float>>(data_, pointers, data.size());
    } else if (algorithm_ == "halving-doubling") {
      algorithm = std::make_shared<gloo::AllreduceHalvingDoubling<float>>(data_, pointers, data.size());
    } else {
      auto options = std::make_shared<gloo::AllreduceOptions>(data_);
      options->setOutput(data.data(), data.size());
      options->setReduceFunction(static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
      options->setAlgorithm(algorithm_ == "ring" ? gloo::AllreduceOptions::Algorithm::RING
                                                 : gloo::AllreduceOptions::Algorithm::BCUBE);
      return [options] { gloo::allreduce(*options); };
    }
    return [algorithm] { algorithm->run(); };
  }

  std::vector<double> timed(const std::function<void()>& sum, int iterations) {
    std::vector<double> times(iterations);
    gloo::BarrierOptions all(control_);
    for (double& time : times) {
      gloo::barrier(all);
      double start = nanos();
      sum();
      time = nanos() - start;
    }
    return times;
  }

  // Of every value the greatest that any rank gave.
  std::vector<double> greatest(std::vector<double> values) {
    gloo::AllreduceOptions options(control_);
    options.setOutput(values.data(), values.size());
    options.setReduceFunction(static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::max<double>));
    gloo::allreduce(options);
    return values;
  }

  const int rank_;
  const int size_;
  const std::string algorithm_;
  std::shared_ptr<gloo::Context> data_;
  std::shared_ptr<gloo::Context> control_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    Rank rank(std::atoi(std::getenv("RANK")), std::atoi(std::getenv("WORLD_SIZE")), argv[1], argv[2]);
    std::cout << "peer ready" << std::endl;
    std::string verb;
    size_t count;
    double limit;
    while (std::cin >> verb >> count >> limit)
      std::cout << "peer " << (verb == "measure" ? rank.measure(count, limit) : rank.warmUp(count, limit)) << std::endl;
  } catch (const std::exception& e) {
    std::cerr << e.what() << std::endl;
    return 1;
  }
  return 0;
}
