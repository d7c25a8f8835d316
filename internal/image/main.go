// Command image makes the image of kruise-agent without Docker: one static binary on nothing. It writes an archive, or
// pushes one index for all platforms to a registry.
//
//	image save FILE IMAGE PLATFORM=BINARY
//	image push IMAGE PLATFORM=BINARY...
//
// A platform is such as linux/arm64. Credentials for a registry come from where docker and podman keep theirs.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("want save FILE IMAGE PLATFORM=BINARY or push IMAGE PLATFORM=BINARY, the latter with one or more binaries")

func run(args []string) error {
	switch {
	case len(args) == 4 && args[0] == "save":
		return save(args[1], args[2], args[3])
	case len(args) >= 3 && args[0] == "push":
		digest, err := push(args[1], args[2:], remote.WithAuthFromKeychain(authn.DefaultKeychain))
		if err == nil {
			fmt.Println(digest)
		}
		return err
	}
	return errUsage
}
