// Package install puts the kinds and the in-cluster pair into a cluster, looks
// after what is there, and takes it away again.
//
// What is installed are values: Manifests, CRDs and Applied make them without a
// cluster. A Target reads and writes one: Install, Uninstall, Check. It promises
// that
//   - nothing of somebody else's is changed or deleted: what does not carry our
//     marks stays, and where OpenKruise is nothing is written at all;
//   - at every moment pods can be created, unless failure policy Fail was chosen
//     and nobody answers;
//   - no object of the kinds is lost: definitions go only with DeleteObjects, and
//     what is stored is converted before a version is no longer served;
//   - a call that was interrupted is finished by the same call.
//
// The CRDs come in two renderings (see Rendering), both made from one generated
// file per kind, so that they cannot drift apart.
package install

//go:generate ../../hack/generate.sh
