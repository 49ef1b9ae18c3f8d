module example.com/petstore-example

go 1.26
