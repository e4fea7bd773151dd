// Delegate is a proxy to the API server that asks it who each caller is and what they may do: to come.
package main

import (
	_ "k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	_ "k8s.io/apiserver/pkg/authorization/authorizerfactory"
	_ "k8s.io/apiserver/pkg/endpoints/filters"
)

func main() {}
