package dataset_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/dataset"
)

func TestRemarksAreOfTheStreamsThatAreTaken(t *testing.T) {
	e := &dataset.Episode{}
	e.Remark("took one of two clocks")
	e.Remark("a moves in b", "/tf")
	e.Remark("no header", "/imu", "/odom", "/tf")
	assert.Equal(t, []string{"took one of two clocks", "/tf: a moves in b", "no header: /imu, /odom, /tf"}, e.Remarks)
	assert.Equal(t, []string{"took one of two clocks", "/tf: a moves in b", "no header: /odom, /tf"}, e.RemarksOf([]string{"/odom (nav_msgs/Odometry)", "/tf.a"}))
	assert.Equal(t, []string{"took one of two clocks", "/imu: no header"}, e.RemarksOf([]string{"/imu", "/tf_static.a"}))
	assert.Equal(t, []string{"took one of two clocks"}, e.RemarksOf(nil))
	e.Remarks = append(e.Remarks, "another")
	assert.Equal(t, []string{"took one of two clocks", "another"}, e.RemarksOf([]string{"/x"}))
}

// Fifty thousand streams take a second at most; were the time that of their square, it would be many.
func TestRemarksAreFoundInTimeThatGrowsWithTheStreams(t *testing.T) {
	const n = 50_000
	e := &dataset.Episode{}
	var names []string
	for i := range n {
		topic := fmt.Sprintf("/topic/of/a/robot/%d", i)
		e.Remark("it is odd", topic)
		names = append(names, topic+[]string{"", ".a", " (pkg/Type)", "0-"}[i%4])
	}
	start := time.Now()
	got := e.RemarksOf(names)
	took := time.Since(start)
	assert.Len(t, got, n/4*3, "the last of four is of another topic")
	assert.Equal(t, "/topic/of/a/robot/4: it is odd", got[3])
	assert.Less(t, took, 5*time.Second)
}
