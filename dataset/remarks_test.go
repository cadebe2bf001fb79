package dataset_test

import (
	"testing"

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
