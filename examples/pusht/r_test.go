package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"testing"
)

func TestR(t *testing.T) {
	var want [][5]float64
	b, _ := os.ReadFile("/tmp/chip/init.json")
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	bad, ints := 0, 0
	for i, w := range want {
		g := draw(100000 + i)
		for j := range 4 {
			if g[j] != w[j] {
				ints++
			}
		}
		if g[4] != w[4] {
			bad++
			fmt.Println(100000+i, g[4]-w[4], g[4])
		}
	}
	fmt.Println(len(want), bad, ints)
	_ = rand.Int
	_ = big.NewFloat
	_ = math.Log
}
