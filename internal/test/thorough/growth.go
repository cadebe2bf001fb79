package thorough

import (
	"testing"
	"time"
)

// InProportion fails a test if work takes time that grows with the square of its input. prepare makes an input of the size n/4, then n, and
// returns the work, which is measured. The whole may take ten times as long as the quarter and a second more, by the time of the processor,
// because 4 is proportional and 16 is the square. Therefore the limit holds on a slow or busy machine.
func InProportion(t testing.TB, n int, prepare func(n int) (work func())) {
	t.Helper()
	spent := func(n int) time.Duration {
		work := prepare(n)
		begin := UserTime()
		work()
		return UserTime() - begin
	}
	quarter := spent(n / 4)
	if whole := spent(n); whole > 10*quarter+time.Second {
		t.Errorf("%d take %v of processor time, and %d take %v", n/4, quarter, n, whole)
	}
}
