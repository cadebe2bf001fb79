package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/robocache/robocache/dataset/ply"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cuda" // so that ops.Open("auto") finds a GPU
	"github.com/robocache/robocache/surface"
	"github.com/robocache/robocache/tensor"
	"github.com/robocache/robocache/viz"
)

func main() {
	backend := flag.String("backend", "auto", "where to compute: auto, cpu, cuda or cuda:N")
	flag.Parse()
	if err := run(*backend, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "reconstruct:", err)
		os.Exit(1)
	}
}

func run(backend string, out io.Writer) error {
	ctx := context.Background()
	device, err := ops.Open(backend)
	if err != nil {
		return err
	}
	defer device.Close()
	const voxel = 0.02
	volume, err := device.NewVolume(ops.VolumeOptions{IntegrateOptions: ops.IntegrateOptions{Voxel: voxel, Far: 3}})
	if err != nil {
		return err
	}
	defer volume.Close()
	for _, eye := range []vector{{0, -1.6, 1}, {1.2, -1, 1.2}, {-1.2, -1, 1.2}, {1.7, 0.4, 1}, {-1.7, 0.4, 1}, {0.2, -0.9, 1.9}} {
		pose := camera(eye)
		depth, err := render(pose)
		if err != nil {
			return err
		}
		args := ops.IntegrateArgs{Depth: depth, Intrinsics: tensor.Must(tensor.Of(intrinsics, 4)), Poses: tensor.Must(tensor.Of(pose[:], 4, 4))}
		if err := volume.Integrate(ctx, args); err != nil {
			return err
		}
	}
	blocks, err := volume.Download(ctx)
	if err != nil {
		return err
	}
	mesh, err := surface.Volume(blocks).Mesh()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d blocks, %d points, %d triangles, computed on %s\n", len(blocks.Keys), len(mesh.Points)/3, len(mesh.Triangles), device.Name())
	mean, most, largest := millimetres(mesh.Points)
	fmt.Fprintf(out, "distance to the true surface: mean %.2f mm, 95 %% below %.2f mm, largest %.2f mm\n", mean, most, largest)
	cloud, err := mesh.Cloud()
	if err != nil {
		return err
	}
	if err := write("reconstruct.ply", func(w io.Writer) error { return ply.Write(w, cloud, ply.Options{Faces: mesh.Triangles}) }); err != nil {
		return err
	}
	return write("reconstruct.png", func(w io.Writer) error {
		return viz.WriteMeshPNG(w, viz.Mesh{Surface: mesh}, viz.Options{Title: "Six depth images, voxels of 2 cm"})
	})
}

func write(path string, fill func(io.Writer) error) error {
	var b bytes.Buffer
	if err := fill(&b); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}
