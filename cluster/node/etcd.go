package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func etcd() int {
	etcdmain.Main(os.Args) // exits by itself where it fails
	return 0
}
