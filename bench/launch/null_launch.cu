// Times launches of an empty kernel from C++, as BenchmarkNullLaunch of package cudadrv does from Go: batches of 1000
// launches on one non-blocking stream and one wait; printed is the median over the batches, in microseconds a launch.
//
//   nvcc -O3 -o null_launch null_launch.cu -lcuda && ./null_launch
//
// driver_us is cuLaunchKernel, which Go calls too; runtime_us is the <<<>>> of the CUDA runtime; graph_us is
// cuGraphLaunch of a graph with that one kernel.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>

static const char *ptx =
    ".version 7.8\n"
    ".target sm_80\n"
    ".address_size 64\n"
    ".visible .entry null()\n"
    "{\n"
    "\tret;\n"
    "}\n";

__global__ void null_runtime() {}

static void check(int code, const char *what) {
    if (code != 0) {
        std::fprintf(stderr, "null_launch: %s: error %d\n", what, code);
        std::exit(1);
    }
}

template <class Launch, class Wait>
static double median_us(int batches, Launch launch, Wait wait) {
    const int batch = 1000;
    std::vector<double> took;
    for (int i = -20; i < batches; i++) {  // the first 20 warm up
        auto start = std::chrono::steady_clock::now();
        for (int j = 0; j < batch; j++) check(launch(), "launch");
        check(wait(), "wait");
        auto end = std::chrono::steady_clock::now();
        if (i >= 0) took.push_back(std::chrono::duration<double, std::micro>(end - start).count() / batch);
    }
    std::sort(took.begin(), took.end());
    return took[took.size() / 2];
}

int main(int argc, char **argv) {
    const int batches = argc > 1 ? std::atoi(argv[1]) : 300;
    if (batches < 1) {
        std::fprintf(stderr, "usage: null_launch [BATCHES]\n");
        return 2;
    }
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction kernel;
    CUstream stream;
    check(cuInit(0), "cuInit");
    check(cuDeviceGet(&device, 0), "cuDeviceGet");
    check(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    check(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    check(cuModuleLoadData(&module, ptx), "cuModuleLoadData");
    check(cuModuleGetFunction(&kernel, module, "null"), "cuModuleGetFunction");
    check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");

    auto launch = [&] { return cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr); };
    auto wait = [&] { return cuStreamSynchronize(stream); };
    double driver = median_us(batches, launch, wait);
    double runtime = median_us(batches, [&] { null_runtime<<<1, 1, 0, stream>>>(); return cudaGetLastError(); }, wait);

    CUgraph graph;
    CUgraphExec exec;
    check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "cuStreamBeginCapture");
    check(launch(), "launch");
    check(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
    check(cuGraphInstantiateWithFlags(&exec, graph, 0), "cuGraphInstantiateWithFlags");
    double replay = median_us(batches, [&] { return cuGraphLaunch(exec, stream); }, wait);

    std::printf("batches=%d driver_us=%.3f runtime_us=%.3f graph_us=%.3f\n", batches, driver, runtime, replay);
    return 0;
}
