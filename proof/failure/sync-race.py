"""Shows that fdatasync may report success although the bytes are not on the disk, if ext4 is shut down at that instant.

The program uses neither SQLite nor the service. It appends to a file and syncs the file. Meanwhile it shuts the file
system down, as a fatal error does, and then mounts it again. All bytes for which fdatasync reported success must then
be in the file. The program needs root, a loop device and ext4. Other writes to the same disk make the race likely:

    python3 proof/failure/sync-race.py DIRECTORY [ROUNDS]
"""
import fcntl
import os
import struct
import subprocess
import sys
import threading
import time

EXT4_IOC_SHUTDOWN, NO_LOG_FLUSH = 0x8004587D, 2
FRAME_BYTES = 4120


def append_and_sync(file, synced_bytes):
    try:
        while True:
            os.pwrite(file, b"x" * FRAME_BYTES, synced_bytes[0])
            os.fdatasync(file)
            synced_bytes[0] += FRAME_BYTES
    except OSError:
        pass


def loses_synced_bytes(image, mounted, pause_s):
    with open(image, "wb") as disk:
        disk.truncate(64 << 20)
    subprocess.run(["mkfs.ext4", "-q", image], check=True)
    subprocess.run(["mount", "-o", "loop", image, mounted], check=True)
    file = os.open(f"{mounted}/file", os.O_CREAT | os.O_RDWR, 0o600)
    synced_bytes = [0]
    writer = threading.Thread(target=append_and_sync, args=(file, synced_bytes))
    writer.start()
    time.sleep(pause_s)
    fcntl.ioctl(file, EXT4_IOC_SHUTDOWN, struct.pack("I", NO_LOG_FLUSH))
    writer.join()
    os.close(file)
    subprocess.run(["umount", mounted], check=True)
    subprocess.run(["mount", "-o", "loop", image, mounted], check=True)
    size = os.stat(f"{mounted}/file").st_size
    subprocess.run(["umount", mounted], check=True)
    return size < synced_bytes[0]


def main(directory, rounds=60):
    image, mounted = f"{directory}/ext4", f"{directory}/mounted"
    os.makedirs(mounted, exist_ok=True)
    lost_rounds = sum(loses_synced_bytes(image, mounted, 0.3 + 0.013 * (n % 17)) for n in range(int(rounds)))
    print(f"synced bytes were lost in {lost_rounds} of {rounds} rounds")


main(*sys.argv[1:])
