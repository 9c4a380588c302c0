package run

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/gatemark/gatemark/internal/failure"
	"golang.org/x/term"
)

// confirm names a cluster that gatemark did not make, says what it will do to
// it, and asks, where there is somebody to ask.
func (c *conductor) confirm() error {
	c.progress.Printf("cluster %s at %s", c.cluster.Name, c.cluster.Config.Host)
	c.progress.Printf("gatemark will install %s there, make namespaces gatemark-%s and gm-%s-*, and remove all of it at the end",
		treatments(c.plan), c.run.ID, c.run.ID)
	if c.yes {
		return nil
	}
	in, ok := c.streams.In.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return failure.WithCode(failure.Hint(errNotConfirmed, "add --yes to go on"), failure.Usage)
	}
	fmt.Fprint(c.streams.Err, "Go on? [y/N] ")
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil || strings.ToLower(strings.TrimSpace(answer)) != "y" {
		return failure.WithCode(errNotConfirmed, failure.Usage)
	}
	return nil
}
