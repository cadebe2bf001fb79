package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mouth is a connection that a test writes to. It records the replies.
type mouth struct {
	*tape
	sent []*Frame
}

func (m *mouth) send(f *Frame) error {
	m.sent = append(m.sent, f)
	return nil
}

// Each request has exactly one reply, an object with ok or an error, and causes no panic.
func FuzzRequest(f *testing.F) {
	for _, text := range []string{`{"do":"hello","protocol":1}`, `{"do":"arena","bytes":4096}`, `{"do":"image","hash":""}`, `{"do":"plan","target":0}`, `{"do":"target","target":{"name":"x","driver":13000,"attributes":{"1":2}}}`} {
		f.Add([]byte(text))
	}
	requests := []object{simple()}
	for _, j := range jobs() {
		request, _ := j.describe()
		for _, t := range request["tensors"].(object) {
			delete(t.(object), "align")
			t.(object)["at"] = 0
		}
		requests = append(requests, request)
	}
	for _, request := range requests {
		text, err := json.Marshal(object{"do": "compute", "request": request})
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var in []byte
		for _, part := range [][]byte{[]byte(`{"do":"hello","protocol":1,"version":"dev"}`), []byte(`{"do":"arena","bytes":65536}`), text} {
			in = append(in, bytesOf(t, &Frame{JSON: part})...)
		}
		m := &mouth{tape: &tape{bytes.NewReader(in), 1 << 20}}
		err := newConn(m, "(devel)").serve(context.Background())
		if !errors.As(err, new(*VersionError)) {
			require.NoError(t, err)
		}
		require.Len(t, m.sent, 3)
		var reply struct {
			OK    bool
			Error *Failure
		}
		require.NoError(t, json.Unmarshal(m.sent[2].JSON, &reply))
		require.True(t, reply.OK != (reply.Error != nil))
		if reply.Error != nil {
			assert.NotEqual(t, "PanicError", reply.Error.Class)
			assert.NotEmpty(t, reply.Error.Message)
		}
		_, err = m.Read(make([]byte, 1))
		assert.Equal(t, io.EOF, err)
	})
}
