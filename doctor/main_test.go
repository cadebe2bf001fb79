package doctor_test

import (
	"os"
	"testing"

	"github.com/robocache/robocache/internal/test/browsertest"
)

func TestMain(m *testing.M) {
	if err := os.Setenv("ROBOCACHE_FFMPEG", os.Args[0]); err != nil { // doctor looks for the program and does not run it
		panic(err)
	}
	os.Exit(browsertest.Main(m))
}
