package surface

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// voxel is a voxel's content in a test.
type voxel struct {
	distance, weight float64
	color            [3]float32
}

// volumeOf fills n x n x n blocks around the origin with at's voxels, by their centres.
func volumeOf(n int, size float64, at func(p vector) voxel) *Volume {
	v := &Volume{Size: size}
	for i := range n * n * n {
		key := [3]int{i%n - n/2, i/n%n - n/2, i/n/n - n/2}
		v.Keys = append(v.Keys, [3]int32{int32(key[0]), int32(key[1]), int32(key[2])})
		for j := range voxels {
			in := at(vector{(float64(8*key[0]+j%8) + 0.5) * size, (float64(8*key[1]+j/8%8) + 0.5) * size, (float64(8*key[2]+j/64) + 0.5) * size})
			v.Distance, v.Weight, v.Color = append(v.Distance, float32(in.distance)), append(v.Weight, float32(in.weight)), append(v.Color, in.color[:]...)
		}
	}
	return v
}

// seen is a voxel with a truncated distance.
func seen(distance, truncation float64) voxel {
	return voxel{distance: min(max(distance/truncation, -1), 1), weight: 1}
}

func mesh(t *testing.T, v *Volume) *Surface {
	t.Helper()
	s, err := v.Mesh()
	require.NoError(t, err)
	return s
}

func (s *Surface) at(i int32) vector {
	return vector{float64(s.Points[3*i]), float64(s.Points[3*i+1]), float64(s.Points[3*i+2])}
}

func (s *Surface) normal(i int) vector {
	return vector{float64(s.Normals[3*i]), float64(s.Normals[3*i+1]), float64(s.Normals[3*i+2])}
}

// sides counts the directed sides of triangles.
func (s *Surface) sides() map[[2]int32]int {
	sides := map[[2]int32]int{}
	for _, t := range s.Triangles {
		for k := range 3 {
			sides[[2]int32{t[k], t[(k+1)%3]}]++
		}
	}
	return sides
}

// euler checks that a mesh is closed and uses all points, and returns V - E + F and the enclosed volume.
func euler(t *testing.T, s *Surface) (number int, volume float64) {
	t.Helper()
	used, sides := map[int32]bool{}, s.sides()
	for side, n := range sides {
		require.Equal(t, 1, n, "side %v", side)
		require.Equal(t, 1, sides[[2]int32{side[1], side[0]}], "the other side of %v", side)
		used[side[0]] = true
	}
	for _, tr := range s.Triangles {
		volume += s.at(tr[0]).dot(s.at(tr[1]).cross(s.at(tr[2]))) / 6
	}
	require.Len(t, used, len(s.Points)/3)
	require.Len(t, s.Normals, len(s.Points))
	return len(used) - len(sides)/2 + len(s.Triangles), volume
}

func TestSphereTorusAndBox(t *testing.T) {
	const size = 0.05
	sphere := func(p vector) float64 { return math.Sqrt(p.dot(p)) - 0.5 }
	torus := func(p vector) float64 { return math.Hypot(math.Hypot(p[0], p[1])-0.4, p[2]) - 0.17 }
	box := func(p vector) float64 {
		q := vector{math.Abs(p[0]) - 0.33, math.Abs(p[1]) - 0.41, math.Abs(p[2]) - 0.26}
		out := vector{max(q[0], 0), max(q[1], 0), max(q[2], 0)}
		return math.Sqrt(out.dot(out)) + min(max(q[0], q[1], q[2]), 0)
	}
	for name, c := range map[string]struct {
		distance func(p vector) float64
		euler    int
		volume   float64
	}{
		"sphere": {sphere, 2, 4. / 3 * math.Pi * 0.5 * 0.5 * 0.5},
		"torus":  {torus, 0, 2 * math.Pi * math.Pi * 0.4 * 0.17 * 0.17},
		"box":    {box, 2, 8 * 0.33 * 0.41 * 0.26},
	} {
		t.Run(name, func(t *testing.T) {
			s := mesh(t, volumeOf(4, size, func(p vector) voxel { return seen(c.distance(p), 4*size) }))
			number, volume := euler(t, s)
			assert.Equal(t, c.euler, number)
			assert.InEpsilon(t, c.volume, volume, 0.03)
			for i := range len(s.Points) / 3 {
				p, n := s.at(int32(i)), s.normal(i)
				require.Less(t, math.Abs(c.distance(p)), size/2)
				require.InDelta(t, 1, n.dot(n), 1e-6)
				if name == "sphere" {
					require.Greater(t, n.dot(p)/math.Sqrt(p.dot(p)), 0.995)
				}
				require.Greater(t, c.distance(vector{p[0] + 0.1*n[0], p[1] + 0.1*n[1], p[2] + 0.1*n[2]}), 0.04, "the normal leads outward")
			}
			for _, tr := range s.Triangles {
				area := s.at(tr[1]).minus(s.at(tr[0])).cross(s.at(tr[2]).minus(s.at(tr[0])))
				require.Positive(t, area.dot(s.normal(int(tr[0]))), "a triangle and its normals have the same side")
			}
		})
	}
}

// random returns a field of random distances, which are not 0.
func random(seed uint64, seenShare float64) func(p vector) voxel {
	r := rand.New(rand.NewPCG(seed, 61))
	return func(p vector) voxel {
		v := voxel{distance: float64(r.IntN(8)-4)/4 + 0.125, weight: 1, color: [3]float32{float32(r.IntN(256)), 0, 0}}
		if r.Float64() > seenShare {
			v.weight = 0
		}
		return v
	}
}

func TestMeshesOfRandomFieldsAreClosed(t *testing.T) {
	for seed := range uint64(4) {
		at := random(seed, 1)
		euler(t, mesh(t, volumeOf(3, 1, func(p vector) voxel {
			v := at(p)
			if max(math.Abs(p[0]-4), math.Abs(p[1]-4), math.Abs(p[2]-4)) > 11 { // the outermost voxels
				v.distance = 1
			}
			return v
		})))
	}
}

// places returns the points by their places, and checks that no two are at the same, and that no triangle has a corner twice.
func places(t *testing.T, s *Surface) map[vector]bool {
	places := map[vector]bool{}
	for i := range len(s.Points) / 3 {
		require.False(t, places[s.at(int32(i))], "point %d", i)
		places[s.at(int32(i))] = true
	}
	for side := range s.sides() {
		require.NotEqual(t, side[0], side[1])
	}
	return places
}

// A plane through voxels' centres is a disc whose points are these voxels.
func TestVoxelsOnAPlaneArePointsThatTrianglesShare(t *testing.T) {
	for _, normal := range []vector{{0, 0, 1}, {1, 1, 0}, {1, 1, 1}, {-1, 2, 1}, {1, -1, -3}} {
		at := func(p vector) float64 { return normal.dot(vector{p[0] - 0.5, p[1] + 0.5, p[2] - 1.5}) }
		v := volumeOf(2, 1, func(p vector) voxel { return voxel{distance: at(p) / 64, weight: 1, color: [3]float32{9, 90, 200}} })
		s := mesh(t, v)
		edges, used := map[[2]int32]bool{}, map[int32]bool{}
		for side, n := range s.sides() {
			require.Equal(t, 1, n)
			edges[[2]int32{min(side[0], side[1]), max(side[0], side[1])}] = true
			used[side[0]] = true
		}
		require.Len(t, used, len(s.Points)/3)
		assert.Equal(t, 1, len(used)-len(edges)+len(s.Triangles), "Euler's number of a disc: %v", normal)
		length := math.Sqrt(normal.dot(normal))
		places(t, s)
		for i := range len(s.Points) / 3 {
			require.InDelta(t, 0, at(s.at(int32(i))), 1e-5)
			require.InDelta(t, length, normal.dot(s.normal(i)), 1e-5)
			require.Equal(t, []uint8{9, 90, 200}, s.Colors[3*i:3*i+3])
		}
		all, err := v.Points()
		require.NoError(t, err)
		if normal == (vector{1, 1, 1}) { // each point is one of the voxels on the plane: i + j + k = 24, from 0 to 15
			assert.Equal(t, 3*190, len(all.Points))
		}
	}
}

// Surfaces through many voxels have no boundary, but they touch themselves.
func TestMeshesThroughVoxelsAreClosed(t *testing.T) {
	for seed := range uint64(4) {
		at := random(seed, 1)
		s := mesh(t, volumeOf(3, 1, func(p vector) voxel {
			v := at(p)
			v.distance += 0.125
			if max(math.Abs(p[0]-4), math.Abs(p[1]-4), math.Abs(p[2]-4)) > 11 { // the outermost voxels
				v.distance = 1
			}
			return v
		}))
		places(t, s)
		used, sides := map[int32]bool{}, s.sides()
		for side, n := range sides {
			require.Equal(t, n, sides[[2]int32{side[1], side[0]}], "the other side of %v", side)
			used[side[0]] = true
		}
		require.Len(t, used, len(s.Points)/3)
	}
}

// A cell gives its case's triangles if all corners were seen, else none. A mesh's points lie on these cells' edges.
func TestUnseenCornersGiveNothing(t *testing.T) {
	v := volumeOf(2, 1, random(7, 0.9))
	v.Distance[100] = float32(math.NaN())
	read := func(x, y, z int) float64 {
		key := [3]int{x>>3 + 1, y>>3 + 1, z>>3 + 1}
		i := (key[2]*4+key[1]*2+key[0])*512 + z&7*64 + y&7*8 + x&7
		if v.Weight[i] == 0 {
			return math.NaN()
		}
		return float64(v.Distance[i])
	}
	triangles, points, inCells := 0, 0, map[[4]int]bool{}
	for i := range 16 * 16 * 16 {
		x, y, z := i%16-8, i/16%16-8, i/256-8
		inside, whole, unseen := 0, x < 7 && y < 7 && z < 7, false
		for c := range 8 {
			if !whole {
				break
			}
			d := read(x+c&1, y+c>>1&1, z+c>>2)
			unseen = unseen || d != d
			if d < 0 {
				inside |= 1 << c
			}
		}
		if whole && !unseen {
			triangles += len(cases[inside]) / 3
			for _, e := range cases[inside] {
				c := int(e) / 3
				inCells[[4]int{x + c&1, y + c>>1&1, z + c>>2, int(e) % 3}] = true
			}
		}
		for axis := range 3 {
			to := [3]int{x, y, z}
			if to[axis]++; to[axis] < 8 {
				a, b := read(x, y, z), read(to[0], to[1], to[2])
				if a < 0 && b >= 0 || b < 0 && a >= 0 {
					points++
				}
			}
		}
	}
	s := mesh(t, v)
	assert.Len(t, s.Triangles, triangles)
	assert.Len(t, s.Points, 3*len(inCells))
	for side, n := range s.sides() {
		require.Equal(t, 1, n, "side %v", side)
	}
	p, err := v.Points()
	require.NoError(t, err)
	assert.Len(t, p.Points, 3*points)
	assert.Greater(t, points, len(inCells))
	assert.Nil(t, p.Triangles)
}

func TestTheOrderOfBlocksAndTheCoresDoNotMatter(t *testing.T) {
	v := volumeOf(3, 0.1, random(3, 0.95))
	want := mesh(t, v)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	swapped := &Volume{Size: 0.1}
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(27) {
		swapped.Keys = append(swapped.Keys, v.Keys[i])
		swapped.Distance = append(swapped.Distance, v.Distance[512*i:512*i+512]...)
		swapped.Weight = append(swapped.Weight, v.Weight[512*i:512*i+512]...)
		swapped.Color = append(swapped.Color, v.Color[1536*i:1536*i+1536]...)
	}
	assert.Equal(t, want, mesh(t, swapped))
}

// The plane z = 0.75 between voxels at 0.5 and 1.5, in colours that change with x and z. All numbers are exact.
func TestAPlanesPointsNormalsAndColours(t *testing.T) {
	v := volumeOf(2, 1, func(p vector) voxel {
		in := voxel{distance: min(max((p[2]-0.75)/4, -1), 1), weight: 1, color: [3]float32{float32(100 + p[0]), float32(100 + 10*p[2]), 255}}
		if p[2] > 1.5 || p[2] < 0 { // only the voxels at 0.5 and 1.5 were seen
			in.weight = 0
		}
		return in
	})
	s := mesh(t, v)
	require.Len(t, s.Points, 3*16*16)
	assert.Len(t, s.Triangles, 2*15*15)
	assert.Equal(t, []float32{-7.5, -7.5, 0.75}, s.Points[:3])
	for i := 0; i < len(s.Points); i += 3 {
		x := s.Points[i]
		require.Equal(t, float32(0.75), s.Points[i+2])
		require.Equal(t, []float32{0, 0, 1}, s.Normals[i:i+3])
		require.Equal(t, []uint8{uint8(100.5 + x), 108, 255}, s.Colors[i:i+3])
	}
	cloud, err := s.Cloud()
	require.NoError(t, err)
	assert.Equal(t, []string{"nx", "ny", "nz", "red", "green", "blue"}, cloud.Names())
	assert.Equal(t, 256, cloud.Len())

	v.Color = nil
	s = mesh(t, v)
	assert.Nil(t, s.Colors)
	cloud, err = s.Cloud()
	require.NoError(t, err)
	assert.Equal(t, []string{"nx", "ny", "nz"}, cloud.Names())
}

func TestInvalidVolumesAreErrors(t *testing.T) {
	for arg, change := range map[string]func(v *Volume){
		"Distance": func(v *Volume) { v.Distance = v.Distance[1:] },
		"Weight":   func(v *Volume) { v.Weight = nil },
		"Color":    func(v *Volume) { v.Color = v.Color[3:] },
		"Size":     func(v *Volume) { v.Size = math.NaN() },
	} {
		v := volumeOf(1, 1, random(1, 1))
		change(v)
		_, err := v.Mesh()
		var bad *Error
		require.ErrorAs(t, err, &bad, arg)
		assert.Equal(t, arg, bad.Arg)
	}
	v := volumeOf(2, 1, random(1, 1))
	v.Keys = append(v.Keys[:7], v.Keys[0])
	_, err := v.Points()
	assert.ErrorIs(t, err, ErrOption)
	assert.ErrorContains(t, err, "[-1 -1 -1] in rows 0 and 7")

	s, err := Volume{Size: 1}.Mesh()
	require.NoError(t, err)
	cloud, err := s.Cloud()
	require.NoError(t, err)
	assert.Zero(t, cloud.Len())
}
