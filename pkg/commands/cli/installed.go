package cli

import (
	"fmt"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

// InstallNamespace is where the in-cluster pair is or goes: the value of --namespace, and never the context's.
func InstallNamespace(deps *Deps) (string, error) {
	namespace, named, err := deps.Config.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", err
	}
	if !named {
		return keys.InstallNamespace, nil
	}
	return namespace, nil
}

// Progress tells what is being done on the error stream, with the time since the begin.
func Progress(deps *Deps) func(format string, args ...any) {
	begin := deps.Now()
	return func(format string, args ...any) {
		since := deps.Now().Sub(begin).Round(time.Second)
		fmt.Fprintf(deps.ErrOut, "%4s  %s\n", since, fmt.Sprintf(format, args...))
	}
}
