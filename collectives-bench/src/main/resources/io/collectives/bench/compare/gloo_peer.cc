// Gloo's side of "collectives compare": one rank, told who it is by RANK and WORLD_SIZE.
//
//   gloo_peer COLLECTIVE ALGORITHM DIRECTORY
//
// Ranks meet in DIRECTORY and talk over TCP on 127.0.0.1. Every rank reads the same lines from standard input,
// "warm-up COUNT NANOS" or "measure COUNT NANOS", and answers each with a line that begins with "peer"; what is timed
// and answered is the same as in mpi_peer.c.
//
// There is no reduce-scatter: ReduceScatterHalvingDoubling copies the result to where the input began, from where it may
// still be sending, and is wrong now and then.
#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/broadcast_one_to_all.h>
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
#include <stdexcept>
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
  Rank(int rank, int size, const std::string& collective, const std::string& algorithm, const std::string& directory)
      : rank_(rank), size_(size), collective_(collective), algorithm_(algorithm) {
    gloo::rendezvous::FileStore files(directory);
    auto device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr("127.0.0.1"));
    data_ = connect(files, device, "data");
    control_ = connect(files, device, "control");
  }

  std::string warmUp(size_t count, double limit) {
    std::vector<float> input = filled(count), output = empty(count);
    auto call = operation(input, output);
    double start = nanos();
    int batch = 3;
    do {
      timed(call, batch);
      batch = std::min(2 * batch, 1000);
    } while (greatest({rank_ == 0 && nanos() - start < limit ? 1.0 : 0.0})[0] > 0);
    return "ready";
  }

  std::string measure(size_t count, double limit) {
    std::vector<float> input = filled(count), output = empty(count);
    auto call = operation(input, output);
    call();
    double wrong = wrongElements(gathers() ? output : input, count);
    int first = count < 100000 ? 30 : 3;
    double start = nanos();
    timed(call, first);
    double wanted = std::clamp(limit / ((nanos() - start) / first), kLeast, kMost);
    int iterations = static_cast<int>(greatest({rank_ == 0 ? wanted : 0})[0]);
    std::vector<double> slowest = greatest(timed(call, iterations));
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

  bool gathers() const { return collective_ == "all-gather"; }

  static float value(size_t rank, size_t i) { return static_cast<float>(i % 13 + rank); }

  // What this rank gives of a payload, the whole of it or its part.
  std::vector<float> filled(size_t count) const {
    size_t part = count / size_, first = gathers() ? rank_ * part : 0;
    std::vector<float> data(gathers() ? part : count);
    for (size_t i = 0; i < data.size(); i++) data[i] = value(rank_, first + i);
    return data;
  }

  // For a result that is not where the input was; what is left in it is never right, since no result is negative.
  std::vector<float> empty(size_t count) const { return std::vector<float>(gathers() ? count : 0, -1); }

  double wrongElements(const std::vector<float>& result, size_t count) const {
    double wrong = 0;
    for (size_t i = 0; i < count; i++) wrong += result[i] != exact(i, count / size_);
    return wrong;
  }

  // Element i of the exact result.
  float exact(size_t i, size_t part) const {
    if (collective_ == "broadcast") return value(0, i);
    if (gathers()) return value(i / part, i);
    return static_cast<float>(size_ * static_cast<int>(i % 13) + size_ * (size_ - 1) / 2);
  }

  std::function<void()> operation(std::vector<float>& input, std::vector<float>& output) {
    std::vector<float*> pointers{input.data()};
    int count = static_cast<int>(input.size());
    if (gathers()) {
      auto options = std::make_shared<gloo::AllgatherOptions>(data_);
      options->setInput(input.data(), input.size());
      options->setOutput(output.data(), output.size());
      return [options] { gloo::allgather(*options); };
    }
    if (algorithm_ == "one-to-all") {
      return running(std::make_shared<gloo::BroadcastOneToAll<float>>(data_, pointers, count));
    }
    if (collective_ == "broadcast") {
      auto options = std::make_shared<gloo::BroadcastOptions>(data_);
      options->setOutput(input.data(), input.size());
      options->setRoot(0);
      return [options] { gloo::broadcast(*options); };
    }
    if (collective_ != "all-reduce") throw std::invalid_argument("there is no " + collective_ + " here");
    if (algorithm_ == "ring-chunked") {
      return running(std::make_shared<gloo::AllreduceRingChunked<float>>(data_, pointers, count));
    }
    if (algorithm_ == "halving-doubling") {
      return running(std::make_shared<gloo::AllreduceHalvingDoubling<float>>(data_, pointers, count));
    }
    auto options = std::make_shared<gloo::AllreduceOptions>(data_);
    options->setOutput(input.data(), input.size());
    options->setReduceFunction(static_cast<void (*)(void*, const void*, const void*, size_t)>(&gloo::sum<float>));
    options->setAlgorithm(algorithm_ == "ring" ? gloo::AllreduceOptions::Algorithm::RING
                                               : gloo::AllreduceOptions::Algorithm::BCUBE);
    return [options] { gloo::allreduce(*options); };
  }

  static std::function<void()> running(std::shared_ptr<gloo::Algorithm> algorithm) {
    return [algorithm] { algorithm->run(); };
  }

  std::vector<double> timed(const std::function<void()>& call, int iterations) {
    std::vector<double> times(iterations);
    gloo::BarrierOptions all(control_);
    for (double& time : times) {
      gloo::barrier(all);
      double start = nanos();
      call();
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
  const std::string collective_;
  const std::string algorithm_;
  std::shared_ptr<gloo::Context> data_;
  std::shared_ptr<gloo::Context> control_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  try {
    Rank rank(std::atoi(std::getenv("RANK")), std::atoi(std::getenv("WORLD_SIZE")), argv[1], argv[2], argv[3]);
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
