// Command peer is what the tests' pods run: "peer serve" answers with the
// pod's host name on port 8080, "peer wait" does nothing until it is told to
// end, and "peer get URL" prints what a URL answers.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch args[0] {
	case "serve":
		host, err := os.Hostname()
		if err != nil {
			return err
		}
		fmt.Println("serving as", host)
		return http.ListenAndServe(":8080", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, host) }))
	case "wait":
		end := make(chan os.Signal, 1)
		signal.Notify(end, syscall.SIGTERM)
		<-end
		return nil
	case "get":
		client := http.Client{Timeout: 5 * time.Second}
		res, err := client.Get(args[1])
		if err != nil {
			return err
		}
		defer res.Body.Close()
		_, err = io.Copy(os.Stdout, res.Body)
		return err
	}
	return fmt.Errorf("unknown argument %q", args[0])
}
