// Command gatemark measures Kubernetes gateways. See package root.
package main

import (
	"os"

	"github.com/gatemark/gatemark/internal/cli/root"
)

func main() { os.Exit(root.Main()) }
