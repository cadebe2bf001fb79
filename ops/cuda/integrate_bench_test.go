package cuda_test

import (
	"testing"

	"github.com/robocache/robocache/internal/test/opstest"
)

func BenchmarkIntegrate(b *testing.B) { opstest.BenchIntegrate(b, device(b)) }
