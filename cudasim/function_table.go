package cudasim

// What most calls need.
const (
	needDevice = needInit | needHealthy
	needBound  = needInit | needContext | needHealthy
)

// entries lists the functions that the simulated device has, by exported name.
var entries map[string]entry

func init() {
	entries = map[string]entry{
		"cuInit":             {1, 0, cuInit},
		"cuDriverGetVersion": {1, 0, cuDriverGetVersion},
		"cuGetErrorName":     {2, 0, cuGetErrorName},
		"cuGetErrorString":   {2, 0, cuGetErrorString},

		"cuDeviceGetCount":             {1, needInit, cuDeviceGetCount},
		"cuDeviceGet":                  {2, needInit, cuDeviceGet},
		"cuDeviceGetName":              {3, needInit, cuDeviceGetName},
		"cuDeviceGetUuid_v2":           {2, needInit, cuDeviceGetUUID},
		"cuDeviceGetPCIBusId":          {3, needInit, cuDeviceGetPCIBusID},
		"cuDeviceTotalMem_v2":          {2, needInit, cuDeviceTotalMem},
		"cuDeviceGetAttribute":         {3, needInit, cuDeviceGetAttribute},
		"cuDevicePrimaryCtxRetain":     {2, needDevice, cuDevicePrimaryCtxRetain},
		"cuDevicePrimaryCtxRelease_v2": {1, needInit, cuDevicePrimaryCtxRelease},
		"cuCtxPushCurrent_v2":          {1, needInit, cuCtxPushCurrent},
		"cuCtxPopCurrent_v2":           {1, needInit, cuCtxPopCurrent},
		"cuCtxSynchronize":             {0, needBound, cuCtxSynchronize},
		"cuCtxGetStreamPriorityRange":  {2, needBound, cuCtxGetStreamPriorityRange},

		"cuMemGetInfo_v2":              {2, needBound, cuMemGetInfo},
		"cuMemAlloc_v2":                {2, needBound | needSafe, cuMemAlloc},
		"cuMemFree_v2":                 {1, needBound | needSafe, cuMemFree},
		"cuMemHostAlloc":               {3, needBound | needSafe, cuMemHostAlloc},
		"cuMemFreeHost":                {1, needBound | needSafe, cuMemFreeHost},
		"cuMemHostGetDevicePointer_v2": {3, needBound, cuMemHostGetDevicePointer},
		"cuMemHostRegister_v2":         {3, needBound | needSafe, cuMemHostRegister},
		"cuMemHostUnregister":          {1, needBound | needSafe, cuMemHostUnregister},
		"cuMemAllocAsync":              {3, needDevice, cuMemAllocAsync},
		"cuMemFreeAsync":               {2, needDevice, cuMemFreeAsync},
		"cuDeviceGetMemPool":           {2, needInit, cuDeviceGetMemPool},
		"cuMemPoolSetAttribute":        {3, needInit, cuMemPoolSetAttribute},
		"cuMemPoolGetAttribute":        {3, needInit, cuMemPoolGetAttribute},
		"cuMemPoolTrimTo":              {2, needInit, cuMemPoolTrimTo},

		"cuMemcpyHtoDAsync_v2": {4, needDevice, cuMemcpyHtoDAsync},
		"cuMemcpyDtoHAsync_v2": {4, needDevice, cuMemcpyDtoHAsync},
		"cuMemcpyDtoDAsync_v2": {4, needDevice, cuMemcpyDtoDAsync},
		"cuMemcpy2DAsync_v2":   {2, needDevice, cuMemcpy2DAsync},
		"cuMemsetD8Async":      {4, needDevice, cuMemsetD8Async},
		"cuMemsetD32Async":     {4, needDevice, cuMemsetD32Async},

		"cuStreamCreateWithPriority": {3, needBound, cuStreamCreateWithPriority},
		"cuStreamDestroy_v2":         {1, needInit, cuStreamDestroy},
		"cuStreamSynchronize":        {1, needDevice, cuStreamSynchronize},
		"cuStreamQuery":              {1, needDevice, cuStreamQuery},
		"cuStreamWaitEvent":          {3, needDevice, cuStreamWaitEvent},
		"cuEventCreate":              {2, needBound, cuEventCreate},
		"cuEventDestroy_v2":          {1, needInit, cuEventDestroy},
		"cuEventRecord":              {2, needDevice, cuEventRecord},
		"cuEventQuery":               {1, needDevice, cuEventQuery},
		"cuEventSynchronize":         {1, needDevice, cuEventSynchronize},
		"cuEventElapsedTime":         {3, needDevice, cuEventElapsedTime},

		"cuModuleLoadDataEx":                          {5, needBound, cuModuleLoadDataEx},
		"cuModuleUnload":                              {1, needInit | needContext, cuModuleUnload},
		"cuModuleGetFunction":                         {3, needBound, cuModuleGetFunction},
		"cuLibraryLoadData":                           {8, needDevice, cuLibraryLoadData},
		"cuLibraryUnload":                             {1, needInit, cuLibraryUnload},
		"cuLibraryGetKernel":                          {3, needDevice, cuLibraryGetKernel},
		"cuLibraryGetModule":                          {2, needBound, cuLibraryGetModule},
		"cuKernelGetFunction":                         {2, needBound, cuKernelGetFunction},
		"cuKernelGetAttribute":                        {4, needDevice, cuKernelGetAttribute},
		"cuKernelSetAttribute":                        {4, needDevice, cuKernelSetAttribute},
		"cuKernelGetParamInfo":                        {4, needDevice, cuGetParamInfo},
		"cuFuncGetParamInfo":                          {4, needDevice, cuGetParamInfo},
		"cuFuncGetAttribute":                          {3, needDevice, cuFuncGetAttribute},
		"cuFuncSetAttribute":                          {3, needDevice, cuFuncSetAttribute},
		"cuOccupancyMaxActiveBlocksPerMultiprocessor": {4, needDevice, cuOccupancyMaxActiveBlocksPerMultiprocessor},
		"cuLaunchKernel":                              {11, needDevice, cuLaunchKernel},
		"cuLaunchKernelEx":                            {4, needDevice, cuLaunchKernelEx},

		"cuStreamBeginCapture_v2":           {2, needDevice, cuStreamBeginCapture},
		"cuStreamEndCapture":                {2, needInit, cuStreamEndCapture},
		"cuStreamGetCaptureInfo_v2":         {6, needDevice, cuStreamGetCaptureInfo},
		"cuStreamGetCaptureInfo_v3":         {7, needDevice, cuStreamGetCaptureInfoV3},
		"cuGraphInstantiateWithFlags":       {3, needBound, cuGraphInstantiateWithFlags},
		"cuGraphLaunch":                     {2, needDevice, cuGraphLaunch},
		"cuGraphExecDestroy":                {1, needInit, cuGraphExecDestroy},
		"cuGraphDestroy":                    {1, needInit, cuGraphDestroy},
		"cuGraphExecUpdate_v2":              {3, needBound, cuGraphExecUpdate},
		"cuGraphExecUpdate":                 {4, needBound, cuGraphExecUpdateV1},
		"cuGraphGetNodes":                   {3, needInit, cuGraphGetNodes},
		"cuGraphExecKernelNodeSetParams_v2": {3, needBound, cuGraphExecKernelNodeSetParams},
		"cuGraphExecKernelNodeSetParams":    {3, needBound, cuGraphExecKernelNodeSetParamsV1},
	}
}
