package main

import (
	"encoding"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/convert"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/benchmark"
	"github.com/robocache/robocache/internal/orderjson"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/internal/serve"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/policy"
	"github.com/robocache/robocache/stats"
)

// schemaFolder has a JSON Schema (draft 2020-12) of each object, made from the Go types by ROBOCACHE_SCHEMAS=1 go test -run TestSchemasAre ./cmd/robocache.
const schemaFolder = "../../docs/schema"

// jsonSchema is the part of JSON Schema that the files use.
type jsonSchema struct {
	Draft string `json:"$schema,omitempty"`
	Title string `json:"title,omitempty"`
	// Description is the meaning of a key. It is written by hand: the Go types do not have it.
	Description string                 `json:"description,omitempty"`
	Type        any                    `json:"type,omitempty"` // a name, or a list of names
	Enum        []any                  `json:"enum,omitempty"`
	Properties  map[string]*jsonSchema `json:"properties,omitempty"`
	Required    []string               `json:"required,omitempty"`
	Additional  any                    `json:"additionalProperties,omitempty"` // false, or the schema of all values
	Items       *jsonSchema            `json:"items,omitempty"`
}

// objects are the Go types of the objects by name. Where a command makes a map, the type is written here.
var objects = map[schema.Name]any{
	schema.Alignment: result{}, schema.Batches: batched{}, schema.Bench: benchmark.Report{}, schema.Convert: converted{}, schema.Info: infoResult{},
	schema.Inspect: serve.InspectionReport{}, schema.Pack: packed{}, schema.Plan: planned{}, schema.Policy: acted{}, schema.PolicyServe: serving{}, schema.Profile: profileResult{},
	schema.Stats: computed{}, schema.Train: trained{}, schema.TSDF: volumeReport{}, schema.Tune: benchmark.TuneReport{}, schema.Version: buildVersion{}, schema.Voxelize: voxelReport{},
	schema.BenchJobs: struct {
		Jobs []map[string]any `json:"jobs"` // as a file of --shapes has them
	}{},
	schema.BenchRuns: struct {
		Runs []jobRuns `json:"runs"`
	}{},
	schema.BenchStart: struct {
		Milliseconds float64 `json:"first_result_ms"`
		Device       string  `json:"device"`
		Kernels      string  `json:"kernels"`
	}{},
	schema.Doctor: struct {
		*doctor.Report
		Notes []notetext.EpisodeEntry `json:"notes"`
	}{},
	schema.Error: struct {
		Error report `json:"error"`
	}{},
	schema.Launches: struct {
		Kernels string      `json:"kernels"`
		Shapes  string      `json:"shapes"`
		Jobs    []explained `json:"jobs"`
	}{},
	schema.TrainStep: struct {
		Step  int     `json:"step"`
		Loss  float64 `json:"loss"`
		Speed float64 `json:"steps_per_second"`
		// HeldOut is there with --hold-out.
		HeldOut float64 `json:"held_out_loss,omitempty"`
	}{},
	schema.View: struct {
		URL      string `json:"url"`
		Loopback bool   `json:"loopback"`
	}{},
	schema.Checkpoint: policy.Config{}, schema.Conversion: convert.Report{}, schema.Samples: described{}, schema.State: kept{},
	schema.Statistics: struct {
		Version    int                   `json:"version"`
		Normalised []batching.Normalised `json:"normalised"`
	}{},
}

// written are types that stand for those with a MarshalJSON of their own.
var written = map[reflect.Type]any{
	reflect.TypeFor[dataset.Note]():         noteOfFile{},
	reflect.TypeFor[dataset.EpisodeNotes](): []dataset.EpisodeNote{},
	reflect.TypeFor[doctor.Finding]():       findingOfFile{},
	reflect.TypeFor[stats.Column]():         columnOfFile{},
	reflect.TypeFor[stats.Skipped](): struct {
		skippedFields
		Code dataset.Code `json:"code"`
	}{},
	reflect.TypeFor[policy.NotState](): struct {
		notStateFields
		Code dataset.Code `json:"code"`
	}{},
	reflect.TypeFor[batching.Number]():  (*float64)(nil),
	reflect.TypeFor[orderjson.Float]():  0.0,
	reflect.TypeFor[orderjson.Object](): map[string]any{},
}

type (
	findingFields  doctor.Finding
	skippedFields  stats.Skipped
	notStateFields policy.NotState

	noteOfFile struct {
		Code    string   `json:"code"`
		Subject string   `json:"subject"`
		Count   int      `json:"count"`
		Row     *int     `json:"row"`
		Of      int      `json:"of,omitempty"`
		Bytes   int64    `json:"bytes,omitempty"`
		Got     string   `json:"got,omitempty"`
		Want    string   `json:"want,omitempty"`
		Names   []string `json:"names,omitempty"`
		Unit    string   `json:"unit,omitempty"`
		Cause   string   `json:"cause,omitempty"`
		// CauseNotes are notes too. Their schema would have itself as a part.
		CauseNotes []map[string]any `json:"cause_notes,omitempty"`
	}
	findingOfFile struct {
		findingFields
		Episode *int         `json:"episode"`
		Stream  string       `json:"stream"`
		Ranges  [][2]int64   `json:"ranges_ns"`
		Code    dataset.Code `json:"code"`
		Subject string       `json:"subject"`
		Row     *int         `json:"row"`
		Text    string       `json:"text"`
	}
	columnOfFile struct {
		Name      string      `json:"name"`
		Count     int64       `json:"count"`
		NotFinite int64       `json:"not_finite"`
		Mean      *float64    `json:"mean"`
		Std       *float64    `json:"std"`
		Min       *float64    `json:"min"`
		Max       *float64    `json:"max"`
		Quantiles *[]*float64 `json:"quantiles"` // null if they are not known yet
		Binned    []float64   `json:"lerobot_quantiles,omitempty"`
	}
)

// enums are the values of types of strings.
var enums = map[reflect.Type][]any{
	reflect.TypeFor[dataset.Class]():   {dataset.ClassDamage, dataset.ClassProblem, dataset.ClassLeftOut, dataset.ClassRemark, dataset.ClassSkipped},
	reflect.TypeFor[doctor.Severity](): anys(doctor.Severities()),
	reflect.TypeFor[doctor.Kind]():     anys(doctor.Kinds()),
}

func anys[T any](list []T) (out []any) {
	for _, v := range list {
		out = append(out, v)
	}
	return out
}

// schemaOf returns the schema of a type as encoding/json writes it.
func schemaOf(of reflect.Type) *jsonSchema {
	if as, is := written[of]; is {
		return schemaOf(reflect.TypeOf(as))
	}
	switch {
	case of == reflect.TypeFor[json.RawMessage]() || of.Kind() == reflect.Interface:
		return &jsonSchema{}
	case enums[of] != nil:
		return &jsonSchema{Enum: enums[of]}
	case of.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return &jsonSchema{Type: "string"}
	}
	switch of.Kind() {
	case reflect.Bool:
		return &jsonSchema{Type: "boolean"}
	case reflect.String:
		return &jsonSchema{Type: "string"}
	case reflect.Float32, reflect.Float64:
		return &jsonSchema{Type: "number"}
	case reflect.Slice, reflect.Array:
		return &jsonSchema{Type: "array", Items: schemaOf(of.Elem())}
	case reflect.Map:
		return &jsonSchema{Type: "object", Additional: schemaOf(of.Elem())}
	case reflect.Pointer:
		s := *schemaOf(of.Elem())
		if s.Type != nil {
			s.Type = []any{s.Type, "null"}
		}
		return &s
	case reflect.Struct:
		s := &jsonSchema{Type: "object", Properties: map[string]*jsonSchema{}, Required: []string{}, Additional: false}
		depths := map[string]int{}
		s.fields(of, 0, depths)
		slices.Sort(s.Required)
		return s
	}
	return &jsonSchema{Type: "integer"}
}

// fields adds a struct's fields. A field in an embedded struct is hidden by an outer field with the same name.
func (s *jsonSchema) fields(of reflect.Type, depth int, depths map[string]int) {
	for i := range of.NumField() {
		f := of.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		in := f.Type
		if in.Kind() == reflect.Pointer {
			in = in.Elem()
		}
		if f.Anonymous && name == "" && in.Kind() == reflect.Struct {
			s.fields(in, depth+1, depths)
			continue
		}
		if at, there := depths[name]; !f.IsExported() || name == "-" || there && at <= depth {
			continue
		}
		if name == "" {
			name = f.Name
		}
		depths[name] = depth
		s.Required = slices.DeleteFunc(s.Required, func(r string) bool { return r == name })
		if options != "omitempty" {
			in = f.Type // which may be null
			s.Required = append(s.Required, name)
		}
		s.Properties[name] = schemaOf(in)
	}
}

// check returns the first place where a value differs from the schema, or "".
func (s *jsonSchema) check(at string, v any) string {
	kind := "null"
	switch v := v.(type) {
	case bool:
		kind = "boolean"
	case string:
		kind = "string"
	case json.Number:
		kind = "number"
		if _, err := v.Int64(); err == nil || !strings.ContainsAny(v.String(), ".eE") {
			kind = "integer"
		}
	case []any:
		kind = "array"
	case map[string]any:
		kind = "object"
	}
	types, list := s.Type.([]any)
	if !list && s.Type != nil {
		types = []any{s.Type}
	}
	if types != nil && !slices.Contains(types, any(kind)) && !(kind == "integer" && slices.Contains(types, any("number"))) {
		return fmt.Sprintf("%s: got %s, want %v", at, kind, types)
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(v) }) {
		return fmt.Sprintf("%s: got %v, want one of %v", at, v, s.Enum)
	}
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			if s.Items != nil {
				if why := s.Items.check(fmt.Sprintf("%s[%d]", at, i), e); why != "" {
					return why
				}
			}
		}
	case map[string]any:
		for _, key := range s.Required {
			if _, there := v[key]; !there {
				return at + ": no key " + key
			}
		}
		for key, e := range v {
			of := s.Properties[key]
			if of == nil {
				switch more := s.Additional.(type) {
				case bool:
					return at + ": the key " + key + " is not in the schema"
				case *jsonSchema:
					of = more
				default:
					continue
				}
			}
			if why := of.check(at+"."+key, e); why != "" {
				return why
			}
		}
	}
	return ""
}

// describe takes the descriptions of old, and returns the keys without one.
func (s *jsonSchema) describe(old *jsonSchema, at string) (missing []string) {
	if old == nil {
		old = &jsonSchema{}
	}
	for key, of := range s.Properties {
		if from := old.Properties[key]; from != nil {
			of.Description = from.Description
		}
		if of.Description == "" {
			missing = append(missing, at+key)
		}
		missing = append(missing, of.describe(old.Properties[key], at+key+".")...)
	}
	if s.Items != nil {
		missing = append(missing, s.Items.describe(old.Items, at)...)
	}
	if more, ok := s.Additional.(*jsonSchema); ok {
		from, _ := old.Additional.(*jsonSchema)
		missing = append(missing, more.describe(from, at)...)
	}
	slices.Sort(missing)
	return missing
}

// UnmarshalJSON reads additionalProperties as false or as a schema.
func (s *jsonSchema) UnmarshalJSON(text []byte) error {
	type plain jsonSchema
	more := struct {
		*plain
		Additional json.RawMessage `json:"additionalProperties"`
	}{plain: (*plain)(s)}
	if err := json.Unmarshal(text, &more); err != nil {
		return err
	}
	switch {
	case string(more.Additional) == "false":
		s.Additional = false
	case more.Additional != nil:
		of := &jsonSchema{}
		s.Additional = of
		return json.Unmarshal(more.Additional, of)
	}
	return nil
}

// schemaFile returns the path of a name's schema.
func schemaFile(name schema.Name) string {
	return filepath.Join(schemaFolder, strings.TrimPrefix(string(name), "robocache.")+".json")
}

// checkObject compares an object with the schema that its first key names, and returns the name.
func checkObject(t *testing.T, text string) schema.Name {
	t.Helper()
	var head struct{ Schema schema.Schema }
	require.NoError(t, json.Unmarshal([]byte(text), &head), text)
	assert.Regexp(t, `^\{\s*"schema":\s*\{`, text, "the schema is the first key")
	var s jsonSchema
	file, err := os.ReadFile(schemaFile(head.Schema.Name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(file, &s))
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&v))
	assert.Empty(t, s.check(string(head.Schema.Name), v))
	return head.Schema.Name
}

// The schema files match the Go types.
func TestSchemasAreThoseOfTheTypes(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	var names []string
	for name, of := range objects {
		s := schemaOf(reflect.TypeOf(of))
		s.Draft, s.Title = "https://json-schema.org/draft/2020-12/schema", string(name)
		s.Properties["schema"] = &jsonSchema{Type: "object", Required: []string{"name", "version"}, Additional: false, Properties: map[string]*jsonSchema{
			"name": {Enum: []any{name}}, "version": {Enum: []any{1}}}}
		s.Required = slices.Compact(slices.Sorted(slices.Values(append(s.Required, "schema"))))
		var old jsonSchema
		if file, err := os.ReadFile(schemaFile(name)); err == nil {
			require.NoError(t, json.Unmarshal(file, &old))
		}
		assert.Empty(t, s.describe(&old, ""), "%s: keys without a description, which is written by hand", name)
		text, err := json.MarshalIndent(s, "", " ")
		require.NoError(t, err)
		if os.Getenv("ROBOCACHE_SCHEMAS") != "" {
			filetest.Write(t, schemaFile(name), append(text, '\n'))
		}
		file, err := os.ReadFile(schemaFile(name))
		require.NoError(t, err)
		assert.Equal(t, string(text)+"\n", string(file), "%s: ROBOCACHE_SCHEMAS=1 writes it anew", name)
		names = append(names, filepath.Base(schemaFile(name)))
	}
	list, err := os.ReadDir(schemaFolder)
	require.NoError(t, err)
	for _, f := range list {
		assert.Contains(t, names, f.Name())
	}
}

// Each object that a command prints or writes fits its schema. Besides, good checks the objects of all other tests.
func TestObjectsFitTheirSchemas(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	seen := map[schema.Name]bool{}
	at := func(name string) string { return filepath.Join(dir, name) }
	plan := at("plan.yaml")
	filetest.Write(t, plan, "version: 1\nrate: 10\nstreams: [{name: action, normalise: mean-std}]\n")
	rlds := []string{kindsRLDS, "--rate=10"}
	for _, args := range [][]string{
		{"--version"}, {"info", "--backend=cpu"}, {"inspect", flight}, append([]string{"inspect"}, rlds...), {"inspect", g1, "--episode=1"}, {"plan", flight}, {"plan", g1},
		{"stats", g1}, append([]string{"pack", "-o", at("s.safetensors")}, rlds...), append([]string{"convert", "-o", at("out"), "--to=npz", "--hz=20"}, rlds...),
		{"resample", flight, "--hz=10", "-o", at("r.npz"), "--backend=cpu"}, {"fuse", flight, "--hz=10", "--stream=airspeed", "-o", at("f.npz"), "--backend=cpu"},
		{"resample", "testdata/padded.npz", "-o", at("p.npz"), "--backend=cpu"}, {"voxelize", lidar, "--size=10", "-o", at("v.npz"), "--backend=cpu"},
		append([]string{"batches", "--batch=2", "--steps=2", "--backend=cpu", "--plan", plan, "--out", at("batches"), "--state", at("state.json"), "--format=webdataset"}, rlds...),
		append([]string{"batches", "--batch=2", "--steps=2", "--backend=cpu", "--streaming", "--hz=20"}, rlds...),
		{"train", g1, shortPlan(t), "--hold-out=0", "--steps=1", "--batch=1", "--backend=cpu", "--out", at("policy")}, {"policy", at("policy"), g1, "--episode=0", "--backend=cpu"},
		append([]string{"bench", "--shapes", shapesFile(t)}, brief...), append([]string{"bench", "--shapes", shapesFile(t), "--list"}, brief...),
		{"bench", "--backend=cpu", "--first"}, {"bench", "--backend=cpu", "--runs=1", "--only=2x9->5x3", "--shapes", shapesFile(t)},
		{"bench", "--backend=sim", "--explain", "--shapes", shapesFileOf(t, `{"suite": "resample", "B": 2, "S": 9, "T": 5, "D": 3}`)},
		{"profile", "resample", "testdata/ramp.npz", "-o", at("q.npz")}, {"resample", at("none")}, {"resample", flight, "--nothing"},
		{"doctor", flight}, {"doctor", g1}, {"voxelize", wallLog(t), "--tsdf", "--size=.1", "-o", at("v.ply"), "--backend=cpu"},
	} {
		_, stdout, stderr := execute(append(args, "--json")...)
		require.NotEmpty(t, stdout, "%q: %s", args, stderr)
		for _, object := range objectsIn(t, stdout) {
			seen[checkObject(t, object)] = true
		}
		if t.Failed() {
			t.Fatalf("%q", args)
		}
	}
	written, err := filepath.Glob(at("batches/*.json"))
	require.NoError(t, err)
	for _, path := range append(written, at("out/convert.json"), at("policy/config.json"), at("state.json")) {
		seen[checkObject(t, string(filetest.Read(t, path)))] = true
	}
	for name := range objects {
		if name != schema.View && name != schema.PolicyServe && name != schema.Tune { // other tests
			assert.True(t, seen[name], "no command printed or wrote %s", name)
		}
	}
}

// objectsIn returns the objects that a command printed, one after the other.
func objectsIn(t *testing.T, stdout string) (list []string) {
	t.Helper()
	for d := json.NewDecoder(strings.NewReader(stdout)); d.More(); {
		var object json.RawMessage
		require.NoError(t, d.Decode(&object), stdout)
		list = append(list, string(object))
	}
	return list
}
