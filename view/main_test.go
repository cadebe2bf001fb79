package view

import (
	"os"
	"testing"

	"github.com/robocache/robocache/internal/test/browsertest"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }
