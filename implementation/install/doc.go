// Package install puts implementations into a cluster and takes them out
// again: images, the Gateway API's definitions, the implementation's own
// chart through Helm's library, and its GatewayClass.
//
// Charts are installed as their vendors publish them, with their default
// values. What differs is listed in Installed. Every object carries
// gatemark's labels, so what a crash leaves behind can be found.
package install
