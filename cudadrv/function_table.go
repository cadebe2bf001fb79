package cudadrv

import "fmt"

// Proc calls one driver function. args are the C arguments, each widened to a machine word, in the order of the driver's
// declaration. Only the low 32 bits of the result are used: they are the code.
//
// A pointer argument is an address. The memory stays alive and does not move until Proc returns; [View] reads and writes it from
// Go. Proc must not keep args.
//
// If C takes a structure by value, as cuIpcOpenMemHandle takes its handle, the argument is a pointer to it.
type Proc func(args []uintptr) uintptr

// FunctionTable provides a [Driver] with its functions. [Open] fills one from the driver library. A test or a simulated device
// fills one with Go functions.
type FunctionTable struct {
	// Lookup returns the function with an exported name, or false. The name includes the version suffix ("cuMemAlloc_v2"), so
	// each name has one signature. version is the first CUDA version with the function, as cuGetProcAddress expects it (3020 for
	// 3.2).
	Lookup func(name string, version int) (Proc, bool)

	// Path is the source of the functions for messages: a file name, or another text.
	Path string

	// NCCL opens NVIDIA's library that sums over several devices. Its Lookup finds functions by name, with version 0. It is
	// called when NCCL is first needed. It may be nil if there is no library.
	NCCL func() (*FunctionTable, error)

	// NVDEC opens NVIDIA's library that decodes video, as NCCL does for sums.
	NVDEC func() (*FunctionTable, error)
}

// Wrap returns a table in which fn replaces every function. fn receives the exported name and the original function. Use it to
// inject errors or to count calls.
func (t *FunctionTable) Wrap(fn func(name string, next Proc) Proc) *FunctionTable {
	return &FunctionTable{Path: t.Path, NCCL: t.NCCL, NVDEC: t.NVDEC, Lookup: func(name string, version int) (Proc, bool) {
		p, ok := t.Lookup(name, version)
		if !ok {
			return nil, false
		}
		return fn(name, p), true
	}}
}

// symbol is one of the list of driver functions.
type symbol struct {
	name     string // as exported
	since    int    // CUDA version of this very signature
	required bool   // else used where present
}

// slot is an index of symbols.
type slot int

const (
	fnInit slot = iota
	fnDriverGetVersion
	fnGetErrorName
	fnGetErrorString
	fnDeviceGetCount
	fnDeviceGet
	fnDeviceGetName
	fnDeviceGetUUID
	fnDeviceGetPCIBusID
	fnDeviceTotalMem
	fnDeviceGetAttribute
	fnDeviceCanAccessPeer
	fnPrimaryCtxRetain
	fnPrimaryCtxRelease
	fnCtxPush
	fnCtxPop
	fnCtxSynchronize
	fnCtxStreamPriorityRange
	fnMemGetInfo
	fnMemAlloc
	fnMemFree
	fnIpcGetMemHandle
	fnIpcOpenMemHandle
	fnIpcCloseMemHandle
	fnMemHostAlloc
	fnMemFreeHost
	fnMemHostGetDevicePointer
	fnMemHostRegister
	fnMemHostUnregister
	fnMemAllocAsync
	fnMemFreeAsync
	fnDeviceGetMemPool
	fnMemPoolSetAttribute
	fnMemPoolGetAttribute
	fnMemPoolTrimTo
	fnMemPoolSetAccess
	fnMemcpyHtoDAsync
	fnMemcpyDtoHAsync
	fnMemcpyDtoDAsync
	fnMemcpy2DAsync
	fnMemsetD8Async
	fnMemsetD32Async
	fnStreamCreate
	fnStreamDestroy
	fnStreamSynchronize
	fnStreamQuery
	fnStreamWaitEvent
	fnEventCreate
	fnEventDestroy
	fnEventRecord
	fnEventQuery
	fnEventSynchronize
	fnEventElapsedTime
	fnModuleLoadDataEx
	fnModuleUnload
	fnModuleGetFunction
	fnLibraryLoadData
	fnLibraryUnload
	fnLibraryGetKernel
	fnLibraryGetModule
	fnKernelGetFunction
	fnKernelGetAttribute
	fnKernelSetAttribute
	fnKernelGetParamInfo
	fnFuncGetParamInfo
	fnFuncGetAttribute
	fnFuncSetAttribute
	fnOccupancyMaxBlocks
	fnLaunchKernel
	fnLaunchKernelEx
	fnStreamBeginCapture
	fnStreamEndCapture
	fnGraphInstantiate
	fnGraphLaunch
	fnGraphExecDestroy
	fnGraphDestroy
	fnGraphExecUpdate
	fnGraphExecUpdateV1
	fnGraphGetNodes
	slotCount
)

// symbols lists every driver function that the package can call. Signatures and versions are those of
// the CUDA driver API reference.
var symbols = [slotCount]symbol{
	fnInit:                    {"cuInit", 2000, true},
	fnDriverGetVersion:        {"cuDriverGetVersion", 2020, true},
	fnGetErrorName:            {"cuGetErrorName", 6000, false},
	fnGetErrorString:          {"cuGetErrorString", 6000, false},
	fnDeviceGetCount:          {"cuDeviceGetCount", 2000, true},
	fnDeviceGet:               {"cuDeviceGet", 2000, true},
	fnDeviceGetName:           {"cuDeviceGetName", 2000, true},
	fnDeviceGetUUID:           {"cuDeviceGetUuid_v2", 11040, false},
	fnDeviceGetPCIBusID:       {"cuDeviceGetPCIBusId", 4010, false},
	fnDeviceTotalMem:          {"cuDeviceTotalMem_v2", 3020, true},
	fnDeviceGetAttribute:      {"cuDeviceGetAttribute", 2000, true},
	fnDeviceCanAccessPeer:     {"cuDeviceCanAccessPeer", 4000, false},
	fnPrimaryCtxRetain:        {"cuDevicePrimaryCtxRetain", 7000, true},
	fnPrimaryCtxRelease:       {"cuDevicePrimaryCtxRelease_v2", 11000, true},
	fnCtxPush:                 {"cuCtxPushCurrent_v2", 4000, true},
	fnCtxPop:                  {"cuCtxPopCurrent_v2", 4000, true},
	fnCtxSynchronize:          {"cuCtxSynchronize", 2000, true},
	fnCtxStreamPriorityRange:  {"cuCtxGetStreamPriorityRange", 5050, false},
	fnMemGetInfo:              {"cuMemGetInfo_v2", 3020, true},
	fnMemAlloc:                {"cuMemAlloc_v2", 3020, true},
	fnMemFree:                 {"cuMemFree_v2", 3020, true},
	fnIpcGetMemHandle:         {"cuIpcGetMemHandle", 4010, false},
	fnIpcOpenMemHandle:        {"cuIpcOpenMemHandle_v2", 11000, false},
	fnIpcCloseMemHandle:       {"cuIpcCloseMemHandle", 4010, false},
	fnMemHostAlloc:            {"cuMemHostAlloc", 2020, true},
	fnMemFreeHost:             {"cuMemFreeHost", 2000, true},
	fnMemHostGetDevicePointer: {"cuMemHostGetDevicePointer_v2", 3020, true},
	fnMemHostRegister:         {"cuMemHostRegister_v2", 6050, false},
	fnMemHostUnregister:       {"cuMemHostUnregister", 4000, false},
	fnMemAllocAsync:           {"cuMemAllocAsync", 11020, false},
	fnMemFreeAsync:            {"cuMemFreeAsync", 11020, false},
	fnDeviceGetMemPool:        {"cuDeviceGetMemPool", 11020, false},
	fnMemPoolSetAttribute:     {"cuMemPoolSetAttribute", 11020, false},
	fnMemPoolGetAttribute:     {"cuMemPoolGetAttribute", 11020, false},
	fnMemPoolTrimTo:           {"cuMemPoolTrimTo", 11020, false},
	fnMemPoolSetAccess:        {"cuMemPoolSetAccess", 11020, false},
	fnMemcpyHtoDAsync:         {"cuMemcpyHtoDAsync_v2", 3020, true},
	fnMemcpyDtoHAsync:         {"cuMemcpyDtoHAsync_v2", 3020, true},
	fnMemcpyDtoDAsync:         {"cuMemcpyDtoDAsync_v2", 3020, true},
	fnMemcpy2DAsync:           {"cuMemcpy2DAsync_v2", 3020, false},
	fnMemsetD8Async:           {"cuMemsetD8Async", 3020, true},
	fnMemsetD32Async:          {"cuMemsetD32Async", 3020, true},
	fnStreamCreate:            {"cuStreamCreateWithPriority", 5050, true},
	fnStreamDestroy:           {"cuStreamDestroy_v2", 4000, true},
	fnStreamSynchronize:       {"cuStreamSynchronize", 2000, true},
	fnStreamQuery:             {"cuStreamQuery", 2000, true},
	fnStreamWaitEvent:         {"cuStreamWaitEvent", 3020, true},
	fnEventCreate:             {"cuEventCreate", 2000, true},
	fnEventDestroy:            {"cuEventDestroy_v2", 4000, true},
	fnEventRecord:             {"cuEventRecord", 2000, true},
	fnEventQuery:              {"cuEventQuery", 2000, true},
	fnEventSynchronize:        {"cuEventSynchronize", 2000, true},
	fnEventElapsedTime:        {"cuEventElapsedTime", 2000, false},
	fnModuleLoadDataEx:        {"cuModuleLoadDataEx", 2010, true},
	fnModuleUnload:            {"cuModuleUnload", 2000, true},
	fnModuleGetFunction:       {"cuModuleGetFunction", 2000, true},
	fnLibraryLoadData:         {"cuLibraryLoadData", 12000, false},
	fnLibraryUnload:           {"cuLibraryUnload", 12000, false},
	fnLibraryGetKernel:        {"cuLibraryGetKernel", 12000, false},
	fnLibraryGetModule:        {"cuLibraryGetModule", 12000, false},
	fnKernelGetFunction:       {"cuKernelGetFunction", 12000, false},
	fnKernelGetAttribute:      {"cuKernelGetAttribute", 12000, false},
	fnKernelSetAttribute:      {"cuKernelSetAttribute", 12000, false},
	fnKernelGetParamInfo:      {"cuKernelGetParamInfo", 12040, false},
	fnFuncGetParamInfo:        {"cuFuncGetParamInfo", 12040, false},
	fnFuncGetAttribute:        {"cuFuncGetAttribute", 2020, true},
	fnFuncSetAttribute:        {"cuFuncSetAttribute", 9000, true},
	fnOccupancyMaxBlocks:      {"cuOccupancyMaxActiveBlocksPerMultiprocessor", 6050, false},
	fnLaunchKernel:            {"cuLaunchKernel", 4000, true},
	fnLaunchKernelEx:          {"cuLaunchKernelEx", 11060, false},
	fnStreamBeginCapture:      {"cuStreamBeginCapture_v2", 10010, false},
	fnStreamEndCapture:        {"cuStreamEndCapture", 10000, false},
	fnGraphInstantiate:        {"cuGraphInstantiateWithFlags", 11040, false},
	fnGraphLaunch:             {"cuGraphLaunch", 10000, false},
	fnGraphExecDestroy:        {"cuGraphExecDestroy", 10000, false},
	fnGraphDestroy:            {"cuGraphDestroy", 10000, false},
	fnGraphExecUpdate:         {"cuGraphExecUpdate_v2", 12000, false},
	fnGraphExecUpdateV1:       {"cuGraphExecUpdate", 10020, false},
	fnGraphGetNodes:           {"cuGraphGetNodes", 10000, false},
}

// MinVersion is the oldest supported driver version: CUDA 11.8, driver 520.
const MinVersion = 11080

// FormatVersion formats a CUDA version number in the usual way: 12040 is "12.4".
func FormatVersion(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// call runs one driver function. It answers codeMissing where the driver does not have it.
// args are copied into f, so that the call allocates nothing.
func (d *Driver) call(s slot, f *frame, args ...uintptr) Code {
	p := d.procs[s]
	if p == nil {
		return codeMissing
	}
	n := copy(f.args[:], args)
	return Code(int32(p(f.args[:n])))
}

// has reports whether the driver has all of the functions.
func (d *Driver) has(slots ...slot) bool {
	for _, s := range slots {
		if d.procs[s] == nil {
			return false
		}
	}
	return true
}
