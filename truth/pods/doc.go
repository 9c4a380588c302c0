// Package pods runs truth in a cluster, as gateways run: a Deployment for the
// control plane, and for each Gateway a Deployment of replicas behind a Service
// of type LoadBalancer, which all belong to the Gateway.
package pods
