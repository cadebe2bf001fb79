package driver

import "github.com/robocache/robocache/cudadrv"

// FunctionTable is the driver's function table, that of all its devices.
func (d *Device) FunctionTable() *cudadrv.FunctionTable {
	return &cudadrv.FunctionTable{Path: "simulated by package cudasim", NCCL: d.driver.nccl,
		Lookup: func(name string, version int) (cudadrv.Proc, bool) {
			e, ok := entries[name]
			if !ok || version > CUDAVersion {
				return nil, false
			}
			return func(args []uintptr) uintptr { return uintptr(uint32(d.driver.call(&e, args))) }, true
		}}
}

// What most calls need.
const (
	needDevice = needInit | needHealthy
	needBound  = needInit | needContext | needHealthy
)

// entries lists the functions that the simulated device has, by exported name.
var entries map[string]entry

func init() {
	entries = map[string]entry{
		"cuInit":             {1, 0, current, cuInit},
		"cuDriverGetVersion": {1, 0, current, cuDriverGetVersion},
		"cuGetErrorName":     {2, 0, current, cuGetErrorName},
		"cuGetErrorString":   {2, 0, current, cuGetErrorString},

		"cuDeviceGetCount":             {1, needInit, current, cuDeviceGetCount},
		"cuDeviceGet":                  {2, needInit, ordinal(1), cuDeviceGet},
		"cuDeviceGetName":              {3, needInit, ordinal(2), cuDeviceGetName},
		"cuDeviceGetUuid_v2":           {2, needInit, ordinal(1), cuDeviceGetUUID},
		"cuDeviceGetPCIBusId":          {3, needInit, ordinal(2), cuDeviceGetPCIBusID},
		"cuDeviceCanAccessPeer":        {3, needInit, ordinal(1), cuDeviceCanAccessPeer},
		"cuDeviceTotalMem_v2":          {2, needInit, ordinal(1), cuDeviceTotalMem},
		"cuDeviceGetAttribute":         {3, needInit, ordinal(2), cuDeviceGetAttribute},
		"cuDevicePrimaryCtxRetain":     {2, needDevice, ordinal(1), cuDevicePrimaryCtxRetain},
		"cuDevicePrimaryCtxRelease_v2": {1, needInit, ordinal(0), cuDevicePrimaryCtxRelease},
		"cuCtxPushCurrent_v2":          {1, needInit, current, cuCtxPushCurrent},
		"cuCtxPopCurrent_v2":           {1, needInit, current, cuCtxPopCurrent},
		"cuCtxSynchronize":             {0, needBound, current, cuCtxSynchronize},
		"cuCtxGetStreamPriorityRange":  {2, needBound, current, cuCtxGetStreamPriorityRange},

		"cuMemGetInfo_v2":              {2, needBound, current, cuMemGetInfo},
		"cuMemAlloc_v2":                {2, needBound | needSafe, current, cuMemAlloc},
		"cuMemFree_v2":                 {1, needBound | needSafe, current, cuMemFree},
		"cuIpcGetMemHandle":            {2, needBound | needSafe, current, cuIpcGetMemHandle},
		"cuIpcOpenMemHandle_v2":        {3, needBound | needSafe, current, cuIpcOpenMemHandle},
		"cuIpcCloseMemHandle":          {1, needBound | needSafe, current, cuIpcCloseMemHandle},
		"cuMemHostAlloc":               {3, needBound | needSafe, current, cuMemHostAlloc},
		"cuMemFreeHost":                {1, needBound | needSafe, current, cuMemFreeHost},
		"cuMemHostGetDevicePointer_v2": {3, needBound, current, cuMemHostGetDevicePointer},
		"cuMemHostRegister_v2":         {3, needBound | needSafe, current, cuMemHostRegister},
		"cuMemHostUnregister":          {1, needBound | needSafe, current, cuMemHostUnregister},
		"cuMemAllocAsync":              {3, needDevice, handle(2), cuMemAllocAsync},
		"cuMemFreeAsync":               {2, needDevice, handle(1), cuMemFreeAsync},
		"cuDeviceGetMemPool":           {2, needInit, ordinal(1), cuDeviceGetMemPool},
		"cuMemPoolSetAttribute":        {3, needInit, handle(0), cuMemPoolSetAttribute},
		"cuMemPoolGetAttribute":        {3, needInit, handle(0), cuMemPoolGetAttribute},
		"cuMemPoolSetAccess":           {3, needInit, handle(0), cuMemPoolSetAccess},
		"cuMemPoolTrimTo":              {2, needInit, handle(0), cuMemPoolTrimTo},

		"cuMemcpyHtoDAsync_v2": {4, needDevice, handle(3), cuMemcpyHtoDAsync},
		"cuMemcpyDtoHAsync_v2": {4, needDevice, handle(3), cuMemcpyDtoHAsync},
		"cuMemcpyDtoDAsync_v2": {4, needDevice, handle(3), cuMemcpyDtoDAsync},
		"cuMemcpy2DAsync_v2":   {2, needDevice, handle(1), cuMemcpy2DAsync},
		"cuMemsetD8Async":      {4, needDevice, handle(3), cuMemsetD8Async},
		"cuMemsetD32Async":     {4, needDevice, handle(3), cuMemsetD32Async},

		"cuStreamCreateWithPriority": {3, needBound, current, cuStreamCreateWithPriority},
		"cuStreamDestroy_v2":         {1, needInit, handle(0), cuStreamDestroy},
		"cuStreamSynchronize":        {1, needDevice, handle(0), cuStreamSynchronize},
		"cuStreamQuery":              {1, needDevice, handle(0), cuStreamQuery},
		"cuStreamWaitEvent":          {3, needDevice, handle(0), cuStreamWaitEvent},
		"cuEventCreate":              {2, needBound, current, cuEventCreate},
		"cuEventDestroy_v2":          {1, needInit, handle(0), cuEventDestroy},
		"cuEventRecord":              {2, needDevice, handle(0), cuEventRecord},
		"cuEventQuery":               {1, needDevice, handle(0), cuEventQuery},
		"cuEventSynchronize":         {1, needDevice, handle(0), cuEventSynchronize},
		"cuEventElapsedTime":         {3, needDevice, handle(1), cuEventElapsedTime},

		"cuModuleLoadDataEx":                          {5, needBound, current, cuModuleLoadDataEx},
		"cuModuleUnload":                              {1, needInit | needContext, handle(0), cuModuleUnload},
		"cuModuleGetFunction":                         {3, needBound, handle(1), cuModuleGetFunction},
		"cuLibraryLoadData":                           {8, needDevice, current, cuLibraryLoadData},
		"cuLibraryUnload":                             {1, needInit, handle(0), cuLibraryUnload},
		"cuLibraryGetKernel":                          {3, needDevice, handle(1), cuLibraryGetKernel},
		"cuLibraryGetModule":                          {2, needBound, handle(1), cuLibraryGetModule},
		"cuKernelGetFunction":                         {2, needBound, handle(1), cuKernelGetFunction},
		"cuKernelGetAttribute":                        {4, needDevice, ordinal(3), cuKernelGetAttribute},
		"cuKernelSetAttribute":                        {4, needDevice, ordinal(3), cuKernelSetAttribute},
		"cuKernelGetParamInfo":                        {4, needDevice, handle(0), cuGetParamInfo},
		"cuFuncGetParamInfo":                          {4, needDevice, handle(0), cuGetParamInfo},
		"cuFuncGetAttribute":                          {3, needDevice, handle(2), cuFuncGetAttribute},
		"cuFuncSetAttribute":                          {3, needDevice, handle(0), cuFuncSetAttribute},
		"cuOccupancyMaxActiveBlocksPerMultiprocessor": {4, needDevice, handle(1), cuOccupancyMaxActiveBlocksPerMultiprocessor},
		"cuLaunchKernel":                              {11, needDevice, handle(8), cuLaunchKernel},
		"cuLaunchKernelEx":                            {4, needDevice, configured, cuLaunchKernelEx},

		"cuStreamBeginCapture_v2":           {2, needDevice, handle(0), cuStreamBeginCapture},
		"cuStreamEndCapture":                {2, needInit, handle(0), cuStreamEndCapture},
		"cuStreamGetCaptureInfo_v2":         {6, needDevice, handle(0), cuStreamGetCaptureInfo},
		"cuStreamGetCaptureInfo_v3":         {7, needDevice, handle(0), cuStreamGetCaptureInfoV3},
		"cuGraphInstantiateWithFlags":       {3, needBound, handle(1), cuGraphInstantiateWithFlags},
		"cuGraphLaunch":                     {2, needDevice, handle(1), cuGraphLaunch},
		"cuGraphExecDestroy":                {1, needInit, handle(0), cuGraphExecDestroy},
		"cuGraphDestroy":                    {1, needInit, handle(0), cuGraphDestroy},
		"cuGraphExecUpdate_v2":              {3, needBound, handle(0), cuGraphExecUpdate},
		"cuGraphExecUpdate":                 {4, needBound, handle(0), cuGraphExecUpdateV1},
		"cuGraphGetNodes":                   {3, needInit, handle(0), cuGraphGetNodes},
		"cuGraphExecKernelNodeSetParams_v2": {3, needBound, handle(0), cuGraphExecKernelNodeSetParams},
		"cuGraphExecKernelNodeSetParams":    {3, needBound, handle(0), cuGraphExecKernelNodeSetParamsV1},
	}
}
