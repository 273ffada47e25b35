package main

import "errors"

type fsckCmd struct{}

func (fsckCmd) Run(a *app) error { return errors.New("not yet") }
