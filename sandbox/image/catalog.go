// Package image makes the sandbox's container images from the machine's static busybox, writes them as an archive and
// pushes them to the sandbox's registry. The same catalog and the same busybox always give the same digests.
package image

import "strconv"

// Image describes one image by what it adds to the busybox base.
type Image struct {
	Name       string   // full name with registry and tag
	Marker     string   // what makes its contents unlike those of others; the name unless it is another name of that image
	Files      []file   // on top of the base
	Entrypoint []string // may be nil
	Cmd        []string // may be nil
}

// Pause is the image of the container that holds a pod's namespaces.
const Pause = "registry.k8s.io/pause:3.10"

const (
	hub = "docker.io/library/"
	e2e = "registry.k8s.io/e2e-test-images/"
)

// AppTags is how many tags, counted from 1, docker.io/lab/app has; SideTags the same of docker.io/lab/side.
const (
	AppTags  = 30
	SideTags = 6
)

var (
	busyboxTags = []string{"latest", "1.28", "1.32", "1.33", "1.34", "1.35", "1.35.0", "1.36"}
	nginxTags   = []string{"latest", "alpine", "1.2", "1.7.9", "1.9.1", "1.14.2", "1.15.1", "1.19.6", "1.19.10", "1.20", "1.20.1",
		"1.21", "1.21.1", "1.22", "1.23", "1.23.1", "1.24", "1.25", "1.26", "1.27", "1.28"}
)

// Catalog lists all images.
func Catalog() []Image {
	out := []Image{{Name: Pause, Entrypoint: []string{"/bin/sleep", "2147483647"}}}
	for _, tag := range busyboxTags {
		out = append(out, shell(hub+"busybox:"+tag))
	}
	for _, tag := range nginxTags {
		out = append(out, web(hub+"nginx:"+tag, nginxRoot))
	}
	alias := web(hub+"nginx:alpine", nginxRoot) // a second name of one digest
	alias.Marker, alias.Name = alias.Name, hub+"nginx:mainline-alpine"
	out = append(out, alias)
	for n := 1; n <= AppTags; n++ {
		out = append(out, idle("docker.io/lab/app:"+strconv.Itoa(n)))
	}
	for n := 1; n <= SideTags; n++ {
		out = append(out, idle("docker.io/lab/side:"+strconv.Itoa(n)))
	}
	out = append(out,
		Image{Name: "docker.io/lab/crash:1", Files: []file{{"crash", crashScript, 0o755}}, Entrypoint: []string{"/crash"}},
		shell(hub+"ubuntu:latest"), shell(hub+"ubuntu:20.04"),
		shell(hub+"centos:6.7"), shell(hub+"centos:6.8"), shell(hub+"centos:7"),
		shell(e2e+"busybox:1.29-4"), shell(e2e+"busybox:1.36.1-1"),
		web(e2e+"nginx:1.14-4", nginxRoot), web(e2e+"nginx:1.15-4", nginxRoot),
		web(e2e+"httpd:2.4.38-4", apacheRoot), web(e2e+"httpd:2.4.39-4", apacheRoot),
		idle(e2e+"redis:5.0.5-3"), idle(e2e+"agnhost:2.53"),
		Image{Name: "docker.io/minchou/exit:v1.0", Entrypoint: []string{"/bin/true"}},
		idle("docker.io/openkruise/hotupgrade-sample:empty"),
		idle("docker.io/openkruise/hotupgrade-sample:sidecarv1", file{"migrate.sh", "#!/bin/sh\nexit 0\n", 0o755}),
		idle("docker.io/openkruise/hotupgrade-sample:sidecarv2", file{"migrate.sh", "#!/bin/sh\nexit 0\n", 0o755}),
		idle("docker.io/openkruise/minecraft-demo:probe-v0", file{"probe.sh", probeScript, 0o755}),
	)
	for i := range out {
		if out[i].Marker == "" {
			out[i].Marker = out[i].Name
		}
	}
	return out
}

const (
	nginxRoot  = "usr/share/nginx/html"
	apacheRoot = "usr/local/apache2/htdocs"
)

const idleScript = `#!/bin/sh
trap "exit 0" TERM QUIT INT
while :; do sleep 3600 & wait $!; done
`

const crashScript = `#!/bin/sh
echo "crash: the database at db.example:5432 refuses connections" >&2
exit 1
`

// probeScript fails at first, says "data" after 6 s and "gate" after 16 s.
const probeScript = `#!/bin/sh
[ -f /tmp/t ] || date +%s > /tmp/t
t=$(( $(date +%s) - $(cat /tmp/t) ))
[ $t -lt 6 ] && exit 1
[ $t -lt 16 ] && echo data || echo gate
`

// shell is an image that runs what it is told to.
func shell(name string) Image { return Image{Name: name, Cmd: []string{"sh"}} }

// idle is an image that does nothing until it is told to end.
func idle(name string, extra ...file) Image {
	return Image{Name: name, Files: append([]file{{"idle", idleScript, 0o755}}, extra...), Entrypoint: []string{"/idle"}}
}

// web stands in for a web server: it serves its own name on $PORT, 80 by default, and ends on TERM and QUIT.
func web(name, root string) Image {
	serve := "#!/bin/sh\ntrap \"exit 0\" TERM QUIT INT\nhttpd -f -p ${PORT:-80} -h /" + root + " & wait $!\n"
	return Image{
		Name: name,
		Files: []file{
			{root + "/index.html", "served by " + name + "\n", 0o644},
			{"usr/sbin/nginx", serve, 0o755}, {"bin/nginx", serve, 0o755}, {"bin/httpd-foreground", serve, 0o755},
		},
		Cmd: []string{"nginx", "-g", "daemon off;"},
	}
}
