#include "gpu/runtime/graph.h"

#include <vector>

namespace trainbench::gpu {
namespace {

class Graph {
 public:
  explicit Graph(cudaGraph_t graph) : graph_(graph) {}
  ~Graph() {
    if (graph_ != nullptr) TRAINBENCH_CUDA_NOEXCEPT(cudaGraphDestroy(graph_));
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  cudaGraph_t get() const { return graph_; }

 private:
  cudaGraph_t graph_;
};

std::int64_t count_kernels(cudaGraph_t graph) {
  std::size_t count = 0;
  TRAINBENCH_CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  if (count > 0) TRAINBENCH_CUDA(cudaGraphGetNodes(graph, nodes.data(), &count));
  std::int64_t kernels = 0;
  for (const cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    TRAINBENCH_CUDA(cudaGraphNodeGetType(node, &type));
    if (type == cudaGraphNodeTypeKernel) ++kernels;
  }
  return kernels;
}

}  // namespace

GraphExec GraphExec::capture(const Stream& stream, const std::function<void()>& work) {
  // Thread-local: calls that would break a capture are refused in this thread, while the thread
  // that loads batches may go on allocating and waiting.
  TRAINBENCH_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  cudaGraph_t captured = nullptr;
  try {
    work();
  } catch (...) {
    static_cast<void>(cudaStreamEndCapture(stream.get(), &captured));
    static_cast<void>(cudaGetLastError());
    const Graph discarded(captured);
    throw;
  }
  TRAINBENCH_CUDA(cudaStreamEndCapture(stream.get(), &captured));
  const Graph graph(captured);

  cudaGraphExec_t exec = nullptr;
  TRAINBENCH_CUDA(cudaGraphInstantiateWithFlags(&exec, graph.get(), 0));
  GraphExec result(exec, count_kernels(graph.get()));
  // Else the first launch would pay for it.
  TRAINBENCH_CUDA(cudaGraphUpload(exec, stream.get()));
  return result;
}

}  // namespace trainbench::gpu
