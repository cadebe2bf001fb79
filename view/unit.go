package view

import (
	"regexp"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// suffixes are units at the end of column names, such as "baro_pressure_pa" and "gyro_deg_s". PX4's gyro_rad is in rad/s.
var suffixes = map[string]string{
	"m_s_s": "m/s²", "m_s2": "m/s²", "m_s": "m/s", "mps": "m/s", "gyro_rad": "rad/s", "rad_s": "rad/s", "deg_s": "°/s", "dps": "°/s", "rad": "rad", "radians": "rad",
	"deg": "°", "degrees": "°", "meter": "m", "meters": "m", "metres": "m", "mm": "mm", "cm": "cm", "km": "km", "km_h": "km/h", "kmh": "km/h",
	"pa": "Pa", "hpa": "hPa", "kpa": "kPa", "mbar": "mbar", "celsius": "°C", "celcius": "°C", "temp_c": "°C", "temperature_c": "°C", "kelvin": "K", "ga": "G", "gauss": "G",
	"hz": "Hz", "rpm": "rpm", "mah": "mAh", "wh": "Wh", "volt": "V", "volts": "V", "mv": "mV", "amps": "A", "ma": "mA", "watt": "W", "watts": "W", "kg": "kg",
	"percent": "%", "pct": "%", "ns": "ns", "nsec": "ns", "nanosec": "ns", "us": "µs", "usec": "µs", "ms": "ms", "msec": "ms", "sec": "s", "seconds": "s",
	"kb": "kB", "kb_s": "kB/s", "bytes": "bytes",
}

// letters are suffixes that are units only after a quantity: "voltage_v" has one, "speed_v" none.
var letters = map[string]struct {
	quantity *regexp.Regexp
	unit     string
}{
	"v": {regexp.MustCompile(`voltage`), "V"}, "a": {regexp.MustCompile(`current`), "A"}, "w": {regexp.MustCompile(`power`), "W"}, "n": {regexp.MustCompile(`force`), "N"},
	"nm": {regexp.MustCompile(`torque`), "N·m"}, "s": {regexp.MustCompile(`time|duration|age`), "s"},
	"m": {regexp.MustCompile(`pos|dist|range|height|alt|depth|length|width|radius|offset|[xyz]_m$`), "m"},
}

// standard are the units of ROS messages, as their definitions and REP 103 state them. JointState has none, because a joint turns or slides.
var standard = []struct {
	types, field *regexp.Regexp
	unit         string
}{
	{rosType(`Imu`), rosField(`angular_velocity\.[xyz]`), "rad/s"},
	{rosType(`Imu`), rosField(`linear_acceleration\.[xyz]`), "m/s²"},
	{rosType(`Twist\w*|Odometry`), rosField(`linear\.[xyz]`), "m/s"},
	{rosType(`Twist\w*|Odometry`), rosField(`angular\.[xyz]`), "rad/s"},
	{rosType(`Accel\w*`), rosField(`linear\.[xyz]`), "m/s²"},
	{rosType(`Accel\w*`), rosField(`angular\.[xyz]`), "rad/s²"},
	{rosType(`Wrench\w*`), rosField(`force\.[xyz]`), "N"},
	{rosType(`Wrench\w*`), rosField(`torque\.[xyz]`), "N·m"},
	{rosType(`Pose\w*|Odometry|Path`), rosField(`position\.[xyz]`), "m"},
	{rosType(`Point|PointStamped`), rosField(`[xyz]`), "m"},
	{rosType(`Transform\w*|[tT][fF]2?Message`), rosField(`translation\.[xyz]`), "m"},
	{rosType(`MagneticField`), rosField(`magnetic_field\.[xyz]`), "T"},
	{rosType(`FluidPressure`), rosField(`fluid_pressure`), "Pa"},
	{rosType(`Temperature|BatteryState`), rosField(`temperature`), "°C"},
	{rosType(`Illuminance`), rosField(`illuminance`), "lx"},
	{rosType(`Range`), rosField(`range|min_range|max_range`), "m"},
	{rosType(`NavSatFix`), rosField(`latitude|longitude`), "°"},
	{rosType(`NavSatFix`), rosField(`altitude`), "m"},
	{rosType(`BatteryState`), rosField(`voltage`), "V"},
	{rosType(`BatteryState`), rosField(`current`), "A"},
	{rosType(`BatteryState`), rosField(`(design_)?(capacity|charge)`), "Ah"},
}

func rosType(names string) *regexp.Regexp {
	return regexp.MustCompile(`^(sensor_msgs|geometry_msgs|nav_msgs|tf2?(_msgs)?)/(msg/)?(` + names + `)$`)
}

func rosField(names string) *regexp.Regexp { return regexp.MustCompile(`(^|\.)(` + names + `)$`) }

var (
	inBrackets = regexp.MustCompile(` [\[(]([^\[\]()]*[^\[\]()\d][^\[\]()]*)[\])]$`) // "speed [m/s]", "angle (deg)"
	arrayEnd   = regexp.MustCompile(`(\[\d+\])+$`)
)

// unitOf returns the unit that a recording states for a column: in brackets after the name, at its end, or by the type of a ROS message. It is empty if
// the recording states none.
func unitOf(s *dataset.Stream, column string) string {
	if m := inBrackets.FindStringSubmatch(column); m != nil {
		return m[1]
	}
	for _, r := range standard {
		if r.types.MatchString(s.Type) && r.field.MatchString(column) {
			return r.unit
		}
	}
	name := strings.ToLower(arrayEnd.ReplaceAllString(column, ""))
	name = name[strings.LastIndexAny(name, "./")+1:]
	if strings.Contains(name, "_per_") {
		return ""
	}
	for i, rest := 0, name; ; i++ { // the longest suffix first
		if unit := suffixes[rest]; unit != "" {
			return unit
		}
		if short, ok := letters[rest]; ok && i > 0 && short.quantity.MatchString(name) {
			return short.unit
		}
		_, after, more := strings.Cut(rest, "_")
		if !more {
			return ""
		}
		rest = after
	}
}

// units returns the units of a stream's columns, or nil if it has none.
func units(s *dataset.Stream) []string {
	list := make([]string, len(s.Columns))
	some := false
	for k, c := range s.Columns {
		list[k] = unitOf(s, c.Name)
		some = some || list[k] != ""
	}
	if !some {
		return nil
	}
	return list
}
