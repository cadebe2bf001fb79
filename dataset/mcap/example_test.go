package mcap_test

import (
	"bytes"
	"fmt"
	"io"
	"log"

	"github.com/robocache/robocache/dataset/mcap"
)

// A file with one message, written and read.
func Example() {
	var file bytes.Buffer
	w, err := mcap.NewWriter(&file, mcap.WriterOptions{})
	if err != nil {
		log.Fatal(err)
	}
	channel, err := w.AddChannel("/battery", "json", 0, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := w.Message(&mcap.Message{ChannelID: channel, LogTime: 1_500_000_000, Data: []byte(`{"volts": 24.1}`)}); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	for r := mcap.NewReader(&file); ; {
		record, err := r.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		switch x := record.(type) {
		case *mcap.Message:
			fmt.Printf("%d ns: %s\n", x.LogTime, x.Data)
		case *mcap.Statistics:
			fmt.Println("messages:", x.MessageCount)
		}
	}
	// Output:
	// 1500000000 ns: {"volts": 24.1}
	// messages: 1
}
