module example.com/fixit

go 1.24
