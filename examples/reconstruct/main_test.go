package main

import (
	"bytes"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/ply"
	"github.com/robocache/robocache/internal/test/exampletest"
	"github.com/robocache/robocache/tensor"
)

const printed = `1019 blocks, 28953 points, 55627 triangles, computed on cpu
distance to the true surface: mean 1.96 mm, 95 % below 7.30 mm, largest 71.25 mm
`

func TestTheMeshIsNearTheTrueSurface(t *testing.T) {
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	require.NoError(t, run("cpu", &out))
	assert.Equal(t, printed, out.String())

	cloud, err := ply.ReadFile("reconstruct.ply", dataset.Options{Strict: true})
	require.NoError(t, err)
	assert.Equal(t, 28953, cloud.Len())
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeNotPoints, Subject: "face", Count: 55627}}, cloud.Notes)
	points, err := tensor.Data[float32](cloud.Points)
	require.NoError(t, err)
	normals, err := tensor.Data[float32](cloud.Features)
	require.NoError(t, err)
	checked := 0
	for i := 0; i < len(points); i += 3 {
		p, n := vector{float64(points[i]), float64(points[i+1]), float64(points[i+2])}, vector{float64(normals[i]), float64(normals[i+1]), float64(normals[i+2])}
		if from := p.plus(vector{0, 0, 0.3}, -1); math.Abs(distance(p)) < 0.005 && p[2] > 0.1 && from.length() < 0.31 {
			assert.Greater(t, from.length()/from.plus(n, -0.3).length(), 1.0, "the sphere's normals lead outward")
			checked++
		}
	}
	assert.Greater(t, checked, 1000)
	image, err := os.ReadFile("reconstruct.png")
	require.NoError(t, err)
	assert.NotEmpty(t, image)
}

func TestUnknownBackendWritesNothing(t *testing.T) { exampletest.UnknownBackendWritesNothing(t, run) }
