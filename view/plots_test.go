package view

import (
	"context"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/browsertest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// example opens a recording of the repository in the page.
func example(t *testing.T, b *browsertest.Browser, name, where string, opt Options) *browsertest.Page {
	d := openExample(t, name)
	viewer := serve(t, d, opt)
	server := httptest.NewServer(viewer)
	t.Cleanup(server.Close)
	p := b.Open(viewer.URL(server.Listener.Addr().String())+where, 1280, 800)
	p.Wait(`document.querySelector(".stream .u-over") && document.querySelector("#side h2")`)
	return p
}

func openExample(t *testing.T, name string) dataset.Dataset {
	d, err := dataset.Open(context.Background(), filepath.Join("..", "examples", "data", name), dataset.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// above is a prediction: the action of an episode, and 0.5 more.
func above(t *testing.T, d dataset.Dataset, episode int) map[int][]dataset.Stream {
	e, err := d.Episode(context.Background(), episode)
	require.NoError(t, err)
	s := *e.Stream("action")
	list, err := tensor.Floats(s.Values)
	require.NoError(t, err)
	for i := range list {
		list[i] += 0.5
	}
	s.Name = "prediction"
	s.Values, err = tensor.Of(list, s.Values.Shape()...)
	require.NoError(t, err)
	return map[int][]dataset.Stream{episode: {s}}
}

const shiftClick = `.dispatchEvent(new MouseEvent("click", { shiftKey: true, bubbles: true }))`

// A joint of a LeRobot dataset has one plot with its state, its action and the prediction. A shift-click shows the joint alone, and again all.
func TestJointsHaveStateActionAndPrediction(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	b := browsertest.Start(t)
	p := example(t, b, "g1", "#e=0&t=4", Options{Predictions: above(t, openExample(t, "g1"), 0)})
	joint := `document.querySelector('[data-joint="kLeftElbow"]')`
	legend := `[...` + joint + `.querySelectorAll(".legend button")].map(s => s.childNodes[1].textContent.trim())`
	value := func(n int) float64 {
		return evaluated[float64](p, fmt.Sprintf(`+%s.querySelectorAll(".legend b")[%d].textContent`, joint, n))
	}
	p.Wait(joint + `.querySelectorAll(".legend b")[2]?.textContent`)
	assert.Equal(t, []string{"state", "action", "prediction"}, evaluated[[]string](p, legend))
	assert.InDelta(t, 0.5, value(2)-value(1), 0.002)
	assert.NotEqual(t, value(0), value(1))
	assert.Equal(t, 26, evaluated[int](p, `document.querySelectorAll(".joint:not([hidden])").length`))
	assert.Equal(t, []string{"action", "observation.state", "prediction"}, evaluated[[]string](p, `[...document.querySelectorAll(".stream.shut")].map(s => s.dataset.stream)`))

	// Alone: the other joints go, and the streams have this column only.
	p.Eval(joint+`.querySelector(".legend button")`+shiftClick, nil)
	p.Eval(`[...document.querySelectorAll(".stream.shut .name")].forEach(n => n.click())`, nil)
	shown := `[...document.querySelectorAll('[data-stream="action"] .legend button:not(.off)')].map(s => s.childNodes[1].textContent.trim())`
	assert.Equal(t, []string{"kLeftElbow"}, evaluated[[]string](p, `[...document.querySelectorAll(".joint:not([hidden])")].map(s => s.dataset.joint)`))
	assert.Equal(t, []string{"kLeftElbow"}, evaluated[[]string](p, shown))
	p.Wait(`document.querySelector('[data-stream="observation.state"] .u-over') && document.querySelector("#alone").textContent.startsWith("kLeftElbow alone")`)
	p.Eval(`document.querySelector('[data-stream="action"] .legend button:not(.off)')`+shiftClick, nil)
	assert.Equal(t, 26, evaluated[int](p, `document.querySelectorAll(".joint:not([hidden])").length`))
	assert.Len(t, evaluated[[]string](p, shown), 26)

	// The name of a role hides its curve in the plots of all joints.
	p.Eval(joint+`.querySelectorAll(".legend button")[0].click()`, nil)
	assert.Equal(t, 26, evaluated[int](p, `document.querySelectorAll(".joint .legend button.off").length`))

	// A drag with shift selects a part, and play repeats it.
	p.Settle()
	plot := p.Box(`[data-joint="kLeftShoulderPitch"] .u-over`)
	p.Drag(plot.X+0.5*plot.Width, plot.Y+20, plot.X+0.55*plot.Width, plot.Y+20, browsertest.Shift)
	p.Wait(`document.querySelector("#loop.on")`)
	p.Eval(`window.turns = 0; window.before = 0; (async () => { const { state } = await import("/common.js"); window.loops = state.loop; new MutationObserver(() => {
		if (state.cursor < before) turns++; before = state.cursor; window.most = Math.max(window.most ?? 0, before); }).observe(document.querySelector("#time"), { childList: true }); })()`, nil)
	p.Key(" ")
	p.Wait(`turns >= 2`)
	p.Key(" ")
	span := evaluated[[]float64](p, `loops`)
	seconds := evaluated[float64](p, `import("/common.js").then(c => c.state.episode.seconds)`)
	assert.InDelta(t, 0.5*seconds, span[0], 0.05)
	assert.InDelta(t, 0.55*seconds, span[1], 0.05)
	assert.Less(t, evaluated[float64](p, `most`), span[1]+1e-9)
	assert.False(t, evaluated[bool](p, `document.querySelector("#out").classList.contains("on")`), "all is shown")
	p.Settle()
	const pictures = `["#overview", '[data-joint="kLeftShoulderPitch"] canvas'].map(s => document.querySelector(s).toDataURL())`
	marked := evaluated[[2]string](p, pictures)
	p.Key("l")
	p.Wait(`!document.querySelector("#loop.on")`)
	for k, plain := range evaluated[[2]string](p, pictures) {
		assert.True(t, plain != marked[k], "the loop is marked")
	}

	// A time is typed; the fit shows all.
	goTo(p, "7.5")
	p.Wait(`/^7\.5 s/.test(document.querySelector("#time").textContent)`)
	p.Key("+")
	p.Wait(`document.querySelector("#out.on")`)
	p.Eval(`document.querySelector("#out").click()`, nil)
	p.Wait(`!document.querySelector("#out.on")`)
	goTo(p, "soon")
	p.Wait(`document.querySelector("#go").getAttribute("aria-invalid") === "true"`)
	p.Eval(`document.querySelector("#go").blur()`, nil)

	// The history has an entry for each episode, and none for a moment.
	entries := evaluated[int](p, `history.length`)
	p.Key("j")
	p.Wait(`document.querySelector("#episode").textContent.startsWith("1 ")`)
	p.Key("ArrowRight")
	p.Key("ArrowRight")
	p.Key("j")
	p.Wait(`document.querySelector("#episode").textContent.startsWith("2 ")`)
	assert.Equal(t, entries+2, evaluated[int](p, `history.length`))
	p.Eval(`history.back()`, nil)
	p.Wait(`document.querySelector("#episode").textContent.startsWith("1 ") && /^0\.1 s/.test(document.querySelector("#time").textContent)`)
	p.Eval(`history.back()`, nil)
	p.Wait(`document.querySelector("#episode").textContent.startsWith("0 ") && /^7\.5 s/.test(document.querySelector("#time").textContent)`)

	// The theme is kept.
	back := `getComputedStyle(document.body).backgroundColor`
	var colours []string
	for range 3 {
		p.Key("t")
		colours = append(colours, evaluated[string](p, back)+" "+evaluated[string](p, `localStorage.getItem("robocache theme")`))
	}
	assert.Equal(t, []string{"rgb(255, 255, 255) light", "rgb(20, 23, 28) dark", "rgb(255, 255, 255) system"}, colours)
	assert.Empty(t, p.Errors())
}

// Cameras and clouds have a bar, too.
func TestCamerasHaveABar(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	p := openPage(t, browsertest.Start(t), robots(t, 1), "")
	assert.Equal(t, []string{"front", "lidar"}, evaluated[[]string](p, `[...document.querySelectorAll(".media")].map(m => m.dataset.media)`))
	assert.Equal(t, 2, evaluated[int](p, `document.querySelectorAll(".media .coverage path").length`))
}

func goTo(p *browsertest.Page, text string) {
	p.Eval(fmt.Sprintf(`(go => { go.value = %q; go.dispatchEvent(new Event("change")); })(document.querySelector("#go"))`, text), nil)
}

// A log with many streams opens the six that a plan ranks first, with units and with the time that each stream covers.
func TestManyStreamsOpenByRank(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	p := example(t, browsertest.Start(t), "flight.ulg", "", Options{})
	names := evaluated[[]string](p, `[...document.querySelectorAll(".stream")].map(s => s.dataset.stream)`)
	require.Len(t, names, 70)
	open := []string{"actuator_controls_0", "actuator_controls_1", "vehicle_angular_velocity", "vehicle_angular_acceleration", "sensor_combined", "vehicle_attitude"}
	assert.Equal(t, open, names[:6])
	assert.Equal(t, open, evaluated[[]string](p, `[...document.querySelectorAll(".stream:not(.shut)")].map(s => s.dataset.stream)`))

	// Units that differ are beside the columns, others at the axis.
	assert.Equal(t, "rad/s", evaluated[string](p, `document.querySelector('[data-stream="sensor_combined"] .legend small').textContent.trim().replace(/[[\]]/g, "")`))
	assert.Equal(t, "G", evaluated[string](p, `document.querySelector('[data-stream="vehicle_magnetometer"] .plot').dataset.unit`))

	// The bar of a stream with a gap has a hole there, and one with a single sample a line.
	bar := func(stream string) string {
		return evaluated[string](p, fmt.Sprintf(`document.querySelector('[data-stream=%q] .coverage path').getAttribute("d")`, stream))
	}
	assert.Equal(t, 2, strings.Count(bar("sensor_combined"), "z"))
	assert.Equal(t, 1, strings.Count(bar("vehicle_command"), "z"))

	// The filter opens its streams; a finding opens the stream that it is about.
	p.Eval(`(w => { w.value = "airspeed"; w.dispatchEvent(new Event("input")); })(document.querySelector("#which"))`, nil)
	p.Wait(`document.querySelector('[data-stream="airspeed"] .u-over')`)
	p.Eval(`(w => { w.value = ""; w.dispatchEvent(new Event("input")); })(document.querySelector("#which"))`, nil)
	p.Wait(`document.querySelector('[data-stream="airspeed"].shut')`)
	p.Eval(`import("/common.js").then(c => c.tell("stream", "airspeed"))`, nil)
	p.Wait(`document.querySelector('[data-stream="airspeed"]:not(.shut) .u-over')`)
	assert.True(t, evaluated[bool](p, `document.querySelector("#utc").hidden`), "this log's clock starts with the autopilot")
	assert.Empty(t, p.Errors())
}

// Times of a recording whose clock counts from 1970 are shown in UTC, and go to a time in UTC.
func TestTimesInUTC(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	p := example(t, browsertest.Start(t), "turtles.bag", "#t=12", Options{})
	shown := func() string { return evaluated[string](p, `document.querySelector("#time").textContent`) }
	assert.Equal(t, "12.0 s / 21.7 s", shown())
	p.Key("u")
	assert.Equal(t, "2014-03-31 19:24:59.8", shown())
	tick := `import("/common.js").then(c => c.splits(null, 0, 0, 21, 5).map(t => c.moment(t, 5)))`
	assert.Equal(t, []string{"19:24:50", "19:24:55", "19:25:00", "19:25:05"}, evaluated[[]string](p, tick))
	for _, text := range []string{"19:24:57.844783943", "2014-03-31T19:24:57.844783943Z", "2014-03-31 19:24:57.844783943", "1396293897844783943"} {
		goTo(p, "0:01")
		goTo(p, text)
		assert.InDelta(t, 10, evaluated[float64](p, `import("/common.js").then(c => c.state.cursor)`), 1e-4, text)
	}
	assert.Equal(t, "m", evaluated[string](p, `document.querySelector('[data-stream="/tf.turtle1"] .legend small').textContent.trim().replace(/[[\]]/g, "")`))
	p.Key("u")
	assert.Equal(t, "10.0 s / 21.7 s", shown())
	assert.Empty(t, p.Errors())
}

// A unit is one that the recording states.
func TestUnits(t *testing.T) {
	for _, tt := range []struct{ typ, column, want string }{
		{"", "airspeed_m_s", "m/s"}, {"", "accelerometer_m_s2[0]", "m/s²"}, {"", "accel_inconsistency_m_s_s", "m/s²"}, {"", "gyro_rad[2]", "rad/s"}, {"", "cog_rad", "rad"},
		{"", "voltage_cell_v[3]", "V"}, {"", "rssi_v", ""}, {"", "noise_per_ms", ""}, {"", "time_utc_usec", "µs"}, {"", "baro_alt_meter", "m"}, {"", "esc[1].rpm", "rpm"}, {"", "m", ""},
		{"", "speed [m/s]", "m/s"}, {"", "angle (deg)", "deg"}, {"", "control[0]", ""}, {"", "position[0]", ""}, {"", "elbow.pos", ""}, {"", "params", ""},
		{"sensor_msgs/msg/Imu", "angular_velocity.x", "rad/s"}, {"sensor_msgs/Imu", "linear_acceleration.z", "m/s²"}, {"sensor_msgs/Imu", "orientation.x", ""},
		{"geometry_msgs/msg/TwistStamped", "twist.linear.x", "m/s"}, {"geometry_msgs/AccelStamped", "accel.linear.x", "m/s²"}, {"nav_msgs/msg/Odometry", "pose.pose.position.x", "m"},
		{"sensor_msgs/msg/JointState", "position[0]", ""}, {"turtlesim/Pose", "linear_velocity", ""}, {"tf2_msgs/msg/TFMessage", "translation.y", "m"}, {"my_msgs/Twist", "linear.x", ""},
	} {
		assert.Equal(t, tt.want, unitOf(&dataset.Stream{Type: tt.typ}, tt.column), "%s %s", tt.typ, tt.column)
	}
}
