// Command chart writes a Helm chart that holds what `kubectl kruise install` installs: chart DIRECTORY VERSION IMAGE.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: chart DIRECTORY VERSION IMAGE")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

// write replaces the chart's folder in a directory.
func write(dir, version, image string) error {
	files, err := chart(version, image)
	if err != nil {
		return err
	}
	root := filepath.Join(dir, chartName)
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
