"""May write no file of any size, and open next to none."""
import resource

resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    with open("file", "w") as file:
        file.write("x")
except OSError as error:
    print(error.strerror)
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
try:
    open("/dev/null")
except OSError as error:
    print(error.strerror)
