package robocache_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

// purego is the module that must stay out of programs that use no GPU: with cgo off it makes the binary a dynamic one.
const purego = "github.com/ebitengine/purego"

// rules says what the packages of each folder may import besides the standard library, tests apart. A rule is for its folder
// and those below it, unless those have a rule of their own. An entry ending in /... allows what lies below as well. "public"
// stands for every package of this module that is not internal, main or an example.
var rules = map[string][]string{
	".":                       {},
	"tensor":                  {"internal/errs", "internal/memory"},
	"ops":                     {"tensor", "ops/backend", "ops/cpu", "internal/taps"},
	"ops/backend":             {"tensor", "internal/errs", "internal/taps", "internal/yuv"},
	"ops/cpu":                 {"tensor", "ops/backend", "internal/caught", "internal/fp32", "internal/mapped", "internal/raw", "internal/taps", "internal/tensorcore", "internal/yuv"},
	"ops/cuda":                {"cudadrv", "ptx", "ops", "ops/backend", "tensor", "internal/device", "internal/fp32", "internal/kernels", "internal/tuned"},
	"ops/record":              {"cudadrv", "ptx", "ops", "ops/backend", "ops/cuda", "tensor", "internal/device"},
	"ops/sim":                 {"cudadrv", "cudasim", "ops/backend", "ops/cuda"},
	"cudadrv":                 {purego + "/...", "internal/errs"},
	"cudadrv/nvdec":           {"cudadrv", "internal/video/picture"},
	"cudasim":                 {"cudadrv", "cudasim/internal/driver", "cudasim/internal/exec", "cudasim/report"},
	"nn":                      {"nn/ranks", "tensor", "ops", "ops/backend", "dataset/safetensors"},
	"nn/ranks":                {"internal/fault"},
	"policy":                  {"nn", "nn/ranks", "loader/...", "align", "align/planfile", "dataset/...", "ops", "ops/backend", "tensor", "internal/..."},
	"ptx":                     {"internal/ptxparse"},
	"video/dav1d":             {purego + "/...", "internal/video"},
	"video/nvdec":             {"cudadrv", "cudadrv/nvdec", "internal/video", "internal/video/h264", "internal/video/hevc", "internal/video/picture"},
	"storage":                 {"internal/errs", "internal/fault", "internal/memory"},
	"storage/s3":              {"storage", "github.com/aws/...", "internal/ranged"},
	"storage/hf":              {"storage", "internal/atomicfile", "internal/fault", "internal/ranged"},
	"internal/ranged":         {"storage", "internal/caught"},
	"dataset":                 {"tensor", "dataset/...", "storage", "internal/caught", "internal/errs", "internal/decimal", "internal/inorder", "internal/memory", "internal/nth", "internal/raw", "internal/records", "internal/taps", "internal/text", "internal/video"},
	"internal/logs/message":   {"dataset", "internal/decimal", "internal/raw", "internal/records", "storage", "google.golang.org/protobuf/..."},
	"dataset/mcap":            {"tensor", "dataset/...", "storage", "internal/...", "github.com/klauspost/compress/...", "github.com/pierrec/lz4/...", "google.golang.org/protobuf/..."},
	"dataset/rosbag":          {"dataset/...", "storage", "internal/...", "github.com/pierrec/lz4/..."},
	"dataset/rosbag2":         {"dataset/...", "storage", "internal/...", "github.com/klauspost/compress/...", "github.com/goccy/go-yaml/..."},
	"dataset/rosbag2/sqlite":  {"dataset/...", "storage", "internal/..."},
	"dataset/hdf5":            {"tensor", "dataset/...", "storage", "internal/memory", "internal/raw"},
	"dataset/safetensors":     {"tensor", "dataset/...", "storage", "internal/atomicfile", "internal/mapped", "internal/raw"},
	"dataset/lerobot":         {"tensor", "dataset/...", "storage", "internal/inorder", "internal/orderjson", "internal/parquet", "internal/summary"},
	"dataset/zarr":            {"tensor", "dataset/...", "storage", "internal/atomicfile", "internal/inorder", "internal/memory", "github.com/klauspost/compress/...", "github.com/pierrec/lz4/..."},
	"dataset/internal/unpack": {"github.com/klauspost/compress/..."},
	"internal/schema":         {},
	"internal/sources":        {"storage"},
	"internal/summary":        {},
	"align/planfile":          {"align", "internal/caught", "internal/decimal", "internal/fault", "internal/orderjson", "internal/planorigin", "internal/text", "ops", "tensor", "github.com/goccy/go-yaml/..."},
	"align/depth":             {"align", "dataset", "internal/inorder", "ops", "tensor"},
	"align/suggest":           {"align", "align/planfile", "dataset", "internal/clocks", "internal/columns", "internal/cover", "internal/plausible", "internal/printed", "internal/recognise", "internal/text", "ops"},
	"align":                   {"dataset/...", "internal/arrayfile", "internal/atomicfile", "internal/clocks", "internal/columns", "internal/cover", "internal/errs", "internal/plausible", "internal/planorigin", "internal/precision", "internal/prepared", "internal/printed", "internal/recognise", "internal/text", "ops", "tensor"},
	"loader":                  {"dataset", "dataset/npy", "loader/store", "align", "ops", "stats", "tensor", "internal/caught", "internal/clocks", "internal/columns", "internal/inorder", "internal/plausible", "internal/prepared", "internal/raw", "internal/text", "internal/video", "internal/yuv"},
	"loader/store":            {"dataset/...", "storage", "align", "tensor", "internal/atomicfile", "internal/columns", "internal/inorder", "internal/raw", "internal/sources", "internal/text", "internal/video"},
	"convert":                 {"tensor", "dataset/...", "align", "align/planfile", "ops", "internal/arrayfile", "internal/atomicfile", "internal/clocks", "internal/fault", "internal/inorder", "internal/inspection", "internal/orderjson", "internal/recognise", "internal/schema", "internal/sources", "internal/text", "internal/video"},
	"doctor":                  {"tensor", "dataset/...", "internal/cover", "internal/nth", "internal/plausible", "internal/recognise", "internal/summary", "internal/text"},
	"doctor/page":             {"doctor", "dataset", "dataset/notetext", "internal/text"},
	"stats":                   {"tensor", "dataset/...", "align", "ops", "internal/fault", "internal/inorder", "internal/orderjson", "internal/summary", "internal/text"},
	"view":                    {"tensor", "dataset", "dataset/notetext", "align", "align/suggest", "doctor", "ops", "internal/caught", "internal/cover", "internal/recognise"},
	"surface":                 {"tensor", "dataset", "internal/errs", "internal/inorder"},
	"viz":                     {"tensor", "dataset", "surface", "internal/atomicfile", "internal/errs", "internal/text", "gonum.org/v1/plot/...", "golang.org/x/image/..."},
	"cmd":                     {"public", "internal/...", "cmd/robocache/internal/cli", "github.com/spf13/..."},
	"examples":                {"public"},
	"bench":                   {"public"},
	"scripts":                 {"scripts/...", "internal/atomicfile", "github.com/klauspost/compress/..."},
	"internal/arrayfile":      {"dataset/npz", "dataset/safetensors", "tensor"},
	"internal/atomicfile":     {"internal/fault"},
	"internal/caught":         {},
	"internal/clocks":         {"dataset", "internal/cover", "internal/memory", "internal/text", "ops", "tensor"},
	"internal/columns":        {"dataset", "internal/text"},
	"internal/cover":          {"dataset", "ops", "tensor"},
	"internal/planorigin":     {},
	"internal/precision":      {"dataset", "ops", "tensor"},
	"internal/prepared":       {"dataset", "ops", "tensor"},
	"internal/plausible":      {"dataset", "ops", "tensor"},
	"internal/recognise":      {"dataset", "internal/columns", "tensor"},
	"internal/decimal":        {},
	"internal/device":         {"cudadrv", "internal/raw", "ops/backend", "tensor"},
	"internal/batching":       {"align", "align/depth", "align/planfile", "dataset/...", "internal/clocks", "internal/columns", "internal/cover", "internal/inspection", "internal/recognise", "internal/text", "loader/...", "ops", "storage", "tensor"},
	"internal/benchmark":      {"align", "cudadrv", "dataset", "dataset/mp4", "internal/kernels", "internal/text", "internal/tuned", "internal/video", "loader", "loader/store", "nn", "ops", "ops/backend", "ops/cuda", "ptx", "tensor", "gonum.org/v1/plot/...", "golang.org/x/image/..."},
	"internal/errs":           {},
	"internal/fault":          {},
	"internal/fp32":           {},
	"internal/tensorcore":     {},
	"internal/failure":        {"align", "dataset", "dataset/npz", "internal/batching", "internal/clocks", "internal/memory", "ops", "tensor"},
	"internal/inorder":        {"internal/caught"},
	"internal/inspection":     {"dataset/...", "storage", "internal/printed", "internal/text"},
	"internal/kernels":        {"cudadrv", "ptx"},
	"internal/logs":           {"tensor", "dataset", "storage", "internal/inorder", "internal/logs/...", "internal/memory", "internal/raw", "internal/video"},
	"internal/records":        {"tensor", "dataset", "storage", "internal/decimal", "internal/memory"},
	"internal/test":           {"public", "internal/...", "github.com/stretchr/testify/...", "github.com/johannesboyne/gofakes3/..."},
	"internal/mapped":         {"internal/raw"},
	"internal/memory":         {"internal/errs"},
	"internal/msgpack":        {},
	"internal/nth":            {},
	"internal/openpi":         {"dataset/npy", "internal/msgpack", "tensor", "github.com/coder/websocket"},
	"internal/orderjson":      {},
	"internal/parquet":        {"tensor", "dataset", "storage", "internal/memory", "internal/raw", "github.com/parquet-go/parquet-go/...", "github.com/klauspost/compress/...", "github.com/andybalholm/brotli/...", "github.com/pierrec/lz4/..."},
	"internal/printed":        {},
	"internal/ptxparse":       {},
	"internal/raw":            {"internal/memory", "tensor"},
	"internal/serve":          {"public", "internal/...", "golang.org/x/sys/..."},
	"internal/taps":           {},
	"internal/text":           {},
	"internal/tuned":          {"internal/fault"},
	"internal/video":          {"tensor", "dataset", "internal/fault", "internal/yuv"},
	"internal/yuv":            {},
	"internal/video/hevc":     {"internal/video/bitstream", "internal/video/picture"},
	"internal/video/h264":     {"internal/video/bitstream", "internal/video/picture"},

	"cudasim/internal/driver":    {"cudadrv", "cudasim/internal/exec", "cudasim/internal/memory", "cudasim/internal/program", "cudasim/report"},
	"cudasim/internal/exec":      {"cudasim/internal/memory", "cudasim/report", "internal/tensorcore"},
	"cudasim/internal/memory":    {},
	"cudasim/internal/program":   {"cudasim/internal/exec", "cudasim/internal/memory", "cudasim/report", "internal/ptxparse", "internal/tensorcore"},
	"cudasim/report":             {},
	"dataset/lerobot/internal":   {"tensor", "dataset", "dataset/internal/openfiles", "dataset/mp4", "internal/summary", "internal/video"},
	"dataset/lerobot/write":      {"tensor", "dataset", "dataset/mp4", "dataset/lerobot/internal/...", "internal/atomicfile", "internal/errs", "internal/fault", "internal/orderjson", "internal/parquet", "internal/summary", "internal/video"},
	"internal/test/videotest":    {"internal/video/picture", "github.com/klauspost/compress/zstd", "github.com/stretchr/testify/..."},
	"cmd/robocache/internal/cli": {"ops", "internal/atomicfile", "internal/decimal", "internal/printed", "internal/schema", "internal/text", "golang.org/x/term/..."},
}

// unsafeFiles lists the only files that may import unsafe, and why each needs to.
var unsafeFiles = map[string]string{
	"cudadrv/mem.go":                  "memory shared with the driver",
	"cudadrv/gpu_linux_test.go":       "signal handlers are asked of the system by address",
	"internal/raw/raw.go":             "numbers as the bytes to copy",
	"video/dav1d/library.go":          "structures and pictures shared with libdav1d",
	"cudasim/internal/memory/word.go": "words of simulated memory that threads of a kernel use atomically",
}

// noTemplates are packages that call methods by their names: where one is linked, the linker keeps every method, which is a quarter of the program.
var noTemplates = []string{"text/template", "html/template"}

// skipWords are what a test may miss. A skip's message holds the one that is missing, so that a log tells what was not run.
var skipWords = []string{
	"GPU", "driver", "/dev/full", "race detector", "ROBOCACHE_LONG", "clang", "ptxas", "nvcc", "gcc", "python", "root", "ffmpeg", "qemu", "shared recordings", "Chromium",
	"program in PATH", "git clone", "zip", "libdav1d",
}

// ruleOf returns the rule for a folder: its own, or that of the nearest folder above.
func ruleOf(dir string) ([]string, bool) {
	for d := dir; ; d = path.Dir(d) {
		if rule, ok := rules[d]; ok && (d != "." || dir == ".") {
			return rule, true
		}
		if d == "." {
			return nil, false
		}
	}
}

func allowed(rule []string, imported string) bool {
	local, inModule := strings.CutPrefix(imported, modulePath+"/")
	for _, r := range rule {
		name := imported
		if inModule {
			name = local
		}
		below, open := strings.CutSuffix(r, "/...")
		switch {
		case r == "public":
			if inModule && isPublic(local) {
				return true
			}
		case name == below, open && strings.HasPrefix(name, below+"/"):
			return true
		}
	}
	return false
}

func isPublic(dir string) bool {
	return !isProgram(dir) && !slices.Contains(strings.Split(dir, "/"), "internal")
}

// isProgram reports whether a folder is one that nothing may import.
func isProgram(dir string) bool {
	return slices.Contains([]string{"cmd", "examples", "bench", "scripts"}, strings.Split(dir, "/")[0])
}

// isStd tells the standard library, whose paths begin without a dot in their first element.
func isStd(imported string) bool {
	return !strings.Contains(strings.Split(imported, "/")[0], ".")
}

func TestNothingUsesTemplates(t *testing.T) {
	for _, f := range goFiles(t) {
		if !f.test {
			for _, name := range noTemplates {
				assert.NotContains(t, f.imports(), name, f.name)
			}
		}
	}
}

func TestImportsPointOneWay(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test {
			continue
		}
		rule, ok := ruleOf(f.dir)
		if !assert.True(t, ok, "%s: its folder has no rule in arch_test.go: say what it may import", f.name) {
			continue
		}
		for _, imported := range f.imports() {
			if isStd(imported) && imported != "C" {
				continue
			}
			assert.True(t, allowed(rule, imported), "%s imports %s, which its folder may not: %v", f.name, imported, rule)
		}
	}
}

// A rule holds for as long as something needs it.
func TestRulesAllowNothingThatIsUnused(t *testing.T) {
	used := map[string]map[string]bool{} // by the folder of the rule
	for _, f := range goFiles(t) {
		for dir := range rules {
			if rule, ok := ruleOf(f.dir); ok && !f.test && slices.Equal(rule, rules[dir]) {
				if used[dir] == nil {
					used[dir] = map[string]bool{}
				}
				for _, imported := range f.imports() {
					for _, entry := range rule {
						if allowed([]string{entry}, imported) {
							used[dir][entry] = true
						}
					}
				}
			}
		}
	}
	for dir, rule := range rules {
		for _, entry := range rule {
			assert.True(t, used[dir][entry], "arch_test.go allows %s to import %s, and nothing there does", dir, entry)
		}
	}
}

func TestNothingImportsPrograms(t *testing.T) {
	for _, f := range goFiles(t) {
		top := strings.Split(f.dir, "/")[0]
		for _, imported := range f.imports() {
			local, ok := strings.CutPrefix(imported, modulePath+"/")
			if ok && isProgram(local) {
				assert.Equal(t, strings.Split(local, "/")[0], top, "%s imports the program %s", f.name, imported)
			}
			assert.NotEqual(t, "C", imported, "%s uses cgo", f.name)
		}
	}
}

func TestCPUUsersNeverReachPurego(t *testing.T) {
	imports := map[string][]string{}
	for _, f := range goFiles(t) {
		if !f.test {
			imports[f.dir] = append(imports[f.dir], f.imports()...)
		}
	}
	reached := false // the check can find purego where it is
	for dir := range imports {
		chain := chainTo(imports, dir, purego, map[string]bool{})
		reached = reached || dir == "cudadrv" && chain != nil
		switch strings.Split(dir, "/")[0] {
		case "tensor", "ptx", "storage", "dataset", "align", "loader", "stats", "doctor", "convert":
			assert.Empty(t, chain, "%s reaches purego", dir)
		case "ops":
			if top := strings.Split(dir, "/"); len(top) == 1 || !slices.Contains([]string{"cuda", "sim", "record"}, top[1]) {
				assert.Empty(t, chain, "%s reaches purego", dir)
			}
		case "internal":
			assert.False(t, strings.HasPrefix(dir, "internal/video") && chain != nil, "%s reaches purego, but drivers register themselves: %v", dir, chain)
		case "cudasim":
			if top := path.Base(dir); slices.Contains([]string{"report", "memory", "exec", "program"}, top) {
				assert.Empty(t, chain, "%s reaches purego, but only cudasim and its driver know the function table", dir)
			}
		}
	}
	assert.True(t, reached, "cudadrv does not reach purego: this test looks for the wrong module")
}

func TestOnlyTheStorePackageReachesTheAWSSDK(t *testing.T) {
	imports := map[string][]string{}
	for _, f := range goFiles(t) {
		if !f.test {
			imports[f.dir] = append(imports[f.dir], f.imports()...)
		}
	}
	for _, dir := range []string{"storage", "dataset", "dataset/all", "loader", "align", "policy", "viz"} {
		for _, module := range []string{"github.com/aws", "github.com/johannesboyne/gofakes3"} {
			require.NotEmpty(t, imports[dir])
			assert.Empty(t, chainTo(imports, dir, module, map[string]bool{}), "%s reaches %s: who reads no s3:// should not link it", dir, module)
		}
	}
	assert.NotEmpty(t, chainTo(imports, "storage/s3", "github.com/aws", map[string]bool{}), "this test looks for the wrong module")
	assert.NotEmpty(t, chainTo(imports, "cmd/robocache", "github.com/aws", map[string]bool{}), "robocache reads s3://")
	assert.Empty(t, chainTo(imports, "cmd/robocache", "github.com/johannesboyne", map[string]bool{}))
}

// chainTo returns the imports that lead from a folder of the module to a module outside, or nil.
func chainTo(imports map[string][]string, dir, module string, seen map[string]bool) []string {
	seen[dir] = true
	for _, imported := range imports[dir] {
		if imported == module || strings.HasPrefix(imported, module+"/") {
			return []string{dir, imported}
		}
		local, ok := strings.CutPrefix(imported, modulePath+"/")
		if ok && !seen[local] {
			if rest := chainTo(imports, local, module, seen); rest != nil {
				return append([]string{dir}, rest...)
			}
		}
	}
	return nil
}

func TestEveryFolderHasOnePackageComment(t *testing.T) {
	comments := map[string][]string{}
	programs := map[string]bool{}
	for _, f := range goFiles(t) {
		comments[f.dir] = append(comments[f.dir], nil...)
		programs[f.dir] = programs[f.dir] || f.ast.Name.Name == "main"
		if f.ast.Doc != nil {
			comments[f.dir] = append(comments[f.dir], f.name)
			text := f.ast.Doc.Text()
			begins := strings.HasPrefix(text, "Package "+f.ast.Name.Name+" ") || programs[f.dir] && strings.HasPrefix(text, "Command ")
			assert.True(t, begins, "%s: the package comment begins with %.20q, not as go doc wants it", f.name, text)
		}
	}
	for dir, files := range comments {
		if !assert.Len(t, files, 1, "package comments in folder %s", dir) {
			continue
		}
		name := path.Base(files[0])
		assert.True(t, name == "doc.go" || programs[dir] && name == "main.go", "%s: the package comment belongs in doc.go", files[0])
	}
}

func TestUnsafeOnlyInListedFiles(t *testing.T) {
	found := map[string]bool{}
	for _, f := range goFiles(t) {
		if !slices.Contains(f.imports(), "unsafe") {
			continue
		}
		found[f.name] = true
		assert.Contains(t, unsafeFiles, f.name, "imports unsafe and is not listed in arch_test.go")
		for _, line := range f.unsafeWithoutReason() {
			assert.Fail(t, "unsafe without a reason", "%s:%d has no // SAFETY: line directly above", f.name, line)
		}
	}
	for name := range unsafeFiles {
		assert.True(t, found[name], "%s is listed for unsafe, and does not use it", name)
	}
}

func TestNoFileIsLong(t *testing.T) {
	const most = 500
	for _, name := range treeFiles(t) {
		base := path.Base(name)
		generated := strings.HasPrefix(base, "z") && strings.HasSuffix(base, ".go")
		source := slices.Contains([]string{".go", ".cu", ".cuh", ".sh", ".py"}, path.Ext(base)) || name == ".ci/run"
		if !source || generated {
			continue
		}
		text := filetest.Read(t, filepath.FromSlash(name))
		assert.LessOrEqual(t, bytes.Count(text, []byte("\n")), most, "lines in %s", name)
	}
}

func TestSkipsNameWhatIsMissing(t *testing.T) {
	for _, f := range goFiles(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) || !f.isTesting(sel.X) {
				return true
			}
			message := literals(call.Args)
			names := slices.ContainsFunc(skipWords, func(w string) bool { return strings.Contains(message, w) })
			assert.True(t, names, "%s:%d skips with %q, which names none of %v", f.name, f.line(call), message, skipWords)
			return true
		})
	}
}

func TestRulesNameWhatExists(t *testing.T) {
	for dir := range rules {
		_, err := os.Stat(filepath.FromSlash(dir))
		assert.NoError(t, err, fmt.Sprintf("arch_test.go has a rule for %s", dir))
	}
}

// layers are the files of packages whose files have an order, lowest first: a file names only what is declared in its own layer or below.
var layers = map[string][]string{
	"align": {
		"doc errors", "plan report", "aligned columns place window unused", "check episode save", "job preparer",
		"account stray job_clock", "choose", "prepare live live_camera", "resample fuse",
	},
	"align/planfile":      {"doc decoder write", "plan", "read"},
	"align/suggest":       {"doc draft numbers", "column_names plan_text", "apart choice columns look rate", "write", "suggest"},
	"internal/video/h264": {"doc fields recovery scaling", "sps pps", "sets", "slice", "order", "references", "buffer", "unit params", "parser"},
	"internal/video/hevc": {"doc reader unit", "references scaling vui", "sps", "pps", "sets", "slice", "store", "parameters", "parser"},
	"cudadrv/nvdec":       {"doc library", "decoder"},
	"video/nvdec":         {"doc refusal", "session", "pool", "decoder", "driver"},
	"ops": {
		"doc errors words clock", "check", "channel resample fuse backward voxelize voxelize_job draw draw_job frames frames_job", "used", "queue device mark", "staging",
		"resample_device fuse_device backward_device voxelize_device draw_device frames_device tally deproject farthest integrate batch connect sum shared", "volume",
	},
	"ops/backend": {"doc errors enum clock fault draw_order draw_mixture frame_words", "bound host nn_words", "resample fuse backward voxelize draw frames tally deproject farthest integrate nn_matmul nn_attention nn_gradient nn_noise nn_rows nn_tokens", "nn_bound backend shared", "nn"},
	"ops/record":  {"doc plan target", "world launch tensors check encode", "driver", "side", "export", "recorder session"},
	"ops/cuda": {
		"doc gpu fields variant considered voxel_chain", "choose plan", "items general channels",
		"fast unaligned unaligned_contiguous small thread_per_row voxel_atomic voxel_bucket voxel_group voxel_sort voxel_count voxel_write",
		"fuse resample voxelize backward draw frames tally deproject farthest integrate nn nn_matmul nn_attention nn_gradient nn_noise nn_rows meet", "backend explain tune",
	},
	"convert": {
		"doc options account missing_streams column_order row_clock picture", "episode_error report sample_usage", "picked input", "target frame_stream shard_weights",
		"conversion place", "journal foreign_output ready arrange trim", "work prepare", "piece", "make", "shard", "lerobot_writer lerobot_vectors",
		"lerobot_times lerobot_tasks lerobot_modality lerobot_features text check", "lerobot mcap arrays webdataset zarr", "rlds_columns", "rlds",
	},
	"cudasim/internal/memory": {"doc word", "space"},
	"cudasim/internal/exec": {
		"doc lanes random shadow element", "inst kernel launch block warp tally", "fault groups order mbar", "race watch access barrier collective control",
		"load atomic copy bulk mbarrier matrix", "loop", "turn run",
	},
	"cudasim/internal/program": {
		"doc error quals round machine", "fast live compiler inline", "operand slots", "address alu float half carry",
		"int bits convert compare move flow", "memory atomic copy bulk mbarrier barrier collective matrix", "table", "compile program",
	},
	"cudasim/internal/driver": {
		"doc codes words thread_linux thread_other", "config device handle task stream capture graph memory hosts", "info leak work module",
		"context copy ipc memory_calls host_calls stream_calls capture_calls", "launch module_calls graph_calls nccl", "dispatch", "function_table",
	},
	"dataset/lerobot": {
		"doc json paths problems values", "source depth", "header small_table", "catalog", "video_places row_index", "tables column_checks compare set",
		"index episode_reader video_stats modality statistics", "clock video_backend", "images videos", "episode", "lerobot",
	},
	"dataset/lerobot/write": {
		"doc error options", "output values statistics splits video_pool pictures", "feature", "series stream", "tasks episode_plan",
		"planner plan_images plan_lists plan_numbers video_files", "plan_video totals", "plan row_table episode_table", "episode_lines", "new_dataset", "info", "complete", "writer",
	},
	"loader": {
		"doc camera keeper missing_samples normalise part", "batch camera_plan empty_error options recordings stores", "report", "selection", "framer rooms",
		"batches choose film loader loader_report order plan reel reread resident scene shard_reader shot slots stats streamer yuv420", "group",
		"open", "mixture stream",
	},
	"loader/store": {
		"doc errors frames media pool rows", "columns shard source subset", "store", "episode index", "file", "join pack", "format pack_media", "build", "pack_shard",
	},
	"cmd/robocache": {
		"doc notes backends version errors time_shares heap policy_skills npz_batch",
		"flag_errors arguments shard_flag voxel_flags lerobot_flags batch_flags", "recording_flags stream_flag device_info output depth_report",
		"app help input dataset_watch stream_completion", "request alignment_report batch_index batch_request batch_metrics cloud bench_run",
		"stdout recording npz_rows npz_job batch_report batch_state batch_folder batch_samples",
		"pack_report policy_run alignment batch_drawing conversion convert_report train_events train_settings training voxel_request cloud_points",
		"depth_images", "batch_draw train_describe train_ranks train_steps cloud_recording cloud_series voxel_job tsdf pack_shards kernel_choice", "trainer",
		"view_prediction doctor_reader", "batches bench convert doctor fuse info inspect pack plan policy policy_serve resample serve stats train tune view voxelize", "profile",
		"root", "main",
	},
	"doctor": {
		"doc kind options format vocabulary plot correlation advice pause", "finding", "cause scan", "clock workspace statistics splits", "examiner",
		"clock_steps clock_unit coverage offset", "nan repeats angle_wrap saturation quaternion spike standstill", "reader_notes schema",
		"examine report misfit", "collector", "doctor",
	},
	"internal/parquet": {"doc thrift decompress delta", "handle values schema lists", "page_values page_encoder", "leaf writer", "page_list page_body", "rows", "column list_reader", "file images"},
	"view": {
		"doc request answer lazy jpeg clock table listing bookkeeping unit", "curve picture_cache", "entry", "episode_cache track joint", "server",
		"video", "episode episode_reader series path cloud frame token", "thumbnail list", "routes",
	},
}
