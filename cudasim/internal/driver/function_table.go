package driver

import "github.com/robocache/robocache/cudadrv"

// FunctionTable returns the function table of the driver, which all its devices share.
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

// Common conditions of calls.
const (
	needDevice = needInit | needHealthy
	needBound  = needInit | needContext | needHealthy
)

// entries lists the functions of the simulated driver by exported name.
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
		"cuCtxPushCurrent_v2":          {1, needInit, current, typed(0, cudadrv.ErrInvalidContext, cuCtxPushCurrent)},
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
		"cuMemAllocAsync":              onHandle(3, needDevice, 2, cuMemAllocAsync),
		"cuMemFreeAsync":               onHandle(2, needDevice, 1, cuMemFreeAsync),
		"cuDeviceGetMemPool":           {2, needInit, ordinal(1), cuDeviceGetMemPool},
		"cuMemPoolSetAttribute":        onValue(3, needInit, 0, cuMemPoolSetAttribute),
		"cuMemPoolGetAttribute":        onValue(3, needInit, 0, cuMemPoolGetAttribute),
		"cuMemPoolSetAccess":           onValue(3, needInit, 0, cuMemPoolSetAccess),
		"cuMemPoolTrimTo":              onValue(2, needInit, 0, cuMemPoolTrimTo),

		"cuMemcpyHtoDAsync_v2": onHandle(4, needDevice, 3, cuMemcpyHtoDAsync),
		"cuMemcpyDtoHAsync_v2": onHandle(4, needDevice, 3, cuMemcpyDtoHAsync),
		"cuMemcpyDtoDAsync_v2": onHandle(4, needDevice, 3, cuMemcpyDtoDAsync),
		"cuMemcpy2DAsync_v2":   onHandle(2, needDevice, 1, cuMemcpy2DAsync),
		"cuMemsetD8Async":      onHandle(4, needDevice, 3, cuMemsetD8Async),
		"cuMemsetD32Async":     onHandle(4, needDevice, 3, cuMemsetD32Async),

		"cuStreamCreateWithPriority": {3, needBound, current, cuStreamCreateWithPriority},
		"cuStreamDestroy_v2":         onHandle(1, needInit, 0, cuStreamDestroy),
		"cuStreamSynchronize":        onHandle(1, needDevice, 0, cuStreamSynchronize),
		"cuStreamQuery":              onHandle(1, needDevice, 0, cuStreamQuery),
		"cuStreamWaitEvent":          onHandle(3, needDevice, 0, cuStreamWaitEvent),
		"cuEventCreate":              {2, needBound, current, cuEventCreate},
		"cuEventDestroy_v2":          onHandle(1, needInit, 0, cuEventDestroy),
		"cuEventRecord":              onHandle(2, needDevice, 0, cuEventRecord),
		"cuEventQuery":               onHandle(1, needDevice, 0, cuEventQuery),
		"cuEventSynchronize":         onHandle(1, needDevice, 0, cuEventSynchronize),
		"cuEventElapsedTime":         {3, needDevice, handle(1), cuEventElapsedTime},

		"cuModuleLoadDataEx":                          {5, needBound, current, cuModuleLoadDataEx},
		"cuModuleUnload":                              onHandle(1, needInit|needContext, 0, cuModuleUnload),
		"cuModuleGetFunction":                         onHandle(3, needBound, 1, cuModuleGetFunction),
		"cuLibraryLoadData":                           {8, needDevice, current, cuLibraryLoadData},
		"cuLibraryUnload":                             onHandle(1, needInit, 0, cuLibraryUnload),
		"cuLibraryGetKernel":                          onHandle(3, needDevice, 1, cuLibraryGetKernel),
		"cuLibraryGetModule":                          onHandle(2, needBound, 1, cuLibraryGetModule),
		"cuKernelGetFunction":                         onHandle(2, needBound, 1, cuKernelGetFunction),
		"cuKernelGetAttribute":                        {4, needDevice, ordinal(3), typed(2, cudadrv.ErrInvalidHandle, cuFuncGetAttribute)},
		"cuKernelSetAttribute":                        {4, needDevice, ordinal(3), typed(2, cudadrv.ErrInvalidHandle, cuKernelSetAttribute)},
		"cuKernelGetParamInfo":                        onHandle(4, needDevice, 0, cuGetParamInfo),
		"cuFuncGetParamInfo":                          onHandle(4, needDevice, 0, cuGetParamInfo),
		"cuFuncGetAttribute":                          onHandle(3, needDevice, 2, cuFuncGetAttribute),
		"cuFuncSetAttribute":                          onHandle(3, needDevice, 0, cuFuncSetAttribute),
		"cuOccupancyMaxActiveBlocksPerMultiprocessor": onHandle(4, needDevice, 1, cuOccupancyMaxActiveBlocksPerMultiprocessor),
		"cuLaunchKernel":                              {11, needDevice, handle(8), cuLaunchKernel},
		"cuLaunchKernelEx":                            {4, needDevice, configured, cuLaunchKernelEx},

		"cuStreamBeginCapture_v2":     onHandle(2, needDevice, 0, cuStreamBeginCapture),
		"cuStreamEndCapture":          onHandle(2, needInit, 0, cuStreamEndCapture),
		"cuGraphInstantiateWithFlags": onValue(3, needBound, 1, cuGraphInstantiateWithFlags),
		"cuGraphLaunch":               {2, needDevice, handle(1), typed(0, cudadrv.ErrInvalidValue, cuGraphLaunch)},
		"cuGraphExecDestroy":          onValue(1, needInit, 0, destroy[*graphExec]),
		"cuGraphDestroy":              onValue(1, needInit, 0, destroy[*graph]),
		"cuGraphExecUpdate_v2":        onValue(3, needBound, 0, cuGraphExecUpdate),
		"cuGraphExecUpdate":           onValue(4, needBound, 0, cuGraphExecUpdateV1),
		"cuGraphGetNodes":             onValue(3, needInit, 0, cuGraphGetNodes),
	}
}
