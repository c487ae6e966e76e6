"""Read the file with the password hashes of this machine, which must not work."""

if __name__ == "__main__":
    with open("/etc/shadow", encoding="utf-8") as file:
        print(file.readline())
