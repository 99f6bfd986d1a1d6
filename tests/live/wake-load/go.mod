module wake-load

go 1.26
