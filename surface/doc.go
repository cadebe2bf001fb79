// Package surface extracts the zero surface from a volume with signed distances: points with normals, or triangles.
//
//	s, err := surface.Volume{Keys: keys, Distance: distance, Weight: weight, Size: 0.01}.Mesh()
//	cloud, err := s.Cloud()
//	err = ply.Write(file, cloud, ply.Options{Faces: s.Triangles})
//
// A volume has blocks with 8 x 8 x 8 voxels each. Distances are negative inside, so normals point to the side that the
// cameras saw. A mesh is made by marching cubes (Lorensen and Cline, 1987). A cell has voxel centres as corners. If a corner
// was never seen, the cell gets no triangle, and the mesh has a border there. Elsewhere it is closed: two neighbouring cells
// always cut their common face at the same lines.
//
// The result depends neither on the order in which the blocks are given nor on the number of cores.
package surface
